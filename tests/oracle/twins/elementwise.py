"""Ops that compute element by element."""

import numpy as np
import oarlock as o

from twin import Excluded, cases, expression, twin

# Ours: torch's, where both take one operand.
UNARY = {
    "abs": "abs",
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "bitwise_invert": "bitwise_not",
    "ceil": "ceil",
    "cos": "cos",
    "cosh": "cosh",
    "digamma": "digamma",
    "erf": "erf",
    "erf_inverse": "erfinv",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "floor": "floor",
    "isfinite": "isfinite",
    "isinf": "isinf",
    "isnan": "isnan",
    "lgamma": "lgamma",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "logical_not": "logical_not",
    "negative": "neg",
    "reciprocal": "reciprocal",
    "round": "round",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid",
    "sign": "sign",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "square": "square",
    "tan": "tan",
    "tanh": "tanh",
    "trunc": "trunc",
}
EXACT = {
    "abs",
    "ceil",
    "floor",
    "round",
    "trunc",
    "sign",
    "negative",
    "isfinite",
    "isinf",
    "isnan",
    "logical_not",
    "bitwise_invert",
}
# Both take the same rounding steps near digamma's root; mpmath, below, is the measure of values.
TRIGAMMA = {
    "rough": 1e6,
    "note": "torch's trigamma holds 10 digits in f64, and is in these derivatives; values: see mpmath",
}
for ours, theirs in UNARY.items():
    twin(
        ours,
        theirs,
        lambda x, f=getattr(o, ours): f(x),
        exact=ours in EXACT,
        nan="sign is NaN, as in NumPy; torch 0" if ours == "sign" else "",
        **(TRIGAMMA if ours in ("lgamma", "digamma") else {}),
        special=ours != "digamma",
    )

twin(
    "nan_to_num",
    "nan_to_num",
    lambda x, nan=None, posinf=None, neginf=None: o.nan_to_num(x, 0.0 if nan is None else nan, posinf, neginf),
    exact=True,
)
for n in range(5):
    twin(
        "polygamma",
        f"polygamma/polygamma_n_{n}",
        lambda x, n: o.polygamma(x, n) if n else o.digamma(x),
        special=False,
        **TRIGAMMA,
    )
twin("sign", "sgn", lambda x: o.sign(x), exact=True, nan="sign is NaN, as in NumPy; torch 0")


def _plain(f):
    def call(a, b, *, alpha=1):
        if alpha != 1:
            raise Excluded("alpha")
        return f(a, b)

    return call


BINARY = {
    "atan2": "atan2",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift",
    "copysign": "copysign",
    "divide": "true_divide",
    "equal": "eq",
    "floor_divide": "floor_divide",
    "fmod": "fmod",
    "greater": "gt",
    "greater_equal": "ge",
    "heaviside": "heaviside",
    "hypot": "hypot",
    "less": "lt",
    "less_equal": "le",
    "logaddexp": "logaddexp",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "maximum": "maximum",
    "minimum": "minimum",
    "multiply": "mul",
    "not_equal": "ne",
    "power": "pow",
    "remainder": "remainder",
}
NOT_EXACT = {"atan2", "divide", "hypot", "logaddexp", "power", "multiply"}
for ours, theirs in BINARY.items():
    twin(
        ours,
        theirs,
        lambda a, b, f=getattr(o, ours): f(a, b),
        exact=ours not in NOT_EXACT,
        special=ours not in ("fmod", "remainder", "floor_divide"),
        scale="absolute" if ours == "logaddexp" else "want",
        nan="heaviside is NaN, as in NumPy; torch 0" if ours == "heaviside" else "",
    )
twin("add", "add", _plain(o.add), ulps=1, scale="absolute")
twin("subtract", "sub", _plain(o.subtract), ulps=1, scale="absolute")
twin("divide", "div/no_rounding_mode", lambda a, b: o.divide(a, b))
twin(
    "floor_divide",
    "div/floor_rounding",
    lambda a, b, *, rounding_mode: o.floor_divide(a, b),
    exact=True,
    gradient=False,
    special=False,
)
twin("add", "__radd__", lambda a, b: o.add(b, a))
twin("subtract", "__rsub__", lambda a, b: o.subtract(b, a), scale="absolute")
twin("multiply", "__rmul__", lambda a, b: o.multiply(b, a))
twin("divide", "__rdiv__", lambda a, b: o.divide(b, a))
twin("power", "__rpow__", lambda a, b: o.power(b, a))
twin("remainder", "__rmod__", lambda a, b: o.remainder(b, a), exact=True)
twin(
    "power",
    "float_power",
    lambda a, b: o.power(o.cast(a, "float64"), b if not isinstance(b, o.Tensor) else o.cast(b, "float64")),
    note="through a cast to f64, which is what float_power says",
)
twin("maximum", "max/binary", lambda a, b: o.maximum(a, b), exact=True)
twin("minimum", "min/binary", lambda a, b: o.minimum(a, b), exact=True)
twin("lerp", "lerp", lambda a, b, weight: o.lerp(a, b, weight), scale="largest")
twin("clip", "clamp", lambda x, min=None, max=None: o.clip(x, min, max), exact=True)
twin("clip", "clamp_min", lambda x, min: o.clip(x, min), exact=True)
twin("clip", "clamp_max", lambda x, max: o.clip(x, None, max), exact=True)
twin("where", "where", lambda a, condition, b: o.where(condition, a, b), exact=True)


def masked_fill(x, mask, value):
    if x.dtype == o.bool and isinstance(value, int) and not isinstance(value, bool):
        raise Excluded("higher kind")
    return o.masked_fill(x, mask, value)


twin("masked_fill", "masked_fill", masked_fill, exact=True, accepts={"0-dimensional value": "value broadcasts"})
twin("outer", "outer", lambda a, b: o.outer(a, b))

# Activations.
F = "nn.functional."
for ours, theirs in {
    "hard_swish": "hardswish",
    "log_sigmoid": "logsigmoid",
    "mish": "mish",
    "relu": "relu",
    "relu6": "relu6",
    "selu": "selu",
    "silu": "silu",
    "softsign": "softsign",
}.items():
    twin(ours, F + theirs, lambda x, inplace=False, f=getattr(o, ours): f(x), exact=ours in ("relu", "relu6"))
twin(
    "hard_sigmoid",
    F + "hardsigmoid",
    lambda x, inplace=False: o.hard_sigmoid(x, 1 / 6, 0.5),
    scale="absolute",
    rough=3e6,
    note="alpha 1/6 where ONNX's default is 0.2; in f64 torch's gradient has the 1/6 of f32",
)
twin("celu", F + "celu", lambda x, alpha=1.0, inplace=False: o.celu(x, alpha))
twin("elu", F + "elu", lambda x, alpha=1.0, inplace=False: o.elu(x, alpha))
twin("gelu", F + "gelu", lambda x, approximate="none": o.gelu(x, approximate), scale="absolute")
twin("glu", F + "glu", lambda x, dim=-1: o.glu(x, dim))
twin(
    "hard_tanh",
    F + "hardtanh",
    lambda x, min_val=-1.0, max_val=1.0, inplace=False: o.hard_tanh(x, min_val, max_val),
    exact=True,
    accepts={"min_val cannot": "the upper limit wins, as in clip"},
)
twin("leaky_relu", F + "leaky_relu", lambda x, negative_slope=0.01, inplace=False: o.leaky_relu(x, negative_slope))
twin(
    "thresholded_relu",
    F + "threshold",
    lambda x, threshold, value, inplace=False: o.thresholded_relu(x, threshold, value),
    exact=True,
)
twin(
    "shrink",
    F + "softshrink",
    lambda x, lambd=0.5: o.shrink(x, lambd, lambd),
    scale="absolute",
    nan="shrink is 0, as in ONNX; torch NaN",
)
twin(
    "shrink",
    F + "hardshrink",
    lambda x, lambd=0.5: o.shrink(x, 0.0, lambd),
    exact=True,
    nan="shrink is 0, as in ONNX; torch NaN",
)


def softplus(x, beta=1.0, threshold=20.0):
    if threshold < 20:
        raise Excluded("softplus threshold")
    return o.softplus(x, beta)


twin(
    "softplus",
    F + "softplus",
    softplus,
    ulps=4,
    note="torch cuts over to x beyond its threshold; Oarlock's stays exact, which differs by at most exp(-20)",
)


def prelu(x, weight):
    if x.ndim == 0:
        weight = o.reshape(weight, ())
    per_channel = x.ndim > 1 and weight.size > 1
    return o.prelu(x, o.reshape(weight, (-1,) + (1,) * (x.ndim - 2)) if per_channel else weight)


twin(
    "prelu",
    F + "prelu",
    prelu,
    accepts={"to be a scalar or 1D": "the slope broadcasts", "zero-dim": "the slope broadcasts"},
)


def _pairs(dtype, requires_grad):
    import torch
    from torch.testing._internal.opinfo.core import SampleInput

    for shape in ((), (5,), (3, 4), (0, 2)):
        dy, y = (
            torch.testing.make_tensor(shape, dtype=dtype, device="cpu", requires_grad=requires_grad) for _ in range(2)
        )
        yield SampleInput(dy, y)


def _relu_gradient(dy, y):
    import torch

    return torch.where(y > 0, dy, torch.zeros_like(dy))


expression(
    "relu_gradient",
    "torch.where(y > 0, dy, 0)",
    lambda dy, y: o.relu_gradient(dy, y),
    _relu_gradient,
    _pairs,
    exact=True,
)


def _divided(ours, numpys):
    def generate():
        for dtype in ("float32", "float64"):
            info = np.finfo(dtype)
            line = np.array(
                [
                    np.nan,
                    np.inf,
                    -np.inf,
                    0.0,
                    -0.0,
                    1,
                    -1,
                    0.5,
                    -0.5,
                    2.5,
                    -2.5,
                    3,
                    info.max,
                    info.min,
                    info.tiny,
                    info.eps,
                    100,
                    7,
                ],
                dtype,
            )
            with np.errstate(all="ignore"):
                yield ours(o.tensor(line.reshape(-1, 1)), o.tensor(line)), numpys(line.reshape(-1, 1), line), 0
        for dtype in ("int32", "int8"):
            a = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, -7, 7, 0], dtype).reshape(-1, 1)
            b = np.array([-1, 1, 3, -3, np.iinfo(dtype).min], dtype)
            with np.errstate(all="ignore"):
                yield ours(o.tensor(a), o.tensor(b)), numpys(a, b), 0

    return generate


LIMITS = "the limits of the dtypes, where torch's vectorised division gives NaN"
cases("fmod", "numpy.fmod", _divided(o.fmod, np.fmod), note=LIMITS)
cases("remainder", "numpy.remainder", _divided(o.remainder, np.remainder), note=LIMITS)
cases("floor_divide", "numpy.floor_divide", _divided(o.floor_divide, np.floor_divide), note=LIMITS)


def _exactly(ours, mpmaths, lines, ulps):
    """Against 30 digits; the places where a function has a root are left to the samples."""

    def generate():
        import mpmath

        mpmath.mp.dps = 40
        for dtype in ("float32", "float64"):
            for line in lines:
                x = np.asarray(line, dtype)
                want = np.asarray([float(mpmaths(mpmath.mpf(float(v)))) for v in x])
                yield ours(o.tensor(x)), want.astype(dtype), ulps

    return generate


def _mp(name, *before):
    def call(v):
        import mpmath

        return getattr(mpmath, name)(*before, v)

    return call


POLES = [-1e-30, -1e-5, -4e-4, -0.9999, -1.001, -3.25, -7.5001, 1e-30, 1e-5, 0.01]
ABOVE = [0.1, 0.5, 1.0, 2.0, 3.7, 8.9, 9.5, 20.0, 1e3, 1e6]
cases("digamma", "mpmath.digamma", _exactly(o.digamma, _mp("digamma"), [POLES, ABOVE], 8))
for order in (1, 2, 3, 4, 7):
    cases(
        "polygamma",
        f"mpmath.polygamma({order})",
        _exactly(
            lambda x, n=order: o.polygamma(x, n),
            _mp("polygamma", order),
            [[0.1, 0.5, 1.0, 2.0, 3.7, 8.9, 9.5, 20.0, 100.0]],
            8,
        ),
    )
cases(
    "lgamma",
    "mpmath.loggamma",
    _exactly(o.lgamma, lambda v: _mp("re")(_mp("loggamma")(v)), [POLES, [0.1, 0.5, 3.7, 8.9, 9.5, 20.0, 1e3, 1e6]], 8),
)
NEAR_1 = [1 - 2.0**-k for k in (2, 5, 9, 14, 20, 23)]
cases(
    "erf_inverse",
    "mpmath.erfinv",
    _exactly(o.erf_inverse, _mp("erfinv"), [[-0.9, -0.3, 1e-20, 1e-3, 0.5, 0.7], NEAR_1], 4),
)


def _edge():
    import mpmath

    mpmath.mp.dps = 40
    x = np.array([1 - 2.0**-k for k in (26, 30, 37, 44, 50, 53)])
    yield o.erf_inverse(o.tensor(x)), np.array([float(mpmath.erfinv(mpmath.mpf(float(v)))) for v in x]), 4


cases("erf_inverse", "mpmath.erfinv at 1", _edge)
