"""ci/dev build: configures and builds a preset of CMakePresets.json, with Ninja and ccache."""

import argparse
import subprocess
import sys

import presets
from tree import ROOT


def main():
    parser = argparse.ArgumentParser(prog="ci/dev build")
    parser.add_argument("--preset", default="release", choices=presets.names())
    parser.add_argument("-j", "--jobs", type=int, help="parallel jobs; default: one per core")
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()

    steps = [["cmake", "--preset", args.preset], ["cmake", "--build", "--preset", args.preset]]
    if args.jobs:
        steps[1] += ["-j", str(args.jobs)]
    if args.targets:
        steps[1] += ["--target", *args.targets]
    for step in steps:
        code = subprocess.run(step, cwd=ROOT).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
