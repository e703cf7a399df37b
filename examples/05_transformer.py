"""A small transformer that learns to write like the licences in /usr/share/common-licenses, a character at a time.

    python examples/05_transformer.py [--steps 2000]
"""

import argparse
from pathlib import Path

import numpy as np
import oarlock
from oarlock import nn, optim


class Writer(nn.Layer):
    def __init__(self, characters, context, width, heads, depth):
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(characters, width)
        self.places = nn.Embedding(context, width)
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", normalize_before=True,
                                           causal=True)
        self.blocks = nn.TransformerEncoder(block, depth, nn.LayerNorm(width))
        self.out = nn.Linear(width, characters)

    def forward(self, text):
        x = self.characters(text) + self.places(oarlock.arange(text.shape[1]))
        return self.out(self.blocks(x))


def write(net, alphabet, start, length, rng, temperature=0.8):
    net.eval()
    codes = [alphabet.index(c) for c in start]
    with oarlock.no_grad():
        for _ in range(length):
            scores = net(oarlock.asarray([codes[-net.context:]])).numpy()[0, -1] / temperature
            p = np.exp(scores - scores.max())
            codes.append(int(rng.choice(len(p), p=p / p.sum())))
    return "".join(alphabet[c] for c in codes)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--length", type=int, default=300, help="characters to write at the end")
    args = parser.parse_args()

    paths = sorted({p.resolve() for p in Path("/usr/share/common-licenses").iterdir()})
    text = "\n".join(p.read_text(encoding="utf-8", errors="replace") for p in paths)
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(c) for c in text])
    print(f"{len(text)} characters, {len(alphabet)} kinds")

    oarlock.set_seed(1)
    rng = np.random.default_rng(1)
    net = Writer(len(alphabet), args.context, args.width, heads=4, depth=args.depth)
    rate = optim.lr.OneCycleLR(3e-3, args.steps)
    optimizer = optim.AdamW(net.parameters(), rate, grad_clip=optim.ClipGradByGlobalNorm(1.0))
    loss_of = nn.CrossEntropyLoss()
    for step in range(1, args.steps + 1):
        starts = rng.integers(0, len(codes) - args.context - 1, args.batch_size)
        pieces = np.stack([codes[s:s + args.context + 1] for s in starts])
        scores = net(oarlock.asarray(pieces[:, :-1]))
        # Every character is guessed from those before it.
        loss = loss_of(scores.reshape((-1, len(alphabet))), oarlock.asarray(pieces[:, 1:].reshape(-1)))
        optimizer.clear_grad()
        loss.backward()
        optimizer.step()
        rate.step()
        if step == 1 or step % 100 == 0 or step == args.steps:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    print("---")
    print(write(net, alphabet, "The licen", args.length, rng))


if __name__ == "__main__":
    main()
