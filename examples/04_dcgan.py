"""A DCGAN (Radford, Metz and Chintala 2016) on Fashion-MNIST: one network draws clothes from noise, another tells them from
photographs, and each learns from the other. Writes a grid of samples.

    python examples/04_dcgan.py [--epochs 5] [--out samples.png]
"""

import argparse

import matplotlib
import numpy as np
import oarlock
from oarlock import data, nn, optim, vision

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

NOISE = 64


def generator(width):
    return nn.Sequential(
        nn.Linear(NOISE, width * 2 * 7 * 7), nn.ReLU(), nn.Unflatten(1, (width * 2, 7, 7)),
        nn.Conv2DTranspose(width * 2, width, 4, stride=2, padding=1), nn.BatchNorm2D(width), nn.ReLU(),
        nn.Conv2DTranspose(width, 1, 4, stride=2, padding=1), nn.Tanh())


def critic(width):
    return nn.Sequential(
        nn.Conv2D(1, width, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
        nn.Conv2D(width, width * 2, 4, stride=2, padding=1), nn.BatchNorm2D(width * 2), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(width * 2 * 7 * 7, 1))


def start(layer):
    """The paper's first values: every weight from N(0, 0.02)."""
    if isinstance(layer, (nn.Linear, nn.Conv2D, nn.Conv2DTranspose)):
        with oarlock.no_grad():
            layer.weight[...] = 0.02 * oarlock.randn(*layer.weight.shape)


def draw(images, path, columns=8):
    n, _, h, w = images.shape
    grid = images.reshape(n // columns, columns, h, w).transpose(0, 2, 1, 3).reshape(n // columns * h, columns * w)
    plt.imsave(path, grid, cmap="gray_r", vmin=-1, vmax=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=-1, help="batches in all; -1: no limit")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--out", default="samples.png")
    args = parser.parse_args()

    oarlock.set_seed(1)
    to_unit = vision.Compose([vision.ToFloat(), vision.Normalize(0.5, 0.5)])  # -1..1, as tanh gives it
    loader = data.DataLoader(vision.FashionMNIST("train", to_unit), args.batch_size, shuffle=True, drop_last=True, num_workers=1)
    g, d = generator(args.width), critic(args.width)
    g.apply(start), d.apply(start)
    g_optimizer, d_optimizer = (optim.Adam(net.parameters(), 2e-4, beta1=0.5) for net in (g, d))
    loss = nn.BCEWithLogitsLoss()
    real, fake = oarlock.ones((args.batch_size, 1)), oarlock.zeros((args.batch_size, 1))
    seen = oarlock.randn(64, NOISE)  # the same noise for every grid

    step = 0
    for epoch in range(args.epochs):
        for images, _ in loader:
            drawn = g(oarlock.randn(args.batch_size, NOISE))
            d_optimizer.clear_grad()
            d_loss = loss(d(images), real) + loss(d(drawn.detach()), fake)
            d_loss.backward()
            d_optimizer.step()

            g_optimizer.clear_grad()
            g_loss = loss(d(drawn), real)
            g_loss.backward()
            g_optimizer.step()
            step += 1
            if step % 50 == 0 or step == args.steps:
                print(f"epoch {epoch + 1} step {step}: critic {d_loss.item():.3f}, generator {g_loss.item():.3f}", flush=True)
            if step == args.steps:
                break
        g.eval()
        with oarlock.no_grad():
            draw(np.asarray(g(seen)), args.out)
        g.train()
        if step == args.steps:
            break
    print(f"drew {args.out}")


if __name__ == "__main__":
    main()
