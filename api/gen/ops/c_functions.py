"""oarlock/ops.h and api/src/c/ops.gen.cc: every op for programs in C."""

from signature import (NOTE, arrow_text, attribute_text, choices, comment, default_text, parameters, real, types_text,
                       visible_outputs)

SCALARS = {"flag": "int32_t", "integer": "int64_t", "real": "double", "text": "oar_str_t", "dim": "int64_t", "axis": "int64_t",
           "dtype": "uint32_t"}
ELEMENTS = {"integers": "int64_t", "dims": "int64_t", "axes": "int64_t", "reals": "double"}
MAKERS = {"flag": "op::attr_flag({} != 0)", "integer": "op::attr_integer({})", "dim": "op::attr_integer({})",
          "axis": "op::attr_integer({})", "real": "op::attr_real({})", "text": "c::text({})", "dtype": "c::dtype({})"}


def _options(op):
    return [a for a in op["attributes"] if a["need"] != "required"]


def _parameters(op):
    out = []
    for what, entry, _ in parameters(op):
        name = entry["name"]
        if what == "input":
            out += [f"oar_tensor_t* const* {name}", f"size_t n_{name}"] if entry["variadic"] else [f"oar_tensor_t* {name}"]
        elif entry["need"] == "required":
            if entry["kind"] in ELEMENTS:
                out += [f"const {ELEMENTS[entry['kind']]}* {name}", f"size_t n_{name}"]
            else:
                out.append(f"{SCALARS[entry['kind']]} {name}")
    if _options(op):
        out.append(f"const oar_{op['name']}_options_t* options")
    for x in visible_outputs(op):
        out += [f"oar_tensor_t** out_{x['name']}", f"size_t n_{x['name']}"] if x["variadic"] else [
            f"oar_tensor_t** out_{x['name']}"]
    return out or ["void"]


def prototype(op, indent="    "):
    head = f"oar_status_t OAR_CALL oar_{op['name']}("
    rows, row, names = [], head, _parameters(op)
    for i, text in enumerate(names):
        text += ", " if i + 1 < len(names) else ""
        if len(row) + len(text) > 105 and row != head:
            rows.append(row.rstrip())
            row = indent
        row += text
    return "\n".join(rows + [row + ")"])


def _fields(a):
    """(declaration, initialiser) of each field of an option."""
    name, kind = a["name"], a["kind"]
    if kind in ELEMENTS:
        return [(f"const {ELEMENTS[kind]}* {name}", "NULL"), (f"size_t n_{name}", "0")]
    if a["need"] == "may_be_none":
        zero = "{ NULL, 0 }" if kind == "text" else "0"
        return [(f"{SCALARS[kind]} {name}", zero)] + ([] if kind == "text" else [(f"int32_t has_{name}", "0")])
    if kind == "text":
        first = choices(a)[0] if a["s"] else ""
        return [(f"oar_str_t {name}", f'OAR_STR("{first}")')]
    value = {"flag": str(a["i"]), "real": real(a["f"])}.get(kind)
    if kind == "dtype":
        value = "OAR_DTYPE_" + default_text(a).upper()
    return [(f"{SCALARS[kind]} {name}", value or str(a["i"]))]


def _options_text(op):
    name = f"oar_{op['name']}_options"
    lines = [f"typedef struct {name} {{", "  uint32_t struct_size;"]
    values = [f"sizeof({name}_t)"]
    for a in _options(op):
        fields = _fields(a)
        lines.append(f"  {fields[0][0]};".ljust(40) + f" /* {attribute_text(a)} */")
        lines += [f"  {f};" for f, _ in fields[1:]]
        values += [v for _, v in fields]
    lines += [f"}} {name}_t;", f"#define {name.upper()}_INIT {{ {', '.join(values)} }}"]
    return lines


def header(ops):
    lines = [f"/* {NOTE}",
             " * Every op for programs in C; oarlock/app.h includes it. All functions may be called from any thread and return",
             " * OAR_OK or an error whose text oar_error_text gives. Outputs are new tensors, each freed by its receiver, and are",
             " * untouched on failure. Optional operands may be NULL. Attributes with a default stand in an options struct;",
             " * options NULL: all defaults; begin with the _INIT macro so that fields of later versions are at theirs.",
             ' * In the shape strings, upper case stands for sizes that must agree, lower case for attributes, "..." for sizes that',
             ' * broadcast, "*S" for any number of sizes; T, where no dtype is written, is one dtype for all;',
             ' * T+ is T, but f32 for f16 and bf16. */',
             "#ifndef OARLOCK_OPS_H", "#define OARLOCK_OPS_H", "#include <oarlock/types.h>", "#ifdef __cplusplus",
             'extern "C" {', "#endif", "", "#ifndef OAR_TENSOR_DEFINED", "#define OAR_TENSOR_DEFINED",
             "typedef struct oar_tensor oar_tensor_t;", "#endif", ""]
    for op in ops:
        notes = [op["summary"], arrow_text(op)] + types_text(op)
        notes += [f"{a['name']}: {attribute_text(a)}" for a in op["attributes"] if a["need"] == "required"]
        text = comment(notes, " * ", 116)
        text[0] = "/* " + text[0][3:]
        text[-1] += " */"
        lines += text
        if _options(op):
            lines += _options_text(op)
        lines += [f"OAR_EXPORT {prototype(op)};", ""]
    return "\n".join(lines + ["#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def _attribute(op, a):
    kind, name = a["kind"], a["name"]
    option = a["need"] != "required"
    place = f"o.{name}" if option else name
    count = f"o.n_{name}" if option else f"n_{name}"
    if kind in ELEMENTS:
        value = f"{'reals' if kind == 'reals' else 'integers'}({place}, {count})"
        if not option:
            value = f"given({value})"
    else:
        value = MAKERS[kind].format(place)
    if a["need"] == "may_be_none" and kind not in ELEMENTS and kind != "text":
        value = f"o.has_{name} ? {value} : op::attr_none({value}.type)"
    return value


def _function(op):
    lines = [prototype(op) + " {"]
    if _options(op):
        lines.append(f"  oar_{op['name']}_options_t o = OAR_{op['name'].upper()}_OPTIONS_INIT;")
        lines.append("  if (options) read_options(options, o);")
    inputs, outs = op["inputs"], visible_outputs(op)
    if inputs and inputs[-1]["variadic"]:
        last = inputs[-1]["name"]
        fixed = [x["name"] for x in inputs[:-1]]
        if fixed:
            lines.append(f"  Operands in({{{', '.join(fixed)}}}, {last}, n_{last});")
            operands = "in.data(), in.size()"
        else:
            operands = f"{last}, n_{last}"
    elif inputs:
        lines.append("  oar_tensor_t* const in[] = {" + ", ".join(x["name"] for x in inputs) + "};")
        operands = f"in, {len(inputs)}"
    else:
        operands = "nullptr, 0"
    attributes = "nullptr, 0"
    if op["attributes"]:
        lines.append("  const oar_attr_t attrs[] = {" + ", ".join(_attribute(op, a) for a in op["attributes"]) + "};")
        attributes = f"attrs, {len(op['attributes'])}"
    call = f"op::id::{op['name']}, {operands}, {attributes}"
    if outs and outs[0]["variadic"]:
        lines.append(f"  return call_variadic({call}, out_{outs[0]['name']}, n_{outs[0]['name']});")
    elif outs:
        lines.append("  oar_tensor_t** const out[] = {" + ", ".join(f"out_{x['name']}" for x in outs) + "};")
        lines.append(f"  return call({call}, out, {len(outs)});")
    else:
        lines.append(f"  return call({call}, nullptr, 0);")
    return lines + ["}", ""]


def source(ops):
    lines = [f"// {NOTE}", "#include <algorithm>", "#include <cstring>", "#include <initializer_list>", "#include <vector>", "",
             "#include <oarlock/ops.h>", "", '#include "api/src/c/call.h"', '#include "ops/ids.gen.h"', "", "namespace {",
             "using namespace oarlock;", "using namespace oarlock::c;", "",
             "// Fields that the caller's struct has not stay at their defaults.", "template <class T>",
             "void read_options(const T* from, T& out_options) {",
             "  std::memcpy(static_cast<void*>(&out_options), from, std::min<size_t>(from->struct_size, sizeof(T)));", "}",
             "// A required list may be empty without a pointer.",
             "[[maybe_unused]] oar_attr_t given(oar_attr_t v) {", "  v.is_set = 1;", "  return v;", "}",
             "struct [[maybe_unused]] Operands : std::vector<oar_tensor_t*> {",
             "  Operands(std::initializer_list<oar_tensor_t*> fixed, oar_tensor_t* const* more, size_t n)",
             "      : std::vector<oar_tensor_t*>(fixed) {", "    // A null list gives operands without a value; one that is too long is cut past where the call refuses it.",
             "    n = std::min<size_t>(n, 257);", "    if (more) insert(end(), more, more + n);",
             "    else resize(size() + n);", "  }", "};",
             "}  // namespace", "", 'extern "C" {', ""]
    for op in ops:
        lines += _function(op)
    return "\n".join(lines + ['}  // extern "C"', ""])
