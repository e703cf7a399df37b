"""Draws what 02_train_cnn --out FOLDER kept: curve.png, the training curve, and predictions.png, a grid of test images
with the network's answers.

    python examples/02_draw.py FOLDER
"""

import csv
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

CLASSES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


def draw_curve(folder):
    with open(folder / "history.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file)]
    epochs = [int(row["epoch"]) + 1 for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, name, title in ((left, "loss", "Loss"), (right, "acc", "Accuracy")):
        axes.plot(epochs, [float(row[name]) for row in rows], "o-", label="training (with flips)")
        axes.plot(epochs, [float(row["val_" + name]) for row in rows], "s-", label="test")
        axes.set_title(title)
        axes.set_xlabel("epoch")
        axes.set_xticks(epochs)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(folder / "curve.png", dpi=110)


def draw_predictions(folder, columns=8, rows=4):
    images, scores, labels = (np.load(folder / f"{name}.npy") for name in ("images", "scores", "labels"))
    figure, grid = plt.subplots(rows, columns, figsize=(columns * 1.5, rows * 1.85), layout="constrained")
    for i, axes in enumerate(grid.flat):
        best = int(scores[i].argmax())
        right = best == labels[i]
        axes.imshow(images[i, 0], cmap="gray_r")
        text = f"{CLASSES[best]} {scores[i, best]:.0%}" + ("" if right else f"\nis {CLASSES[labels[i]]}")
        axes.set_title(text, fontsize=8, color="black" if right else "crimson")
        axes.set_axis_off()
    figure.savefig(folder / "predictions.png", dpi=110)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    draw_curve(folder)
    draw_predictions(folder)
    print(f"drew {folder / 'curve.png'} and {folder / 'predictions.png'}")


if __name__ == "__main__":
    main()
