"""api/docs/operators.gen.md: the operators' manual."""

import c_functions
import cpp_functions
from signature import NOTE, attribute_text, operand_text, types_text

FOLDERS = {"math": "Arithmetic and comparison", "reduce": "Reductions", "shape": "Shapes and views", "linalg": "Matrices",
           "nn": "Networks", "index": "Indexing", "random": "Random numbers and filling", "mutate": "Writing in place"}


def _gradient(op):
    if op["no_gradient"]:
        return f"none: {op['no_gradient']}"
    if op["gradient"]:
        saved = [s["name"] + (f" for {s['wanted_by']}" if s["wanted_by"] else "") for s in op["saves"]]
        return "a rule of its own" + (f", keeps {', '.join(saved)}" if saved else ", keeps nothing")
    return "that of its decomposition"


def _case(c):
    parts = [c["dims"], c["attributes"], c["values"]]
    return c["name"] + " (" + "; ".join(f"`{p}`" for p in parts if p) + ")" if any(parts) else c["name"]


def _op(op):
    kind = "view" if op["view"] else "composite" if op["decompose"] else "primitive"
    lines = [f"### {op['name']}", "", op["summary"], "", "```cpp", cpp_functions.prototype(op) + ";", "```", "```c",
             c_functions.prototype(op) + ";", "```", ""]
    rows = [("Kind", f"{kind}, version {op['version']}")]
    rows += [("Input", f"`{operand_text(x)}`") for x in op["inputs"]]
    rows += [("Output", f"`{operand_text(x)}`") for x in op["outputs"]]
    rows += [("Dtypes", t) for t in types_text(op)]
    rows += [("Attribute", f"`{a['name']}`: {attribute_text(a)}" + (f"; since version {a['since']}" if a["since"] > 1 else ""))
             for a in op["attributes"]]
    rows += [("Gradient", _gradient(op)), ("Source", op["source"])]
    rows += [("Tested", "; ".join(_case(c) for c in op["cases"]))]
    lines += ["| | |", "|---|---|"] + [f"| {a} | {b.replace('|', chr(92) + '|')} |" for a, b in rows]
    return lines + [""]


def text(ops):
    lines = ["# Operators", "", f"<!-- {NOTE} -->", "",
             "In a shape string, upper case stands for sizes that must agree, lower case for attributes, `...` for sizes that",
             "broadcast from the right, `*S` for any number of sizes, `M|1` for M or 1. A word before the bracket is the dtype; T,",
             "where none is written, is one dtype for all; T+ is T, but f32 for f16 and bf16. Sizes may be 0 everywhere:",
             "shapes still follow, sums are 0, maxima the",
             "lowest value there is.", ""]
    folders = [f for f in FOLDERS if any(op["folder"] == f for op in ops)]
    folders += sorted({op["folder"] for op in ops} - set(FOLDERS))
    for folder in folders:
        names = [op["name"] for op in ops if op["folder"] == folder]
        lines.append(f"* {FOLDERS.get(folder, folder)}: " + ", ".join(f"[{n}](#{n})" for n in names))
    lines.append("")
    for folder in folders:
        lines += [f"## {FOLDERS.get(folder, folder)}", ""]
        for op in ops:
            if op["folder"] == folder:
                lines += _op(op)
    return "\n".join(lines)
