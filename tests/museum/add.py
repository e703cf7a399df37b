"""Adds what this build saves to the museum: python tests/museum/add.py FOLDER writes each exhibit that FOLDER lacks, as NAME.oarp
and NAME.safetensors, and NAME.answers.safetensors with inputs and what they gave. Exhibits never change: later builds have
to read them and answer alike (tests/api/src/jit/museum_test.cc). Run it for each release.
"""

import pathlib
import sys

import oarlock
from oarlock import jit, nn


def fashion():
    """Convolutions, batch norm and pooling on images, for any number of them."""
    net = nn.Sequential(nn.Conv2D(1, 8, 3, stride=2, padding=1), nn.BatchNorm2D(8), nn.ReLU(),
                        nn.Conv2D(8, 16, 3, stride=2, padding=1), nn.BatchNorm2D(16), nn.ReLU(),
                        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(16, 10))
    return net, [jit.InputSpec(["N", 1, 28, 28], name="image")], [(3, 1, 28, 28)]


def transformer():
    """Attention, layer norm and GELU, with two named sizes; dropout is gone in inference."""
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, activation="gelu"), 2)
    return net, [jit.InputSpec(["N", "T", 16], name="tokens")], [(2, 5, 16)]


def sizes():
    """Sizes that are computed from others, guards, constants of several dtypes, and an output that nobody wants."""
    def f(x, y):
        half = oarlock.max_pool(x.reshape([x.shape[0], 1, x.shape[1]]), [2], [2])
        top = oarlock.topk(y, 2)[0]
        return half.flatten(1), (x + y > 0.5).astype("int64").sum(1) * 3, top

    return f, [jit.InputSpec(["A", "B"], name="x"), jit.InputSpec(["C", "B"], name="y")], [(3, 8), (3, 8)]


def noise():
    """Draws of the run's own."""
    def f(x):
        return x + 0 * oarlock.rand([4]), abs(x)

    return f, [jit.InputSpec([4], name="x")], [(4,)]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (fashion, transformer, sizes, noise):
        stem = folder / make.__name__
        if stem.with_suffix(".oarp").exists():
            continue
        oarlock.set_seed(1)
        function, spec, shapes = make()
        jit.save(function, stem, spec, name=make.__name__)
        inputs = [oarlock.randn(shape) for shape in shapes]
        outputs = oarlock.inference.create_predictor(oarlock.inference.Config(str(stem))).run(inputs)
        answers = {f"in{i}": t for i, t in enumerate(inputs)} | {f"out{i}": t for i, t in enumerate(outputs)}
        oarlock.save(answers, f"{stem}.answers.safetensors")
        print("added", stem)


if __name__ == "__main__":
    main()
