"""Training that survives kill -9: a child is killed at a random moment, started again from its last checkpoint, and ends
with the very weights of a run that nobody disturbed.

    python examples/06_resume.py [--epochs 4]
"""

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import oarlock
from oarlock import callbacks, data, metric, nn, optim


def train(folder, epochs):
    oarlock.set_seed(1)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(512, 20)).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("int64")
    loader = data.DataLoader(data.TensorDataset(x, y), 16, shuffle=True, seed=2, num_workers=1)
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))
    model = oarlock.Model(net)
    model.prepare(optim.Adam(net.parameters(), 1e-3), nn.CrossEntropyLoss(), metric.Accuracy())
    # "last" is written after every fifth batch, beside its target and renamed over it: a kill never leaves half a file.
    last = os.path.join(folder, "last.safetensors")
    keep = callbacks.ModelCheckpoint(folder, every_steps=5)
    model.fit(loader, epochs=epochs, verbose=0, callbacks=[keep], resume=last if os.path.exists(last) else None)


def start(folder, epochs):
    return subprocess.Popen([sys.executable, __file__, "--child", folder, "--epochs", str(epochs)])


def digest(folder):
    """Of the weights alone."""
    parts, _ = oarlock.load_checkpoint(os.path.join(folder, "final.safetensors"), restore_random=False)
    weights = parts["model"]
    return hashlib.sha256(b"".join(np.asarray(weights[k]).tobytes() for k in sorted(weights))).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return train(args.child, args.epochs)

    with tempfile.TemporaryDirectory() as calm, tempfile.TemporaryDirectory() as wild:
        if start(calm, args.epochs).wait():
            sys.exit("the undisturbed run failed")
        child = start(wild, args.epochs)
        while not os.path.exists(os.path.join(wild, "last.safetensors")):  # it has begun
            if child.poll() is not None:
                sys.exit("the run ended before it could be killed")
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.2))
        child.kill()
        print("killed" if child.wait() else "it was done before the kill; its end is compared all the same")
        if start(wild, args.epochs).wait():
            sys.exit("the resumed run failed")
        a, b = digest(calm), digest(wild)
    print(f"undisturbed {a[:16]}, killed and resumed {b[:16]}: {'the same bits' if a == b else 'they differ'}")
    sys.exit(a != b)


if __name__ == "__main__":
    main()
