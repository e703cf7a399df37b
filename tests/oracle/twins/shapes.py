"""Ops that create, move, select and write elements. All but the sums are exact."""

import numpy as np
import oarlock as o

from twin import Excluded, cases, expression, twin

from .reductions import axis, named


def move(op, name, call, **more):
    twin(op, name, call, **{"exact": True, **more})


def listed(first, rest):
    """torch takes sizes as one list or as many numbers."""
    return list(first) if isinstance(first, (tuple, list)) else [int(first), *[int(r) for r in rest]]


def parts_of(x, sizes, dim):
    return o.call_op("split", x, sizes=list(sizes), axis=axis(x, dim))


def chunk(x, chunks, dim=0):
    n = x.shape[axis(x, dim)]
    if n % chunks:
        raise Excluded("equal parts")
    return o.chunk(x, chunks, dim)


def split(x, size, dim=0):
    n = x.shape[axis(x, dim)]
    sizes = list(size) if isinstance(size, (tuple, list)) else [min(size, n - at) for at in range(0, n, size)] if size else [0]
    return parts_of(x, sizes, dim)


def concat(xs, dim=0):
    if all(isinstance(x, o.Tensor) for x in xs) and len({x.ndim for x in xs}) > 1 and any(x.shape == (0,) for x in xs):
        raise Excluded("legacy empty")
    return o.concat(list(xs), dim)


move("chunk", "chunk", chunk)
move("split", "split", split)
move("split", "split/list_args", split)
move("split", "split_with_sizes", split)
move("unstack", "unbind", lambda x, dim=0: o.unstack(x, axis(x, dim)))
move("concat", "cat", concat)
move("stack", "stack", lambda xs, dim=0: o.stack(list(xs), dim))
move("copy", "clone", lambda x, *, memory_format=None: o.copy(x))
move("expand", "expand", lambda x, shape: o.expand(x, list(shape)))
move("expand", "broadcast_to", lambda x, shape: o.expand(x, list(shape)))
move("sum_to", "sum_to_size", lambda x, *shape: o.sum_to(x, listed(shape[0], shape[1:]) if shape else []), exact=False, scale="absolute",
     dtypes=("float32", "float64", "int64"), note="torch widens smaller integers where it sums, and only there")


def flatten(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return o.flatten(x, start_dim, end_dim)


move("flatten", "flatten", flatten)
move("flip", "flip", lambda x, dims: o.flip(x, listed(dims, ())) if listed(dims, ()) else x)
move("flip", "fliplr", lambda x: o.flip(x, 1))
move("flip", "flipud", lambda x: o.flip(x, 0))
move("matrix_transpose", "mT", lambda x: o.matrix_transpose(x))
move("moveaxis", "movedim", lambda x, source, destination: o.moveaxis(x, source, destination))
move("permute", "permute", lambda x, dims: o.permute(x, list(dims)))
move("permute", "transpose", lambda x, a, b: o.permute(x, _swapped(x, a, b)))
move("reshape", "reshape", lambda x, shape: o.reshape(x, list(shape)))
move("reshape", "view", lambda x, *shape: o.reshape(x, listed(shape[0], shape[1:])))


def _swapped(x, a, b):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return order


def roll(x, shifts, dims=None):
    shifts = listed(shifts, ())
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        return o.reshape(o.call_op("roll", o.reshape(x, (-1,)), shifts=shifts, axes=[0])[0], x.shape) if x.size else x
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return o.call_op("roll", x, shifts=shifts, axes=listed(dims, ()))[0]


move("roll", "roll", roll)


def repeat_interleave(x, repeats, dim=None, *, output_size=None):
    if isinstance(repeats, o.Tensor):
        raise Excluded("tensor argument")
    return o.repeat(o.reshape(x, (-1,)), repeats, 0) if dim is None else o.repeat(x, repeats, axis(x, dim))


move("repeat", "repeat_interleave", repeat_interleave)
move("tile", "tile", lambda x, reps: o.tile(x, list(reps)))
move("tile", "repeat", lambda x, reps: o.tile(x, list(reps)))


def squeeze(x, dim=None):
    if x.ndim == 0 and dim not in (None, (), []):
        raise Excluded("axis of a scalar")
    dims = list(range(x.ndim)) if dim is None else listed(dim, ())
    return o.squeeze(x, [d for d in dims if x.shape[d] == 1])


ONLY_ONES = "torch lets other sizes stand; the Array API has an error there, so the adapter names the axes of size 1"
move("squeeze", "squeeze", squeeze, note=ONLY_ONES)
move("squeeze", "squeeze/multiple", squeeze, note=ONLY_ONES)
move("unsqueeze", "unsqueeze", lambda x, dim: o.unsqueeze(x, dim))
move("tril", "tril", lambda x, diagonal=0: o.tril(x, diagonal))
move("triu", "triu", lambda x, diagonal=0: o.triu(x, diagonal))
move("diagonal", "diagonal", lambda x, offset=0, dim1=0, dim2=1: o.diagonal(x, offset, dim1, dim2))
move("diagonal", "linalg.diagonal", lambda x, *, offset=0, dim1=-2, dim2=-1: o.diagonal(x, offset, dim1, dim2))
move("diag", "diag", lambda x, diagonal=0: o.diag(x, diagonal) if x.ndim == 1 else o.diagonal(x, diagonal),
     accepts={"1D or 2D": "axes before them are a batch"})


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    out = o.diag(x, offset)
    return o.moveaxis(out, [-2, -1], [dim1, dim2])


move("diag", "diag_embed", diag_embed)
move("meshgrid", "meshgrid/variadic_tensors", lambda *xs, indexing="ij": o.meshgrid(list(xs), indexing))
move("meshgrid", "meshgrid/list_of_tensors", lambda xs, *, indexing="ij": o.meshgrid(list(xs), indexing))


def windows(x, dimension, size, step):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return o.windows(x, size, dimension, step)


move("windows", "unfold", windows, accepts={})


def narrow(x, dim, start, length):
    if isinstance(start, o.Tensor):
        raise Excluded("tensor argument")
    a = axis(o.moveaxis(x, dim, dim), dim) % x.ndim
    if start < 0:
        start += x.shape[a]
    starts, sizes = [0] * x.ndim, list(x.shape)
    starts[a], sizes[a] = start, length
    return o.slice(x, starts, sizes)


move("slice", "narrow", narrow)
move("slice", "select", lambda x, dim, index: o.squeeze(narrow(x, dim, index, 1), dim))
move("strided_slice", "slice", lambda x, dim=0, start=None, end=None, step=1: o.strided_slice(
    x, [0 if start is None else start], [2**63 - 1 if end is None else end], [dim], [step]))
move("masked_select", "masked_select", lambda x, mask: o.masked_select(x, mask))

# Padding: torch counts from the last axis.


def _padding(x, pad):
    if any(p < 0 for p in pad):
        raise Excluded("negative padding")
    n = len(pad) // 2
    before, after = [0] * x.ndim, [0] * x.ndim
    for i in range(n):
        before[x.ndim - 1 - i], after[x.ndim - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return before, after


move("pad", "nn.functional.pad/constant", lambda x, pad, mode="constant", value=None: o.pad(x, *_padding(x, pad), value=value or 0.0))
move("pad", "constant_pad_nd", lambda x, pad, value=0: o.pad(x, *_padding(x, pad), value=float(value)))
REPEATED = "B5 of the known cases: Oarlock reflects again and again where torch stops"
for mode in ("reflect", "replicate", "circular"):
    move("pad_edges", f"nn.functional.pad/{mode}", lambda x, pad, mode: o.pad_edges(x, *_padding(x, pad), mode=mode))
move("pad_edges", "nn.functional.pad/replicate_negative", lambda x, pad, mode: o.pad_edges(x, *_padding(x, pad), mode=mode))

# Indices.


def index_select(x, dim, index):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return o.take(x, o.reshape(index, (-1,)), dim)


def rows(x, dim, index):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return o.moveaxis(o.gather(o.moveaxis(x, dim, 0), o.reshape(index, (-1,))), 0, dim)


move("take", "index_select", index_select)
move("gather", "index_select", rows, note="along the axis brought to the front")


def embedding(weight, index, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        raise Excluded("argument", "max_norm")
    if scale_grad_by_freq or sparse:
        raise Excluded("argument", "scale_grad_by_freq, sparse")
    if padding_idx is not None:
        raise Excluded("padding row")
    return o.embedding(index, weight)


move("embedding", "nn.functional.embedding", embedding, accepts={"must be 2-D": "rows of any rank"})


def one_hot(x, num_classes=-1):
    return o.one_hot(x, int(o.max(x).item()) + 1 if num_classes < 0 else num_classes, "int64")


move("one_hot", "nn.functional.one_hot", one_hot)


def gather(x, dim, index, *, sparse_grad=False):
    if x.ndim == 0 or index.ndim == 0:
        raise Excluded("axis of a scalar")
    if x.ndim != index.ndim and not index.size:
        raise Excluded("rank")
    return o.take_along_axis(x, index, dim)


def take_along_dim(x, index, dim=None):
    if dim is None:
        return o.take_along_axis(o.reshape(x, (-1,)), o.reshape(index, (-1,)), 0)
    a = dim % x.ndim
    shape = np.broadcast_shapes(*[tuple(s for i, s in enumerate(t.shape) if i != a) for t in (x, index)])
    whole = lambda t: o.expand(t, [*shape[:a], t.shape[a], *shape[a:]])
    return o.take_along_axis(whole(x), whole(index), a)


move("take_along_axis", "gather", gather)
move("take_along_axis", "take_along_dim", take_along_dim)

REDUCTIONS = {None: "assign", "add": "add", "sum": "add", "multiply": "multiply", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def scatter(x, dim, index, src=None, *, value=None, reduce=None):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    src = value if src is None else src
    if not isinstance(src, o.Tensor):
        src = o.full(index.shape, src, dtype=x.dtype)
    elif src.ndim:
        src = o.slice(src, [0] * src.ndim, list(index.shape))
    return o.put_along_axis(x, index, src, dim, REDUCTIONS[reduce])


def scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    if not include_self:
        raise Excluded("include_self")
    if reduce == "mean":
        raise Excluded("mean reduction")
    return scatter(x, dim, index, src, reduce=reduce)


move("put_along_axis", "scatter", scatter, exact=False, scale="absolute")
move("put_along_axis", "scatter_add", lambda x, dim, index, src: scatter(x, dim, index, src, reduce="add"), exact=False, scale="absolute")
for reduce in ("sum", "prod", "mean", "amin", "amax"):
    move("put_along_axis", f"scatter_reduce/{reduce}", scatter_reduce, exact=False, scale="absolute")


def index_add(x, dim, index, source, *, alpha=1):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    if alpha < 0 and named(x.dtype) == "uint8":
        raise Excluded("alpha")
    return o.index_add(x, o.reshape(index, (-1,)), source if alpha == 1 else o.multiply(source, alpha), dim)


def scatter_rows(x, dim, index, source, *, alpha=1):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    if alpha < 0 and named(x.dtype) == "uint8":
        raise Excluded("alpha")
    source = o.moveaxis(source if alpha == 1 else o.multiply(source, alpha), dim, 0)
    return o.moveaxis(o.scatter_add(o.moveaxis(x, dim, 0), o.reshape(index, (-1,)), source), 0, dim)


move("index_add", "index_add", index_add, exact=False, scale="absolute")
move("scatter_add", "index_add", scatter_rows, exact=False, scale="absolute", note="along the axis brought to the front")


def _nd(updates):
    def samples(dtype, requires_grad):
        import torch
        from torch.testing import make_tensor
        from torch.testing._internal.opinfo.core import SampleInput
        for shape, index in (((5,), [[0], [3], [-1]]), ((3, 4), [[0, 1], [2, 3]]), ((3, 4), [[2], [0]]), ((2, 3, 2), [[[0, 1]], [[1, -1]]]),
                             ((3, 2), [[], []])):
            x = make_tensor(shape, dtype=dtype, device="cpu", requires_grad=requires_grad)
            index = torch.tensor(index, dtype=torch.int64)
            if not updates:
                yield SampleInput(x, index)
                continue
            u = make_tensor(tuple(index.shape[:-1]) + shape[index.shape[-1]:], dtype=dtype, device="cpu", requires_grad=requires_grad)
            for reduction in ("assign", "add"):
                if index.shape[-1]:
                    yield SampleInput(x, index, u, reduction)
    return samples


def _gather_nd(x, index):
    if not index.shape[-1]:
        return x.expand(tuple(index.shape[:-1]) + tuple(x.shape))
    return x[tuple(index.unbind(-1))]


expression("gather_nd", "torch x[i, j, ...]", lambda x, index: o.gather_nd(x, index), _gather_nd, _nd(False), exact=True)
expression("scatter_nd", "torch.index_put", lambda x, index, u, reduction: o.scatter_nd(x, index, u, reduction),
           lambda x, index, u, reduction: x.index_put(tuple(index.unbind(-1)), u, accumulate=reduction == "add"), _nd(True),
           scale="absolute", ulps=1, dtypes=("float32", "float64", "int64", "int32"))

# Casts: one OpInfo for each target.
for theirs, ours in {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32", "long": "int64",
                     "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool"}.items():
    def cast(x, *, memory_format=None, to=ours):
        if to in ("int8", "uint8", "int16", "int32", "int64") and "float" in named(x.dtype):
            values = np.asarray(x.detach())
            limits = np.iinfo(to)
            if not np.all((values > limits.min - 1) & (values < limits.max + 1)):
                raise Excluded("out of range cast")
        return o.cast(x, to)
    move("cast", theirs, cast, special=False)

# Creation.


def full(shape, value, *, dtype=None, device=None, **more):
    return o.call_op("full", shape=list(shape), value=float(value), dtype=named(dtype or "float32"))[0]


move("full", "full", full)


def full_like(x, value, *, dtype=None, device=None, **more):
    x = x if dtype is None else o.cast(x, named(dtype))
    if named(x.dtype) == "uint8" and value < 0:
        raise Excluded("out of range cast")
    return o.full_like(x, float(value))


move("full_like", "full_like", full_like)
move("eye", "eye", lambda n, m=None, *, dtype=None, device=None, **more: o.call_op(
    "eye", rows=n, **({} if m is None else {"columns": m}), dtype=named(dtype or "float32"))[0])
twin("linspace", "linspace", lambda start, end, steps, *, dtype=None, device=None, **more: o.call_op(
    "linspace", start=float(start), stop=float(end), num=steps, dtype=named(dtype or "float32"))[0], scale="largest", dtypes=("float32", "float64"))


def _lengths():
    for length in (0, 1, 5, 33):
        for dtype in ("int64", "int32", "float32", "float64", "uint8"):
            yield o.op_arange(length, dtype), np.arange(length, dtype=dtype), 0
            yield o.call_op("full", shape=[length, 2], value=3.0, dtype=dtype)[0], np.full((length, 2), 3, dtype), 0


cases("arange", "numpy.arange", _lengths)


def _writes():
    for dtype in ("float32", "float64", "int32", "bool"):
        value = np.arange(12).reshape(3, 4).astype(dtype)
        target = o.tensor(np.zeros((3, 4), dtype))
        o.assign(target, o.tensor(value))
        yield target, value, 0
        if dtype != "bool":
            o.accumulate(target, o.tensor(value))
            yield target, value + value, 0
        whole = o.tensor(np.zeros((8, 6), dtype))
        o.assign(whole[:, :4], o.tensor(np.ones((8, 4), dtype)))
        want = np.zeros((8, 6), dtype)
        want[:, :4] = 1
        yield whole, want, 0


cases("assign", "numpy, x[...] = value", _writes, note="a view's own elements change, the others stay")


def _accumulated():
    for dtype, step in (("float32", 0.1), ("float64", 0.1), ("int8", 100), ("uint8", 200)):
        a, b = np.full((5, 3), step, dtype), np.full((5, 3), step, dtype)
        target = o.tensor(a)
        o.accumulate(target, o.tensor(b))
        yield target, a + b, 0


cases("accumulate", "numpy, x += value", _accumulated)
cases("dim_value", "the number itself", lambda: ((o.dim_value(n, d), np.asarray(n, d), 0) for n in (0, 7, 10**6) for d in ("int64", "int32")))
cases("transfer", "the same elements", lambda: ((o.transfer(o.tensor(a), 0), a, 0) for a in (
    np.arange(6.0).reshape(2, 3), np.zeros((0, 2), "int32"), np.asarray(True))))
