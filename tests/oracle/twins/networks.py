"""Layers' ops: products, convolutions, pooling, normalisation, attention, losses, resizing."""

import oarlock as o

from twin import Excluded, cases, expression, twin

from .reductions import named

F = "nn.functional."


def matmul(a, b):
    if a.ndim < 2 or b.ndim < 2:
        raise Excluded("vectors")
    return o.matmul(a, b)


twin("matmul", "matmul", matmul, scale="absolute")
twin("matmul", "__rmatmul__", lambda a, b: matmul(b, a), scale="absolute")
twin("matmul", "mm", matmul, scale="absolute")
twin("matmul", "bmm", matmul, scale="absolute")


def many(value, n):
    return [value] * n if isinstance(value, int) else list(value) * (n if len(value) == 1 else 1)


def batched(f, axes):
    """torch lets the batch out: x of [C, *D]."""

    def call(x, *more, **keywords):
        single = x.ndim == axes + 1
        out = f(o.unsqueeze(x, 0) if single else x, *more, **keywords)
        return o.squeeze(out, 0) if single else out

    return call


def conv(n):
    def call(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
        stride, dilation = many(stride, n), many(dilation, n)
        if padding == "valid":
            padding = 0
        if padding == "same":
            whole = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
            padding = [t // 2 for t in whole] + [t - t // 2 for t in whole]
        else:
            padding = many(padding, n)
        return o.conv(x, w, bias, stride, padding, dilation, groups)

    return batched(call, n)


def conv_transpose(n):
    def call(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return o.conv_transpose(
            x, w, bias, many(stride, n), many(padding, n), many(dilation, n), groups, many(output_padding, n)
        )

    return batched(call, n)


def max_pool(n):
    def call(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        kernel = many(kernel_size, n)
        return o.max_pool(
            x,
            kernel,
            many(kernel if stride in (None, [], ()) else stride, n),
            many(padding, n),
            many(dilation, n),
            ceil_mode,
        )

    return batched(call, n)


def avg_pool(n):
    def call(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        if divisor_override is not None:
            raise Excluded("argument", "divisor_override")
        kernel = many(kernel_size, n)
        return o.avg_pool(
            x,
            kernel,
            many(kernel if stride in (None, [], ()) else stride, n),
            many(padding, n),
            1,
            ceil_mode,
            count_include_pad,
        )

    return batched(call, n)


def adaptive(f, n):
    def call(x, output_size, return_indices=False):
        size = many(output_size, n) if not isinstance(output_size, type(None)) else [None] * n
        return f(x, [x.shape[2 + i] if s is None else s for i, s in enumerate(size)])

    return batched(call, n)


def first(out):
    return out[0] if isinstance(out, (tuple, list)) else out


ALONE = {
    "pad should be at most half": "padding may be larger than half the window: a window of padding alone has its own rule"
}
for n in (1, 2, 3):
    twin(
        "conv",
        F + f"conv{n}d",
        conv(n),
        scale="absolute",
        accepts={"not supported for strided": "numbers for the padding may go with strides"},
    )
    twin("conv_transpose", F + f"conv_transpose{n}d", conv_transpose(n), scale="absolute")
    twin("max_pool", F + f"max_pool{n}d", max_pool(n), pick=first, exact=True, accepts=ALONE)
    twin("avg_pool", F + f"avg_pool{n}d", avg_pool(n), scale="absolute", accepts=ALONE)
    twin("adaptive_avg_pool", F + f"adaptive_avg_pool{n}d", adaptive(o.adaptive_avg_pool, n), scale="absolute")
    twin("adaptive_max_pool", F + f"adaptive_max_pool{n}d", adaptive(o.adaptive_max_pool, n), pick=first, exact=True)


def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if x.ndim < 2:
        raise Excluded("rank")
    if running_mean is None:
        training = True
        running_mean, running_var = o.zeros((x.shape[1],), dtype=x.dtype), o.ones((x.shape[1],), dtype=x.dtype)
    return o.batch_norm(x, running_mean, running_var, weight, bias, training, 1 - momentum, eps).out


NEW = "the result is compared; the new running variance is that over n, as in ONNX, where torch's is over n - 1"
for variant in ("", "/without_cudnn"):
    twin("batch_norm", F + "batch_norm" + variant, batch_norm, scale="largest", ulps=16, note=NEW)


def instance_norm(
    x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    if not use_input_stats:
        raise Excluded("argument", "use_input_stats")
    return o.instance_norm(x, weight, bias, eps)


twin("instance_norm", F + "instance_norm", instance_norm, scale="largest", ulps=16)
twin(
    "group_norm",
    F + "group_norm",
    lambda x, num_groups, weight=None, bias=None, eps=1e-5: o.group_norm(x, num_groups, weight, bias, eps),
    scale="largest",
    ulps=16,
)


def _flat(x, shape, *parameters):
    n = len(shape)
    lead = list(x.shape[: x.ndim - n])
    count = 1
    for s in shape:
        count *= s
    return o.reshape(x, lead + [count]), [None if p is None else o.reshape(p, (count,)) for p in parameters]


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    flat, (weight, bias) = _flat(x, normalized_shape, weight, bias)
    return o.reshape(o.layer_norm(flat, weight, bias, eps), x.shape)


def rms_norm(x, normalized_shape, weight=None, eps=None):
    flat, (weight,) = _flat(x, normalized_shape, weight)
    return o.reshape(o.rms_norm(flat, weight, float(o.finfo(x.dtype).eps) if eps is None else eps), x.shape)


SEVERAL = "several axes at once by a reshape"
twin("layer_norm", F + "layer_norm", layer_norm, scale="largest", ulps=16, note=SEVERAL)
twin(
    "rms_norm",
    F + "rms_norm",
    rms_norm,
    scale="largest",
    ulps=16,
    note=SEVERAL,
    accepts={"at least 1-dimensional": "the adapter reshapes to one axis"},
)


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if dropout_p:
        raise Excluded("random")
    if enable_gqa and q.ndim > 2 and q.shape[-3] != k.shape[-3] and k.shape[-3] != 1:
        raise Excluded("grouped heads")
    return o.attention(q, k, v, attn_mask, is_causal, scale)


twin(
    "attention",
    F + "scaled_dot_product_attention",
    attention,
    scale="largest",
    ulps=16,
    constant=("kwargs[attn_mask]",),
    note="numbers in the mask get no gradient in Oarlock",
)

# Losses.


def reduced(loss, reduction):
    return loss if reduction == "none" else o.sum(loss) if reduction == "sum" else o.mean(loss)


def like(x, target):
    if x.shape != target.shape:
        raise Excluded("broadcast loss")


def weighted(f):
    def call(x, target, weight=None, size_average=None, reduce=None, reduction="mean", **more):
        like(x, target)
        if size_average is not None or reduce is not None:
            raise Excluded("argument", "size_average, reduce")
        if weight is None:
            return f(x, target, reduction=reduction, **more)
        return reduced(o.multiply(f(x, target, reduction="none", **more), weight), reduction)

    return call


def loss(f):
    def call(x, target, size_average=None, reduce=None, reduction="mean", weight=None, **more):
        if weight is not None:
            raise Excluded("argument", "weight")
        return weighted(f)(x, target, None, size_average, reduce, reduction, **more)

    return call


twin(
    "binary_cross_entropy",
    F + "binary_cross_entropy",
    weighted(o.binary_cross_entropy),
    scale="largest",
    ulps=16,
    rough=1e3,
    note="torch's second derivative adds 1e-12 to x * (1 - x)",
)
twin(
    "binary_cross_entropy_with_logits",
    F + "binary_cross_entropy_with_logits",
    lambda *a, pos_weight=None, **k: weighted(
        lambda x, target, reduction: o.binary_cross_entropy_with_logits(x, target, pos_weight, reduction)
    )(*a, **k),
    scale="largest",
    ulps=16,
    constant=("kwargs[pos_weight]",),
)
twin("kl_div", F + "kl_div", loss(o.kl_div), scale="largest", ulps=16)
twin("l1_loss", F + "l1_loss", loss(o.l1_loss), scale="largest")
twin("mse_loss", F + "mse_loss", loss(o.mse_loss), scale="largest")
twin(
    "huber_loss",
    F + "huber_loss",
    lambda x, target, reduction="mean", delta=1.0, weight=None: loss(o.huber_loss)(
        x, target, reduction=reduction, delta=delta, weight=weight
    ),
    scale="largest",
    accepts={"non-positive": "delta 0 is the limit: the loss is 0"},
)
twin("smooth_l1_loss", F + "smooth_l1_loss", loss(o.smooth_l1_loss), scale="largest")


def _class_axis(x):
    return 0 if x.ndim == 1 else 1


def nll_loss(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return o.nll_loss(x, target, weight, _class_axis(x), ignore_index, reduction)


def cross_entropy_loss(
    x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    if "float" in named(target.dtype):
        raise Excluded("probabilities")
    return o.cross_entropy_loss(x, target, weight, _class_axis(x), ignore_index, label_smoothing, reduction)


def cross_entropy(
    x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    if "float" in named(target.dtype):
        raise Excluded("probabilities")
    if weight is not None or label_smoothing or (o.any(o.equal(target, ignore_index)).item() if target.size else False):
        raise Excluded("argument", "weight, label_smoothing, ignore_index: those of cross_entropy_loss")
    return reduced(o.cross_entropy(o.moveaxis(x, _class_axis(x), -1), target), reduction)


CONSTANT = "class weights get no gradient in Oarlock"
twin("nll_loss", F + "nll_loss", nll_loss, scale="largest", constant=("kwargs[weight]",), note=CONSTANT)
twin(
    "cross_entropy_loss",
    F + "cross_entropy",
    cross_entropy_loss,
    scale="largest",
    ulps=16,
    constant=("kwargs[weight]",),
    note=CONSTANT,
)
twin("cross_entropy", F + "cross_entropy", cross_entropy, scale="largest", ulps=16)


def interpolate(
    x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    if antialias:
        raise Excluded("argument", "antialias")
    if mode == "area":
        raise Excluded("argument", "area, which is adaptive_avg_pool")
    sizes = list(x.shape[2:])
    if size is not None:
        size = many(size, len(sizes))
    else:
        factors = [scale_factor] * len(sizes) if isinstance(scale_factor, (int, float)) else list(scale_factor)
        size = [int(s * f) for s, f in zip(sizes, factors)]
        if not recompute_scale_factor and any(s * f != e for s, f, e in zip(sizes, factors, size)):
            raise Excluded("scale factor")
    if mode == "nearest":
        return o.resize(x, size, "nearest", "asymmetric", "floor")
    if mode == "nearest-exact":
        return o.resize(x, size, "nearest", "half_pixel", "round_prefer_ceil")
    return o.resize(
        x, size, "cubic" if mode == "bicubic" else "linear", "align_corners" if align_corners else "half_pixel"
    )


for mode in ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"):
    twin("resize", F + "interpolate/" + mode, interpolate, scale="largest", exact=mode.startswith("nearest"), ulps=64)
