"""Levels of the conformance kit by plugins: what passed, failed and was skipped. The core's own references first, then every
plugin that is built, then the example plugins of whoever built them (OARLOCK_EXAMPLE_PLUGINS: files, separated by ':').

A cell reads passed/failed/skipped. A plugin passes when nothing of it fails.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OARLOCK = ROOT / "build/bin/oarlock"
LEVELS = ["L0", "L1", "L2", "M", "P"]


def plugins():
    """(name, file), host first."""
    built = sorted((ROOT / "build/lib/oarlock/backends").glob("liboarlock_*.so"))
    built.append(ROOT / "build/tests/sim/liboarlock_sim.so")
    built += [Path(file) for file in os.environ.get("OARLOCK_EXAMPLE_PLUGINS", "").split(":") if file]
    return [("host", "host")] + [(p.stem.removeprefix("lib").removeprefix("oarlock_"), p) for p in built if p.exists()]


def report(plugin, levels):
    command = [OARLOCK, "cts", str(plugin), "--json", *(word for level in levels for word in ("--level", level))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"cts: {' '.join(map(str, command))} ended with {done.returncode}")
    return json.loads(done.stdout)


def row(name, tests):
    cells, seconds, failed = [], 0.0, 0
    for level in LEVELS:
        outcomes = [t["outcome"] for t in tests if t["level"] == level]
        failed += outcomes.count("failed")
        cells.append("/".join(str(outcomes.count(o)) for o in ("passed", "failed", "skipped")) if outcomes else None)
    seconds = sum(t["seconds"] for t in tests)
    return [name, *cells, round(seconds, 1), "pass" if not failed else "fail"]


def table():
    rows = [row(name, report(file, LEVELS)["tests"]) for name, file in plugins()]
    passed = sum(r[-1] == "pass" for r in rows)
    return {"columns": ["plugin", *(f"{level}, p/f/s" for level in LEVELS), "seconds", "verdict"], "rows": rows,
            "summary": f"{passed} of {len(rows)} pass, 0 excluded"}


if __name__ == "__main__":
    json.dump(table(), sys.stdout)
