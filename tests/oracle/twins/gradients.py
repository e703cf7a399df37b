"""Ops that are gradients of others, against torch's autograd and, once more, its derivatives of that."""

import oarlock as o

from twin import expression


def make(shape, dtype, grad, **more):
    from torch.testing import make_tensor

    return make_tensor(shape, dtype=dtype, device="cpu", requires_grad=grad, **more)


def sample(*a, **k):
    from torch.testing._internal.opinfo.core import SampleInput

    return SampleInput(*a, **k)


def pulled(f, dy, *operands, cotangent_shape=None):
    """Gradients of f for its operands with dy; differentiable in dy and the operands again."""
    import torch

    grads = torch.is_grad_enabled()
    with torch.enable_grad():
        leaves = [x if x.requires_grad else x.detach().requires_grad_() for x in operands]
        out = torch.autograd.grad(f(*leaves), leaves, dy, create_graph=True)
    return out if grads else tuple(g.detach() for g in out)


CONVS = [  # x, w, then stride, padding, dilation, groups
    ((2, 3, 7), (4, 3, 3), 1, 0, 1, 1),
    ((1, 4, 9), (6, 2, 3), 2, 1, 1, 2),
    ((2, 3, 6, 5), (2, 3, 3, 2), 1, 1, 1, 1),
    ((1, 4, 7, 7), (4, 1, 3, 3), 1, 1, 2, 4),
    ((2, 2, 8, 6), (3, 2, 2, 2), 2, 0, 1, 1),
    ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), 1, 1, 1, 1),
    ((2, 8, 9, 9), (8, 8, 3, 3), 1, 1, 1, 1),
]


def _conv(n):
    import torch

    return getattr(torch.nn.functional, f"conv{n}d")


def _conv_shapes(x, w, stride, padding, dilation):
    return [(d + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for d, k in zip(x[2:], w[2:])]


def conv_input_samples(dtype, grad):
    for x, w, *rest in CONVS:
        dy = (x[0], w[0], *_conv_shapes(x, w, *rest[:3]))
        yield sample(make(dy, dtype, grad), make(w, dtype, grad), list(x), *rest)


def conv_weight_samples(dtype, grad):
    for x, w, *rest in CONVS:
        dy = (x[0], w[0], *_conv_shapes(x, w, *rest[:3]))
        yield sample(make(dy, dtype, grad), make(x, dtype, grad), list(w), *rest)


def torch_conv_input(dy, w, shape, *rest):
    import torch

    zero = torch.zeros(shape, dtype=dy.dtype, requires_grad=True)
    return pulled(lambda x: _conv(dy.ndim - 2)(x, w, None, *rest), dy, zero)[0]


def torch_conv_weight(dy, x, shape, *rest):
    import torch

    zero = torch.zeros(shape, dtype=dy.dtype, requires_grad=True)
    return pulled(lambda w: _conv(dy.ndim - 2)(x, w, None, *rest), dy, zero)[0]


expression(
    "conv_input_gradient",
    "torch.autograd of convNd",
    lambda dy, w, shape, *rest: o.conv_input_gradient(dy, w, shape[2:], *rest),
    torch_conv_input,
    conv_input_samples,
    scale="absolute",
)
expression(
    "conv_weight_gradient",
    "torch.autograd of convNd",
    lambda dy, x, shape, *rest: o.conv_weight_gradient(dy, x, shape[2:], *rest),
    torch_conv_weight,
    conv_weight_samples,
    scale="absolute",
)

POOLS = [((2, 3, 9), 3, 2, 1), ((1, 2, 6, 5), 2, 2, 0), ((2, 2, 7, 7), 3, 1, 1), ((1, 1, 4, 5, 6), 2, 2, 1)]


def _pool_shapes(x, kernel, stride, padding):
    return [(d + 2 * padding - kernel) // stride + 1 for d in x[2:]]


def avg_samples(dtype, grad):
    for x, kernel, stride, padding in POOLS:
        for include in (False, True):
            dy = make((*x[:2], *_pool_shapes(x, kernel, stride, padding)), dtype, grad)
            yield sample(dy, list(x), kernel, stride, padding, include)


def torch_avg(dy, shape, kernel, stride, padding, include):
    import torch

    pool = getattr(torch.nn.functional, f"avg_pool{dy.ndim - 2}d")
    zero = torch.zeros(shape, dtype=dy.dtype, requires_grad=True)
    return pulled(lambda x: pool(x, kernel, stride, padding, count_include_pad=include), dy, zero)[0]


def our_avg(dy, shape, kernel, stride, padding, include):
    n = len(shape) - 2
    return o.avg_pool_gradient(dy, shape[2:], [kernel] * n, stride, padding, 1, False, include)


expression("avg_pool_gradient", "torch.autograd of avg_poolNd", our_avg, torch_avg, avg_samples, scale="absolute")


def max_samples(dtype, grad):
    import torch

    for x, kernel, stride, padding in POOLS:
        pool = getattr(torch.nn.functional, f"max_pool{len(x) - 2}d")
        out, index = pool(make(x, torch.float32, False), kernel, stride, padding, return_indices=True)
        yield sample(make(tuple(out.shape), dtype, grad), index, list(x))


def torch_max(dy, index, shape):
    import torch

    rows = dy.reshape(-1, dy[0, 0].numel())
    flat = torch.zeros(rows.shape[0], int(torch.tensor(shape[2:]).prod()), dtype=dy.dtype)
    return flat.scatter_add(1, index.reshape(rows.shape), rows).reshape(shape)


def our_max(dy, index, shape):
    return o.max_pool_gradient(dy, index, shape[2:])


expression("max_pool_gradient", "torch scatter_add", our_max, torch_max, max_samples, scale="absolute", ulps=1)


# Normalisations: the op gets the statistics that the forward op used.
def norm_samples(channel_axis):
    def samples(dtype, grad):
        for shape in (((4, 6), (2, 3, 8), (5, 2)) if channel_axis else ((4, 6), (3, 2, 5), (2, 3, 4, 5))):
            c = shape[-1] if channel_axis else shape[1]
            yield sample(make(shape, dtype, grad), make(shape, dtype, grad), make((c,), dtype, grad))

    return samples


def torch_layer(dy, x, scale):
    import torch

    bias = torch.zeros_like(scale)
    return pulled(lambda x, s, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), s, b), dy, x, scale, bias)


def our_layer(dy, x, scale):
    axis = -1
    mean = o.mean(x, axis)
    inverse = o.rsqrt(o.add(o.var(x, axis), 1e-5))
    return tuple(o.layer_norm_gradient(dy, x, mean, inverse, scale))


def torch_rms(dy, x, scale):
    import torch

    return pulled(lambda x, s: torch.nn.functional.rms_norm(x, (x.shape[-1],), s, 1e-5), dy, x, scale)


def our_rms(dy, x, scale):
    return tuple(o.rms_norm_gradient(dy, x, o.rsqrt(o.add(o.mean(o.square(x), -1), 1e-5)), scale))


def torch_batch(dy, x, scale):
    import torch

    bias = torch.zeros_like(scale)
    return pulled(lambda x, s, b: torch.nn.functional.batch_norm(x, None, None, s, b, True), dy, x, scale, bias)


def our_batch(dy, x, scale):
    axes = [i for i in range(x.ndim) if i != 1]
    return tuple(o.batch_norm_gradient(dy, x, o.mean(x, axes), o.rsqrt(o.add(o.var(x, axes), 1e-5)), scale))


# A derivative of these ops alone holds the statistics for constants; with them as functions of x it is the whole one.
for op, ours, theirs, axis in (
    ("layer_norm_gradient", our_layer, torch_layer, True),
    ("rms_norm_gradient", our_rms, torch_rms, True),
    ("batch_norm_gradient", our_batch, torch_batch, False),
):
    expression(
        op, f"torch.autograd of {op[:-9]}", ours, theirs, norm_samples(axis), scale="largest", ulps=64, second=False
    )


def attention_samples(dtype, grad):
    for lead, l, s, e, f in (((2,), 3, 5, 4, 4), ((2, 3), 4, 4, 8, 6), ((), 1, 7, 2, 3)):
        for causal in (False, True):
            yield sample(
                make((*lead, l, f), dtype, grad, low=-2, high=2),
                make((*lead, l, e), dtype, grad, low=-2, high=2),
                make((*lead, s, e), dtype, grad, low=-2, high=2),
                make((*lead, s, f), dtype, grad, low=-2, high=2),
                causal,
            )


def torch_attention(dy, q, k, v, causal):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH):
        return pulled(
            lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal), dy, q, k, v
        )


def our_attention(dy, q, k, v, causal):
    scores = o.divide(o.matmul(q, o.matrix_transpose(k)), q.shape[-1] ** 0.5)
    if causal:
        ones = o.tril(o.ones(scores.shape[-2:], dtype=scores.dtype))
        scores = o.where(o.equal(ones, 1), scores, -float("inf"))
    return tuple(
        o.attention_gradient(dy, q, k, v, o.attention(q, k, v, None, causal), o.logsumexp(scores, -1), None, causal)
    )


expression(
    "attention_gradient",
    "torch.autograd of scaled_dot_product_attention",
    our_attention,
    torch_attention,
    attention_samples,
    scale="largest",
    ulps=64,
    second=False,
)


def resize_samples(dtype, grad):
    for x, size in (((1, 2, 5), [8]), ((2, 1, 4, 6), [7, 3]), ((1, 1, 5, 5), [5, 10])):
        for mode in ("nearest", "linear", "bicubic"):
            if mode == "bicubic" and len(x) != 4:
                continue
            yield sample(make((*x[:2], *size), dtype, grad), list(x), mode)


def torch_resize(dy, shape, mode):
    import torch

    zero = torch.zeros(shape, dtype=dy.dtype, requires_grad=True)
    name = "bilinear" if mode == "linear" and len(shape) == 4 else mode
    return pulled(lambda x: torch.nn.functional.interpolate(x, list(dy.shape[2:]), mode=name), dy, zero)[0]


def our_resize(dy, shape, mode):
    if mode == "nearest":
        return o.resize_gradient(dy, shape[2:], "nearest", "asymmetric", "floor")
    return o.resize_gradient(dy, shape[2:], "cubic" if mode == "bicubic" else "linear", "half_pixel")


expression(
    "resize_gradient",
    "torch.autograd of interpolate",
    our_resize,
    torch_resize,
    resize_samples,
    scale="absolute",
    ulps=64,
)


def gelu_samples(dtype, grad):
    for shape in ((5,), (3, 4), (0, 2)):
        for approximate in ("none", "tanh"):
            yield sample(make(shape, dtype, grad), make(shape, dtype, grad), approximate)


def torch_gelu(dy, x, approximate):
    import torch

    return pulled(lambda x: torch.nn.functional.gelu(x, approximate=approximate), dy, x)[0]


expression(
    "gelu_gradient",
    "torch.autograd of gelu",
    lambda dy, x, approximate: o.gelu_gradient(dy, x, approximate),
    torch_gelu,
    gelu_samples,
    scale="largest",
    ulps=16,
)


def entropy_samples(dtype, grad):
    import torch

    for shape in ((4, 3), (5,), (2, 3, 4), (0, 3)):
        labels = torch.randint(0, shape[-1], shape[:-1])
        yield sample(make(shape[:-1], dtype, grad), make(shape, dtype, grad), labels)


def torch_entropy(dy, logits, labels):
    import torch

    def loss(x):
        return -torch.log_softmax(x, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)

    return pulled(loss, dy, logits)[0]


expression(
    "cross_entropy_gradient",
    "torch.autograd of cross_entropy",
    lambda dy, logits, labels: o.cross_entropy_gradient(dy, o.log_softmax(logits, -1), labels),
    torch_entropy,
    entropy_samples,
    scale="largest",
    ulps=16,
)
