"""Ops that compute element by element."""

import oarlock as o

from twin import Excluded, expression, twin

# Ours: torch's, where both take one operand.
UNARY = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "bitwise_invert": "bitwise_not", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "digamma": "digamma", "erf": "erf",
    "erf_inverse": "erfinv", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "floor": "floor",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan", "lgamma": "lgamma", "log": "log", "log10": "log10", "log1p": "log1p",
    "log2": "log2", "logical_not": "logical_not", "negative": "neg", "reciprocal": "reciprocal", "round": "round", "rsqrt": "rsqrt",
    "sigmoid": "sigmoid", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "tan": "tan",
    "tanh": "tanh", "trunc": "trunc",
}
EXACT = {"abs", "ceil", "floor", "round", "trunc", "sign", "negative", "isfinite", "isinf", "isnan", "logical_not", "bitwise_invert"}
for ours, theirs in UNARY.items():
    twin(ours, theirs, lambda x, f=getattr(o, ours): f(x), exact=ours in EXACT)

twin("nan_to_num", "nan_to_num",
     lambda x, nan=None, posinf=None, neginf=None: o.nan_to_num(x, 0.0 if nan is None else nan, posinf, neginf), exact=True)
for n in range(5):
    twin("polygamma", f"polygamma/polygamma_n_{n}", lambda x, n: o.polygamma(x, n) if n else o.digamma(x))
twin("sign", "sgn", lambda x: o.sign(x), exact=True)


def _plain(f):
    def call(a, b, *, alpha=1):
        if alpha != 1:
            raise Excluded("alpha")
        return f(a, b)
    return call


BINARY = {
    "atan2": "atan2", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift", "bitwise_right_shift": "bitwise_right_shift", "copysign": "copysign",
    "divide": "true_divide", "equal": "eq", "floor_divide": "floor_divide", "fmod": "fmod", "greater": "gt", "greater_equal": "ge",
    "heaviside": "heaviside", "hypot": "hypot", "less": "lt", "less_equal": "le", "logaddexp": "logaddexp", "logical_and": "logical_and",
    "logical_or": "logical_or", "logical_xor": "logical_xor", "maximum": "maximum", "minimum": "minimum", "multiply": "mul",
    "not_equal": "ne", "power": "pow", "remainder": "remainder",
}
NOT_EXACT = {"atan2", "divide", "hypot", "logaddexp", "power", "multiply"}
for ours, theirs in BINARY.items():
    twin(ours, theirs, lambda a, b, f=getattr(o, ours): f(a, b), exact=ours not in NOT_EXACT)
twin("add", "add", _plain(o.add), ulps=1, scale="absolute")
twin("subtract", "sub", _plain(o.subtract), ulps=1, scale="absolute")
twin("divide", "div/no_rounding_mode", lambda a, b: o.divide(a, b))
twin("floor_divide", "div/floor_rounding", lambda a, b, *, rounding_mode: o.floor_divide(a, b), exact=True, gradient=False)
twin("add", "__radd__", lambda a, b: o.add(b, a))
twin("subtract", "__rsub__", lambda a, b: o.subtract(b, a), scale="absolute")
twin("multiply", "__rmul__", lambda a, b: o.multiply(b, a))
twin("divide", "__rdiv__", lambda a, b: o.divide(b, a))
twin("power", "__rpow__", lambda a, b: o.power(b, a))
twin("remainder", "__rmod__", lambda a, b: o.remainder(b, a), exact=True)
twin("power", "float_power", lambda a, b: o.power(o.cast(a, "float64"), b if not isinstance(b, o.Tensor) else o.cast(b, "float64")),
     note="through a cast to f64, which is what float_power says")
twin("maximum", "max/binary", lambda a, b: o.maximum(a, b), exact=True)
twin("minimum", "min/binary", lambda a, b: o.minimum(a, b), exact=True)
twin("lerp", "lerp", lambda a, b, weight: o.lerp(a, b, weight), scale="absolute")
twin("clip", "clamp", lambda x, min=None, max=None: o.clip(x, min, max), exact=True)
twin("clip", "clamp_min", lambda x, min: o.clip(x, min), exact=True)
twin("clip", "clamp_max", lambda x, max: o.clip(x, None, max), exact=True)
twin("where", "where", lambda a, condition, b: o.where(condition, a, b), exact=True)
twin("masked_fill", "masked_fill", lambda x, mask, value: o.masked_fill(x, mask, value), exact=True)
twin("outer", "outer", lambda a, b: o.outer(a, b))

# Activations.
F = "nn.functional."
for ours, theirs in {"hard_swish": "hardswish", "log_sigmoid": "logsigmoid", "mish": "mish", "relu": "relu", "relu6": "relu6",
                     "selu": "selu", "silu": "silu", "softsign": "softsign"}.items():
    twin(ours, F + theirs, lambda x, inplace=False, f=getattr(o, ours): f(x), exact=ours in ("relu", "relu6"))
twin("hard_sigmoid", F + "hardsigmoid", lambda x, inplace=False: o.hard_sigmoid(x, 1 / 6, 0.5), scale="absolute",
     note="alpha 1/6 where ONNX's default is 0.2")
twin("celu", F + "celu", lambda x, alpha=1.0, inplace=False: o.celu(x, alpha))
twin("elu", F + "elu", lambda x, alpha=1.0, inplace=False: o.elu(x, alpha))
twin("gelu", F + "gelu", lambda x, approximate="none": o.gelu(x, approximate), scale="absolute")
twin("glu", F + "glu", lambda x, dim=-1: o.glu(x, dim))
twin("hard_tanh", F + "hardtanh", lambda x, min_val=-1.0, max_val=1.0, inplace=False: o.hard_tanh(x, min_val, max_val), exact=True)
twin("leaky_relu", F + "leaky_relu", lambda x, negative_slope=0.01, inplace=False: o.leaky_relu(x, negative_slope))
twin("thresholded_relu", F + "threshold", lambda x, threshold, value, inplace=False: o.thresholded_relu(x, threshold, value), exact=True)
twin("shrink", F + "softshrink", lambda x, lambd=0.5: o.shrink(x, lambd, lambd), scale="absolute")
twin("shrink", F + "hardshrink", lambda x, lambd=0.5: o.shrink(x, 0.0, lambd), exact=True)


def softplus(x, beta=1.0, threshold=20.0):
    return o.softplus(x, beta)


twin("softplus", F + "softplus", softplus, ulps=4,
     note="torch cuts over to x beyond its threshold; Oarlock's stays exact, which differs by at most exp(-20)")


def prelu(x, weight):
    per_channel = x.ndim > 1 and weight.size > 1
    return o.prelu(x, o.reshape(weight, (-1,) + (1,) * (x.ndim - 2)) if per_channel else weight)


twin("prelu", F + "prelu", prelu)


def _pairs(dtype, requires_grad):
    import torch
    from torch.testing._internal.opinfo.core import SampleInput
    for shape in ((), (5,), (3, 4), (0, 2)):
        dy, y = (torch.testing.make_tensor(shape, dtype=dtype, device="cpu", requires_grad=requires_grad) for _ in range(2))
        yield SampleInput(dy, y)


def _relu_gradient(dy, y):
    import torch
    return torch.where(y > 0, dy, torch.zeros_like(dy))


expression("relu_gradient", "torch.where(y > 0, dy, 0)", lambda dy, y: o.relu_gradient(dy, y), _relu_gradient, _pairs, exact=True)
