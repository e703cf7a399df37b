"""Images a second of the data loader beside torch's DataLoader: shuffled batches of 64 images of 28 x 28, plain and with
padded crops, flips, scaling and normalisation, with and without workers.

    tests/bench/loader.py; build/tests/bench/loader_bench is ours, tests/bench/torch/loader.py theirs, run by the Python that
    OARLOCK_TORCH_PYTHON names (.venv-rivals/bin/python), in turns.

A row passes where ours gives at least twice as many. "sample by sample" hides our batch-wise path: a dataset that only
gives single samples, as torch's always does.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOAL, TURNS = 2.0, 2
# Ours and theirs; torch has one way through transforms, sample by sample.
PAIRS = [
    ("loader, plain rows, no workers", "loader, plain rows, no workers"),
    ("loader, flips and crops, no workers", "loader, flips and crops, no workers"),
    ("loader, flips and crops, sample by sample, no workers", "loader, flips and crops, no workers"),
    ("loader, flips and crops, 2 workers", "loader, flips and crops, 2 workers"),
    ("loader, flips and crops, sample by sample, 2 workers", "loader, flips and crops, 2 workers"),
]


def figures(*command):
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    out = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True, env=env).stdout
    return {line["case"]: line["value"] for line in map(json.loads, filter(str.strip, out.splitlines()))}


def main():
    python = os.environ.get("OARLOCK_TORCH_PYTHON", ROOT / ".venv-rivals/bin/python")
    version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True,
                             check=True).stdout.strip()
    best = ({}, {})
    for _ in range(TURNS):
        for side, command in enumerate(([ROOT / "build/tests/bench/loader_bench"],
                                        [python, Path(__file__).with_name("torch") / "loader.py"])):
            for case, value in figures(*command).items():
                best[side][case] = max(value, best[side].get(case, 0))
    rows = []
    for ours, theirs in PAIRS:
        ratio = best[0][ours] / best[1][theirs]
        rows.append([ours.removeprefix("loader, "), round(best[0][ours]), round(best[1][theirs]), round(ratio, 2),
                     f"torch {version}", round(os.getloadavg()[0], 1), "pass" if ratio >= GOAL else "under the goal"])
    passed = sum(row[-1] == "pass" for row in rows)
    json.dump({"columns": ["case", "images/s", "torch images/s", "ratio", "rival", "load", "verdict"], "rows": rows,
               "summary": f"{passed} of {len(rows)} pass, 0 excluded"}, sys.stdout)


if __name__ == "__main__":
    main()
