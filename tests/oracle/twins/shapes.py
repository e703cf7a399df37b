"""Ops that move, select and surround elements. All but the sums are exact."""

import oarlock as o

from twin import Excluded, twin

from .reductions import axis


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
    sizes = (
        list(size)
        if isinstance(size, (tuple, list))
        else [min(size, n - at) for at in range(0, n, size)] if size else [0]
    )
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
move(
    "sum_to",
    "sum_to_size",
    lambda x, *shape: o.sum_to(x, listed(shape[0], shape[1:]) if shape else []),
    exact=False,
    scale="absolute",
    dtypes=("float32", "float64", "int64"),
    note="torch widens smaller integers where it sums, and only there",
)


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
move(
    "diag",
    "diag",
    lambda x, diagonal=0: o.diag(x, diagonal) if x.ndim == 1 else o.diagonal(x, diagonal),
    accepts={"1D or 2D": "axes before them are a batch"},
)


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


move("windows", "unfold", windows)


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
move(
    "strided_slice",
    "slice",
    lambda x, dim=0, start=None, end=None, step=1: o.strided_slice(
        x, [0 if start is None else start], [2**63 - 1 if end is None else end], [dim], [step]
    ),
)
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


move(
    "pad",
    "nn.functional.pad/constant",
    lambda x, pad, mode="constant", value=None: o.pad(x, *_padding(x, pad), value=value or 0.0),
)
move("pad", "constant_pad_nd", lambda x, pad, value=0: o.pad(x, *_padding(x, pad), value=float(value)))
for mode in ("reflect", "replicate", "circular"):
    move("pad_edges", f"nn.functional.pad/{mode}", lambda x, pad, mode: o.pad_edges(x, *_padding(x, pad), mode=mode))
move(
    "pad_edges",
    "nn.functional.pad/replicate_negative",
    lambda x, pad, mode: o.pad_edges(x, *_padding(x, pad), mode=mode),
)
