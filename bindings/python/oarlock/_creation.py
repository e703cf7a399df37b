"""Tensors of numbers that follow a rule."""

from . import _core
from ._core import Tensor, asarray, cast, full, random_uniform, tensor

# Where numbers are made in float64, which not every device has.
_host = _core.Device("cpu")


def _placed(t, device):
    return t.to(_core.get_device() if device is None else device)


def _filled(shape, value, dtype, device):
    """Shapes as one argument, or as several; NumPy's dtype in the second place."""
    if len(shape) == 2 and (isinstance(shape[1], (str, type)) or hasattr(shape[1], "itemsize")):
        shape, dtype = shape[:1], shape[1]
    return full(_sizes(shape), value, dtype or "float32", device)


def _sizes(shape):
    return shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape


def zeros(*shape, dtype="float32", device=None):
    """Zeros of a shape.

    >>> oarlock.zeros((2, 2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return _filled(shape, 0, dtype, device)


def ones(*shape, dtype="float32", device=None):
    """Ones of a shape.

    >>> oarlock.ones(2, dtype=oarlock.int32).tolist()
    [1, 1]
    """
    return _filled(shape, 1, dtype, device)


def _like(x, value, dtype, device):
    return full(x.shape, value, dtype or x.dtype, device or x.device)


def zeros_like(x, dtype=None, device=None):
    """Zeros in the shape, dtype and place of x.

    >>> oarlock.zeros_like(oarlock.tensor([1, 2])).tolist()
    [0, 0]
    """
    return _like(x, 0, dtype, device)


def ones_like(x, dtype=None, device=None):
    """Ones in the shape, dtype and place of x.

    >>> oarlock.ones_like(oarlock.tensor([3, 4])).tolist()
    [1, 1]
    """
    return _like(x, 1, dtype, device)


def empty_like(x, dtype=None, device=None):
    """A tensor in the shape, dtype and place of x whose elements are not set.

    >>> oarlock.empty_like(oarlock.zeros((2, 3))).shape
    (2, 3)
    """
    return _core.empty(x.shape, dtype or x.dtype, device or x.device)


def arange(start, stop=None, step=1, dtype=None, device=None):
    """start, start + step, ... before stop; with one argument, 0 to before it.

    >>> oarlock.arange(3).tolist()
    [0, 1, 2]
    >>> oarlock.arange(1, 2, 0.25).tolist()
    [1.0, 1.25, 1.5, 1.75]
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step is 0. Give a step that is not 0.")
    whole = all(isinstance(v, int) or (hasattr(v, "__index__") and not hasattr(v, "__array__")) for v in (start, stop, step))
    if dtype is None:
        dtype = _core.int64 if whole else _core.float32
    if whole:
        count = max(0, -((start - stop) // step) if step > 0 else -((stop - start) // -step))
        out = _core.op_arange(int(count), "int64")
        if step != 1:
            out = out * int(step)
        if start != 0:
            out = out + int(start)
        return _placed(cast(out, dtype), device)
    import math
    count = max(0, math.ceil((stop - start) / step))
    with _host:
        out = cast(_core.op_arange(count, "float64") * float(step) + float(start), dtype)
    return _placed(out, device)


def linspace(start, stop, num, dtype=None, device=None, endpoint=True):
    """num numbers at equal steps from start to stop.

    >>> oarlock.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if num < 0:
        raise ValueError(f"linspace: num is {num}. Give 0 or more.")
    parts = num - 1 if endpoint else num
    with _host:
        out = _core.op_arange(num, "float64") * ((stop - start) / parts if parts > 0 else 0.0) + float(start)
        if endpoint and num > 1:
            out[-1] = float(stop)
        out = cast(out, dtype or "float32")
    return _placed(out, device)


def eye(n_rows, n_cols=None, k=0, dtype="float32", device=None):
    """Ones on the diagonal that lies k above the main one, zeros elsewhere.

    >>> oarlock.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n_cols = n_rows if n_cols is None else n_cols
    rows = _core.op_arange(n_rows, "int64").reshape((n_rows, 1))
    cols = _core.op_arange(n_cols, "int64")
    return _placed(cast(rows + k == cols, dtype), device)


def to_tensor(data, dtype=None, place=None, stop_gradient=True):
    """As tensor, by paddle's words.

    >>> oarlock.to_tensor([1.0], stop_gradient=False).requires_grad
    True
    """
    return tensor(data, dtype, place, requires_grad=not stop_gradient)


def set_seed(value):
    """Starts the random numbers of the process anew from a seed.

    >>> oarlock.set_seed(1)
    >>> a = oarlock.rand(2).tolist()
    >>> oarlock.set_seed(1)
    >>> a == oarlock.rand(2).tolist()
    True
    """
    _core.default_generator().set_seed(int(value) % 2**64)


manual_seed = set_seed
seed = set_seed


def _next():
    return _core.default_generator().next()


def uniform(shape, low=0.0, high=1.0, dtype="float32", device=None):
    """Random numbers, equally likely from low to below high.

    >>> bool(((oarlock.uniform((9,), 2, 3) >= 2)).to(oarlock.int32).sum() == 9)
    True
    """
    out = random_uniform(_next(), shape, dtype)
    if (low, high) != (0.0, 1.0):
        out = out * (high - low) + low
    return _placed(out, device)


def rand(*shape, dtype="float32", device=None):
    """Random numbers from 0 to below 1.

    >>> oarlock.rand(2, 3).shape
    (2, 3)
    """
    return uniform(_sizes(shape), dtype=dtype, device=device)


def normal(shape, mean=0.0, std=1.0, dtype="float32", device=None):
    """Normally distributed random numbers.

    >>> oarlock.normal((2, 3)).shape
    (2, 3)
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    out = _core._nn.initializer.Normal(float(mean), float(std))(shape, dtype)
    return _placed(out, device)


def randn(*shape, dtype="float32", device=None):
    """Random numbers of the standard normal distribution.

    >>> oarlock.randn(2, 3).shape
    (2, 3)
    """
    return normal(_sizes(shape), dtype=dtype, device=device)


def randint(low, high=None, shape=(1,), dtype="int64", device=None):
    """Random integers from low to below high.

    >>> oarlock.randint(0, 1, (3,)).tolist()
    [0, 0, 0]
    """
    if high is None:
        low, high = 0, low
    if high <= low:
        raise ValueError(f"randint: low is {low}, high {high}. Give a high above low.")
    with _host:
        u = random_uniform(_next(), shape, "float64")
        out = cast(u * float(high - low), dtype) + int(low)
    return _placed(out, device)
