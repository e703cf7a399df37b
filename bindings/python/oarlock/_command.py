"""The command `oarlock`: the program that the wheel carries."""

import os
import sys


def program():
    """Its path; in a build tree it lies beside the package's folder."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.path.join(here, "bin", "oarlock"), os.path.join(here, "..", "..", "bin", "oarlock")):
        if os.path.exists(path):
            return path
    raise FileNotFoundError("oarlock: the program is missing from the package. Install it again: pip install --force-reinstall oarlock")


def main():
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
