"""The source tree as the checks and commands see it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

C_SUFFIXES = {".c", ".cc", ".cpp", ".cu", ".def", ".h", ".hpp"}
CODE_SUFFIXES = C_SUFFIXES | {".py", ".sh", ".cmake"}

_SKIPPED = {".git", ".cache", "__pycache__", "demo"}


def is_source_dir(name):
    return name not in _SKIPPED and not name.startswith(("build", ".venv"))


def files(root, suffixes=None):
    """Paths under root, sorted, relative to it: all, or those with one of the suffixes. Build folders, virtual
    environments and symbolic links to folders are not entered."""
    found = []
    for folder, dirs, names in os.walk(root):
        dirs[:] = sorted(d for d in dirs if is_source_dir(d))
        for name in names:
            path = Path(folder, name).relative_to(root)
            if suffixes is None or path.suffix in suffixes:
                found.append(path)
    return sorted(found)


def is_generated(text):
    """Generated files name their source at the very top."""
    return "enerated by" in text[:400] or "enerated from" in text[:400]


def commit(root=ROOT):
    """The commit that a result belongs to; '+' marks a tree with changes, '' a tree that is no clone."""
    git = ["git", "-C", str(root)]
    head = subprocess.run(git + ["rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    if head.returncode != 0:
        return ""
    dirty = subprocess.run(git + ["status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
    return head.stdout.strip() + ("+" if dirty.stdout.strip() else "")
