"""Ops that create, cast and write whole tensors."""

import numpy as np
import oarlock as o

from twin import Excluded, cases, twin

from .reductions import named
from .shapes import move

# Casts: one OpInfo for each target.
for theirs, ours in {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}.items():

    def cast(x, *, memory_format=None, to=ours):
        if to in ("int8", "uint8", "int16", "int32", "int64") and "float" in named(x.dtype):
            values = np.asarray(x.detach())
            limits = np.iinfo(to)
            if not np.all((values > limits.min - 1) & (values < limits.max + 1)):
                raise Excluded("out of range cast")
        return o.cast(x, to)

    move("cast", theirs, cast, special=False)


def full(shape, value, *, dtype=None, device=None, **more):
    return o.call_op("full", shape=list(shape), value=float(value), dtype=named(dtype or "float32"))[0]


move("full", "full", full)


def full_like(x, value, *, dtype=None, device=None, **more):
    x = x if dtype is None else o.cast(x, named(dtype))
    if named(x.dtype) == "uint8" and value < 0:
        raise Excluded("out of range cast")
    return o.full_like(x, float(value))


move("full_like", "full_like", full_like)
move(
    "eye",
    "eye",
    lambda n, m=None, *, dtype=None, device=None, **more: o.call_op(
        "eye", rows=n, **({} if m is None else {"columns": m}), dtype=named(dtype or "float32")
    )[0],
)
twin(
    "linspace",
    "linspace",
    lambda start, end, steps, *, dtype=None, device=None, **more: o.call_op(
        "linspace", start=float(start), stop=float(end), num=steps, dtype=named(dtype or "float32")
    )[0],
    scale="largest",
    dtypes=("float32", "float64"),
)


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
cases(
    "dim_value",
    "the number itself",
    lambda: ((o.dim_value(n, d), np.asarray(n, d), 0) for n in (0, 7, 10**6) for d in ("int64", "int32")),
)
cases(
    "transfer",
    "the same elements",
    lambda: (
        (o.transfer(o.tensor(a), 0), a, 0)
        for a in (np.arange(6.0).reshape(2, 3), np.zeros((0, 2), "int32"), np.asarray(True))
    ),
)
