"""Python: the table that the binding reads calls by (bindings/python/src/ops.gen.cc) and the stubs of its functions and of
tensors' methods (bindings/python/oarlock/_ops.pyi, _methods.pyi)."""

import keyword
import re

from python_examples import curated
from signature import (DTYPES, DTYPES_CPP, NOTE, attribute_text, camel, choices, operand_text, parameters, real, types_text,
                       visible_outputs)

# Made by hand, where the op alone would be awkward: create.cc and creation.py.
BY_HAND = {"arange", "eye", "full", "linspace", "roll", "split"}
PYTHON_DTYPES = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
                 "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool"}
KINDS = {"flag": "flag", "integer": "integer", "real": "real", "text": "text", "integers": "integers", "reals": "reals",
         "dim": "dim", "dims": "dims", "axis": "axis", "axes": "axes", "dtype": "dtype"}
HINTS = {"flag": "bool", "integer": "int", "real": "float", "text": "str", "integers": "int | Sequence[int]",
         "reals": "Sequence[float]", "dim": "int", "dims": "int | Sequence[int]", "axis": "int", "axes": "int | Sequence[int]",
         "dtype": "DTypeLike"}
GETTERS = {"flag": "flag", "integer": "integer", "real": "real", "text": "text", "integers": "integers", "reals": "reals",
           "dim": "integer", "dims": "dims", "axis": "integer", "axes": "integers", "dtype": "dtype"}
TYPES = {"flag": "bool", "integer": "int64_t", "real": "double", "text": "std::string_view", "integers": "Integers",
         "reals": "Reals", "dim": "int64_t", "dims": "Shape", "axis": "int64_t", "axes": "Integers", "dtype": "DType"}


def python_name(entry, what):
    name = entry["name"]
    if what == "attribute" and entry["kind"] == "axes" and name == "axes":
        return "axis"
    return name + "_" if keyword.iskeyword(name) else name


def _of_type(op, spec):
    """(index of the type variable or -1, C++ dtype) of an operand."""
    word = spec.split("[")[0]
    names = [t["name"] for t in op["types"]]
    if word in names:
        return names.index(word), "none"
    for number, text in DTYPES.items():
        if word == text:
            return -1, DTYPES_CPP[number]
    return (names.index("T") if "T" in names else -1), "none"


def _required(what, entry):
    return not entry["optional"] if what == "input" else entry["need"] == "required"


def _default(what, entry):
    """The default as Python writes it; None where there is none."""
    if _required(what, entry):
        return None
    if what == "input" or entry["need"] == "may_be_none":
        return "None"
    kind = entry["kind"]
    if kind == "flag":
        return "True" if entry["i"] else "False"
    if kind == "real":
        value = float(entry["f"])
        return repr(value) if abs(value) != float("inf") else "None"
    if kind == "text":
        return repr(choices(entry)[0] if entry["s"] else "")
    if kind == "dtype":
        return repr(PYTHON_DTYPES[DTYPES[entry["i"]]])
    if kind in ("reals", "dims", "axes"):
        return "None"
    return str(entry["i"])


def _hint(what, entry):
    if what == "input":
        hint = "Sequence[TensorLike] | Tensor" if entry["variadic"] else "TensorLike"
        hint = "Sequence[TensorLike]" if entry["variadic"] else hint
    elif entry["kind"] == "text" and choices(entry):
        hint = "Literal[" + ", ".join(repr(c) for c in choices(entry)) + "]"
    else:
        hint = HINTS[entry["kind"]]
    if _default(what, entry) == "None":
        hint += " | None"
    return hint


def _signature(op, typed, method=False):
    out = []
    for i, (what, entry, _) in enumerate(parameters(op)):
        if method and i == 0:
            out.append("self")
            continue
        name, default = python_name(entry, what), _default(what, entry)
        text = f"{name}: {_hint(what, entry)}" if typed else name
        if default is not None:
            text += f" = {default}" if typed else f"={default}"
        out.append(text)
    return ", ".join(out)


def is_method(op):
    """Its first parameter is a tensor of any kind, so that x.op() says the same as op(x)."""
    first = parameters(op)[:1]
    if not first or first[0][0] != "input":
        return False
    entry = first[0][1]
    return op["name"] not in BY_HAND and not entry["variadic"] and not entry["host"] and not entry["mutated"] and _of_type(op, entry["spec"])[1] != "i64"


def _case_example(op):
    """A call made of the op's first case; it only shows that the call runs."""
    sizes, values = {}, {}
    case = op["cases"][0] if op["cases"] else {"dims": "", "attributes": ""}
    for text, into in ((case["dims"], sizes), (case["attributes"], values)):
        for word in (text or "").split():
            if "=" in word:
                key, value = word.split("=", 1)
                into[key] = value

    for a in op["attributes"]:
        if a["need"] == "defaulted" and a["kind"] in ("integer", "dim"):
            sizes.setdefault(a["name"], values.get(a["name"], str(a["i"])))

    def size(token):
        token = token.split("|")[0].strip()
        try:
            return [int(eval(re.sub(r"[A-Za-z_]\w*", lambda m: sizes.get(m.group(), values.get(m.group(), "2")), token)))]
        except (SyntaxError, TypeError, ValueError, NameError, ZeroDivisionError):
            return [2]

    def operand(x):
        word, _, inner = x["spec"].partition("[")
        shape = []
        for token in filter(None, (t.strip() for t in inner.rstrip("]").split(","))):
            if token == "...":
                shape += [2, 3]
            elif token.startswith("*"):
                shape += [int(n) for n in sizes[token[1:]].split("x")] if sizes.get(token[1:]) else [2, 3] if token != "*_" else [2]
            else:
                shape += size(token)
        _, dtype = _of_type(op, x["spec"])
        mask = next((t["set"] for t in op["types"] if t["name"] == (word or "T")), None)
        kind = "float32"
        if dtype != "none":
            kind = "bool" if dtype == "boolean" else PYTHON_DTYPES.get(dtype, "float32")
        elif mask is not None and not mask >> 12 & 1:
            kind = "int64" if mask >> 5 & 1 else "bool"
        text = f"oarlock.{'zeros' if x['range'] or kind != 'float32' else 'ones'}({tuple(shape)}"
        text += f", dtype='{kind}')" if kind != "float32" else ")"
        return f"[{text}, {text}]" if x["variadic"] else text

    def value(entry, text):
        kind = entry["kind"]
        if text == "none" and entry["need"] == "may_be_none":
            return "None"
        if kind in ("integers", "dims", "axes"):
            return "(" + "".join(f"{n}, " for n in re.split("[,x]", text)) + ")"
        if kind == "reals":
            return "[" + text + "]"
        if kind == "flag":
            return "True" if text in ("1", "true") else "False"
        if kind == "dtype":
            return f"oarlock.{PYTHON_DTYPES.get(text, text)}"
        return repr(text) if kind == "text" else text

    arguments = []
    for what, entry, _ in parameters(op):
        if what == "input":
            if not entry["optional"]:
                arguments.append(operand(entry))
        elif entry["name"] in values:
            arguments.append(f"{python_name(entry, what)}={value(entry, values[entry['name']])}")
        elif entry["need"] == "required":
            guess = {"dims": "(2, 3)", "axis": "0", "dtype": "oarlock.float32", "axes": "(0,)", "integers": "(1,)",
                     "reals": "[1.0]", "text": "''", "flag": "False", "real": "1.0"}
            arguments.append(f"{python_name(entry, what)}={guess.get(entry['kind'], '2')}")
    return [f">>> out = oarlock.{op['name']}({', '.join(arguments)})"]


def docstring(op):
    lines = [op["summary"], ""]
    for what, entry, _ in parameters(op):
        if what == "input":
            lines.append(operand_text(entry))
        else:
            lines.append(f"{python_name(entry, what)}: {attribute_text(entry)}")
    outs = visible_outputs(op)
    if outs:
        lines.append("-> " + ", ".join(operand_text(x) for x in outs))
    lines += types_text(op)
    lines += [f"Source: {op['source']}", ""]
    return lines + (curated(op["name"]) or _case_example(op))


def _c_text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _call(op):
    """The body of a thunk."""
    lines, names = [], []
    for i, (what, entry, _) in enumerate(parameters(op)):
        names.append(f"p{i}")
        if what == "input":
            lines.append(f"  Tensors p{i} = a.tensors({i});" if entry["variadic"] else f"  const Tensor& p{i} = a.tensor({i});")
            continue
        kind, need = entry["kind"], entry["need"]
        if need == "may_be_none" and kind not in ("integers", "reals", "axes"):
            getter = {"axis": "integer"}.get(kind, kind)
            lines.append(f"  auto p{i} = a.maybe_{getter}({i});")
            continue
        default = ""
        if need == "defaulted":
            if kind == "flag":
                default = ", true" if entry["i"] else ", false"
            elif kind in ("integer", "axis", "dim"):
                default = f", {entry['i']}"
            elif kind == "real":
                value = float(entry["f"])
                default = f", {'-' if value < 0 else ''}HUGE_VAL" if abs(value) == float("inf") else f", {real(value)}"
            elif kind == "text":
                default = ', "' + (choices(entry)[0] if entry["s"] else "") + '"'
            elif kind == "dtype":
                default = f", DType::{DTYPES_CPP[entry['i']]}"
        lines.append(f"  {TYPES[kind]} p{i} = a.{GETTERS[kind]}({i}{default});")
    lines.append("  a.begin();")
    outs, call = visible_outputs(op), f"oarlock::{op['name']}({', '.join(names)})"
    if not outs:
        lines.append(f"  {call};")
    elif len(outs) == 1 or outs[0]["variadic"]:
        lines.append(f"  a.give({call});")
    else:
        lines.append(f"  auto r = {call};")
        lines += [f"  a.give(std::move(r.{x['name']}));" for x in outs]
    return lines


def _parameter(op, what, entry):
    kind = ("tensors" if entry["variadic"] else "tensor") if what == "input" else KINDS[entry["kind"]]
    text = f'{{"{python_name(entry, what)}", Kind::{kind}, {"true" if _required(what, entry) else "false"}'
    if what == "input":
        variable, dtype = _of_type(op, entry["spec"])
        text += f", {variable}, DType::{dtype}"
    return text + "}"


def source(ops):
    lines = [f"// {NOTE}", "#include <cmath>", "", '#include "call.h"', "", "namespace oarlock::python {", "namespace {", ""]
    for op in ops:
        name, outs = op["name"], visible_outputs(op)
        listed = parameters(op)
        if listed:
            lines.append(f"const Parameter parameters_{name}[] = {{")
            lines += [f"    {_parameter(op, what, entry)}," for what, entry, _ in listed]
            lines[-1] = lines[-1][:-1] + "};"
        several = len(outs) > 1 and not outs[0]["variadic"]
        if several:
            lines.append(f"const char* const outputs_{name}[] = {{" + ", ".join(f'"{x["name"]}"' for x in outs) + "};")
        lines += [f"void run_{name}({'[[maybe_unused]] ' if not listed else ''}Arguments& a) {{"] + _call(op) + ["}"]
        count = -1 if outs and outs[0]["variadic"] else len(outs)
        lines.append(f'const Function f_{name}{{"{name}", {f"parameters_{name}" if listed else "nullptr"}, {len(listed)}, run_{name}, '
                     f"{f'outputs_{name}' if several else 'nullptr'}, {count}, {_c_text(camel(name) + 'Result') if several else 'nullptr'}}};")
        if op["name"] not in BY_HAND:
            lines.append(f"PyObject* call_{name}(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {{")
            lines += [f"  return invoke(f_{name}, nullptr, args, n, names);", "}"]
        if is_method(op):
            lines.append(f"PyObject* method_{name}(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {{")
            lines += [f"  return invoke(f_{name}, self, args, n, names);", "}"]
        lines.append("")
    lines += ["template <class F>", "PyCFunction as_function(F f) {",
              "  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));", "}",
              "constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;", "", "}  // namespace", ""]
    for table, wanted, prefix in (("op_functions", lambda op: op["name"] not in BY_HAND, "call"), ("op_methods", is_method, "method")):
        lines.append(f"PyMethodDef {table}[] = {{")
        for op in filter(wanted, ops):
            doc = [f"{op['name']}({_signature(op, False, prefix == 'method')})", "--", ""] + docstring(op) + [""]
            lines.append(f'    {{"{op["name"]}", as_function({prefix}_{op["name"]}), kFlags,')
            lines += [f"     {_c_text(row + chr(10))}" for row in doc]
            lines[-1] += "},"
        lines += ["    {nullptr, nullptr, 0, nullptr}};", ""]
    lines.append("const Function* const all_functions[] = {")
    lines += [f"    &f_{op['name']}," for op in ops] + ["    nullptr};", ""]
    for word, count in (("Binary", 2), ("Unary", 1)):
        lines.append(f"{word} {word.lower()}_op(std::string_view name) {{")
        for op in ops:
            plain = [x for x in op["inputs"] if not (x["variadic"] or x["optional"] or x["host"] or x["mutated"])]
            if len(op["inputs"]) == len(plain) == count and not op["attributes"] and len(visible_outputs(op)) == 1:
                lines.append(f'  if (name == "{op["name"]}") return oarlock::{op["name"]};')
        lines += ["  return nullptr;", "}", ""]
    return "\n".join(lines + ["}  // namespace oarlock::python", ""])


def _result(op):
    outs = visible_outputs(op)
    if not outs:
        return "None"
    if outs[0]["variadic"]:
        return "tuple[Tensor, ...]"
    return "Tensor" if len(outs) == 1 else camel(op["name"]) + "Result"


def _stub(op, method):
    pad = "    " if method else ""
    head = f"{pad}def {op['name']}({_signature(op, True, method)}) -> {_result(op)}:"
    if method:
        return [head + " ..."]
    return [head, f'    r"""'] + [("    " + row).rstrip() for row in docstring(op)] + ['    """', ""]


def functions_stub(ops):
    lines = [f"# {NOTE}", "# Every op of the table as a function.", "from typing import Literal, NamedTuple, Sequence", "",
             "from ._core import DTypeLike, Tensor, TensorLike", ""]
    for op in ops:
        outs = visible_outputs(op)
        if len(outs) > 1 and not outs[0]["variadic"]:
            lines += [f"class {camel(op['name'])}Result(NamedTuple):"] + [f"    {x['name']}: Tensor" for x in outs] + [""]
    for op in ops:
        if op["name"] not in BY_HAND:
            lines += _stub(op, False)
    return "\n".join(lines)


def methods_stub(ops):
    named = sorted(_result(op) for op in ops if is_method(op) and _result(op).endswith("Result"))
    lines = [f"# {NOTE}", "# The ops that tensors have as methods.", "from typing import Literal, Sequence", "",
             "from ._core import DTypeLike, Tensor, TensorLike"]
    if named:
        lines.append("from ._ops import " + ", ".join(named))
    lines += ["", "class OpMethods:"]
    for op in ops:
        if is_method(op):
            lines += _stub(op, True)
    return "\n".join(lines + [""])
