"""Tensors as Python values: making them, operators, printing, errors."""

import copy
import math
import threading

import numpy as np
import oarlock
import pytest


def test_dtypes_of_python_data():
    assert oarlock.tensor(1).dtype is oarlock.int64 and oarlock.tensor(1.5).dtype is oarlock.float32
    assert oarlock.tensor(True).dtype == "bool" and oarlock.tensor([True, 2]).dtype == oarlock.int64
    assert oarlock.tensor([1, 2.5]).dtype == np.float32 and oarlock.tensor([]).shape == (0,)
    assert oarlock.tensor([[], []]).shape == (2, 0) and oarlock.tensor([np.float64(1.5), np.int8(2)]).tolist() == [1.5, 2]
    assert oarlock.tensor([1, 2], dtype="float16").tolist() == [1, 2]
    assert oarlock.tensor([1.9, -1.9], dtype=int).tolist() == [1, -1]
    assert oarlock.tensor([[1, 2], (3, 4)]).tolist() == [[1, 2], [3, 4]]
    assert oarlock.tensor([2 ** 63], dtype="uint64").tolist() == [2 ** 63]
    assert oarlock.tensor(range(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("data, kind", [
    ([[1], [1, 2]], ValueError), ([1, [2]], ValueError), ([[1], 2], ValueError), ("text", TypeError), ([None], TypeError),
    (object(), TypeError), (2 ** 64, OverflowError), ([1j], TypeError), ({1: 2}, TypeError), (None, TypeError),
])
def test_data_that_is_none(data, kind):
    with pytest.raises(kind):
        oarlock.tensor(data)


def test_numbers_that_do_not_fit_a_dtype():
    for value, dtype in ((300, "uint8"), (-1, "uint8"), (128, "int8"), (2 ** 31, "int32")):
        with pytest.raises(OverflowError):
            oarlock.tensor(value, dtype=dtype)
        with pytest.raises(OverflowError):
            oarlock.tensor([value], dtype=dtype)
        with pytest.raises(OverflowError):
            oarlock.zeros(1, dtype=dtype) + value


def test_lists_of_tensors_are_stacked():
    x = oarlock.tensor([1.0, 2.0], requires_grad=True)
    y = oarlock.asarray([x, x * 2])
    assert y.tolist() == [[1, 2], [2, 4]]
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert oarlock.tensor([np.zeros(2), np.ones(2)]).shape == (2, 2)
    with pytest.raises(ValueError):
        oarlock.tensor([np.zeros(2), np.ones(3)])


def test_creation():
    assert oarlock.zeros(2, 3).shape == oarlock.zeros((2, 3)).shape == oarlock.zeros([2, 3]).shape == (2, 3)
    assert oarlock.full((2,), True).dtype == oarlock.bool and oarlock.full(2, 1.5).tolist() == [1.5, 1.5]
    for args in ((5,), (2, 9), (9, 2, -3), (0, 5, 2), (5, 2), (0, 1, 0.3), (1, 0, -0.25)):
        np.testing.assert_allclose(oarlock.arange(*args).numpy(), np.arange(*args), rtol=1e-6)
    for n in (0, 1, 2, 7):
        np.testing.assert_allclose(oarlock.linspace(-1, 2, n).numpy(), np.linspace(-1, 2, n), rtol=1e-6)
    np.testing.assert_array_equal(oarlock.eye(3, 4, k=1).numpy(), np.eye(3, 4, k=1))
    with pytest.raises(ValueError):
        oarlock.empty((-1,))
    with pytest.raises(ValueError):
        oarlock.full((2, -1), 0)
    with pytest.raises(ValueError):
        oarlock.zeros((1 << 40, 1 << 40))
    with pytest.raises((MemoryError, ValueError)):
        oarlock.empty((1 << 46,))
    with pytest.raises(TypeError):
        oarlock.zeros((2.5,))


BINARY = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
          "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
          "==": lambda a, b: a == b, "!=": lambda a, b: a != b}
if hasattr(oarlock, "floor_divide"):
    BINARY |= {"//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a ** b}


@pytest.mark.parametrize("name", BINARY)
def test_operators_and_their_reflections(name):
    f = BINARY[name]
    a, b = np.array([[1.0, 2.0, 5.0]], dtype=np.float32), np.array([[2.0], [3.0]], dtype=np.float32)
    x, y = oarlock.tensor(a), oarlock.tensor(b)
    np.testing.assert_allclose(f(x, y).numpy(), f(a, b), rtol=1e-6)
    for c in (2, 2.5, True, np.float32(2)):
        expected = f(a, np.float32(c)), f(np.float32(c), a)
        for found, want in zip((f(x, c), f(c, x)), expected):
            np.testing.assert_allclose(found.numpy(), want, rtol=1e-6)
            assert found.dtype == ("bool" if want.dtype == bool else "float32")
    np.testing.assert_allclose(f(a, y).numpy(), f(a, b), rtol=1e-6)
    np.testing.assert_allclose(f(x, b).numpy(), f(a, b), rtol=1e-6)


def test_numbers_are_weak():
    assert (oarlock.tensor([1], dtype="int8") + 1).dtype == oarlock.int8
    assert (oarlock.tensor([1], dtype="int8") + 1.5).dtype == oarlock.float32
    assert (oarlock.tensor([1.0], dtype="float16") * 2.5).dtype == oarlock.float16
    assert (oarlock.tensor([True]).to("int64") + True).tolist() == [2]
    assert (oarlock.tensor([1.0], dtype="float64") + 0.1).item() == 1.1
    assert (oarlock.tensor([2 ** 53], dtype="int64") + 1).item() == 2 ** 53 + 1
    assert (oarlock.tensor([1], dtype="int8") + oarlock.tensor(1)).dtype == oarlock.int64  # rank 0 is not weak
    assert oarlock.maximum(oarlock.tensor([1.0], dtype="float16"), 2).dtype == oarlock.float16
    assert oarlock.where(oarlock.tensor([True]), 1.0, oarlock.tensor([2.0], dtype="float64")).dtype == oarlock.float64


def test_comparison_with_other_things():
    x = oarlock.tensor([1])
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    with pytest.raises(TypeError):
        x < "a"
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError):
        x + [1]
    with pytest.raises(TypeError):
        x + None


def test_in_place_forms_write_into_the_memory():
    x = oarlock.tensor([1.0, 2.0])
    a, alias = x.numpy(), x
    x += 1
    x *= oarlock.tensor([2.0, 3.0])
    x -= 1
    x /= 2
    assert alias is x and a.tolist() == [1.5, 4.0]
    with pytest.raises(ValueError, match="shape"):
        x += oarlock.zeros((2, 2))
    n = oarlock.tensor([1])
    with pytest.raises(TypeError, match="float32"):
        n += 0.5
    with pytest.raises(TypeError):
        n /= 2


def test_in_place_forms_and_gradients():
    w = oarlock.tensor([2.0], requires_grad=True)
    x = w * 3
    x *= w
    x.sum().backward()
    assert w.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="leaf"):
        w += 1
    with oarlock.no_grad():
        w -= w.grad
    assert w.tolist() == [-10.0] and w.requires_grad


def test_python_numbers_of_tensors():
    assert int(oarlock.tensor(2.9)) == 2 and float(oarlock.tensor([[5]])) == 5 and bool(oarlock.tensor(0.5)) is True
    assert bool(oarlock.tensor([False])) is False and [10, 20][oarlock.tensor(1)] == 20
    assert oarlock.tensor([2 ** 64 - 1], dtype="uint64").item() == 2 ** 64 - 1
    assert isinstance(oarlock.tensor(True).item(), bool) and isinstance(oarlock.tensor(1).item(), int)
    assert math.isnan(float(oarlock.tensor(math.nan))) and f"{oarlock.tensor(1.5):.2f}" == "1.50"
    for f in (bool, int, float):
        with pytest.raises(ValueError):
            f(oarlock.tensor([1, 2]))
    with pytest.raises(ValueError):
        oarlock.tensor([1, 2]).item()
    with pytest.raises(TypeError):
        [1, 2][oarlock.tensor(1.0)]
    x = oarlock.tensor([1.0])
    assert hash(x) == hash(x) and x in {x: 1}


def test_unary_operators():
    x = oarlock.tensor([-1, 2])
    assert (-x).tolist() == [1, -2] and (+x) is x and abs(x).tolist() == [1, 2] and (~x).tolist() == [0, -3]
    assert (~oarlock.tensor([True, False])).tolist() == [False, True]
    with pytest.raises((TypeError, ValueError)):
        ~oarlock.tensor([1.0])


def test_shape_words():
    x = oarlock.zeros((2, 3, 4))
    assert (x.ndim, x.size, x.nbytes, x.itemsize, x.strides) == (3, 24, 96, 4, (12, 4, 1))
    assert x.mT.shape == (2, 4, 3) and x[0].T.shape == (4, 3) and x.device == "cpu" and x.numel() == 24
    with pytest.raises(ValueError):
        x.T
    assert x.reshape(6, 4).shape == x.reshape((6, 4)).shape == x.view(-1, 4).shape == (6, 4)
    assert x.permute(2, 0, 1).shape == (4, 2, 3) and x.flatten().shape == (24,) and x.transpose(0, 2).shape == (4, 3, 2)
    assert x.sum(dim=1, keepdim=True).shape == x.sum(axis=1, keepdims=True).shape == x.sum(axes=[1], keepdims=True).shape == (2, 1, 4)


def test_moving_and_casting():
    x = oarlock.tensor([1.7])
    assert x.to("cpu").tolist() == x.tolist() and x.to(oarlock.int32).tolist() == [1] and x.to(dtype="float64").dtype == oarlock.float64
    assert x.int().dtype == oarlock.int32 and x.astype(np.float16).dtype == oarlock.float16
    with pytest.raises(ValueError, match="cpu"):
        x.to("nonsense:0")
    with pytest.raises(TypeError):
        x.to(dtype="float31")
    y = x.clone()
    y += 1
    assert x.tolist() != y.tolist() and copy.deepcopy(x).tolist() == x.tolist()


@pytest.mark.parametrize("values, text", [
    ([1, 2], "tensor([1, 2])"),
    ([1.0, 2.5], "tensor([1. , 2.5])"),
    ([[True], [False]], "tensor([[ True],\n        [False]])"),
    (1.5, "tensor(1.5)"),
    ([math.nan, math.inf], "tensor([nan, inf])"),
    ([], "tensor([], dtype=float32)"),
])
def test_prints_like_numpy(values, text):
    assert repr(oarlock.tensor(values)) == text


def test_prints_dtype_truncation_and_gradient():
    assert repr(oarlock.tensor([1, 2], dtype="int8")) == "tensor([1, 2], dtype=int8)"
    assert repr(oarlock.tensor([1.5], dtype="bfloat16")) == "tensor([1.5], dtype=bfloat16)"
    assert repr(oarlock.zeros((2, 0))) == "tensor([], shape=(2, 0), dtype=float32)"
    assert repr(oarlock.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"
    long = np.arange(2000)
    assert repr(oarlock.tensor(long)) == "tensor(" + np.array2string(long, separator=", ", prefix="tensor(", suffix=")") + ")"


def test_argument_errors_say_what_is_wrong():
    x = oarlock.ones((2, 3))
    for call, text in ((lambda: oarlock.add(x), "b is missing"), (lambda: oarlock.add(x, x, x), "takes 2 arguments"),
                       (lambda: oarlock.sum(x, axs=1), "no argument 'axs'"), (lambda: oarlock.sum(x, axis="a"), "axis is a str"),
                       (lambda: oarlock.add(x, b=x, a=x), "given twice"), (lambda: oarlock.sum(None), "x is a NoneType"),
                       (lambda: oarlock.concat(x), "list or tuple"), (lambda: oarlock.sum(x, keepdims="yes"), "True or False")):
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(ValueError, match=r"matmul.*\[2, 3\]") as caught:
        x @ x
    assert isinstance(caught.value, oarlock.Error) and caught.value.code == "invalid argument"
    assert isinstance(caught.value, oarlock.InvalidArgument) and isinstance(caught.value, RuntimeError)


def test_many_threads_read_one_tensor():
    x, failures = oarlock.arange(10000).to("float32"), []

    def work():
        for _ in range(50):
            if float((x * 2).sum()) != 99990000.0 or x[::-1][0].item() != 9999:
                failures.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_other_threads_run_during_long_calls():
    x = oarlock.ones((600, 600))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            done.wait(0.0005)
    t = threading.Thread(target=tick)
    t.start()
    before = len(ticks)
    x @ x  # some milliseconds at least
    during = len(ticks) - before
    done.set()
    t.join()
    assert during > 0
