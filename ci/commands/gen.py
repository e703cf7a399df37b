"""ci/dev gen: runs every generator api/gen/*/generate.py; --check reports files that have drifted and writes none."""

import argparse
import subprocess
import sys

from tree import ROOT


def main():
    parser = argparse.ArgumentParser(prog="ci/dev gen")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    generators = sorted(ROOT.glob("api/gen/*/generate.py"))
    if not generators:
        print("gen: api/gen holds no generator", file=sys.stderr)
        return 1
    code = 0
    for generator in generators:
        # Debian's interpreter: the generators read C with its python3-pycparser.
        command = ["/usr/bin/python3", str(generator)] + (["--check"] if args.check else [])
        code = subprocess.run(command, cwd=ROOT).returncode or code
    return code


if __name__ == "__main__":
    sys.exit(main())
