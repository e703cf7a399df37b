"""Times of the seam and the core: runs every build/tests/bench/*_bench and puts their figures in one table.

A program prints one JSON object a line: {"case": "eager add of 16", "value": 51.2, "unit": "ns"}, and where there are
such "budget" (at most), "rival" and "rival_value". Each program runs three times and the best figure of each counts:
machines are shared, and noise only adds. A rival is timed in the same process, or in turns with it where it is another
library (torch_bench, built by `ninja torch_bench` against the torch of .venv-rivals; torch/loader.py, where
OARLOCK_TORCH_PYTHON names a Python that has torch), so that the ratio means something.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/tests/bench"
RUNS = 3


def figures(*command):
    """{case: figure} of one run."""
    out = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout
    return {figure["case"]: figure for figure in map(json.loads, filter(str.strip, out.splitlines()))}


def best_of(runs):
    """Of each case the best of the runs."""
    for case, figure in runs[0].items():
        for key in ("value", "rival_value"):
            values = [run[case][key] for run in runs if run[case].get(key) is not None]
            if values:
                figure[key] = max(values) if figure["unit"].endswith("/s") else min(values)
    return runs[0]


def best(program):
    """The figures of a program; where torch's library has the same case, run in turns with it, as the rival."""
    rival, name, ours, theirs = rival_of(program), None, [], []
    for _ in range(RUNS):
        ours.append(figures(program))
        if rival:
            name = rival[0]
            theirs.append(figures(*rival[1]))
    all_figures = best_of(ours)
    for case, figure in (best_of(theirs) if theirs else {}).items():
        if case in all_figures:
            all_figures[case].update(rival=name, rival_value=figure["value"])
    return all_figures.values()


def rival_of(program):
    """(name, command) of what does the same with another library, where that is installed."""
    torch, python = PROGRAMS / "torch_bench", os.environ.get("OARLOCK_TORCH_PYTHON")
    if program.name == "eager_bench" and torch.exists():
        return f"torch {torch_version(ROOT / '.venv-rivals/bin/python')}", [torch]
    if program.name == "loader_bench" and python:
        return f"torch {torch_version(python)}", [python, Path(__file__).with_name("torch") / "loader.py"]
    return None


def torch_version(python):
    command = [str(python), "-c", "from importlib.metadata import version; print(version('torch'))"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def row(program, figure):
    value, budget, unit = figure["value"], figure.get("budget"), figure["unit"]
    rival = figure.get("rival_value")
    met = None if budget is None else value >= budget if unit.endswith("/s") else value <= budget
    verdict = {None: "no budget", True: "within", False: "over"}[met]
    return [program, figure["case"], value, unit, budget, verdict, figure.get("rival"), rival]


def table():
    programs = sorted(p for p in PROGRAMS.glob("*_bench") if p.name not in ("torch_bench", "primitive_bench"))
    if not programs:
        raise SystemExit(f"bench: no program in {PROGRAMS}; run ci/dev build")
    rows = [row(p.name.removesuffix("_bench"), figure) for p in programs for figure in best(p)]
    met, judged = sum(r[5] == "within" for r in rows), sum(r[5] != "no budget" for r in rows)
    return {"columns": ["program", "case", "value", "unit", "budget", "verdict", "rival", "rival value"], "rows": rows,
            "summary": f"{met} of {judged} pass, {len(rows) - judged} excluded"}


if __name__ == "__main__":
    json.dump(table(), sys.stdout)
