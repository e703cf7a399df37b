"""A function with a gradient of its own: log(1 + exp(x)) that never overflows, checked against finite differences and
used to train a small network.

    python examples/03_custom_function.py [--steps 200]
"""

import argparse

import numpy as np
import oarlock
from oarlock import nn, optim


class Softplus(oarlock.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return oarlock.maximum(x, 0.0) + oarlock.log1p(oarlock.exp(-oarlock.abs(x)))

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * oarlock.sigmoid(x)


def check_gradient(h=1e-6):
    """The largest difference between the gradient and central differences, in float64."""
    points = np.linspace(-8, 8, 33)
    x = oarlock.tensor(points, requires_grad=True)
    Softplus.apply(x).sum().backward()
    def value(p):
        return Softplus.apply(oarlock.tensor(p)).numpy()
    return float(np.abs(x.grad.numpy() - (value(points + h) - value(points - h)) / (2 * h)).max())


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(1, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.out(Softplus.apply(self.hidden(x)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps

    print(f"largest error of the gradient: {check_gradient():.1e}")
    oarlock.set_seed(1)
    x = oarlock.linspace(-2, 2, 64).reshape((64, 1))
    y = oarlock.sin(x * 2)
    net = Net()
    optimizer = optim.Adam(net.parameters(), 0.03)
    for step in range(steps):
        loss = ((net(x) - y) ** 2).mean()
        optimizer.clear_grad()
        loss.backward()
        optimizer.step()
        if step == 0 or step == steps - 1:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
