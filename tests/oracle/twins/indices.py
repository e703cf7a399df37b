"""Ops that read and write elements at places."""

import numpy as np
import oarlock as o

from twin import Excluded, expression

from .reductions import named
from .shapes import move


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

REDUCTIONS = {
    None: "assign",
    "add": "add",
    "sum": "add",
    "multiply": "multiply",
    "prod": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}


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
move(
    "put_along_axis",
    "scatter_add",
    lambda x, dim, index, src: scatter(x, dim, index, src, reduce="add"),
    exact=False,
    scale="absolute",
)
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
move(
    "scatter_add", "index_add", scatter_rows, exact=False, scale="absolute", note="along the axis brought to the front"
)


def _nd(updates):
    def samples(dtype, requires_grad):
        import torch
        from torch.testing import make_tensor
        from torch.testing._internal.opinfo.core import SampleInput

        for shape, index in (
            ((5,), [[0], [3], [-1]]),
            ((3, 4), [[0, 1], [2, 3]]),
            ((3, 4), [[2], [0]]),
            ((2, 3, 2), [[[0, 1]], [[1, -1]]]),
            ((3, 2), [[], []]),
        ):
            x = make_tensor(shape, dtype=dtype, device="cpu", requires_grad=requires_grad)
            index = torch.tensor(index, dtype=torch.int64)
            if not updates:
                yield SampleInput(x, index)
                continue
            u = make_tensor(
                tuple(index.shape[:-1]) + shape[index.shape[-1] :],
                dtype=dtype,
                device="cpu",
                requires_grad=requires_grad,
            )
            for reduction in ("assign", "add"):
                if index.shape[-1]:
                    yield SampleInput(x, index, u, reduction)

    return samples


def _gather_nd(x, index):
    if not index.shape[-1]:
        return x.expand(tuple(index.shape[:-1]) + tuple(x.shape))
    return x[tuple(index.unbind(-1))]


expression(
    "gather_nd", "torch x[i, j, ...]", lambda x, index: o.gather_nd(x, index), _gather_nd, _nd(False), exact=True
)
expression(
    "scatter_nd",
    "torch.index_put",
    lambda x, index, u, reduction: o.scatter_nd(x, index, u, reduction),
    lambda x, index, u, reduction: x.index_put(tuple(index.unbind(-1)), u, accumulate=reduction == "add"),
    _nd(True),
    scale="absolute",
    ulps=1,
    dtypes=("float32", "float64", "int64", "int32"),
)
