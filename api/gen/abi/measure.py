"""Sizes and offsets as a compiler sees them: compiles an array of constants and reads it out of the object file.

Nothing is run, so cross compilers serve as well as the machine's own.
"""
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

COMPILERS = {"gcc": ["gcc"], "clang": ["clang-14", "clang"], "aarch64": ["aarch64-linux-gnu-gcc"],
             "mingw": ["x86_64-w64-mingw32-gcc"]}
MAGIC = b"OARLOCK layout: "


class MeasureError(Exception):
    pass


def questions(model, headers):
    """C expressions whose values make up the layout of these headers, in the order of the lock file."""
    out = []
    for s in model.structs.values():
        if s.header not in headers:
            continue
        out += [f"sizeof({s.name})", f"_Alignof({s.name})"]
        for path, _ in members(s.fields):
            out += [f"offsetof({s.name}, {path})", f"sizeof((({s.name}*)0)->{path})"]
    for e in model.enums:
        if e.header in headers:
            out += [name for name, _ in e.constants]
    out += [name for name, value in model.macros.items() if value is not None and model.macro_headers[name] in headers]
    return out


def members(fields, prefix=""):
    """(path, field) of all fields, those of nameless structs included."""
    for f in fields:
        yield prefix + f.name, f
        if f.type.base == "record":
            yield from members(f.type.fields, prefix + f.name + ".")


def measure(model, compiler, include_dir, headers):
    """{expression: value} by one compiler."""
    asked = questions(model, headers)
    word = 'ull, '.join(str(w) for w in struct.unpack("<2Q", MAGIC)) + "ull"
    lines = [f'#include "oarlock/{h}"' for h in headers]
    lines += ["__attribute__((used)) const unsigned long long oar_layout[] = {", f"  {word}, {len(asked)}ull,"]
    lines += [f"  (unsigned long long)({q})," for q in asked] + ["};"]
    with tempfile.TemporaryDirectory() as tmp:
        source, target = Path(tmp) / "layout.c", Path(tmp) / "layout.o"
        source.write_text("\n".join(lines) + "\n")
        done = subprocess.run([compiler, "-std=c11", "-c", f"-I{include_dir}", str(source), "-o", str(target)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise MeasureError(f"{compiler}: {done.stderr[:800]}")
        data = target.read_bytes()
    at = data.find(MAGIC)
    if at < 0:
        raise MeasureError(f"{compiler}: the object file lacks the array of constants")
    count, = struct.unpack_from("<Q", data, at + 16)
    if count != len(asked):
        raise MeasureError(f"{compiler}: {count} constants, {len(asked)} expected")
    values = struct.unpack_from(f"<{count}q", data, at + 24)
    return dict(zip(asked, values))


def find_compilers(wanted=COMPILERS):
    """{label: path or None}"""
    return {label: next((p for p in map(shutil.which, names) if p), None) for label, names in wanted.items()}


def measure_all(model, include_dir, headers, say=print):
    """One layout on which all installed compilers agree. Absent compilers cost a line; a disagreement is an error."""
    layout, first = None, None
    for label, path in find_compilers().items():
        if path is None:
            say(f"layout: no {label} compiler here ({' or '.join(COMPILERS[label])}), not compared")
            continue
        got = measure(model, path, include_dir, headers)
        if layout is None:
            layout, first = got, label
        elif got != layout:
            wrong = next(q for q in got if got[q] != layout[q])
            raise MeasureError(f"{wrong} is {layout[wrong]} with {first} but {got[wrong]} with {label}")
    if layout is None:
        raise MeasureError("no C compiler found")
    return layout
