"""The arrows of the architecture, enforced on every #include line.

    api/abi  <-  api/include/oarlock/base  <-  core  <-  ops  <-  api/src, api/include     one library, liboarlock
    api/abi  <-  backends/kit  <-  backends/*                                              one plugin each
    api/abi, api/include  <-  bindings, examples, api/cli, api/cts
    tests may include anything; nothing includes tests or ci

A file may also include its own part. api/cli carries the kit as `oarlock cts`, so it may include api/cts; what
`oarlock new-plugin` writes (api/cli/templates) is a plugin like any other. Public
headers (api/include) reach only what is installed beside them, so not core. api/gen reads the op table, so it may
include what ops may. Only backends name a vendor's header.
"""

import os
import re
from pathlib import Path

from tree import C_SUFFIXES, files

# Folder -> part of the house; the longest matching folder wins. "*" stands for one folder, each a part of its own.
PARTS = {
    "api/abi": "abi",
    "api/include/oarlock/base": "base",
    "api/include": "include",
    "api/src": "src",
    "core": "core",
    "ops": "ops",
    "backends/kit": "kit",
    "backends/*": "backend",
    "bindings/*": "program",
    "examples": "program",
    "api/cli": "cli",
    "api/cli/templates": "backend",
    "api/cts": "cts",
    "api/docs": "program",
    "api/gen": "gen",
    "tests": "tests",
    "ci": "ci",
}

MAY_INCLUDE = {
    "abi": {"abi"},
    "base": {"abi", "base"},
    "core": {"abi", "base", "core"},
    "ops": {"abi", "base", "core", "ops"},
    "include": {"abi", "base", "include"},
    "src": {"abi", "base", "core", "ops", "include", "src"},
    "kit": {"abi", "kit"},
    "backend": {"abi", "kit"},
    "program": {"abi", "base", "include"},
    "cts": {"abi", "base", "include"},
    "cli": {"abi", "base", "include", "cts"},
    "gen": {"abi", "base", "core", "ops", "include", "gen"},
    "tests": set(PARTS.values()) - {"ci"},
    "ci": {"abi"},
}

# Where the compiler looks, besides the folder of the including file: the include folders of the build.
SEARCH = ["", "api/abi", "api/include", "backends/kit", "tests"]

VENDOR = re.compile(
    r"^(dnnl|oneapi/|mkl|cblas|lapacke|openblas|cuda|cudnn|cublas|curand|cusparse|cusolver|cufft|nccl|nvrtc|nvml|hip/|"
    r"rocm|rocblas|miopen|rccl|CL/|level_zero/|acl/|hccl|gloo/|mpi\.h)")

_INCLUDE = re.compile(r"^\s*#\s*include\s*(?:([<\"])([^>\"]+)[>\"]|(\w+))")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def part_of(path):
    """(part, folder that makes it up) of a path in the tree; (None, None) outside the house."""
    pieces = Path(path).parts
    for depth in range(len(pieces) - 1, 0, -1):
        folder = "/".join(pieces[:depth])
        pattern = folder if folder in PARTS else "/".join([*pieces[:depth - 1], "*"])
        if pattern in PARTS:
            return PARTS[pattern], folder
    return None, None


def resolve(root, source, name, quoted):
    """The file in the tree that an include means, relative to root; None for a system or vendor header."""
    folders = ([str(source.parent)] if quoted else []) + SEARCH
    for folder in folders:
        path = Path(os.path.normpath(Path(folder, name)))
        if (root / path).is_file() and ".." not in path.parts:
            return path
    # Not there (generated later, or misspelt), but plainly ours by its name.
    for folder in ("", "api/include") if name.startswith("oarlock/base/") else ("",):
        path = Path(os.path.normpath(Path(folder, name)))
        if part_of(path)[0] is not None:
            return path
    return None


def includes(text):
    """(line, name or macro, quoted, is_macro) of each include directive outside comments."""
    # A quoted name may hold "//", so only whole comments before a directive or spanning lines matter.
    blank = _COMMENT.sub(lambda m: "\n" * m.group().count("\n") if m.group().startswith("/*") else "", text)
    for number, line in enumerate(blank.split("\n"), 1):
        found = _INCLUDE.match(line)
        if found:
            bracket, name, macro = found.groups()
            yield number, name or macro, bracket == '"', macro is not None


def check_file(root, source):
    part, own = part_of(source)
    if part is None:
        return [f"{source}:1: stands outside the folders of the architecture"]
    violations = []
    for line, name, quoted, is_macro in includes((root / source).read_text(errors="replace")):
        at = f"{source}:{line}:"
        if is_macro:
            if part not in ("tests", "backend"):
                violations.append(f"{at} includes the macro {name}; write the file's name, so that it can be checked")
            continue
        target = resolve(root, source, name, quoted)
        if target is None:
            if VENDOR.match(name) and part not in ("backend", "tests"):
                violations.append(f"{at} includes {name}; only backends (and tests) name a vendor's header")
            continue
        target_part, target_own = part_of(target)
        if target_part is None:
            violations.append(f"{at} includes {target}, which stands outside the folders of the architecture")
        elif target_own != own and target_part not in MAY_INCLUDE[part]:
            allowed = sorted(folder for folder, p in PARTS.items() if p in MAY_INCLUDE[part])
            violations.append(f"{at} includes {target}; {own} may include {', '.join([own, *allowed])} and nothing else")
    return violations


def check(root):
    return [v for source in files(root, C_SUFFIXES) for v in check_file(root, source)]
