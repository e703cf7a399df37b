"""Names of files and folders: a noun that says what is inside, lower case, words joined by '_'."""

import re

from tree import C_SUFFIXES, files

# Whole stems only: common_subexpressions.cc is a name, common.cc is none.
EMPTY_WORDS = {"utils", "util", "common", "misc", "miscellaneous", "helpers", "helper", "legacy", "stuff"}
_VERSION = re.compile(r"v[0-9]+")
_SOURCE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*(\.[a-z0-9_]+)?")
_FOREIGN_SUFFIX = {".cpp": ".cc", ".cxx": ".cc", ".hh": ".h"}

# tests/X mirrors X; these folders of tests have no counterpart, being about the whole.
_OWN_TESTS = {"abi", "bench", "cli", "cts", "fuzz", "house", "install", "layer_plugins", "npu", "onnx", "results", "sim", "training"}


def _plain(path):
    """The stem without what Python puts around names: _private.py, __init__.py."""
    stem = path.stem.removesuffix("-inl")
    return stem.strip("_") if path.suffix == ".py" else stem


def check_path(path):
    violations = []
    for piece in path.parts:
        stem = piece.split(".")[0] if not piece.startswith(".") else piece
        if stem.lower() in EMPTY_WORDS or _VERSION.fullmatch(stem.lower()):
            violations.append(f"{path}: '{piece}' says nothing; name the noun inside")
    if path.suffix in _FOREIGN_SUFFIX:
        violations.append(f"{path}: spelled {path.suffix}; here it is {_FOREIGN_SUFFIX[path.suffix]}")
    elif path.suffix in C_SUFFIXES | {".py"} and not _SOURCE.fullmatch(_plain(path)):
        violations.append(f"{path}: source files are lower case, words joined by '_'")
    return violations


def check_mirror(root, path):
    """tests/core/tensor/shape_test.cc tests core/tensor: that folder must exist."""
    if path.parts[0] != "tests" or not path.name.endswith("_test.cc") or len(path.parts) < 3:
        return []
    if path.parts[1] in _OWN_TESTS or (root / path.relative_to("tests").parent).is_dir():
        return []
    return [f"{path}: mirrors {path.relative_to('tests').parent}, which does not exist"]


def check(root):
    return [v for path in files(root) for v in check_path(path) + check_mirror(root, path)]
