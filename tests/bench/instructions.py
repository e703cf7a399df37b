"""Instructions per eager call, counted by callgrind: the figure that guards dispatch, since seconds on a shared
machine guard nothing. tests/bench/dispatch_loop.cc makes N calls in its function repeat, and only that is counted; the
difference between two N is what a call costs, without what the first one does. valgrind shows programs a processor
without AVX-512, so the count is the same on newer machines.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
CALLS = (1_000, 6_000)

# Name -> what dispatch_loop does, plugins that are loaded.
CASES = {
    "empty": ("empty", ["simd"]),
    "view": ("view", ["simd"]),
    "add, reference": ("add", []),
    "add, simd": ("add", ["simd"]),
    "add recorded, simd": ("recorded", ["simd"]),
}


def count(what, calls, backends):
    """Instructions of so many calls."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "callgrind.out")
        environment = {**os.environ, "OARLOCK_BACKENDS": str(backends or ""), "OMP_NUM_THREADS": "1"}
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--toggle-collect=repeat", f"--callgrind-out-file={out}",
                        str(BUILD / "tests/bench/dispatch_loop"), what, str(calls)],
                       env=environment, check=True, stdout=subprocess.DEVNULL)
        total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
        return int(total.group(1))


def per_call(what, plugins):
    """Instructions of one call on 16 elements."""
    with tempfile.TemporaryDirectory() as folder:
        for name in plugins:
            shutil.copy(BUILD / f"lib/oarlock/backends/liboarlock_{name}.so", folder)
        few, many = (count(what, calls, folder if plugins else None) for calls in CALLS)
    return (many - few) / (CALLS[1] - CALLS[0])


def table():
    rows = [[name, round(per_call(what, plugins), 1)] for name, (what, plugins) in CASES.items()]
    return {"columns": ["eager call on 16 f32", "instructions"], "rows": rows,
            "summary": f"{dict(rows)['add, simd']:.0f} instructions per eager add of 16 with the simd kernel"}


if __name__ == "__main__":
    json.dump(table(), sys.stdout)
