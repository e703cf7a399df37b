"""Convolutions and matrix products through the public API against the bare oneDNN primitive with every operand in the
layout it likes best: what primitive_bench prints, judged. The aim is 95 % of the bare primitive's speed for calls of
20 us and more; shorter ones are listed, but not judged. Both were called in turns, so that noise hits both."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "build/tests/bench/primitive_bench"
AIM = 0.95
SHORTEST_US = 20


def row(figure):
    best, median = figure["bare"] / figure["ours"], figure["bare_median"] / figure["our_median"]
    verdict = "short" if figure["bare"] < SHORTEST_US else "within" if best >= AIM else "below"
    return [figure["network"], figure["call"], figure["shape"], figure["ours"], figure["bare"], round(best, 3),
            round(median, 3), verdict]


def table():
    if not PROGRAM.exists():
        raise SystemExit(f"primitive: no {PROGRAM}; run ci/dev build where oneDNN is installed")
    out = subprocess.run([str(PROGRAM)], capture_output=True, text=True, check=True).stdout
    rows = [row(figure) for figure in map(json.loads, filter(str.strip, out.splitlines()))]
    within, judged = sum(r[-1] == "within" for r in rows), sum(r[-1] != "short" for r in rows)
    return {"columns": ["network", "call", "shape", "ours, us", "bare, us", "ratio of the best", "ratio of the medians",
                        f"verdict ({AIM})"],
            "rows": rows, "summary": f"{within} of {judged} pass, {len(rows) - judged} excluded"}


if __name__ == "__main__":
    json.dump(table(), sys.stdout)
