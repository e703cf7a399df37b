"""Whole training steps (forward, loss, backward, optimiser step) beside torch's, and the memory they take.

    PYTHONPATH=build/python .venv-rivals/bin/python tests/bench/training.py [--only lenet,demo] [--dtypes f32]
        [--threads 1] [--seconds 20] [--text]

Needs a Python that has torch and numpy. Each side has a process of its own, so that its peak memory is its own; both start
from the same weights and data, and their first losses have to agree before anything is timed. Then their steps alternate.
torch runs in its faster layout (contiguous or channels last) with its fused optimisers. bf16 means that weights, data and
the optimiser's state are bf16 on both sides.

Columns: milliseconds of a step, best and median; ratio is torch's best by ours, and of medians; memory is the peak of
resident bytes above what the process held before the network was made, in MB, and of the whole process; ratios are ours by
torch's. products is the part of our step's time that convolutions and products themselves take, which no framework around
the same library can do without (primitive_bench holds them against the bare primitives). A row passes where the step's ratio
is 1.3 or more, or products 0.88 or more, and the memory's ratio is 0.75 or less.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

from networks import TOKENS, WORDS, bert, bert_dropout, demo, initial, lenet, resnet18
from sides import Side, keep_to, resident, rival_python

SPEED, PRODUCTS, MEMORY = 1.3, 0.88, 0.75

WORKLOADS = {
    "LeNet b64": (lenet, (64, 1, 28, 28), 10, "sgd"),
    "demo network b64": (demo, (64, 1, 28, 28), 10, "sgd"),
    "ResNet-18 (32x32) b64": (resnet18, (64, 3, 32, 32), 10, "sgd"),
    "BERT-small 8x128": (bert, (8, TOKENS), WORDS, "adamw"),
    "BERT-small 8x128, dropout": (bert_dropout, (8, TOKENS), WORDS, "adamw"),
}


# One side, in a process of its own.

def data(shape, classes):
    import numpy as np
    rng = np.random.default_rng(1)
    if len(shape) == 2:
        return rng.integers(0, classes, shape), rng.integers(0, classes, shape).reshape(-1)
    return rng.standard_normal(shape).astype(np.float32), rng.integers(0, classes, shape[:1])


def torch_side(name, dtype, threads, last):
    import torch
    torch.set_num_threads(threads)
    make, shape, classes, optimiser = WORKLOADS[name]
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    torch.manual_seed(1)
    yield f"torch {torch.__version__}"

    net = make(torch.nn)
    with torch.no_grad():
        for key, p in net.named_parameters():
            values = initial(key, p.shape)
            if values is not None:
                p.copy_(torch.from_numpy(values))
            elif key.endswith("bias"):
                p.zero_()
    net.to(kind)
    x, y = map(torch.from_numpy, data(shape, classes))
    if len(shape) == 4:
        x = x.to(kind)
        if last:
            net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    loss_of = torch.nn.CrossEntropyLoss()
    if optimiser == "sgd":
        step = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, weight_decay=2e-4, fused=True)
    else:
        step = torch.optim.AdamW(net.parameters(), 1e-4, fused=True)

    def run():
        step.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        step.step()
        return loss

    def check():
        net.eval()
        with torch.no_grad():
            return loss_of(net(x), y).item()
    yield run, check, net


def oarlock_side(name, dtype, threads, _):
    import oarlock
    from oarlock import nn, optim
    oarlock.set_setting("threads", threads)
    make, shape, classes, optimiser = WORKLOADS[name]
    kind = {"f32": oarlock.float32, "bf16": oarlock.bfloat16}[dtype]
    oarlock.set_seed(1)
    oarlock.devices()
    yield "oarlock"

    net = make(nn)
    state = {}
    for key, p in net.named_parameters():
        values = initial(key, p.shape)
        if values is not None:
            state[key] = oarlock.asarray(values)
        elif key.endswith("bias"):
            state[key] = oarlock.zeros(p.shape)
    net.load_state_dict(state, strict=False)
    del state
    net.to(dtype=kind)
    x, y = map(oarlock.asarray, data(shape, classes))
    if len(shape) == 4:
        x = x.astype(kind)
    loss_of = nn.CrossEntropyLoss()
    if optimiser == "sgd":
        step = optim.SGD(net.parameters(), 0.01, momentum=0.9, weight_decay=2e-4, multi_precision=False)
    else:
        step = optim.AdamW(net.parameters(), 1e-4, multi_precision=False)

    def run():
        step.clear_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        step.step()
        return loss

    def check():
        net.eval()
        with oarlock.no_grad():
            return loss_of(net(x), y).item()
    yield run, check, net


def products(run):
    """The part of a step that its convolutions and products take; of three steps the middle one."""
    import tempfile

    import oarlock
    parts = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            with oarlock.profile(path):
                begin = time.perf_counter()
                run().item()
                whole = (time.perf_counter() - begin) * 1e6
            trace = json.loads(Path(path).read_text())
        events = trace if isinstance(trace, list) else trace["traceEvents"]
        kernels = [e for e in events if e.get("cat") == "kernel" and e["name"].startswith(("conv", "matmul"))]
        parts.append(sum(e["dur"] for e in kernels) / whole)
    return statistics.median(parts)


def child(side, name, dtype, threads, last):
    """Answers lines of standard input: "losses", "steps N", "memory", "products"."""
    keep_to(threads)
    made = {"torch": torch_side, "oarlock": oarlock_side}[side](name, dtype, threads, last)
    version = next(made)
    before = resident()
    run, check, net = next(made)
    print(json.dumps(version), flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "losses":  # in training where that repeats, else as tested
            answer = [check()]
            net.train()
            if "dropout" not in name:
                answer += [run().item() for _ in range(3)]
        elif words[0] == "memory":
            Path("/proc/self/clear_refs").write_text("5")
            for _ in range(2):
                run().item()
            answer = [resident("VmHWM") - before, resident("VmHWM")]
        elif words[0] == "products":
            answer = products(run)
        else:
            answer = []
            for _ in range(int(words[1])):
                begin = time.perf_counter()
                run().item()
                answer.append((time.perf_counter() - begin) * 1e3)
        print(json.dumps(answer), flush=True)


# The parent: starts both, compares, takes turns.

def close(a, b, dtype):
    tolerance = {"f32": 2e-3, "bf16": 5e-2}[dtype]
    return all(abs(x - y) <= tolerance * max(1, abs(y)) for x, y in zip(a, b))


def torch_layout(name, dtype, threads):
    """True where channels last is faster."""
    if len(WORKLOADS[name][1]) != 4:
        return False
    times = []
    for last in (False, True):
        side = Side(__file__, "torch", name, dtype, threads, int(last), threads=threads)
        side.ask("steps", 1)
        times.append(min(side.ask("steps", 3)))
        side.close()
    return times[1] < times[0]


def measure(name, dtype, threads, seconds):
    last = torch_layout(name, dtype, threads)
    sides = []
    try:
        sides = [Side(__file__, side, name, dtype, threads, int(last), threads=threads) for side in ("oarlock", "torch")]
        ours, theirs = (side.ask("losses") for side in sides)
        if not close(ours, theirs, dtype):
            raise SystemExit(f"training: the losses of {name} {dtype} disagree, ours {ours}, torch's {theirs}.")
        for side in sides:
            side.ask("steps", 1)
        memory = [side.ask("memory") for side in sides]
        times = [[], []]
        once = sum(side.ask("steps", 1)[0] for side in sides) / 1e3
        rounds = 10
        each = max(1, int(seconds / once / rounds))
        for _ in range(rounds):
            for side, into in zip(sides, times):
                into += side.ask("steps", each)
        part = sides[0].ask("products")
        best, median = [min(t) for t in times], [statistics.median(t) for t in times]
    finally:
        for side in sides:
            side.close()
    fast, small = best[1] / best[0], memory[0][0] / memory[1][0]
    slow, large = fast < SPEED and part < PRODUCTS, small > MEMORY
    verdict = " and ".join(["slow"] * slow + ["large"] * large) or "pass"
    return [name, dtype, threads, *(round(x, 2) for x in (best[0], median[0], best[1], median[1], fast, median[1] / median[0], part)),
            *(round(x, 2) for x in (memory[0][0], memory[1][0], small, memory[0][1], memory[1][1])),
            "channels last" if last else "contiguous", len(times[0]), sides[1].version,
            round(os.getloadavg()[0], 1), verdict]


COLUMNS = ["workload", "dtype", "threads", "best ms", "median ms", "torch best ms", "torch median ms", "ratio",
"ratio of medians", "products", "MB", "torch MB", "MB ratio", "process MB", "torch process MB", "torch layout", "steps", "rival",
           "load", "verdict"]


def main():
    if sys.argv[1:2] == ["--child"]:
        side, name, dtype, threads, last = sys.argv[2:]
        return child(side, name, dtype, int(threads), last == "1")
    if python := rival_python():
        os.execv(python, [str(python), *sys.argv])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose name has one of these words, by commas")
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=20, help="of measuring, for both sides of a row together")
    parser.add_argument("--text", action="store_true", help="a line a row for people")
    args = parser.parse_args()
    rows = []
    for name in WORKLOADS:
        if not any(word.lower() in name.lower() for word in args.only.split(",")):
            continue
        for dtype in args.dtypes.split(","):
            for threads in map(int, args.threads.split(",")):
                rows.append(measure(name, dtype, threads, args.seconds))
                print("  ".join(f"{v}" for v in rows[-1]), file=sys.stdout if args.text else sys.stderr, flush=True)
    passed = sum(row[-1] == "pass" for row in rows)
    if not args.text:
        json.dump({"columns": COLUMNS, "rows": rows, "summary": f"{passed} of {len(rows)} pass, 0 excluded"}, sys.stdout)


if __name__ == "__main__":
    main()
