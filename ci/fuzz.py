"""Runs the fuzz targets of a build, each for some seconds from its kept corpus in tests/fuzz/corpus, and prints how many
inputs it executed. What a target finds stays in the build's tests/fuzz/found with the command that repeats it.
"""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from tree import ROOT

CORPUS = ROOT / "tests/fuzz/corpus"
# A reader that allocates what a header claims fails here, whatever the machine has.
LIMITS = ["-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-timeout=10", "-max_len=65536"]


def targets(build):
    return sorted(path for path in (build / "tests/fuzz").glob("*_fuzz") if os.access(path, os.X_OK))


def _run(target, seconds, environment):
    name = target.name.removesuffix("_fuzz")
    found, fresh = target.parent / "found", target.parent / f"fresh_{name}"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    found.mkdir(exist_ok=True)
    command = [str(target), f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={found}/{name}-",
               *LIMITS, str(fresh), str(CORPUS / name)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    executed = re.search(r"number_of_executed_units:\s*(\d+)", done.stdout)
    return name, done, int(executed[1]) if executed else 0


def run(build, seconds, environment):
    """Number of targets that found a fault; at least one target must exist and execute more than its corpus."""
    programs = targets(build)
    if not programs:
        print(f"fuzz: no targets in {build.name}; run ci/dev build --preset asan")
        return 1
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done, executed in pool.map(lambda target: _run(target, seconds, environment), programs):
            kept = sum(1 for _ in (CORPUS / name).iterdir())
            good = done.returncode == 0 and executed > kept
            failed += not good
            print(f"fuzz {name:16} {executed:9} executions, {kept} kept inputs: {'passed' if good else 'FAILED'}", flush=True)
            if not good:
                print(done.stdout[-6000:], f"\ncommand: {' '.join(done.args)}", flush=True)
    print(f"{len(programs) - failed} passed, {failed} failed")
    return failed
