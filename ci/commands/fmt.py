"""ci/dev fmt: formats C and C++ files by .clang-format; --check names the files that would change."""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tree import C_SUFFIXES, ROOT, files, is_generated

CLANG_FORMAT = "clang-format-14"


def sources(root):
    """Hand-written C and C++; generators format what they write as they see fit."""
    return [p for p in files(root, C_SUFFIXES - {".def"}) if not is_generated((root / p).read_text())]


def unformatted(root, paths=None):
    """Those of the files (all, if none are named) that clang-format would change."""
    def changes(path):
        text = (root / path).read_bytes()
        done = subprocess.run([CLANG_FORMAT, f"--assume-filename={path}"], input=text, capture_output=True, cwd=root)
        if done.returncode != 0:
            raise RuntimeError(f"{path}: {done.stderr.decode()}")
        return done.stdout != text

    paths = list(paths or sources(root))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [path for path, changed in zip(paths, pool.map(changes, paths)) if changed]


def main():
    parser = argparse.ArgumentParser(prog="ci/dev fmt")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()

    found = unformatted(ROOT, args.files)
    for path in found:
        print(path)
        if not args.check:
            subprocess.run([CLANG_FORMAT, "-i", str(path)], cwd=ROOT, check=True)
    print(f"fmt: {len(found)} files {'would change' if args.check else 'changed'}")
    return 1 if args.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
