"""Functions of the Python Array API that are compositions of ops or other names of them."""

import builtins
import math

from . import _core
from ._core import Tensor, asarray, concat, expand, permute, reshape, unsqueeze

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None


def _op(*names):
    """The first of the names that the op table has."""
    return next((getattr(_core, n) for n in names if hasattr(_core, n)), None)


matmul, mean, where = _core.matmul, _core.mean, _core.where
acos, acosh, asin, asinh = _op("acos"), _op("acosh"), _op("asin"), _op("asinh")
atan, atan2, atanh, pow, prod = _op("atan"), _op("atan2"), _op("atanh"), _op("power", "pow"), _op("product", "prod")
concatenate = cat = concat
permute_dims = permute


def _axis(axis, rank, where):
    if not -rank <= axis < rank:
        raise IndexError(f"{where}: axis {axis} of a tensor with {rank} axes. Give {-rank} to {rank - 1}.")
    return axis % rank


def _axes(axis, rank, where):
    return [_axis(a, rank, where) for a in ([axis] if isinstance(axis, int) else axis)]


def astype(x, dtype, copy=True, device=None):
    """x in a dtype.

    >>> oarlock.astype(oarlock.tensor([1.7]), oarlock.int32).tolist()
    [1]
    """
    out = x.to(dtype)
    return out.clone() if copy and out is x else out


def item(x):
    """The one element as a Python number.

    >>> oarlock.item(oarlock.tensor(5))
    5
    """
    return x.item()


def numel(x):
    """Number of elements.

    >>> oarlock.numel(oarlock.zeros((2, 3)))
    6
    """
    return x.size


def expand_dims(x, axis=0):
    """x with an axis of 1 at a place.

    >>> oarlock.expand_dims(oarlock.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    return unsqueeze(x, axis)


def broadcast_to(x, shape):
    """x repeated to a shape, a view.

    >>> oarlock.broadcast_to(oarlock.tensor([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return expand(x, shape)


def broadcast_arrays(*arrays):
    """The tensors, repeated to one shape.

    >>> [t.shape for t in oarlock.broadcast_arrays(oarlock.zeros((2, 1)), oarlock.zeros((3,)))]
    [(2, 3), (2, 3)]
    """
    rank = builtins.max((a.ndim for a in arrays), default=0)
    shape = []
    for i in range(rank):
        sizes = {a.shape[i - rank + a.ndim] for a in arrays if i - rank + a.ndim >= 0} - {1}
        if len(sizes) > 1:
            raise ValueError(f"broadcast_arrays: the shapes {', '.join(str(a.shape) for a in arrays)} do not broadcast.")
        shape.append(sizes.pop() if sizes else 1)
    return [expand(a, tuple(shape)) for a in arrays]


def split(x, sections, axis=0):
    """Parts of x along an axis: a number of equal ones, or their sizes.

    >>> [t.tolist() for t in oarlock.split(oarlock.tensor([1, 2, 3, 4]), 2)]
    [[1, 2], [3, 4]]
    """
    axis = _axis(axis, x.ndim, "split")
    n = x.shape[axis]
    if isinstance(sections, int):
        if sections < 1 or n % sections:
            raise ValueError(f"split: axis {axis} has {n} entries, which {sections} parts do not divide. Give the parts' sizes.")
        sections = [n // sections] * sections
    sizes = list(sections)
    if -1 in sizes:
        sizes[sizes.index(-1)] = n - builtins.sum(s for s in sizes if s != -1)
    if builtins.sum(sizes) != n or builtins.min(sizes, default=0) < 0:
        raise ValueError(f"split: the sizes {sizes} make {builtins.sum(sizes)}, axis {axis} has {n} entries.")
    parts, at = [], 0
    for size in sizes:
        parts.append(x[(builtins.slice(None),) * axis + (builtins.slice(at, at + size),)])
        at += size
    return tuple(parts)


def roll(x, shift, axis=None):
    """x with its entries moved along the axes; what leaves at the end comes in at the start.

    >>> oarlock.roll(oarlock.tensor([1, 2, 3]), 1).tolist()
    [3, 1, 2]
    """
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), x.shape) if x.size else x
    axes = _axes(axis, x.ndim, "roll")
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    for a, s in zip(axes, shifts):
        n = x.shape[a]
        if n and s % n:
            before = (builtins.slice(None),) * a
            x = concat([x[before + (builtins.slice(n - s % n, None),)], x[before + (builtins.slice(None, n - s % n),)]], a)
    return x


def swapaxes(x, axis1, axis2):
    """x with two axes swapped.

    >>> oarlock.swapaxes(oarlock.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    order = list(range(x.ndim))
    a, b = _axis(axis1, x.ndim, "swapaxes"), _axis(axis2, x.ndim, "swapaxes")
    order[a], order[b] = b, a
    return permute(x, order)


def transpose(x, *axes):
    """x with two axes swapped, or with all in a new order.

    >>> oarlock.transpose(oarlock.zeros((2, 3)), 0, 1).shape
    (3, 2)
    >>> oarlock.transpose(oarlock.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    if len(axes) == 1 and not isinstance(axes[0], int):
        return permute(x, axes[0])
    if len(axes) == 2:
        return swapaxes(x, *axes)
    return permute(x, axes) if axes else permute(x, tuple(range(x.ndim))[::-1])


def take_rows(x, index):
    """Rows of x by a list of indices; negative ones count from the end.

    >>> oarlock.take_rows(oarlock.tensor([[1], [2], [3]]), [-1, 0]).tolist()
    [[3], [1]]
    """
    return _core.gather(x, index)


# -- dtypes
_KINDS = {"bool": ("bool",), "signed integer": ("int8", "int16", "int32", "int64"),
          "unsigned integer": ("uint8", "uint16", "uint32", "uint64"), "real floating": ("float16", "bfloat16", "float32", "float64"),
          "complex floating": ("complex64", "complex128")}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


def isdtype(dtype, kind):
    """Whether a dtype is of a kind: 'bool', 'integral', 'real floating', 'numeric', ..., a dtype, or a tuple of these.

    >>> oarlock.isdtype(oarlock.float16, "real floating")
    True
    """
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: there is no kind '{kind}'. There are {', '.join(_KINDS)}.")
        return dtype.name in _KINDS[kind]
    return dtype == kind


def result_type(*arrays_and_dtypes):
    """The dtype that the operands of an op are promoted to.

    >>> oarlock.result_type(oarlock.int8, oarlock.uint8)
    oarlock.int16
    """
    found = None
    for a in arrays_and_dtypes:
        if isinstance(a, (bool, int, float)):
            continue
        d = a.dtype if isinstance(a, Tensor) else a
        found = d if found is None else _core.promoted(found, d)
    if found is None:
        raise ValueError("result_type: numbers alone have no dtype. Give a tensor or a dtype.")
    for a in arrays_and_dtypes:
        if isinstance(a, float) and not isdtype(found, ("real floating", "complex floating")):
            found = _core.float32
        elif isinstance(a, int) and not isinstance(a, bool) and found.name == "bool":
            found = _core.int64
    return found


def can_cast(from_, to):
    """Whether promotion alone leads from one dtype to another.

    >>> oarlock.can_cast(oarlock.int8, oarlock.int16), oarlock.can_cast(oarlock.float32, oarlock.int8)
    (True, False)
    """
    try:
        return _core.promoted(from_.dtype if isinstance(from_, Tensor) else from_, to) == to
    except TypeError:
        return False


class finfo:
    """The limits of a float dtype.

    >>> oarlock.finfo(oarlock.float32).eps
    1.1920928955078125e-07
    """

    _BITS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}

    def __init__(self, dtype):
        self.dtype = dtype.dtype if isinstance(dtype, Tensor) else _core.as_dtype(dtype)
        if self.dtype.name not in self._BITS:
            raise TypeError(f"finfo: {self.dtype.name} is no float. Use iinfo.")
        exponent, fraction = self._BITS[self.dtype.name]
        bias = 2 ** (exponent - 1) - 1
        self.bits = self.dtype.bits
        self.eps = 2.0 ** -fraction
        self.max = (2.0 - self.eps) * 2.0 ** bias
        self.min = -self.max
        self.smallest_normal = 2.0 ** (1 - bias)


class iinfo:
    """The limits of an integer dtype.

    >>> oarlock.iinfo(oarlock.int8).max
    127
    """

    def __init__(self, dtype):
        self.dtype = dtype.dtype if isinstance(dtype, Tensor) else _core.as_dtype(dtype)
        if not isdtype(self.dtype, "integral"):
            raise TypeError(f"iinfo: {self.dtype.name} is no integer. Use finfo.")
        self.bits = self.dtype.bits
        signed = isdtype(self.dtype, "signed integer")
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0
