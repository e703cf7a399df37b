"""Steps of optimisers: five of each against torch.optim, in f32 and f64, with and without what is optional."""

import itertools

import numpy as np
import oarlock as o

from twin import cases

STEPS, RATE = 5, 0.05


def rate():
    return o.tensor(RATE, dtype="float64")


def compared(make_torch, make_ours, options):
    """Yields the parameter after each step beside torch's in f64, whose error is none against f32's; bounds in ulps of f32."""
    import torch

    def generate():
        names = list(options)
        for values in itertools.product(*options.values()):
            chosen = dict(zip(names, values))
            for dtype in ("float32", "float64"):
                for shape in ((7,), (33, 5), (0, 3), ()):
                    rng = np.random.default_rng(3)
                    start = rng.normal(size=shape).astype(dtype)
                    gradients = [rng.normal(size=shape).astype(dtype) for _ in range(STEPS)]
                    wide = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
                    optimiser = make_torch([wide], **chosen)
                    parameter = o.tensor(start)
                    step = make_ours(parameter, **chosen)
                    for i, g in enumerate(gradients):
                        wide.grad = torch.tensor(g, dtype=torch.float64)
                        optimiser.step()
                        step(o.tensor(g), i + 1)
                    got, want = np.array(parameter), wide.detach().numpy()
                    # An error is relative to what was added up, the start and the steps, not to what is left.
                    scale = np.maximum(np.abs(start), np.abs(want)) + RATE * STEPS
                    close = np.abs(got.astype(np.float64) - want) <= 16 * np.finfo(dtype).eps * scale
                    yield np.where(close, want.astype(dtype), got), want.astype(dtype), 0

    return generate


def zeros(p):
    return o.zeros(p.shape, dtype=p.dtype)


def sgd(parameter, momentum, weight_decay, nesterov, dampening):
    kept = zeros(parameter) if momentum else None

    def step(g, i):
        # torch's first step takes the gradient itself for the momentum, without dampening.
        o.sgd_update(parameter, g, rate(), kept, momentum or 0.9, weight_decay, nesterov, 0.0 if i == 1 else dampening)

    return step


def torch_sgd(parameters, momentum, weight_decay, nesterov, dampening):
    import torch

    return torch.optim.SGD(
        parameters, lr=RATE, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov, dampening=dampening
    )


def adam(update):
    def make(parameter, weight_decay, amsgrad, betas):
        first, second = zeros(parameter), zeros(parameter)
        greatest = zeros(parameter) if amsgrad else None

        def step(g, i):
            update(
                parameter, g, first, second, rate(), o.tensor(i, dtype="int64"), greatest, *betas, 1e-8, weight_decay
            )

        return step

    return make


def torch_adam(name):
    def make(parameters, weight_decay, amsgrad, betas):
        import torch

        return getattr(torch.optim, name)(parameters, lr=RATE, weight_decay=weight_decay, amsgrad=amsgrad, betas=betas)

    return make


def adagrad(parameter, weight_decay):
    kept = zeros(parameter)
    return lambda g, i: o.adagrad_update(parameter, g, kept, rate(), 1e-10, weight_decay)


def torch_adagrad(parameters, weight_decay):
    import torch

    return torch.optim.Adagrad(parameters, lr=RATE, weight_decay=weight_decay)


def rmsprop(parameter, weight_decay, momentum, centered):
    squares = zeros(parameter)
    mean = zeros(parameter) if centered else None
    kept = zeros(parameter) if momentum else None
    return lambda g, i: o.rmsprop_update(
        parameter, g, squares, rate(), mean, kept, 0.99, 1e-8, weight_decay, momentum or 0.9
    )


def torch_rmsprop(parameters, weight_decay, momentum, centered):
    import torch

    return torch.optim.RMSprop(parameters, lr=RATE, weight_decay=weight_decay, momentum=momentum, centered=centered)


DECAY = [0.0, 0.1]


def _sgd():
    plain = {"momentum": [0.0, 0.9], "weight_decay": DECAY, "nesterov": [False], "dampening": [0.0]}
    yield from compared(torch_sgd, sgd, plain)()
    yield from compared(torch_sgd, sgd, {**plain, "momentum": [0.9], "nesterov": [True]})()
    yield from compared(torch_sgd, sgd, {**plain, "momentum": [0.9], "dampening": [0.3]})()


ADAM = {"weight_decay": DECAY, "amsgrad": [False, True], "betas": [(0.9, 0.999), (0.5, 0.9)]}
cases("sgd_update", "torch.optim.SGD", _sgd)
cases("adam_update", "torch.optim.Adam", lambda: compared(torch_adam("Adam"), adam(o.adam_update), ADAM)())
cases("adamw_update", "torch.optim.AdamW", lambda: compared(torch_adam("AdamW"), adam(o.adamw_update), ADAM)())
cases("adagrad_update", "torch.optim.Adagrad", lambda: compared(torch_adagrad, adagrad, {"weight_decay": DECAY})())
cases(
    "rmsprop_update",
    "torch.optim.RMSprop",
    lambda: compared(
        torch_rmsprop, rmsprop, {"weight_decay": DECAY, "momentum": [0.0, 0.9], "centered": [False, True]}
    )(),
)
