#include "api/cts/emit.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

struct CType {
  DType dtype;
  const char *type, *name;
};
constexpr CType kTypes[] = {
    {DType::boolean, "uint8_t", "BOOL"}, {DType::i8, "int8_t", "I8"},       {DType::i16, "int16_t", "I16"},
    {DType::i32, "int32_t", "I32"},      {DType::i64, "int64_t", "I64"},    {DType::u8, "uint8_t", "U8"},
    {DType::u16, "uint16_t", "U16"},     {DType::u32, "uint32_t", "U32"},   {DType::u64, "uint64_t", "U64"},
    {DType::f16, "uint16_t", "F16"},     {DType::bf16, "uint16_t", "BF16"}, {DType::f32, "float", "F32"},
    {DType::f64, "double", "F64"},
};
const CType& c_type(DType t) {
  for (const CType& c : kTypes)
    if (c.dtype == t) return c;
  throw std::runtime_error(fmt::format("{} has no type in C", to_string(t)));
}

std::string real(double x, int digits) {
  if (std::isnan(x)) return "NAN";
  if (std::isinf(x)) return x < 0 ? "-INFINITY" : "INFINITY";
  std::string s = fmt::format("{:.{}g}", x, digits);
  if (s.find_first_of(".e") == s.npos) s += ".0";
  return s;
}

// Element i as C writes it. 16-bit floats as their bits.
std::string literal(const void* bytes, DType t, int64_t i) {
  switch (t) {
    case DType::f32: {
      std::string s = real(get_number(bytes, t, i), 9);
      return s.back() >= '0' && s.back() <= '9' ? s + "f" : s;
    }
    case DType::f64: return real(get_number(bytes, t, i), 17);
    case DType::f16:
    case DType::bf16: return fmt::format("0x{:04x}", static_cast<const uint16_t*>(bytes)[i]);
    case DType::i64: {
      int64_t v = static_cast<const int64_t*>(bytes)[i];
      return v == INT64_MIN ? "INT64_MIN" : fmt::format("{}{}", v, v > INT32_MAX || v < -INT32_MAX ? "LL" : "");
    }
    case DType::i32: {
      int32_t v = static_cast<const int32_t*>(bytes)[i];
      return v == INT32_MIN ? "INT32_MIN" : std::to_string(v);
    }
    case DType::u64: return fmt::format("{}u", number_text(bytes, t, i));
    default: return number_text(bytes, t, i);
  }
}

template <class F>
std::string array(const std::string& declaration, int64_t n, F element) {
  std::string s = declaration + " = {", line;
  bool wrapped = n > 8;
  for (int64_t i = 0; i < n; ++i) {
    std::string e = element(i) + (i + 1 < n ? ", " : "");
    if (line.size() + e.size() > 100) {
      line.pop_back();  // the space
      s += "\n    " + std::exchange(line, {});
      wrapped = true;
    }
    line += e;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (n == 0) line = "0";  // C has no empty arrays
  return s + (wrapped ? "\n    " + line + "\n};\n" : line + "};\n");
}

std::string numbers(const std::vector<int64_t>& list) { return fmt::format("{}", fmt::join(list, ", ")); }
std::string sizes(const std::vector<int64_t>& list) {
  return list.empty() ? "NULL" : fmt::format("(const int64_t[]){{{}}}", numbers(list));
}

std::string attribute(const AttrValue& a) {
  if (!a.is_set) return fmt::format("{{{}, 0, 0, {{.i = 0}}}}", a.type);
  switch (a.type) {
    case OAR_ATTR_BOOL: return fmt::format("{{OAR_ATTR_BOOL, 1, 1, {{.i = {}}}}}", a.i);
    case OAR_ATTR_FLOAT: return fmt::format("{{OAR_ATTR_FLOAT, 1, 1, {{.f = {}}}}}", real(a.f, 17));
    case OAR_ATTR_STRING: return fmt::format("{{OAR_ATTR_STRING, 1, {}, {{.str = \"{}\"}}}}", a.text.size(), a.text);
    case OAR_ATTR_DTYPE: return fmt::format("{{OAR_ATTR_DTYPE, 1, 1, {{.i = OAR_DTYPE_{}}}}}", c_type(DType(a.i)).name);
    case OAR_ATTR_INTS: return fmt::format("{{OAR_ATTR_INTS, 1, {}, {{.ints = {}}}}}", a.ints.size(), sizes(a.ints));
    case OAR_ATTR_FLOATS: {
      std::string list;
      for (double x : a.floats) list += (list.empty() ? "" : ", ") + real(x, 17);
      return fmt::format("{{OAR_ATTR_FLOATS, 1, {}, {{.floats = (const double[]){{{}}}}}}}", a.floats.size(),
                         list.empty() ? "0" : list);
    }
    default: return fmt::format("{{OAR_ATTR_INT, 1, 1, {{.i = {}}}}}", a.i);
  }
}

std::string wrapped(const std::string& text, size_t width, const std::string& indent) {
  std::string out, line;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + word.size() + 1 > width) out += line + "\n" + indent, line.clear();
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  for (size_t p = (out + line).find("*/"); p != std::string::npos;) return "(a text that ends a comment)";
  return out + line;
}

constexpr const char* kHead = R"c(#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oarlock/app.h>

static void need(oar_status_t status, const char* what) {
  if (status == OAR_OK) return;
  printf("could not be run: %s: %s\n", what, oar_error_text());
  exit(2);
}

)c";

constexpr const char* kHalf = R"c(/* The value of a 16-bit float with so many bits of exponent. */
static double half(uint16_t bits, int exponent_bits) {
  int fraction_bits = 15 - exponent_bits, top = (1 << exponent_bits) - 1;
  int exponent = bits >> fraction_bits & top, fraction = bits & ((1 << fraction_bits) - 1);
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == top) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexp(fraction, 2 - (1 << (exponent_bits - 1)) - fraction_bits);
  return sign * ldexp(fraction + (1 << fraction_bits), exponent - (1 << (exponent_bits - 1)) + 1 - fraction_bits);
}

)c";

constexpr const char* kFloatCheck = R"c(/* got within allowed of want, element by element. */
static int differs(const char* name, int64_t i, double got, double want, double allowed) {
  if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= allowed) return 0;
  printf("%s: element %" PRId64 " is %.9g, want %.9g (off by %.3g, allowed %.3g)\n", name, i, got, want, fabs(got - want),
         allowed);
  return 1;
}

)c";

}  // namespace

std::string c_program(const Recorded& call, const Oracle& oracle, const std::string& wrong) {
  Schema schema(op_info(call.op));
  const Draw& draw = call.draw;
  bool own_device = call.device != "cpu";
  std::string file = "a";
  std::string text =
      "/* " +
      wrapped(fmt::format("{} by {} on {}: {}", draw.to_string(schema), call.plugin.empty() ? call.device : call.plugin,
                          call.device, wrong),
              112, " * ") +
      "\n *\n"
      " * A case of Oarlock's conformance kit, made by `oarlock bisect`. What is right was computed by the reference\n"
      " * on the host; how far off a result may be is the kit's tolerance.\n *\n"
      " *   cc -std=c11 case.c $(pkg-config --cflags --libs oarlock) -lm -o case\n"
      " *   ./case PLUGIN.so      (\"none\": without a plugin, on the host)\n *\n"
      " * Exit code: 1 while the difference is there, 0 when it is gone, 2 if this could not be run. */\n";
  text += kHead;
  bool halves = false, floats = false;
  for (const HostTensor& h : oracle.want) {
    halves |= h.dtype == DType::f16 || h.dtype == DType::bf16;
    floats |= is_float(h.dtype);
  }
  if (halves) text += kHalf;
  if (floats) text += kFloatCheck;

  auto name_of = [&](size_t i) {
    const OpOperand& o = schema.input(i);
    std::string name = o.name;
    if (o.variadic || i >= schema.info.inputs.size()) name += std::to_string(i + 1 - schema.info.inputs.size());
    return name + "_values";
  };
  std::string body;
  std::vector<std::optional<StridedBlock>> blocks(draw.inputs.size());
  for (size_t i = 0; i < draw.inputs.size(); ++i) {
    const Operand& o = draw.inputs[i];
    if (!o.present) continue;
    if (!o.strides.empty()) blocks[i] = strided_block(o);
    const std::vector<uint8_t>& bytes = blocks[i] ? blocks[i]->bytes : o.bytes;
    int64_t n = int64_t(bytes.size()) / (info(o.dtype).bits / 8);
    text += array(fmt::format("static const {} {}[]", c_type(o.dtype).type, name_of(i)), n,
                  [&](int64_t k) { return literal(bytes.data(), o.dtype, k); });
  }
  for (size_t k = 0; k < oracle.want.size(); ++k) {
    const HostTensor& w = oracle.want[k];
    if (w.dtype == DType::none) continue;
    const HostTensor* scale = oracle.scale.empty() ? nullptr : &oracle.scale[k];
    if (is_float(w.dtype)) {
      text += array(fmt::format("static const double want{}[]", k), w.count(),
                    [&](int64_t i) { return real(get_number(w.bytes.data(), w.dtype, i), 17); });
      text += array(fmt::format("static const double allowed{}[]", k), w.count(), [&](int64_t i) {
        double allowed = allowed_difference(w, scale, oracle.tolerance, i);
        return real(std::isfinite(allowed) ? allowed : std::numeric_limits<double>::max(), 4);
      });
    } else {
      text += array(fmt::format("static const {} want{}[]", c_type(w.dtype).type, k), w.count(),
                    [&](int64_t i) { return literal(w.bytes.data(), w.dtype, i); });
    }
  }

  std::string default_path = call.path;
  text += "\nint main(int argc, char** argv) {\n";
  text += fmt::format("  const char* plugin = argc > 1 ? argv[1] : \"{}\";\n", default_path);
  text +=
      "  int32_t device = 0, differences = 0;\n"
      "  /* This plugin and no other. */\n"
      "  need(oar_setting_set(oar_text(\"backends\"), oar_text(\"\")), \"backends\");\n"
      "  if (strcmp(plugin, \"none\") != 0) {\n"
      "    need(oar_plugin_load(oar_text(plugin)), plugin);\n";
  if (own_device) text += fmt::format("    need(oar_device_find(oar_text(\"{0}\"), &device), \"{0}\");\n", call.device);
  text += "  }\n\n";
  text += fmt::format("  oar_tensor_t* in[{}] = {{NULL}};\n", std::max<size_t>(draw.inputs.size(), 1));
  bool views = false;
  for (auto& b : blocks) views |= b.has_value();
  if (views) text += "  oar_tensor_t* block;\n  size_t made;\n";
  for (size_t i = 0; i < draw.inputs.size(); ++i) {
    const Operand& o = draw.inputs[i];
    if (!o.present) continue;
    const char* where = o.host ? "0" : "device";
    if (!blocks[i]) {
      text +=
          fmt::format("  need(oar_tensor_create(OAR_DTYPE_{}, {}, {}, {}, {}, &in[{}]), \"{}\");\n",
                      c_type(o.dtype).name, o.shape.size(), sizes(o.shape), name_of(i), where, i, schema.input(i).name);
      continue;
    }
    const StridedBlock& b = *blocks[i];
    text += fmt::format("  /* {} as it lay: strides {} */\n", schema.input(i).name, numbers(o.strides));
    text +=
        fmt::format("  need(oar_tensor_create(OAR_DTYPE_{}, {}, {}, {}, {}, &in[{}]), \"{}\");\n", c_type(o.dtype).name,
                    b.block.size(), sizes(b.block), name_of(i), where, i, schema.input(i).name);
    auto view = [&](const char* op, const std::vector<std::vector<int64_t>>& lists) {
      std::string attrs;
      for (const auto& l : lists)
        attrs +=
            fmt::format("{}{{OAR_ATTR_INTS, 1, {}, {{.ints = {}}}}}", attrs.empty() ? "" : ", ", l.size(), sizes(l));
      text += fmt::format(
          "  block = in[{0}];\n  need(oar_op_call(oar_text(\"{1}\"), &block, 1, (const oar_attr_t[]){{{2}}}, {3}, "
          "&in[{0}], "
          "1, &made), \"{1}\");\n  oar_tensor_release(block);\n",
          i, op, attrs, lists.size());
    };
    if (!b.sizes.empty()) view("slice", {b.starts, b.sizes, b.steps});
    if (!b.axes.empty()) view("permute", {b.axes});
    if (!b.expanded.empty()) view("expand", {b.expanded});
  }
  std::string attrs;
  for (size_t a = 0; a < draw.attrs.size(); ++a)
    attrs += fmt::format("      {}, /* {} */\n", attribute(draw.attrs[a]), schema.info.attributes[a].name);
  if (!attrs.empty()) text += "  const oar_attr_t attrs[] = {\n" + attrs + "  };\n";
  size_t n_mutated = 0;
  for (const Operand& o : draw.inputs) n_mutated += o.present && o.mutated;
  size_t n_outputs = oracle.want.size() - n_mutated;
  text += fmt::format("  oar_tensor_t* out[{}] = {{NULL}};\n  size_t n_out = 0;\n", std::max<size_t>(n_outputs, 8));
  text += fmt::format("  need(oar_op_call(oar_text(\"{0}\"), in, {1}, {2}, {3}, out, {4}, &n_out), \"{0}\");\n\n",
                      call.op, draw.inputs.size(), attrs.empty() ? "NULL" : "attrs", draw.attrs.size(),
                      std::max<size_t>(n_outputs, 8));

  size_t mutated_input = 0;
  for (size_t k = 0; k < oracle.want.size(); ++k) {
    const HostTensor& w = oracle.want[k];
    std::string handle = fmt::format("out[{}]", k), label = fmt::format("output {}", k);
    if (k < n_outputs && k < schema.info.outputs.size()) label = schema.info.outputs[k].name;
    if (k >= n_outputs) {
      while (!draw.inputs[mutated_input].present || !draw.inputs[mutated_input].mutated) ++mutated_input;
      handle = fmt::format("in[{}]", mutated_input);
      label = schema.input(mutated_input++).name;
    }
    if (w.dtype == DType::none || w.count() == 0) continue;
    const CType& t = c_type(w.dtype);
    std::string got = fmt::format("got{}", k);
    text += fmt::format("  static {} {}[{}];\n", t.type, got, w.count());
    text += fmt::format("  need(oar_tensor_read({}, {}, sizeof {}), \"{}\");\n", handle, got, got, label);
    text += fmt::format("  for (int64_t i = 0; i < {}; ++i)", w.count());
    if (is_float(w.dtype)) {
      std::string value = w.dtype == DType::f16    ? fmt::format("half({}[i], 5)", got)
                          : w.dtype == DType::bf16 ? fmt::format("half({}[i], 8)", got)
                                                   : got + "[i]";
      text += fmt::format(" differences += differs(\"{}\", i, {}, want{}[i], allowed{}[i]);\n", label, value, k, k);
    } else {
      text += fmt::format(
          " {{\n    if ({0}[i] == want{1}[i]) continue;\n    printf(\"{2}: element %\" PRId64 \" is %lld, want "
          "%lld\\n\", i, "
          "(long long){0}[i], (long long)want{1}[i]);\n    ++differences;\n  }}\n",
          got, k, label);
    }
  }
  text += "  for (size_t i = 0; i < n_out; ++i) oar_tensor_release(out[i]);\n";
  text += fmt::format("  for (size_t i = 0; i < {}; ++i) oar_tensor_release(in[i]);\n", draw.inputs.size());
  text += "  puts(differences ? \"the difference is there\" : \"no difference\");\n  return differences ? 1 : 0;\n}\n";
  return text;
}

}  // namespace oarlock::cts
