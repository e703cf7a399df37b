"""Ops that reduce, scan, sort and search."""

import oarlock as o

from twin import Excluded, expression, twin

INTEGERS = {"bool", "uint8", "int8", "int16", "int32"}


def axes(x, dim):
    """Ours for torch's dim: none, and () where torch means all, is all axes."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return None
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return list(dim) if isinstance(dim, (tuple, list)) else int(dim)


def axis(x, dim):
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return int(dim)


def named(dtype):
    return str(dtype).split(".")[-1]


def widened(x, dtype=None):
    """torch sums integers in i64; Oarlock has a cast for that."""
    if dtype is not None:
        return o.cast(x, named(dtype))
    return o.cast(x, "int64") if named(x.dtype) in INTEGERS else x


def reduction(f, cast=None):
    def call(x, dim=None, keepdim=False, *, dtype=None):
        return f(cast(x, dtype) if cast else x, axes(x, dim), keepdim)

    return call


WIDENS = "through a cast of integers to i64, which torch makes by itself"
twin("sum", "sum", reduction(o.sum, widened), scale="absolute", note=WIDENS)
twin("product", "prod", reduction(o.product, widened), ulps=8, note=WIDENS)
twin(
    "mean",
    "mean",
    reduction(o.mean, lambda x, dtype: x if dtype is None else o.cast(x, named(dtype))),
    scale="absolute",
)
twin(
    "max",
    "amax",
    reduction(o.max),
    exact=True,
    accepts={"reduction": "over nothing max is -infinity or the lowest integer and min the opposite, as in ONNX 18"},
)
twin(
    "min",
    "amin",
    reduction(o.min),
    exact=True,
    accepts={"reduction": "over nothing max is -infinity or the lowest integer and min the opposite, as in ONNX 18"},
)
twin("max", "max/reduction_with_dim", reduction(o.max), pick=lambda out: out[0], exact=True)
twin("min", "min/reduction_with_dim", reduction(o.min), pick=lambda out: out[0], exact=True)
twin("max", "max/reduction_no_dim", reduction(o.max), exact=True)
twin("min", "min/reduction_no_dim", reduction(o.min), exact=True)
BOOL = "torch gives u8 for u8; Oarlock bool always, as the Array API"
twin("all", "all", reduction(o.all), exact=True, other_dtype=BOOL)
twin("any", "any", reduction(o.any), exact=True, other_dtype=BOOL)
twin("count_nonzero", "count_nonzero", reduction(o.count_nonzero), exact=True)
twin("logsumexp", "logsumexp", reduction(o.logsumexp), scale="largest")


def spread(f):
    def call(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        n = 1 if correction is None and unbiased is None else correction if correction is not None else int(unbiased)
        return f(x, axes(x, dim), keepdim, float(n))

    return call


for variant in ("", "/unbiased"):
    twin("var", "var" + variant, spread(o.var), scale="largest", ulps=8)
    twin("std", "std" + variant, spread(o.std), scale="largest", ulps=8)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    return o.vector_norm(x if dtype is None else o.cast(x, named(dtype)), axes(x, dim), keepdim, float(ord))


twin("vector_norm", "linalg.vector_norm", vector_norm, ulps=8)
twin(
    "vecdot",
    "linalg.vecdot",
    lambda x, y, dim=-1: o.vecdot(o.moveaxis(x, dim, -1), o.moveaxis(y, dim, -1)),
    scale="absolute",
)


def _at(f):
    """Ties may be broken otherwise: the element that stands at the place is compared, not the place."""

    def call(x, dim=None, keepdim=False):
        a = axes(x, dim)
        if a is None:
            flat = o.reshape(x, (-1,))
            picked = o.take_along_axis(flat, o.reshape(f(x), (1,)), 0)
            return o.reshape(picked, (1,) * x.ndim if keepdim else ())
        return (
            o.take_along_axis(x, f(x, a, True), a) if keepdim else o.squeeze(o.take_along_axis(x, f(x, a, True), a), a)
        )

    return call


def _torch_at(greatest):
    def call(x, dim=None, keepdim=False):
        if dim is None:
            out = x.max() if greatest else x.min()
            return out.reshape((1,) * x.ndim) if keepdim else out
        return (x.max(dim, keepdim) if greatest else x.min(dim, keepdim))[0]

    return call


TIES = "the element at the place is compared, since ties may be broken otherwise"
twin("argmax", "argmax", _at(o.argmax), torch=_torch_at(True), exact=True, note=TIES, gradient=False)
twin("argmin", "argmin", _at(o.argmin), torch=_torch_at(False), exact=True, note=TIES, gradient=False)


def scan(f, cast=None):
    def call(x, dim, *, dtype=None):
        return f(cast(x, dtype) if cast else x, axis(x, dim))

    return call


twin("cumsum", "cumsum", scan(o.cumsum, widened), scale="absolute", note=WIDENS)
twin("cumulative_product", "cumprod", scan(o.cumulative_product, widened), ulps=8, note=WIDENS)
twin(
    "cumulative_max",
    "cummax",
    lambda x, dim: o.cumulative_max(x, axis(x, dim)).values,
    pick=lambda out: out[0],
    exact=True,
    note=TIES,
)
twin("softmax", "softmax", lambda x, dim, *, dtype=None: o.softmax(x, axis(x, dim)), scale="largest")
twin(
    "softmax",
    "softmax/with_dtype",
    lambda x, dim, *, dtype: o.softmax(o.cast(x, named(dtype)), axis(x, dim)),
    scale="largest",
)
twin("log_softmax", "log_softmax", lambda x, dim, *, dtype=None: o.log_softmax(x, axis(x, dim)), scale="largest")
twin(
    "log_softmax",
    "log_softmax/with_dtype",
    lambda x, dim, *, dtype: o.log_softmax(o.cast(x, named(dtype)), axis(x, dim)),
    scale="largest",
)


def sort(x, dim=-1, descending=False, stable=False):
    return tuple(o.sort(x, axis(x, dim), descending))


def _torch_sort(x, dim=-1, descending=False, stable=False):
    import torch

    return tuple(torch.sort(x, dim=dim, descending=descending, stable=True))


twin("sort", "sort", sort, torch=_torch_sort, exact=True, note="against torch's stable sort")
twin("sort", "msort", lambda x: o.sort(x, axis(x, 0)).values, exact=True)
twin(
    "argsort",
    "argsort",
    lambda x, dim=-1, descending=False, stable=False: o.argsort(x, axis(x, dim), descending),
    torch=lambda *a, **k: _torch_sort(*a, **k)[1],
    exact=True,
    note="against torch's stable sort",
)


def topk(x, k, dim=-1, largest=True, sorted=True):
    values, indices = o.topk(o.moveaxis(x, axis(x, dim), -1), k, largest)
    return o.moveaxis(values, -1, dim), o.take_along_axis(x, o.moveaxis(indices, -1, dim), dim)


def _torch_topk(x, k, dim=-1, largest=True, sorted=True):
    values = x.topk(k, dim, largest, True)[0]
    return values, values.detach()


twin("topk", "topk", topk, torch=_torch_topk, exact=True, note=TIES)


def median(x, dim=None, keepdim=False):
    if dim is None:
        x, dim = o.reshape(x, (-1,)), 0
    if x.shape[axis(x, dim)] % 2 == 0:
        raise Excluded("even median")
    return o.median(x, dim, keepdim)


twin("median", "median", median, pick=lambda out: out if not isinstance(out, tuple) else out[0], exact=True)


def _rows(dtype, requires_grad):
    import torch
    from torch.testing._internal.opinfo.core import SampleInput

    for shape, dim in (((6,), 0), ((3, 4), 1), ((4, 3), 0), ((2, 5, 2), 1), ((1, 8), -1)):
        x = torch.testing.make_tensor(shape, dtype=dtype, device="cpu", requires_grad=requires_grad)
        for keepdim in (False, True):
            yield SampleInput(x, dim, keepdim)


def _quantile(x, dim, keepdim):
    import torch

    return torch.quantile(x, 0.5, dim, keepdim)


expression(
    "median",
    "torch.quantile at 1/2",
    lambda x, dim, keepdim: o.median(x, dim, keepdim),
    _quantile,
    _rows,
    scale="largest",
    second=False,
)


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        raise Excluded("argument", "dim")
    out = o.unique(x)
    picked = (out.values,) + ((out.inverse,) if return_inverse else ()) + ((out.counts,) if return_counts else ())
    return picked if len(picked) > 1 else picked[0]


def _torch_unique(x, sorted=True, **more):
    import torch

    return torch.unique(x, sorted=True, **more)


twin("unique", "unique", unique, torch=_torch_unique, exact=True, gradient=False, note="against torch's sorted form")


def search_sorted(sorted_sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        raise Excluded("argument", "sorter")
    if sorted_sequence.ndim != 1:
        raise Excluded("one sorted row")
    got = o.search_sorted(sorted_sequence, values, side or ("right" if right else "left"))
    return o.cast(got, "int32") if out_int32 else got


twin("search_sorted", "searchsorted", search_sorted, exact=True)
twin(
    "search_sorted",
    "bucketize",
    lambda x, boundaries, *, out_int32=False, right=False: search_sorted(
        boundaries, x, out_int32=out_int32, right=right
    ),
    exact=True,
)


def bincount(x, weights=None, minlength=0):
    length = max(minlength, int(o.max(x).item()) + 1 if x.size else 0)
    if weights is None:
        return o.bincount(x, length)
    return o.bincount(x, length, weights, "float32" if named(weights.dtype) == "float32" else "float64")


twin(
    "bincount",
    "bincount",
    bincount,
    exact=False,
    scale="absolute",
    note="length from the greatest number, which torch reads by itself",
)


def nonzero(x, *, as_tuple=False):
    if not as_tuple:
        return o.nonzero(x)
    if x.ndim == 0:
        raise Excluded("axis of a scalar")
    return tuple(o.squeeze(part, 1) for part in o.call_op("split", o.nonzero(x), sizes=[1] * x.ndim, axis=1))


twin("nonzero", "nonzero", nonzero, exact=True)
twin("nonzero", "argwhere", lambda x: o.nonzero(x), exact=True)


def _scan_samples(dtype, requires_grad):
    import torch
    from torch.testing._internal.opinfo.core import SampleInput

    for shape, dim in (((5,), 0), ((3, 4), 1), ((4, 3), 0), ((2, 7, 2), 1), ((0, 3), 0)):
        decay, x = (
            torch.testing.make_tensor(shape, dtype=dtype, device="cpu", low=-1, high=1, requires_grad=requires_grad)
            for _ in range(2)
        )
        for reverse in (False, True):
            yield SampleInput(decay, x, dim, reverse)


def _linear_scan(decay, x, dim, reverse):
    import torch

    if not x.shape[dim]:
        return decay * x
    out, last = [], torch.zeros_like(x.select(dim, 0))
    for i in (reversed(range(x.shape[dim])) if reverse else range(x.shape[dim])):
        last = decay.select(dim, i) * last + x.select(dim, i)
        out.append(last)
    return torch.stack(out[::-1] if reverse else out, dim)


expression(
    "linear_scan",
    "a loop in torch",
    lambda decay, x, dim, reverse: o.linear_scan(decay, x, dim, reverse),
    _linear_scan,
    _scan_samples,
    scale="absolute",
)


def _lists(dtype, requires_grad):
    import torch
    from torch.testing._internal.opinfo.core import SampleInput

    for shapes in (((3,),), ((2, 3), (4,), ()), ((0,), (5, 1))):
        yield SampleInput(
            [torch.testing.make_tensor(s, dtype=dtype, device="cpu", requires_grad=requires_grad) for s in shapes]
        )


def _global_norm(xs):
    import torch

    return torch.linalg.vector_norm(torch.cat([x.reshape(-1) for x in xs]))


expression("global_norm", "torch.linalg.vector_norm of all", lambda xs: o.global_norm(xs), _global_norm, _lists)
