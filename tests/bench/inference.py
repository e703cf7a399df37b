"""Inference beside torch, onnxruntime and openvino: the same network from the same weights, saved and loaded by each.

    PYTHONPATH=build/python .venv-rivals/bin/python tests/bench/inference.py [--only resnet,chain] [--dtypes f32,bf16]
        [--threads 1,2] [--rivals torch,onnxruntime,openvino] [--seconds 10] [--text]

Needs a Python that has torch, onnx, onnxscript, onnxruntime, openvino and numpy. Ours is exported, saved, and run by an
oarlock.inference.Predictor; torch runs eagerly in inference mode, in its faster layout; the ONNX file that torch writes goes
to onnxruntime and openvino, all their optimisations on. Each side has a process of its own on so many cores; the results
have to agree before anything is timed, then the sides take turns. bf16: torch's network is bf16, openvino is told
to compute so; onnxruntime has no bf16 on CPUs.

Columns: milliseconds of a run, best and median; first: from the file to the first answer; each rival's best, and ratio: it by
ours, above 1 we are faster; MB: resident peak over what the process held before it loaded, and as a multiple of the
weights. A row passes where no rival's best is below ours times its goal (1.05 and 1.1 of onnxruntime for convolutional networks
and transformers, 1 of the others).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from networks import chain, demo, encoder, initial, mobilenet_v2, resnet50
from sides import ROOT, Side, keep_to, resident, rival_python

GOALS = {"onnxruntime": {"image": 1.05, "text": 1.1, "chain": 1.0}}
IMAGE = (3, 224, 224)


def bert_base(nn):
    return encoder(nn, 30522, 768, 12, 12, 128)


def mini_lm(nn):
    return encoder(nn, 30522, 384, 12, 6, 128)


def chained(count):
    return lambda nn: chain(nn, count)


# name: network, shape of the input, kind, values below which inputs are drawn (0: real numbers)
WORKLOADS = {
    "demo network b1": (demo, (1, 1, 28, 28), "image", 0),
    "demo network b64": (demo, (64, 1, 28, 28), "image", 0),
    "ResNet-50 b1": (resnet50, (1, *IMAGE), "image", 0),
    "ResNet-50 b8": (resnet50, (8, *IMAGE), "image", 0),
    "MobileNetV2 b1": (mobilenet_v2, (1, *IMAGE), "image", 0),
    "MobileNetV2 b8": (mobilenet_v2, (8, *IMAGE), "image", 0),
    "MiniLM 1x128": (mini_lm, (1, 128), "text", 30522),
    "BERT-base 1x128": (bert_base, (1, 128), "text", 30522),
    "chain of 1": (chained(2), (1, 16), "chain", 0),
    "chain of 50": (chained(50), (1, 16), "chain", 0),
    "chain of 1000": (chained(1000), (1, 16), "chain", 0),
}


def given(name):
    import numpy as np
    _, shape, _, below = WORKLOADS[name]
    rng = np.random.default_rng(1)
    return rng.integers(0, below, shape) if below else rng.standard_normal(shape).astype(np.float32)


# Each side: yields its version, then loads and yields run(), which gives an array. `folder` holds what make() wrote.

def torch_network(name):
    import torch
    net = WORKLOADS[name][0](torch.nn).eval()
    with torch.no_grad():
        for key, p in net.named_parameters():
            values = initial(key, p.shape)
            if values is not None:
                p.copy_(torch.from_numpy(values))
            elif key.endswith("bias"):
                p.zero_()
    return net


def torch_side(name, dtype, threads, folder, last):
    import torch
    torch.set_num_threads(threads)
    x = torch.from_numpy(given(name))
    yield f"torch {torch.__version__}"
    net = torch_network(name)
    if dtype == "bf16":
        net, x = net.bfloat16(), x if x.dtype == torch.int64 else x.bfloat16()
    if last:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)

    def run():
        with torch.inference_mode():
            return net(x)
    yield run, lambda y: y.float().numpy()


def onnxruntime_side(name, dtype, threads, folder, _):
    import onnxruntime
    x = given(name)
    yield f"onnxruntime {onnxruntime.__version__}"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(f"{folder}/net.onnx", options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    yield lambda: session.run(None, feed)[0], lambda y: y


def openvino_side(name, dtype, threads, folder, _):
    import openvino
    x = given(name)
    yield f"openvino {openvino.__version__.split('-')[0]}"
    core = openvino.Core()
    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
             "INFERENCE_PRECISION_HINT": dtype}
    request = core.compile_model(f"{folder}/net.onnx", "CPU", hints).create_infer_request()
    yield lambda: request.infer([x])[0], lambda y: y


def oarlock_side(name, dtype, threads, folder, _):
    import oarlock
    oarlock.set_setting("threads", threads)
    oarlock.devices()
    x = oarlock.asarray(given(name))
    if dtype == "bf16" and x.dtype == oarlock.float32:
        x = x.astype("bfloat16")
    yield "oarlock " + oarlock.__version__
    predictor = oarlock.inference.create_predictor(oarlock.inference.Config(f"{folder}/{dtype}"))
    yield lambda: predictor.run([x])[0], lambda y: y.astype("float32").numpy()


def write_oarlock(name, folder, dtypes):
    import oarlock
    from oarlock import jit, nn
    for dtype in dtypes:
        net = WORKLOADS[name][0](nn)
        state = {}
        for key, p in net.named_parameters():
            values = initial(key, p.shape)
            state[key] = oarlock.asarray(values) if values is not None else p if key.endswith("weight") else oarlock.zeros(p.shape)
        net.load_state_dict(state, strict=False)
        x = given(name)
        kind = "int64" if x.dtype.kind == "i" else {"f32": "float32", "bf16": "bfloat16"}[dtype]
        if dtype == "bf16":
            net.to(dtype=oarlock.bfloat16)
        jit.save(net, f"{folder}/{dtype}", [jit.InputSpec(x.shape, kind, name="x")])


def write_onnx(name, folder):
    import torch
    torch.onnx.export(torch_network(name), (torch.from_numpy(given(name)),), f"{folder}/net.onnx", dynamo=True, verbose=False)


def write(what, name, dtypes, folder):
    """In a process of its own: it leaves nothing behind in this one."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "build/python"), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, __file__, "--child", what, name, dtypes, "2", folder, "0"], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"inference: {what} of {name} failed:\n{done.stderr[-2000:]}")


SIDES = {"oarlock": oarlock_side, "torch": torch_side, "onnxruntime": onnxruntime_side, "openvino": openvino_side}


def child(side, name, dtype, threads, folder, last):
    """Answers lines of standard input: "result", "runs N", "memory"."""
    if side == "write_oarlock":
        return write_oarlock(name, folder, dtype.split(","))
    if side == "write_onnx":
        return write_onnx(name, folder)
    keep_to(threads)
    made = SIDES[side](name, dtype, threads, folder, last)
    side_version = next(made)
    before, begin = resident(), time.perf_counter()
    run, array = next(made)
    result = array(run())
    first = (time.perf_counter() - begin) * 1e3
    print(json.dumps(side_version), flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "result":
            answer = [first, [float(v) for v in result.reshape(-1)[:4000]]]
        elif words[0] == "memory":
            answer = resident("VmHWM") - before
        else:
            answer = []
            for _ in range(int(words[1])):
                begin = time.perf_counter()
                run()
                answer.append((time.perf_counter() - begin) * 1e3)
        print(json.dumps(answer), flush=True)


def disagree(ours, theirs, dtype):
    scale = max(map(abs, theirs)) or 1
    return max(abs(a - b) for a, b in zip(ours, theirs)) / scale > {"f32": 2e-3, "bf16": 8e-2}[dtype]


def measure(name, dtype, threads, rivals, folder, seconds):
    def side(which, last=0):
        return Side(__file__, which, name, dtype, threads, folder, last, threads=threads)

    if dtype == "bf16":
        rivals = [r for r in rivals if r != "onnxruntime"]
    last = 0
    if "torch" in rivals and len(WORKLOADS[name][1]) == 4:
        times = []
        for layout in (0, 1):
            s = side("torch", layout)
            times.append(min(s.ask("runs", 5)))
            s.close()
        last = int(times[1] < times[0])
    sides = []
    try:
        sides = [side("oarlock"), *(side(r, last) for r in rivals)]
        first, ours = sides[0].ask("result")
        firsts = [first]
        for rival, s in zip(rivals, sides[1:]):
            first, theirs = s.ask("result")
            firsts.append(first)
            if disagree(ours, theirs, dtype):
                raise SystemExit(f"inference: {name} {dtype}: ours {ours[:4]}, {rival}'s {theirs[:4]}.")
        once = sum(s.ask("runs", 2)[1] for s in sides) / 1e3
        rounds = 10
        each = max(1, int(seconds / once / rounds))
        times = [[] for _ in sides]
        for _ in range(rounds):
            for s, into in zip(sides, times):
                into += s.ask("runs", each)
        memory = [s.ask("memory") for s in sides]
    finally:
        for s in sides:
            s.close()
    best = [min(t) for t in times]
    weights = os.path.getsize(f"{folder}/{dtype}.safetensors") / 1e6
    kind = WORKLOADS[name][2]
    ratio = {r: best[i + 1] / best[0] for i, r in enumerate(rivals)}
    slow = [r for r in rivals if ratio[r] < GOALS.get(r, {}).get(kind, 1.0)]
    row = [name, dtype, threads, round(best[0], 4), round(statistics.median(times[0]), 4), round(firsts[0], 1)]
    for r in ("torch", "onnxruntime", "openvino"):
        i = rivals.index(r) + 1 if r in rivals else 0
        row += [round(best[i], 4), round(ratio[r], 2), round(firsts[i], 1)] if i else [None, None, None]
    row += [round(memory[0], 1), round(memory[0] / weights, 2) if weights > 1 else None, round(memory[1], 1) if "torch" in rivals else None,
            len(times[0]), ", ".join(s.version for s in sides[1:]), round(os.getloadavg()[0], 1),
            "pass" if not slow else "slower than " + " and ".join(slow)]
    return row


COLUMNS = ["workload", "dtype", "threads", "best ms", "median ms", "first ms", "torch ms", "torch ratio", "torch first ms",
           "onnxruntime ms", "onnxruntime ratio", "onnxruntime first ms", "openvino ms", "openvino ratio", "openvino first ms",
           "MB", "MB by weights", "torch MB", "runs", "rivals", "load", "verdict"]


def main():
    if sys.argv[1:2] == ["--child"]:
        side, name, dtype, threads, folder, last = sys.argv[2:]
        return child(side, name, dtype, int(threads), folder, last == "1")
    if python := rival_python():
        os.execv(python, [str(python), *sys.argv])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose name has one of these words, by commas")
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rivals", default="torch,onnxruntime,openvino")
    parser.add_argument("--seconds", type=float, default=10, help="of measuring, for all sides of a row together")
    parser.add_argument("--text", action="store_true", help="a line a row for people")
    args = parser.parse_args()
    rivals, dtypes, rows = args.rivals.split(","), args.dtypes.split(","), []
    for name in WORKLOADS:
        if not any(word.lower() in name.lower() for word in args.only.split(",")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            write("write_oarlock", name, args.dtypes, folder)
            if {"onnxruntime", "openvino"} & set(rivals):
                write("write_onnx", name, "f32", folder)
            for dtype in dtypes:
                if dtype == "bf16" and WORKLOADS[name][2] == "chain":
                    continue
                for threads in map(int, args.threads.split(",")):
                    rows.append(measure(name, dtype, threads, rivals, folder, args.seconds))
                    print("  ".join(f"{v}" for v in rows[-1]), file=sys.stdout if args.text else sys.stderr, flush=True)
    passed = sum(row[-1] == "pass" for row in rows)
    if not args.text:
        json.dump({"columns": COLUMNS, "rows": rows, "summary": f"{passed} of {len(rows)} pass, 0 excluded"}, sys.stdout)


if __name__ == "__main__":
    main()
