"""ci/dev test: runs a ring of tests from a built preset and keeps the runners' own closing lines.

fast    ctest -L fast: no vendor library; null, sim and every misbehaving plugin; under a minute
python  pytest over tests/, but for what is marked slow
device  ctest -L device: every loaded plugin, the installed package
fuzz    the fuzz targets, --seconds each; --preset asan builds them
slow    ctest -L slow, pytest -m slow, and pytest -m rivals, which runs beside torch (ci/dev setup --rivals)

What follows -- goes to ctest (or to pytest for the python ring): ci/dev test --ring fast -- -R shape
"""

import argparse
import os
import subprocess
import sys

import fuzz
import presets
import results
from tree import ROOT


# Tests that compare with another framework; they run in its environment, the others in ours.
RIVALS = "rivals"


def ctest(ring, preset, extra):
    build = presets.build_dir(preset)
    if not (build / "CTestTestfile.cmake").exists():
        print(f"test: nothing is built in {build.name}; run ci/dev build --preset {preset}", file=sys.stderr)
        return 1
    command = ["ctest", "--test-dir", str(build), "-L", f"^{ring}$", "--no-tests=error", "--output-on-failure",
               "-j", str(os.cpu_count()), *extra]
    return subprocess.run(command, cwd=ROOT, env=presets.environment(preset)).returncode


def pytest(marks, extra, python=sys.executable):
    """Exit code 5, no test collected, is a failure like any other."""
    command = [str(python), "-m", "pytest", "-c", "tests/pytest.ini", "-q", "-m", marks, *extra, "tests/oracle" if marks == RIVALS else "tests"]
    return subprocess.run(command, cwd=ROOT).returncode


def main():
    argv, extra = sys.argv[1:], []
    if "--" in argv:
        cut = argv.index("--")
        argv, extra = argv[:cut], argv[cut + 1:]
    parser = argparse.ArgumentParser(prog="ci/dev test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ring", choices=["fast", "python", "device", "fuzz", "slow"])
    parser.add_argument("--preset", default="release", choices=presets.names())
    parser.add_argument("--seconds", type=int, default=10, help="of each fuzz target")
    args = parser.parse_args(argv)

    if args.ring == "python":
        codes = [pytest("not slow and not rivals", extra)]
    elif args.ring == "fuzz":
        codes = [min(fuzz.run(presets.build_dir(args.preset), args.seconds, presets.environment(args.preset)), 1)]
    elif args.ring == "slow":
        codes = [ctest("slow", args.preset, extra), pytest("slow and not rivals", []),
                 pytest(RIVALS, [], results.RIVALS)]
    elif args.ring:
        codes = [ctest(args.ring, args.preset, extra)]
    else:
        codes = [ctest("fast", args.preset, extra), pytest("not slow and not rivals", [])]
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
