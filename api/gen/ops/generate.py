"""Everything that follows from the op files: typed functions for C++, C and Python, the op table, and the manual.

Compiles the data halves of ops/*/*.cc, what stands before #include "rules.h", together with print.cc, runs that, and
writes the files below. Rules are never compiled, so an op may call functions that this run is about to create.
--check writes nothing and fails if a file differs.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))

import c_functions
import cpp_functions
import manual
import python_functions
import table

MARK = '#include "rules.h"'


def op_files():
    return sorted((p for p in ROOT.glob("ops/*/*.cc") if p.parent.name != "rewrite"), key=lambda p: p.stem)


def compiler():
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        if name and shutil.which(name):
            return name
    sys.exit("gen ops: no C++ compiler; install g++ or set CXX")


def data_program(files):
    """One source file of all data halves and the table of what they define."""
    lines = ['#include "core/op/opdef.h"']
    for path in files:
        text = path.read_text()
        if MARK not in text:
            sys.exit(f'{path.relative_to(ROOT)}: has no line {MARK} between its data and its rules')
        lines += [f'#line 1 "{path.relative_to(ROOT)}"', text.split(MARK)[0]]
    lines.append("static const oarlock::op::OpDef* const kAll[] = {")
    lines += [f"    &oarlock::op::{path.stem}_::def," for path in files]
    lines += ["};", f'#include "{HERE / "print.cc"}"', ""]
    return "\n".join(lines)


def load_ops():
    files = op_files()
    folders = {path.stem: path.parent.name for path in files}
    if len(folders) != len(files):
        sys.exit("gen ops: two op files have the same name")
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "ops.cc"), pathlib.Path(folder, "ops")
        source.write_text(data_program(files))
        command = [compiler(), "-std=c++20", "-O0", "-w", f"-I{ROOT}", f"-I{ROOT / 'api/abi'}", f"-I{ROOT / 'api/include'}",
                   str(source), "-o", str(program), "-Wl,--unresolved-symbols=ignore-all"]
        if subprocess.run(command, cwd=ROOT).returncode:
            sys.exit("gen ops: the data halves do not compile")
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    ops = [json.loads(line) for line in output.splitlines()]
    for op, path in zip(ops, files):
        if op["name"] != path.stem:
            sys.exit(f"{path.relative_to(ROOT)}: its op is called {op['name']}; file and op have one name")
        op["folder"] = folders[op["name"]]
    return sorted(ops, key=lambda op: op["name"])


def outputs(all_ops):
    ops = [op for op in all_ops if not op["regions"]]  # the others are called by functions that are written by hand
    return {
        "api/include/oarlock/base/ops.h": cpp_functions.header(ops),
        "ops/functions.gen.cc": cpp_functions.source(ops),
        "ops/ids.gen.h": table.ids(all_ops),
        "ops/table.gen.cc": table.source(all_ops),
        "api/abi/oarlock/ops.h": c_functions.header(ops),
        "api/src/c/ops.gen.cc": c_functions.source(ops),
        "api/docs/operators.gen.md": manual.text(ops),
        "bindings/python/src/ops.gen.cc": python_functions.source(ops),
        "bindings/python/oarlock/_ops.pyi": python_functions.functions_stub(ops),
        "bindings/python/oarlock/_methods.pyi": python_functions.methods_stub(ops),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="report files that differ, write none")
    args = parser.parse_args()
    differing = 0
    for name, text in outputs(load_ops()).items():
        path = ROOT / name
        if path.exists() and path.read_text() == text:
            continue
        differing += 1
        if args.check:
            print(f"{name}: differs from what ops/ says; run ci/dev gen", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {name}")
    return 1 if args.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
