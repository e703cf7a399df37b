"""ci/dev check: the rules of the house, a file each in ci/checks with a function check(root) that returns
violations, one line each. Runs all of them, or those named."""

import argparse
import importlib
import sys
import time

from tree import ROOT


def main():
    known = sorted(p.stem for p in (ROOT / "ci/checks").glob("*.py"))
    parser = argparse.ArgumentParser(prog="ci/dev check", description=f"Checks: {', '.join(known)}")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(known))
    if unknown:
        parser.error(f"no check {unknown[0]}; there are {', '.join(known)}")

    names = args.names or known
    passed = 0
    for name in names:
        start = time.monotonic()
        violations = importlib.import_module(f"checks.{name}").check(ROOT)
        for line in violations:
            print(f"{name}: {line}")
        passed += not violations
        print(f"{name}: {'ok' if not violations else f'{len(violations)} violations'} "
              f"({time.monotonic() - start:.1f} s)", flush=True)
    print(f"check: {passed} of {len(names)} pass, 0 excluded")
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
