// Shapes and dtypes of a call: the compiled strings of an op, evaluated on numbers and on symbols alike.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/shape.h>
#include <oarlock/base/status.h>

#include "core/op/attrs.h"
#include "core/op/opdef.h"

namespace oarlock::op {

// What "T+" means: statistics of f16 and bf16 are kept in f32.
inline DType at_least_f32(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

// All operands of one shape and dtype, an op of "[...]" strings only: shape and dtype follow without matching.
inline bool infer_elementwise(const Rule& r, int count, const Shape* const* in, const DType* t, DType& out_type) {
  for (int j = 1; j < count; ++j)
    if (t[j] != t[0] || !(*in[j] == *in[0])) return false;
  if (!r.elementwise || !(r.first_type & set_of(t[0]))) return false;
  out_type = r.out[0].type == 'f' ? DType(r.out[0].type_slot) : t[0];
  return true;
}

// Two sizes that must agree but can't be compared yet: a run-time check with the same text.
struct Guard {
  Dim a, b;
  bool or_one;
  std::string text;
};
struct Report {
  std::string error;
  std::vector<Guard> guards;
};

struct InferCall {
  const OpDef& def;
  const Rule& r;
  Attrs attrs;
  int count;
  const Shape* const* in;  // null: an optional input is absent
  const DType* in_type;
  int out_count;  // .infer sets it for variadic outputs
  Shape* out;
  DType* out_type;
  DType* var_type;  // [kTypes] dtype each type variable resolved to: what inputs are cast to
  Report& report;
  const oar_view_t* const* host_values = nullptr;  // of inputs flagged host: their elements
  bool failed = false;
  uint32_t bound = 0;
  Shape batch{};
  // For .infer of variadic outputs.
  static constexpr int kMaxOutputs = 64;

  InferCall(const OpDef& def, const Rule& r, Attrs attrs, int count, const Shape* const* in, const DType* in_type,
            int out_count, Shape* out, DType* out_type, DType* var_type, Report& report)
      : def(def),
        r(r),
        attrs(attrs),
        count(count),
        in(in),
        in_type(in_type),
        out_count(out_count),
        out(out),
        out_type(out_type),
        var_type(var_type),
        report(report) {}

  // Fills out and out_type; false with report.error on failure.
  bool run();

  // -- for .infer
  // The i-th name that no input gives, to be filled: c.open(0).push(n).
  Shape& open(int i) {
    int slot = r.open[i];
    bound |= 1u << slot;
    by[slot] = -1;
    value[slot].rank = 0;
    return value[slot];
  }
  // The names that output i leaves open, from its whole shape, which has to agree with what its string knows. sizes may be
  // anything; who: where they come from, for the text of a failure.
  bool bind_output(int i, const int64_t* sizes, int rank, const std::string& who);
  // True if equal, or undecided (then guarded). Rules compare dimensions with this, never with ==. j: the input that `got`
  // is of; from: the one that `want` is of, or -1.
  bool agree(Dim want, Dim got, std::string_view what, int j, int from, bool or_one = false);
  bool fail(std::string what);          // "<op>: " is put in front and what is expected behind; returns false
  std::string input_text(int j) const;  // "a is [2, 3]"
  std::string expects() const;

 private:
  struct Value {  // mul * x / div, x the one unbound name
    Dim mul, div;
    int unknowns, slot;
  };
  int spec_of(int j) const { return std::min(j, def.inputs.count - 1); }  // a variadic input comes last
  const char* name_of(int j) const { return def.inputs.item[spec_of(j)].name; }
  void bind(int slot, const Dim* from, int n, int j);
  Value eval(const Item& it);
  bool divides(const Value& v, const Item& it, int j);
  std::string expression_text(const Item& it) const;
  bool broadcast(const Dim* d, int width, int j);
  bool match(int j, bool last);
  bool types();
  bool fill(int i, int o);
  bool sound(int i);
  std::string bound_text(const Item& it) const;

  Shape value[Rule::kNames];  // a dimension is a pack of one
  int8_t by[Rule::kNames];
};

// Shape, strides and offset of an alias, all at once. Return false if these elements can't be an alias of the input: the
// core then copies it row-major and asks again.
struct ViewCall {
  const OpDef& def;
  Attrs attrs;
  const Shape& in;
  const int64_t* in_strides;  // null while tracing: shapes only
  bool in_contiguous;         // row-major without gaps
  Shape out{};
  int64_t out_strides[kMaxRank];
  int64_t out_offset = 0;  // elements from the start of the input
  Status status{};
  std::vector<Guard>* guards = nullptr;  // while tracing: where undecided comparisons go
  // As InferCall::agree; text: the whole error.
  // A constructor, so that out_strides is not zeroed on every call.
  ViewCall(const OpDef& def, Attrs attrs, const Shape& in, const int64_t* in_strides, bool in_contiguous = false)
      : def(def), attrs(attrs), in(in), in_strides(in_strides), in_contiguous(in_contiguous) {}
  bool agree(Dim want, Dim got, const std::string& text);
  bool fail(std::string what);  // "<op>: " is put in front and "." behind; returns false
  std::string input_text() const { return "x is " + to_string(in); }
};

// Checks attributes against the op's declaration (count, kinds, choices, limits), fills defaults, makes axes non-negative
// against `first`, the shape of the first input. scratch: room for lists, kept alive by the caller.
struct AttrScratch {
  oar_attr_t values[10];
  int64_t room[4 * kMaxRank];
  uint32_t used = 0;
};
// True if what is given needs neither filling nor changing: all attributes there, of kinds without limits, lists of sizes
// without -1. Then rules may read it as it is. Says false when in doubt.
inline bool is_normal(const OpDef& def, const oar_attr_t* given, uint32_t count) {
  if (int(count) != def.attributes.count) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const oar_attr_t& v = given[i];
    if (def.attributes[int(i)].kind != AttrKind::dims || v.type != OAR_ATTR_INTS || !v.is_set || v.count > kMaxRank ||
        (v.count && !v.value.ints))
      return false;
    int64_t signs = 0;
    for (uint64_t k = 0; k < v.count; ++k) signs |= v.value.ints[k];
    if (signs < 0) return false;
  }
  return true;
}
Status normalise(const OpDef& def, const Shape* first, const oar_attr_t* given, uint32_t count, AttrScratch& scratch);

}  // namespace oarlock::op
