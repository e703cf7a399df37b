// What an op is: data. A file under ops/ holds one OpDef; the functions for C++, C and Python, the manual, the checks and
// the conformance tests derive from it. This is the only header that the data half of an op file includes.
#pragma once
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include <oarlock/base/dtype.h>

namespace oarlock::op {

// ---- pieces -----------------------------------------------------------------------------------------------------------
// A short list that can stand in a constant (GCC 12 refuses initializer_list members there). An entry without a name ends it.
template <class T, int N>
struct List {
  T item[N]{};
  int count = 0;
  constexpr List() = default;
  constexpr List(T a, T b = {}, T c = {}, T d = {}, T e = {}, T f = {}, T g = {}, T h = {}, T i = {}, T j = {}) {
    for (const T* t : {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j})
      if (t->name) item[count++] = *t;
  }
  constexpr const T* begin() const { return item; }
  constexpr const T* end() const { return item + count; }
  constexpr const T& operator[](int i) const { return item[i]; }
};

// A function pointer that knows if it is set: GCC 12 with UBSan can't compare one in a constant.
template <class F>
struct Fn {
  F* f = nullptr;
  bool set = false;
  constexpr Fn(std::nullptr_t = nullptr) {}
  constexpr Fn(F* p) : f(p), set(true) {}
  constexpr explicit operator bool() const { return set; }
  template <class A>
  auto operator()(A& a) const {
    return f(a);
  }
};

enum Flag {
  plain = 0,
  optional = 1,   // input: may be absent
  variadic = 2,   // last input or only output: any number
  host = 4,       // input: in host memory; rules may read its values
  mutated = 8,    // input: written to
  constant = 16,  // input: never gets a gradient
  hidden = 32     // output: kept for the gradient, not returned; absent when nobody will differentiate
};
struct Input {
  const char* name = nullptr;
  const char* spec = nullptr;  // the shape string, "[..., M, K]"; "T+[...]": of T, but f32 for f16 and bf16
  int flags = 0;
  // Values of an integer input, documentation and test generator: "-V..V-1"; "-S[axis]..S[axis]-1", of the axis that an
  // attribute names; "-S..S-1" of a pack S: column k holds places along axis k; "not 0", of integers; "positive",
  // "not negative", "not positive".
  const char* range = nullptr;
};
using Output = Input;

enum Mixing : uint8_t {
  same,              // all dtypes of the variable are equal
  promotes,          // by the Array API's table; the core inserts casts
  promotes_to_float  // as promotes, then an integer becomes f32
};
struct TypeVar {
  const char* name = nullptr;
  DTypeSet set = kAny;
  Mixing mixing = same;
};

// A value the gradient reads, and the inputs whose gradient reads it; none named: all.
struct Saved {
  const char* name = nullptr;
  const char* wanted_by = nullptr;
};
struct Region {
  const char* name = nullptr;
  const char* about = nullptr;
};

// ---- attributes -------------------------------------------------------------------------------------------------------
enum class AttrKind : uint8_t { flag, integer, real, text, integers, reals, dim, dims, axis, axes, dtype };
struct Attribute {
  const char* name = nullptr;
  AttrKind kind{};
  enum Need : uint8_t { defaulted, required, may_be_none } need = required;
  uint16_t since = 1;  // op version that added it
  int64_t i = 0;       // default; of integers: what every missing entry is
  double f = 0;
  const char* s = nullptr;  // choices, "first|second|third"; the first is the default
  double low = -INFINITY, high = INFINITY;
  constexpr Attribute at_least(double v) && {
    low = v;
    return *this;
  }
  constexpr Attribute at_most(double v) && {
    high = v;
    return *this;
  }
  constexpr Attribute from_version(uint16_t v) && {
    since = v;
    return *this;
  }
  constexpr Attribute or_none() && {
    need = may_be_none;
    return *this;
  }
};
constexpr Attribute attr(const char* n, AttrKind k) { return {n, k}; }  // without a default: required
constexpr Attribute attr(const char* n, AttrKind k, int64_t i, double f = 0, const char* s = nullptr) {
  return {n, k, Attribute::defaulted, 1, i, f, s};
}
constexpr Attribute flag(const char* n, bool v) { return attr(n, AttrKind::flag, v); }
constexpr Attribute choice(const char* n, const char* s) { return attr(n, AttrKind::text, 0, 0, s); }
constexpr Attribute axes(const char* n) { return attr(n, AttrKind::axes); }
constexpr Attribute dim(const char* n) { return attr(n, AttrKind::dim); }
constexpr Attribute dims(const char* n) { return attr(n, AttrKind::dims); }
constexpr Attribute reals(const char* n) { return attr(n, AttrKind::reals); }
template <class... V>
constexpr Attribute dtype(const char* n, V... v) {
  return attr(n, AttrKind::dtype, int64_t(v)...);
}
template <class... V>
constexpr Attribute integer(const char* n, V... v) {
  return attr(n, AttrKind::integer, v...);
}
template <class... V>
constexpr Attribute integers(const char* n, V... v) {
  return attr(n, AttrKind::integers, v...);
}
template <class... V>
constexpr Attribute axis(const char* n, V... v) {
  return attr(n, AttrKind::axis, v...);
}
constexpr Attribute real(const char* n) { return attr(n, AttrKind::real); }
constexpr Attribute real(const char* n, double v) { return attr(n, AttrKind::real, 0, v); }

// ---- the definition ---------------------------------------------------------------------------------------------------
struct InferCall;
struct ViewCall;
struct GradientCall;
struct RuleCall;
struct KernelCall;
struct UpgradeCall;
struct ControlTypes;
class ControlCall;
class ControlGradientCall;
using InferRule = void(InferCall&);
using ViewRule = bool(ViewCall&);
using GradientRule = void(GradientCall&);
using DecomposeRule = void(RuleCall&);
using ReferenceKernel = void(KernelCall&);
using UpgradeRule = void(UpgradeCall&);
using TypesRule = void(ControlTypes&);
using ControlRule = void(ControlCall&);
using ControlGradientRule = void(ControlGradientCall&);

// What the conformance test adds to its random draws. dims: "M=2 K=0", "...=5x1|4" (one "..." per input);
// attributes: "axis=0"; values: "x: -1..1 not 0 by 0.1", "x: distinct", "x: nan inf -inf".
struct Case {
  const char* name = nullptr;
  const char* dims = "";
  const char* attributes = "";
  const char* values = "";
};
// |got - want| <= ulps * eps(dtype) * sqrt(elements read per output element) * scale. scale: |want|, or, with
// of_absolutes, the reference on absolute inputs, which bounds cancellation in sums. Integers and views: exact.
struct Tolerance {
  double ulps = 4;
  bool of_absolutes = false;
};

// The few ops that the core itself needs, by what they do for it; each is claimed by one op.
enum class Role : uint8_t { none, add, full, copy, cast, assign, sum, reshape, expand, permute, transfer, count };

struct OpDef {
  const char* name = nullptr;
  uint16_t version = 1;  // rises with any change of meaning or attributes
  const char* summary = nullptr;
  const char* source = nullptr;  // the standard or paper
  List<Input, 10> inputs{};
  List<Output, 6> outputs{};
  List<TypeVar, 4> types{};
  List<Attribute, 10> attributes{};
  List<Region, 2>
      regions{};  // functions that it calls. Such ops have the three rules after this and none of the others
  Fn<TypesRule> types_of{};
  Fn<ControlRule> run{};
  Fn<ControlGradientRule> control_gradient{};
  Fn<InferRule> infer{};  // fills the names that no input gives
  Fn<ViewRule> view{};    // instead of infer: shape, strides and offset of an alias
  Fn<GradientRule> gradient{};
  List<Saved, 6> saves{};
  const char* no_gradient = nullptr;  // why not
  Fn<DecomposeRule> decompose{};
  Fn<ReferenceKernel> reference{};
  Fn<UpgradeRule> upgrade{};  // a call of an older version, rewritten with ops
  Role role = Role::none;
  Tolerance tolerance{};
  List<Case, 10> cases{};
  const char* plugin = nullptr;  // who defined it; null: we did. Then it is a SchemaOp (schema.h)
};

}  // namespace oarlock::op

#include "core/op/grammar.h"
