"""oarlock/base/ops.h and ops/functions.gen.cc: a typed C++ function for every op."""

from signature import (DTYPES_CPP, NOTE, arrow_text, attribute_text, camel, comment, parameters, real, types_text,
                       visible_outputs)

TYPES = {"flag": "bool", "integer": "int64_t", "real": "double", "text": "std::string_view", "integers": "Integers",
         "reals": "Reals", "dim": "Dim", "dims": "const Shape&", "axis": "int64_t", "axes": "Integers", "dtype": "DType"}
WIRE = {"flag": "BOOL", "integer": "INT", "real": "FLOAT", "text": "STRING", "integers": "INTS", "reals": "FLOATS",
        "dim": "INT", "dims": "INTS", "axis": "INT", "axes": "INTS", "dtype": "DTYPE"}
MAKERS = {"text": "text", "axis": "integer", "axes": "integers"}


def _default(a):
    kind = a["kind"]
    if kind in ("integers", "reals", "dims", "axes"):
        return "{}"
    if a["need"] == "may_be_none":
        return "{}"
    if kind == "flag":
        return "true" if a["i"] else "false"
    if kind == "real":
        return real(a["f"])
    if kind == "text":
        return '"' + (a["s"] or "").split("|")[0] + '"'
    if kind == "dtype":
        return f"DType::{DTYPES_CPP[a['i']]}"
    return str(a["i"])


def _type(a):
    kind = a["kind"]
    if a["need"] == "may_be_none" and kind not in ("integers", "reals", "axes"):
        return f"std::optional<{TYPES[kind].replace('const ', '').replace('&', '')}>"
    return TYPES[kind]


def _parameter(what, entry, with_default):
    if what == "input":
        if entry["variadic"]:
            return f"Tensors {entry['name']}"
        return f"const Tensor& {entry['name']}" + (" = {}" if with_default and entry["optional"] else "")
    text = f"{_type(entry)} {entry['name']}"
    if not with_default or entry["need"] == "required":
        return text
    return f"{text} = {_default(entry)}"


def _result(op):
    outs = visible_outputs(op)
    if not outs:
        return "void"
    if outs[0]["variadic"]:
        return "std::vector<Tensor>"
    return "Tensor" if len(outs) == 1 else camel(op["name"]) + "Result"


def prototype(op, with_default=True):
    head = f"{_result(op)} {op['name']}("
    rows, row = [], head
    names = [_parameter(what, entry, with_default) for what, entry, _ in parameters(op)]
    for i, text in enumerate(names):
        text += ", " if i + 1 < len(names) else ""
        if len(row) + len(text) > 105 and row != head:
            rows.append(row.rstrip())
            row = " " * 4
        row += text
    return "\n".join(rows + [row + ")"])


def header(ops):
    lines = [f"// {NOTE}",
             "// Every op as a function. Any thread; operands of one call live on one device. Errors are thrown (Error): shapes and",
             "// dtypes that do not fit, attributes out of bounds, no memory. In the shape strings, upper case stands for sizes that",
             '// must agree, lower case for attributes, "..." for sizes that broadcast, "*S" for any number of sizes; T, where no',
             "// dtype is written, is one dtype for all; T+ is T, but f32 for f16 and bf16.",
             "#pragma once", "#include <cstdint>", "#include <optional>", "#include <string_view>", "#include <vector>", "",
             "#include <oarlock/base/list.h>", "#include <oarlock/base/tensor.h>", "", "namespace oarlock {", ""]
    for op in ops:
        notes = [op["summary"], arrow_text(op)] + types_text(op)
        notes += [f"{a['name']}: {attribute_text(a)}" for a in op["attributes"]]
        lines += comment(notes)
        outs = visible_outputs(op)
        if len(outs) > 1 and not outs[0]["variadic"]:
            lines += [f"struct {camel(op['name'])}Result {{", "  Tensor " + ", ".join(x["name"] for x in outs) + ";", "};"]
        lines += [f"OAR_EXPORT {prototype(op)};", ""]
    return "\n".join(lines + ["}  // namespace oarlock", ""])


def _attribute(a):
    kind, name = a["kind"], a["name"]
    if kind in ("integers", "axes", "reals"):
        member = "floats" if kind == "reals" else "ints"
        given = 1 if a["need"] == "required" else f"{name}.given()"
        return f"{{OAR_ATTR_{WIRE[kind]}, {given}, {name}.size(), {{.{member} = {name}.data()}}}}"
    maker = f"op::attr_{MAKERS.get(kind, kind)}"
    if a["need"] == "may_be_none":
        return f"{name} ? {maker}(*{name}) : op::attr_none(OAR_ATTR_{WIRE[kind]})"
    return f"{maker}({name})"


def _function(op):
    inputs, outs = op["inputs"], visible_outputs(op)
    lines = [prototype(op, with_default=False) + " {"]
    if inputs and inputs[-1]["variadic"]:
        fixed = inputs[:-1]
        last = inputs[-1]["name"]
        lines.append(f"  Operands in({last}.size() + {len(fixed)});")
        lines += [f"  in.add({x['name']});" for x in fixed]
        lines += [f"  for (const Tensor& t : {last}) in.add(t);"]
        operands = "in.data(), in.size()"
    elif inputs:
        lines.append("  TensorImpl* const in[] = {" + ", ".join(f"{x['name']}.impl()" for x in inputs) + "};")
        operands = f"in, {len(inputs)}"
    else:
        operands = "nullptr, 0"
    if op["attributes"]:
        lines.append("  const oar_attr_t attrs[] = {")
        lines += [f"      {_attribute(a)}," for a in op["attributes"]]
        lines[-1] = lines[-1][:-1] + "};"
        attributes = f"attrs, {len(op['attributes'])}"
    else:
        attributes = "nullptr, 0"
    call = f"op::id::{op['name']}, {operands}, {attributes}"
    if not outs:
        lines.append(f"  throw_if(dispatch::call({call}, nullptr, 0));")
    elif outs[0]["variadic"]:
        lines += ["  std::vector<Tensor> out;", f"  throw_if(dispatch::call_variadic({call}, out));", "  return out;"]
    elif len(outs) == 1:
        lines += ["  Tensor out;", f"  throw_if(dispatch::call({call}, &out, 1));", "  return out;"]
    else:
        lines += [f"  Tensor out[{len(outs)}];", f"  throw_if(dispatch::call({call}, out, {len(outs)}));"]
        lines.append("  return {" + ", ".join(f"std::move(out[{i}])" for i in range(len(outs))) + "};")
    return lines + ["}", ""]


def source(ops):
    lines = [f"// {NOTE}", "#include <oarlock/base/ops.h>", "", '#include "core/dispatch/call.h"', '#include "core/op/attrs.h"',
             '#include "ops/ids.gen.h"', "", "namespace oarlock {", "namespace {",
             "// Operands of a variadic call; up to 32 of them without allocating.", "class Operands {", " public:",
             "  explicit Operands(size_t most) {", "    if (most > 32) {", "      more_.resize(most);",
             "      data_ = more_.data();", "    }", "  }",
             "  void add(const Tensor& t) { data_[size_++] = t.impl(); }", "  TensorImpl* const* data() const { return data_; }",
             "  int size() const { return size_; }", "", " private:", "  TensorImpl* few_[32];",
             "  std::vector<TensorImpl*> more_;", "  TensorImpl** data_ = few_;", "  int size_ = 0;", "};", "}  // namespace", ""]
    for op in ops:
        lines += _function(op)
    return "\n".join(lines + ["}  // namespace oarlock", ""])
