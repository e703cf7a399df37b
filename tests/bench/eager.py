"""Nanoseconds of small eager calls beside torch's, from Python and from C++: add of 16, a view, Linear(16), three ops forth
and back; recorded for a gradient and not.

    PYTHONPATH=build/python .venv-rivals/bin/python tests/bench/eager.py

Both libraries run on one thread, in processes of their own that take turns; a figure is the best of many rounds. The C++
side is build/tests/bench/eager_bench against build/tests/bench/torch_bench (`ninja torch_bench`), which links the libraries
of the torch that this Python has. A row passes where torch takes at least 3 times as long (C++: 5), and where ours keeps
its budget.
"""

import json
import os
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/tests/bench"
GOAL = {"Python": 3.0, "C++": 5.0}
BUDGET = {"add of 16": 300, "add of 16, recorded": 500}
TURNS = 5


def best_ns(f, calls=5000, rounds=20):
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        for _ in range(calls):
            f()
        best = min(best, (time.perf_counter_ns() - begin) / calls)
    return best


def measure(make):
    """{case: ns} of one library; make() gives what differs."""
    m = make()
    x, y, leaf, row, linear = m["x"], m["y"], m["leaf"], m["row"], m["linear"]
    figures = {}
    with m["no_grad"]():
        figures["add of 16"] = best_ns(lambda: x + y)
        figures["view"] = best_ns(lambda: x.reshape((4, 4)))
        figures["Linear(16)"] = best_ns(lambda: linear(row))
    figures["add of 16, recorded"] = best_ns(lambda: leaf + y)
    figures["view, recorded"] = best_ns(lambda: leaf.reshape((4, 4)))
    figures["Linear(16), recorded"] = best_ns(lambda: linear(row))

    def three():
        ((leaf + y) * y).sum().backward()
        leaf.grad = None
    figures["three ops forth and back"] = best_ns(three, 1000)
    return figures


def ours():
    import oarlock
    oarlock.set_setting("threads", 1)
    oarlock.devices()
    leaf = oarlock.ones(16)
    leaf.requires_grad = True
    return {"x": oarlock.ones(16), "y": oarlock.full((16,), 2.0), "leaf": leaf, "row": oarlock.ones((1, 16)),
            "linear": oarlock.nn.Linear(16, 16), "no_grad": oarlock.no_grad}


def torchs():
    import torch
    torch.set_num_threads(1)
    return {"x": torch.ones(16), "y": torch.full((16,), 2.0), "leaf": torch.ones(16, requires_grad=True),
            "row": torch.ones(1, 16), "linear": torch.nn.Linear(16, 16), "no_grad": torch.no_grad}


def child(side):
    print(json.dumps(measure(ours if side == "oarlock" else torchs)))


def python_figures(side):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    env["PYTHONPATH"] = os.pathsep.join([env.get("PYTHONPATH", ""), str(ROOT / "build/python")])
    return json.loads(subprocess.run([sys.executable, __file__, "--child", side], capture_output=True, text=True, check=True,
                                     env=env).stdout)


def program_figures(name):
    """{case: ns} of a program's lines that both have, "eager add of 16, C++" as "add of 16"."""
    out = subprocess.run([PROGRAMS / name], capture_output=True, text=True, check=True,
                         env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    lines = map(json.loads, filter(str.strip, out.splitlines()))
    return {line["case"].removesuffix(", C++"): line["value"] for line in lines if line["case"].endswith(", C++")}


def in_turns(ours_of, theirs_of):
    a, b = {}, {}
    for _ in range(TURNS):
        for into, of in ((a, ours_of), (b, theirs_of)):
            for case, ns in of().items():
                into[case] = min(ns, into.get(case, ns))
    return a, b


def rows_of(language, a, b, rival, budgets):
    rows = []
    for case in a:
        if case not in b:
            continue
        ratio, budget = b[case] / a[case], budgets.get(case)
        late = budget is not None and a[case] > budget
        verdict = " and ".join(["under the goal"] * (ratio < GOAL[language]) + ["over budget"] * late) or "pass"
        rows.append([language, case, round(a[case], 1), round(b[case], 1), round(ratio, 2), GOAL[language], budget, rival,
                     round(os.getloadavg()[0], 1), verdict])
    return rows


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2])
    try:
        rival = f"torch {version('torch')}"
    except PackageNotFoundError:
        python = os.environ.get("OARLOCK_TORCH_PYTHON", ROOT / ".venv-rivals/bin/python")
        os.execv(python, [str(python), *sys.argv])
    rows = rows_of("Python", *in_turns(lambda: python_figures("oarlock"), lambda: python_figures("torch")), rival, BUDGET)
    if (PROGRAMS / "torch_bench").exists():
        figures = in_turns(lambda: program_figures("eager_bench"), lambda: program_figures("torch_bench"))
        budgets = {"eager add of 16": 60, "recorded add of 16": 120, "view (reshape)": 25}
        rows += rows_of("C++", *figures, rival, budgets)
    passed = sum(row[-1] == "pass" for row in rows)
    json.dump({"columns": ["language", "case", "ns", "torch ns", "ratio", "goal", "budget", "rival", "load", "verdict"],
               "rows": rows, "summary": f"{passed} of {len(rows)} pass, 0 excluded"}, sys.stdout)


if __name__ == "__main__":
    main()
