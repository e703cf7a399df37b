"""No left-over markers: what is missing goes to the tracker, not into a comment."""

import re

from tree import CODE_SUFFIXES, files

_MARKER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def check(root):
    violations = []
    for path in files(root, CODE_SUFFIXES | {".md"}):
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            found = _MARKER.search(line)
            if found:
                violations.append(f"{path}:{number}: {found.group()}")
    return violations
