"""The rings of ci/test, in order. Each is a few calls of ci/dev, so that what fails here fails the same way at a
developer's desk. All rings run even when one fails, but for those whose build failed. The whole stops itself at
55 minutes and names its slowest part.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

import results
from tree import ROOT

LIMIT_S = 55 * 60
SLOW_LIMIT_S = 6 * 60 * 60

# Under ThreadSanitizer run the programs in which threads meet: dispatch and the rest of the core, the ABI's
# layers and misbehaving plugins, the sim device, the kit, the data loader.
THREADED = "core|plugins|sim|cts|api_threads"


@dataclass
class Ring:
    name: str
    commands: list  # arguments of ci/dev; the first failure ends the ring
    needs: str = ""  # ring that must have passed
    seconds: float = 0.0
    outcome: str = "not run"
    slowest: list = field(default_factory=list)


def rings(slow):
    listed = [
        Ring("build", [["build"]]),
        Ring("check", [["check"]], needs="build"),
        Ring("fast", [["test", "--ring", "fast"]], needs="build"),
        Ring("device", [["test", "--ring", "device"]], needs="build"),
        Ring("python", [["test", "--ring", "python"]], needs="build"),
        Ring("asan", [["build", "--preset", "asan"], ["test", "--ring", "fast", "--preset", "asan"]]),
        Ring("fuzz", [["test", "--ring", "fuzz", "--preset", "asan", "--seconds", "120" if slow else "10"]], needs="asan"),
        Ring("tsan", [["build", "--preset", "tsan"],
                      ["test", "--ring", "fast", "--preset", "tsan", "--", "-R", THREADED]]),
    ]
    if slow:
        listed.append(Ring("slow", [["test", "--ring", "slow"]], needs="build"))
        listed.append(Ring("results", [["report", name, "--fresh"] for name in results.fresh_names()], needs="build"))
    return listed


class OutOfTime(Exception):
    pass


def run(arguments, deadline):
    """Exit code of ci/dev ARGUMENTS; kills its process group and raises OutOfTime at the deadline."""
    print(f"+ ci/dev {' '.join(arguments)}", flush=True)
    process = subprocess.Popen([str(ROOT / "ci/dev"), *arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        return process.wait(timeout=max(0.1, deadline - time.monotonic()))
    except BaseException as stop:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(stop, subprocess.TimeoutExpired):
            raise OutOfTime from None
        raise


def run_ring(ring, done, deadline):
    if ring.needs and done[ring.needs].outcome != "passed":
        ring.outcome = f"not run, {ring.needs} {done[ring.needs].outcome}"
        return
    print(f"\n== {ring.name}", flush=True)
    start = time.monotonic()
    try:
        for arguments in ring.commands:
            command_start = time.monotonic()
            ring.outcome = "out of time"
            code = run(arguments, deadline)
            ring.slowest.append((time.monotonic() - command_start, "ci/dev " + " ".join(arguments)))
            ring.outcome = "passed" if code == 0 else f"failed, ci/dev {' '.join(arguments)} returned {code}"
            if code != 0:
                break
    except OutOfTime:
        ring.slowest.append((time.monotonic() - command_start, "ci/dev " + " ".join(arguments)))
        raise
    finally:
        ring.seconds = time.monotonic() - start
        print(f"== {ring.name}: {ring.outcome} ({ring.seconds:.0f} s)", flush=True)


def store(listed, setup_seconds):
    rows = [["setup", round(setup_seconds), "passed"]] + [[r.name, round(r.seconds), r.outcome] for r in listed]
    total = sum(row[1] for row in rows)
    passed = sum(row[2] == "passed" for row in rows)
    results.save("ci", {
        "columns": ["ring", "seconds", "outcome"], "rows": rows,
        "summary": f"{passed} of {len(rows)} pass, 0 excluded; {total} s",
    })


def main():
    parser = argparse.ArgumentParser(prog="ci/test")
    parser.add_argument("--slow", action="store_true", help="add the long runs and store their tables in tests/results")
    parser.add_argument("--setup-seconds", type=float, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()

    limit = SLOW_LIMIT_S if args.slow else LIMIT_S
    deadline = time.monotonic() + limit - args.setup_seconds
    listed, done = rings(args.slow), {}
    out_of_time = False
    for ring in listed:
        done[ring.name] = ring
        try:
            run_ring(ring, done, deadline)
        except OutOfTime:
            out_of_time = True
            break

    print("\nring       seconds  outcome")
    print(f"{'setup':10} {args.setup_seconds:7.0f}  passed")
    for ring in listed:
        print(f"{ring.name:10} {ring.seconds:7.0f}  {ring.outcome}")
    if out_of_time:
        slowest = max((part for ring in listed for part in ring.slowest), default=(0, "nothing"))
        print(f"ci/test stopped itself after {limit // 60} minutes; the slowest part was {slowest[1]}, {slowest[0]:.0f} s")
    if args.slow:
        store(listed, args.setup_seconds)
    passed = sum(ring.outcome == "passed" for ring in listed)
    print(f"ci/test: {passed} of {len(listed)} rings pass, 0 excluded")
    return 0 if passed == len(listed) else 1


if __name__ == "__main__":
    sys.exit(main())
