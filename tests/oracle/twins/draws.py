"""Random ops: functions of seed and place, so NumPy can say every element; and dropout, which is one of them."""

import numpy as np
import oarlock as o

from twin import cases, expression

SEEDS = [(0, 0), (1, 0), (7, 3), (2**40 + 12345, 2**33 + 1), (-1, 5)]
SHAPES = [(), (5,), (3, 7), (0, 4), (130,)]


def philox(key, offset, blocks):
    """Philox4x32-10 (Salmon et al. 2011): words [blocks, 4] of the counters (block, offset) under the 64 bits of key."""
    words = np.uint64(0xFFFFFFFF)
    low = lambda v: v & words
    index = np.arange(blocks, dtype=np.uint64)
    offset, key = int(offset) % 2**64, int(key) % 2**64
    c = [
        low(index),
        index >> np.uint64(32),
        np.full(blocks, offset % 2**32, np.uint64),
        np.full(blocks, offset >> 32, np.uint64),
    ]
    k0, k1 = key % 2**32, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0),
            low(p1),
            (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1),
            low(p0),
        ]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return np.stack(c, 1)


def uniform(seed, shape, dtype="float32"):
    n = int(np.prod(shape))
    if dtype == "float32":
        return (
            (philox(*seed, n // 4 + 1).reshape(-1)[:n] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
        ).reshape(shape)
    w = philox(*seed, n // 2 + 1).reshape(-1, 2)[:n]
    return ((((w[:, 1] << np.uint64(32)) | w[:, 0]) >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)


def seed_of(pair):
    return o.tensor(np.array(pair, np.int64))


def each(dtypes=("float32", "float64")):
    for seed in SEEDS:
        for shape in SHAPES:
            for dtype in dtypes:
                yield seed, shape, dtype


def _published():
    """Of the authors' known answers (Random123, kat_vectors) the one with all words 0: it fixes words and rounds."""
    words = np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], np.uint64)
    yield o.random_uniform(seed_of((0, 0)), (4,)), (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24), 0


def _normal(seed, shape, dtype):
    n = int(np.prod(shape))
    pairs = uniform(seed, (n + n % 2,), dtype).astype(np.float64).reshape(-1, 2)
    r = np.sqrt(-2 * np.log1p(-pairs[:, 0]))
    both = np.stack([r * np.cos(2 * np.pi * pairs[:, 1]), r * np.sin(2 * np.pi * pairs[:, 1])], 1)
    return both.reshape(-1)[:n].reshape(shape)


def _normals():
    for seed, shape, dtype in each():
        got, want = np.asarray(o.random_normal(seed_of(seed), shape, dtype)), _normal(seed, shape, dtype)
        # The cosine near its roots has the angle's error, absolute: rounded to where it may differ, then exact.
        near = np.abs(got - want) <= 16 * np.finfo(dtype).eps * np.maximum(np.abs(want), 1)
        yield np.where(near, want, got), want, 0


cases("random_uniform", "Random123's known answer", _published)
cases(
    "random_uniform",
    "numpy, Philox4x32-10",
    lambda: ((o.random_uniform(seed_of(s), n, d), uniform(s, n, d), 0) for s, n, d in each()),
)
cases("random_normal", "numpy, Box and Muller", _normals)
cases(
    "random_exponential",
    "numpy, -log(1 - u)",
    lambda: (
        (o.random_exponential(seed_of(s), n, d), (-np.log1p(-uniform(s, n, d).astype(np.float64))).astype(d), 4)
        for s, n, d in each()
    ),
)
cases(
    "random_integers",
    "numpy, floor(low + u * (high - low))",
    lambda: (
        (
            o.random_integers(seed_of(s), n, low, high, d),
            np.floor(low + uniform(s, n, "float64") * (high - low)).astype(d),
            0,
        )
        for low, high in ((0, 10), (-5, 3), (-(2**31), 2**31 - 1))
        for s, n, d in each(("int64", "int32"))
    ),
)
cases(
    "random_permutation",
    "numpy.argsort of u",
    lambda: (
        (o.random_permutation(seed_of(s), n), np.argsort(uniform(s, (n,), "float64"), kind="stable"), 0)
        for s in SEEDS
        for n in (0, 1, 9, 200)
    ),
)


def _bernoulli():
    for seed, shape, dtype in each():
        p = np.linspace(0, 1, int(np.prod(shape))).reshape(shape).astype(dtype)
        yield o.bernoulli(o.tensor(p), seed_of(seed)), uniform(seed, shape) < p, 0


cases("bernoulli", "numpy, u < p", _bernoulli)


def _inputs(dtype, requires_grad):
    import torch
    from torch.testing import make_tensor
    from torch.testing._internal.opinfo.core import SampleInput

    for shape in ((5,), (3, 4), (0, 2), (40,)):
        for rate in (0.0, 0.3, 0.5, 1.0):
            yield SampleInput(make_tensor(shape, dtype=dtype, device="cpu", requires_grad=requires_grad), (7, 3), rate)


def _dropout(x, seed, rate):
    import torch

    keep = torch.from_numpy(np.ascontiguousarray(uniform(seed, tuple(x.shape)) >= np.float32(rate)))
    return torch.where(keep, x / (1 - rate) if rate < 1 else torch.zeros_like(x), torch.zeros_like(x))


expression(
    "dropout",
    "torch.where(u >= rate, x / (1 - rate), 0)",
    lambda x, seed, rate: o.dropout(x, seed_of(seed), rate),
    _dropout,
    _inputs,
)
