"""Memory shared with NumPy and by DLPack, and how long it lives."""

import array
import gc
import pickle
import weakref

import numpy as np
import oarlock
import pytest

NUMPY_DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


def some(dtype, shape=(2, 3)):
    values = np.arange(np.prod(shape)).reshape(shape)
    return (values % 2 if dtype == "bool" else values).astype(dtype)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_arrays_are_shared_both_ways(dtype):
    a = some(dtype)
    for t in (oarlock.asarray(a), oarlock.from_numpy(a), oarlock.from_dlpack(a)):
        assert t.dtype.name == dtype and t.shape == (2, 3)
        np.testing.assert_array_equal(t.numpy(), a)
        assert t.numpy().dtype == a.dtype
        assert np.shares_memory(t.numpy(), a) and np.shares_memory(np.from_dlpack(t), a)
    t[1, 2] = 1
    assert a[1, 2] == 1
    a[0, 0] = 1
    assert t[0, 0].item() == 1
    assert not np.shares_memory(oarlock.tensor(a).numpy(), a)


@pytest.mark.parametrize("key", [np.s_[::2], np.s_[:, 1:], np.s_[:, ::2], np.s_[1], np.s_[..., None]])
def test_strided_arrays_are_shared(key):
    a = some("float32", (4, 6))[key]
    t = oarlock.from_numpy(a)
    np.testing.assert_array_equal((t + 0).numpy(), a)
    assert np.shares_memory(t.numpy(), a)
    np.testing.assert_array_equal(oarlock.from_numpy(a.T).numpy(), a.T)


def test_what_cannot_be_shared_is_copied_or_said():
    a = some("float32")
    frozen = a.copy()
    frozen.flags.writeable = False
    swapped = a.astype(">f4")
    misaligned = np.zeros(25, "u1")[1:].view("f4") if np.zeros(25, "u1").ctypes.data % 4 == 0 else None
    for b in (a[::-1], a[:, ::-2], frozen, swapped, np.broadcast_to(a, (2, 2, 3)), misaligned):
        if b is None:
            continue
        np.testing.assert_array_equal(oarlock.asarray(b).numpy(), b)
        np.testing.assert_array_equal(oarlock.tensor(b).numpy(), b)
        with pytest.raises(ValueError, match="oarlock.tensor"):
            oarlock.from_numpy(b)
        with pytest.raises(ValueError):
            oarlock.asarray(b, copy=False)
    c = np.array([1 + 2j], dtype=">c8")
    np.testing.assert_array_equal(oarlock.asarray(c).numpy(), c)


@pytest.mark.parametrize("bad", [np.array([object()]), np.array(["a"]), np.array(["2020-01-01"], dtype="M8[D]"),
                                 np.zeros(2, dtype="f4,i4"), np.zeros(2, dtype="g")])
def test_arrays_of_other_things_are_type_errors(bad):
    for f in (oarlock.asarray, oarlock.tensor, oarlock.from_numpy):
        with pytest.raises(TypeError):
            f(bad)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (0, 0, 2)])
def test_arrays_without_elements(shape):
    a = np.zeros(shape, dtype="float32")
    for t in (oarlock.asarray(a), oarlock.from_dlpack(a), oarlock.tensor(a)):
        assert t.shape == shape and t.numpy().shape == shape and np.from_dlpack(t).shape == shape
    assert oarlock.tensor(np.zeros(shape)[::-1]).shape == shape


def test_arrays_of_rank_0_and_more_than_16():
    assert oarlock.asarray(np.array(5.0)).shape == () and np.asarray(oarlock.tensor(5)).shape == ()
    with pytest.raises(ValueError, match="16"):
        oarlock.asarray(np.zeros((1,) * 17))


def test_the_array_lives_as_long_as_the_tensor():
    a = np.ones(1000, dtype=np.float32)
    gone = weakref.ref(a)
    t = oarlock.from_numpy(a)
    v = t[10:20]
    del a, t
    gc.collect()
    assert gone() is not None and float(v.sum()) == 10
    del v
    gc.collect()
    assert gone() is None


def test_the_tensor_lives_as_long_as_the_array():
    t = oarlock.full((1000,), 3.0)
    gone = weakref.ref(t)
    a, d, m = t.numpy(), np.from_dlpack(t), memoryview(t)
    del t
    gc.collect()
    assert a.sum() == 3000 and d.sum() == 3000 and m[0] == 3.0
    del a, m
    gc.collect()
    assert d.sum() == 3000
    assert gone() is None


def test_an_unused_capsule_frees_its_tensor():
    before = oarlock.memory_stats().in_use
    t = oarlock.zeros((1 << 20,))
    capsules = [t.__dlpack__(), t.__dlpack__(max_version=(1, 0))]
    assert "versioned" in repr(capsules[1]) and "versioned" not in repr(capsules[0])
    del t
    gc.collect()
    assert oarlock.memory_stats().in_use >= before + (4 << 20)
    capsules.clear()
    gc.collect()
    assert oarlock.memory_stats().in_use < before + (4 << 20)


def test_a_capsule_is_used_once():
    c = oarlock.tensor([1.0]).__dlpack__()
    assert oarlock.from_dlpack(c).tolist() == [1.0]
    with pytest.raises(ValueError, match="used"):
        oarlock.from_dlpack(c)


def test_dlpack_of_numpy_views_and_read_only():
    a = np.arange(12, dtype=np.int64).reshape(3, 4)
    for v in (a[::-1], a[:, ::-2], a.T, a[1:, ::2]):
        np.testing.assert_array_equal(oarlock.from_dlpack(v).numpy(), v)
    frozen = a.copy()
    frozen.flags.writeable = False
    try:
        t = oarlock.from_dlpack(frozen)
    except BufferError:
        return  # NumPy 1 refuses
    t[0, 0] = 99
    assert frozen[0, 0] == 0


def test_bfloat16_and_small_floats():
    t = oarlock.tensor([1.5, -2.0], dtype="bfloat16")
    back = oarlock.from_dlpack(t)
    assert back.dtype == oarlock.bfloat16 and back.tolist() == [1.5, -2.0]
    t[0] = 8
    assert back[0].item() == 8
    with pytest.raises(BufferError):
        memoryview(t)
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match="ml_dtypes"):
            t.numpy()
        return
    assert t.numpy().dtype == ml_dtypes.bfloat16
    shared = oarlock.asarray(t.numpy())
    assert shared.dtype == oarlock.bfloat16 and shared.data_ptr() == t.data_ptr()


def test_gradients_stay_whole():
    x = oarlock.tensor([1.0, 2.0], requires_grad=True)
    assert not x.numpy().flags.writeable and x.detach().numpy().flags.writeable
    with pytest.raises(BufferError):
        x.__dlpack__()


def test_other_exporters_of_memory():
    data = array.array("d", [1, 2, 3])
    t = oarlock.asarray(data)
    assert t.dtype == oarlock.float64
    t[0] = 9
    assert data[0] == 9
    assert oarlock.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]
    assert bytes(memoryview(oarlock.tensor([1, 2], dtype="uint8"))) == b"\x01\x02"


class WithArray:
    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2], dtype=np.int16)


def test_objects_with_the_array_protocol():
    assert oarlock.asarray(WithArray()).dtype == oarlock.int16
    assert oarlock.add(oarlock.tensor([1, 1], dtype="int16"), WithArray()).tolist() == [2, 3]


def test_array_protocol_of_tensors():
    t = oarlock.tensor([[1, 2], [3, 4]])
    assert np.asarray(t, dtype="float32").dtype == np.float32
    assert np.array(t).sum() == 10 and np.add(np.ones(2), np.asarray(t)).shape == (2, 2)
    assert np.shares_memory(np.asarray(t), t.numpy())


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + ["bfloat16", "float8_e4m3fn"])
def test_pickles(dtype):
    t = oarlock.tensor([[0, 1], [1, 0]]).to(dtype)
    back = pickle.loads(pickle.dumps(t))
    assert back.dtype == t.dtype and back.shape == t.shape and back.tolist() == t.tolist()
    w = oarlock.tensor([1.0], requires_grad=True)
    assert pickle.loads(pickle.dumps(w)).requires_grad and pickle.loads(pickle.dumps(oarlock.float32)) is oarlock.float32
    assert pickle.loads(pickle.dumps(oarlock.Device("cpu"))) == oarlock.Device("cpu")
