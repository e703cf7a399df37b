"""x[key] and x[key] = value against NumPy, by hand and at random."""

import numpy as np
import oarlock
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

BASE = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)

KEYS = [
    0, -1, (1, 2), (1, -1, 0, 4), ..., (..., 0), (0, ...), (0, ..., 1), None, (None, 0), (0, None, 1), (..., None),
    slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), slice(3, 0, -2), slice(5, 9), slice(-9, 2),
    (slice(None), slice(None, None, -1)), (slice(1, 1), slice(None)), (slice(None, None, -2), 0, slice(3, None, -1), None),
    [0, 1, 0], ([0, 1], [2, 0]), (slice(None), [2, 0, 1]), (slice(None), [[0, 1], [2, 0]]), (0, slice(None), [1, 3]),
    (slice(None), [0, 1], [1, 3]), ([0, 1], slice(None), [1, 3]), ([0, 1], slice(None), slice(None), [1, 3]),
    (slice(None), [0, 1], slice(None), [1, 3]), ([0], ..., [1]), (slice(None), [0], ..., [1], 0), ([[0], [1]], [[0, 2]]),
    (0, [0, 1]), ([0, 1], 0), (None, [0, 1]), ([0, 1], None, [1, 2]), (slice(None), None, [0, 1]), (..., [0, 1]),
    (..., [0, 1], [1, 2]), ([-1, -2],), [], (slice(None), []), np.array([1, 0]), np.array(1), np.int64(1),
    (np.array([True, False]),), (slice(None), np.array([True, False, True])), BASE > 50, BASE < 0,
    (BASE[:, :, 0, 0] > 30,), (slice(None), BASE[0, :, :, 0] > 20), (0, np.array([True, False, True]), [1, 2]),
    (np.array([True, True]), [0, 2]), True, False, (True, 0), (0, True), (slice(None), True, [0, 1]), (..., np.array([True] * 5)),
    (slice(None), slice(1, 3), [0, 1], slice(None, None, -1)), ([1, 0], slice(0, 2), None, [0, 1, ][0:1]),
]


def ours(key):
    """Arrays in the key as tensors every second time, so that both are tried."""
    if isinstance(key, tuple):
        return tuple(oarlock.tensor(k) if isinstance(k, np.ndarray) and k.ndim else k for k in key)
    return key


def as_numpy(key):
    # NumPy reads an empty list as floats in a tuple.
    fix = lambda k: np.array(k, dtype=np.int64) if isinstance(k, list) and not k else k
    return tuple(fix(k) for k in key) if isinstance(key, tuple) else fix(key)


@pytest.mark.parametrize("key", KEYS, ids=[str(i) for i in range(len(KEYS))])
def test_reads_what_numpy_reads(key):
    expected = BASE[as_numpy(key)]
    found = oarlock.tensor(BASE)[ours(key)]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("key", KEYS, ids=[str(i) for i in range(len(KEYS))])
def test_writes_what_numpy_writes(key):
    expected, found = BASE.copy(), oarlock.tensor(BASE)
    value = -np.arange(1, expected[as_numpy(key)].size + 1, dtype=np.float32).reshape(expected[as_numpy(key)].shape)
    expected[as_numpy(key)] = value
    found[ours(key)] = value
    np.testing.assert_array_equal(found.numpy(), expected)
    expected[as_numpy(key)] = 7
    found[ours(key)] = 7
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("key", KEYS, ids=[str(i) for i in range(len(KEYS))])
def test_gradient_counts_how_often_an_element_was_read(key):
    expected = np.zeros_like(BASE)
    np.add.at(expected, as_numpy(key), 1)
    x = oarlock.tensor(BASE, requires_grad=True)
    x[ours(key)].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@st.composite
def cases(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=0, max_size=4)))
    rank = len(shape)
    joint = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    key, axis, ellipsis = [], 0, False
    while axis < rank and draw(st.integers(0, 5)) > 0:
        n = shape[axis]
        what = draw(st.sampled_from(["slice", "slice", "integer", "array", "none", "ellipsis", "mask"]))
        if what == "slice":
            end = st.none() | st.integers(-n - 2, n + 2)
            step = draw(st.none() | st.integers(-3, 3).filter(bool))
            key.append(slice(draw(end), draw(end), step))
            axis += 1
        elif what == "integer" and n:
            key.append(draw(st.integers(-n, n - 1)))
            axis += 1
        elif what == "array" and n:
            sizes = tuple(draw(st.sampled_from([s, 1])) for s in joint)
            count = int(np.prod(sizes))
            values = draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count))
            key.append(np.array(values, dtype=np.int64).reshape(sizes))
            axis += 1
        elif what == "mask" and not joint:
            bits = draw(st.lists(st.booleans(), min_size=n, max_size=n))
            key.append(np.array(bits, dtype=bool))
            joint = (int(np.sum(bits)),) if sum(bits) != 1 else ()
            if joint:
                return shape, tuple(key)  # further arrays would have to fit its count
            axis += 1
        elif what == "none" and sum(k is None for k in key) < 3:
            key.append(None)
        elif what == "ellipsis" and not ellipsis:
            ellipsis = True
            key.append(Ellipsis)
            axis += draw(st.integers(0, rank - axis))
            break
    return shape, tuple(key)


@settings(max_examples=300, deadline=None)
@given(cases())
def test_random_keys(case):
    shape, key = case
    base = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    expected, x = base[key], oarlock.tensor(base)
    found = x[key]
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found.numpy(), expected)
    written = base.copy()
    value = -1 - np.arange(np.size(expected), dtype=np.int64).reshape(np.shape(expected))
    written[key] = value
    x[key] = value
    np.testing.assert_array_equal(x.numpy(), written)


@pytest.mark.parametrize("key, kind", [
    (2, IndexError), ((0, 3), IndexError), ((0, 0, 0, 0, 0), IndexError), (1.5, IndexError), ("a", IndexError),
    ((..., ...), IndexError), ([0, 2], IndexError), ([[0, 1], [0]], ValueError), (np.array([1.0]), IndexError),
    (np.array([True, False, True]), IndexError), (([0, 1], [0, 1, 2]), IndexError), (slice(None, None, 0), ValueError),
    (2 ** 70, IndexError), (([0, 1], [0, 3]), IndexError),
])
def test_bad_keys_are_errors_of_the_kind_that_numpy_raises(key, kind):
    x = oarlock.tensor(BASE)
    with pytest.raises(kind):
        x[key]
    with pytest.raises(kind):
        x[key] = 0
    np.testing.assert_array_equal(x.numpy(), BASE)


def test_values_that_do_not_fit():
    x = oarlock.zeros((2, 3))
    with pytest.raises(ValueError, match=r"shape \[2\].*\[3\]"):
        x[0] = [1, 2]
    with pytest.raises(ValueError):
        x[[0, 1]] = oarlock.zeros((3, 3))
    with pytest.raises(TypeError):
        x[0] = "text"
    with pytest.raises(TypeError):
        del x[0]
    x[0] = oarlock.ones((1, 1, 3))  # leading axes of one entry are dropped, as NumPy does
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_views_share_and_copies_do_not():
    x = oarlock.zeros((3, 4))
    x[1][2] = 5
    assert x[1, 2].item() == 5
    row = x[0]
    row += 1
    assert x[0].tolist() == [1, 1, 1, 1]
    picked = x[[0]]
    picked += 1
    assert x[0].tolist() == [1, 1, 1, 1]
    x[:, ::2] = 9
    assert x.tolist() == [[9, 1, 9, 1], [9, 0, 9, 0], [9, 0, 9, 0]]


def test_overlapping_assignment_reads_first():
    x, a = oarlock.arange(6), np.arange(6)
    x[1:] = x[:-1]
    a[1:] = a[:-1].copy()
    assert x.tolist() == a.tolist()
    y = oarlock.arange(4)
    y[::-1] = y
    assert y.tolist() == [3, 2, 1, 0]


def test_assignment_is_recorded():
    v = oarlock.tensor([10.0, 20.0], requires_grad=True)
    w = oarlock.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 1
    x[[0, 2]] = v
    (x * oarlock.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.tolist() == [10, 2, 20]
    assert v.grad.tolist() == [1, 3] and w.grad.tolist() == [0, 2, 0]
    x = w * 1
    x[1:] = v[0]
    x.sum().backward()
    assert v.grad.tolist() == [3, 3]


def test_writes_that_a_record_would_not_see_are_errors():
    w = oarlock.tensor([[1.0, 2.0]], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        w[0, 0] = 5
    with pytest.raises(RuntimeError, match="view"):
        (w * 1)[0][0] = 5
    with oarlock.no_grad():
        w[0, 0] = 5
    assert w.tolist() == [[5, 2]]


def test_iteration_and_length():
    x = oarlock.tensor([[1, 2], [3, 4], [5, 6]])
    assert len(x) == 3 and [r.tolist() for r in x] == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(TypeError):
        len(oarlock.tensor(1))
    with pytest.raises(TypeError):
        iter(oarlock.tensor(1))
    assert 3 in x and 7 not in x
