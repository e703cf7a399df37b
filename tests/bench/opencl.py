"""The OpenCL device beside the host with its packs (oneDNN among them), both on the processor's cores.

    PYTHONPATH=build/python .venv/bin/python tests/bench/opencl.py [--only demo,product] [--seconds 10] [--text]

Rows: the demo network's training step (examples/02_train_cnn.cc, 64 images; both sides start from the same weights, and
their first losses have to agree); matrix products and the convolutions of that network, forward and both gradients; the
time to compile all kernels of a training step when nothing is cached, and to read them in another process. The sides take
turns, each in a process of its own. Columns: best and median milliseconds of both; ratio: how fast OpenCL is, the host's
best by its best. The step passes where the ratio is 0.5 or more; other rows are there to explain it. Needs a device of
kind opencl (Debian: pocl-opencl-icd).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import training
from networks import initial

ROOT = Path(__file__).resolve().parents[2]
AIM = 0.5
DEMO = "demo network b64"
STEP = f"training step, {DEMO}"

# Images [N, C, H, W], weights [O, C, k, k], stride, padding.
CONVOLUTIONS = [((64, 1, 28, 28), (16, 1, 3, 3), 1, 1), ((64, 16, 28, 28), (32, 16, 3, 3), 2, 1),
                ((64, 32, 14, 14), (32, 32, 3, 3), 1, 1), ((64, 32, 14, 14), (64, 32, 3, 3), 2, 1),
                ((64, 64, 7, 7), (64, 64, 3, 3), 1, 1), ((64, 32, 14, 14), (64, 32, 1, 1), 2, 0),
                ((8, 64, 56, 56), (64, 64, 3, 3), 1, 1)]
PRODUCTS = [(256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (64, 1024, 1024)]


def shape_text(shape):
    return "x".join(map(str, shape))


def step(device):
    """A function that trains one step and returns the loss."""
    import oarlock
    from oarlock import nn, optim
    oarlock.set_seed(1)
    make, shape, classes, _ = training.WORKLOADS[DEMO]
    net, state = make(nn), {}
    for key, p in net.named_parameters():
        values = initial(key, p.shape)
        if values is not None:
            state[key] = oarlock.asarray(values)
    net.load_state_dict(state, strict=False)
    net.to(device=device)
    x, y = (oarlock.asarray(a).to(device) for a in training.data(shape, classes))
    loss_of = nn.CrossEntropyLoss()
    optimiser = optim.SGD(net.parameters(), 0.01, momentum=0.9, weight_decay=2e-4, multi_precision=False)

    def run():
        optimiser.clear_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimiser.step()
        return loss.item()
    return run


def calls(device):
    """Names of calls and functions that run them, without waiting."""
    import numpy as np

    import oarlock
    rng = np.random.default_rng(1)

    def tensor(shape):
        return oarlock.asarray(rng.standard_normal(shape).astype(np.float32)).to(device)
    all_calls = {}
    for m, n, k in PRODUCTS:
        a, b = tensor((m, k)), tensor((k, n))
        all_calls[f"product {m}x{n}x{k}"] = lambda a=a, b=b: oarlock.matmul(a, b)
    for images, weights, stride, padding in CONVOLUTIONS:
        x, w = tensor(images), tensor(weights)
        dy = oarlock.conv(x, w, stride=stride, padding=padding)
        window = {"stride": stride, "padding": padding}
        where = f"{shape_text(images)} by {shape_text(weights)}, stride {stride}"
        all_calls[f"conv {where}"] = lambda x=x, w=w, s=window: oarlock.conv(x, w, **s)
        all_calls[f"conv_input_gradient {where}"] = (
            lambda dy=dy, w=w, s=window, i=images: oarlock.conv_input_gradient(dy, w, size=i[2:], **s))
        all_calls[f"conv_weight_gradient {where}"] = (
            lambda dy=dy, x=x, s=window, k=weights: oarlock.conv_weight_gradient(dy, x, size=k[2:], **s))
    return all_calls


def child(device):
    """Answers lines of standard input: ["losses"], ["steps", n], ["call", name, n], each with a line."""
    import oarlock
    if not any(d.name.startswith(device) for d in oarlock.devices()):
        print(json.dumps(None), flush=True)
        return
    begin = time.perf_counter()
    run = step(device)
    run()
    print(json.dumps(time.perf_counter() - begin), flush=True)
    made = None
    for line in sys.stdin:
        what, *rest = json.loads(line)
        if what == "losses":
            answer = [run() for _ in range(3)]
        elif what == "steps":
            answer = []
            for _ in range(rest[0]):
                begin = time.perf_counter()
                run()
                answer.append((time.perf_counter() - begin) * 1e3)
        else:
            made = made or calls(device)
            name, n = rest
            made[name]().numpy()
            answer = []
            for _ in range(n):  # several behind each other, so that one wait is shared
                begin = time.perf_counter()
                for _ in range(4):
                    last = made[name]()
                oarlock.Device(device).synchronize()
                answer.append((time.perf_counter() - begin) * 1e3 / 4)
                del last
        print(json.dumps(answer), flush=True)


class Side:
    def __init__(self, device, cache):
        env = {**os.environ, "OARLOCK_OPENCL_CACHE": f"{cache}/kernels", "POCL_CACHE_DIR": f"{cache}/pocl"}
        env["PYTHONPATH"] = os.pathsep.join([env.get("PYTHONPATH", ""), str(ROOT / "build/python")])
        self.process = subprocess.Popen([sys.executable, __file__, "--child", device], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=env)
        self.first_step = self.read()  # seconds, with all compilation in them; None: there is no such device

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"opencl: {self.process.args[2:]} ended early")
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def in_turns(sides, seconds, *words):
    """Times of both sides, ten rounds of as many as the seconds allow."""
    once = sum(side.ask(*words, 1)[0] for side in sides) / 1e3
    each, times = max(1, int(seconds / once / 10)), [[], []]
    for _ in range(10):
        for side, into in zip(sides, times):
            into += side.ask(*words, each)
    return times


def row(name, times, aim=None):
    host, ours = times
    ratio = min(host) / min(ours)
    verdict = "" if aim is None else "pass" if ratio >= aim else "slow"
    figures = (min(host), statistics.median(host), min(ours), statistics.median(ours), ratio)
    return [name, *(round(f, 3) for f in figures), verdict]


COLUMNS = ["workload", "host best ms", "host median ms", "opencl best ms", "opencl median ms", "ratio", "verdict"]


def measure(only, seconds, report):
    rows = []

    def add(made):
        rows.append(made)
        report(made)
    with tempfile.TemporaryDirectory() as cache:
        cold = Side("opencl", cache)
        if cold.first_step is None:
            raise SystemExit("opencl: there is no device of kind opencl.")
        cold.close()
        sides = [Side("cpu", cache), Side("opencl", cache)]
        try:
            # PoCL keeps a cache too: it begins as empty as ours.
            for name, side in (("first step, nothing cached", cold), ("first step, kernels from the cache", sides[1])):
                add([name, round(sides[0].first_step * 1e3), None, round(side.first_step * 1e3), None, None, ""])
            losses = [side.ask("losses") for side in sides]
            if not training.close(*losses, "f32"):
                raise SystemExit(f"opencl: the losses disagree, the host's {losses[0]}, OpenCL's {losses[1]}.")
            if wanted(STEP, only):
                add(row(STEP, in_turns(sides, seconds, "steps"), AIM))
            names = [f"product {m}x{n}x{k}" for m, n, k in PRODUCTS]
            for images, weights, stride, _ in CONVOLUTIONS:
                where = f"{shape_text(images)} by {shape_text(weights)}, stride {stride}"
                names += [f"{op} {where}" for op in ("conv", "conv_input_gradient", "conv_weight_gradient")]
            for name in names:
                if wanted(name, only):
                    add(row(name, in_turns(sides, seconds / 10, "call", name)))
        finally:
            for side in sides:
                side.close()
    return rows


def wanted(name, only):
    return any(word in name for word in only.split(","))


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name has one of these words, by commas")
    parser.add_argument("--seconds", type=float, default=10, help="of measuring the step; a tenth of it for other rows")
    parser.add_argument("--text", action="store_true", help="a line a row for people")
    args = parser.parse_args()
    rows = measure(args.only, args.seconds, lambda made: print("  ".join(map(str, made)), flush=True,
                                                               file=sys.stdout if args.text else sys.stderr))
    judged = [r for r in rows if r[-1]]
    passed = sum(r[-1] == "pass" for r in judged)
    if not args.text:
        json.dump({"columns": COLUMNS, "rows": rows,
                   "summary": f"{passed} of {len(judged)} pass, {len(rows) - len(judged)} excluded"}, sys.stdout)
    return 0


if __name__ == "__main__":
    main()
