#include "core/op/opdef.h"
namespace oarlock::op::reshape_ {
static ViewRule view;
static GradientRule gradient;

extern constinit const OpDef def = define({
    .name = "reshape",
    .summary = "The same elements, row-major, in another shape. One size may be -1: what the others leave. The result "
               "shares x's "
               "elements where strides can say it.",
    .source = "Array API standard 2023.12, reshape",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dims("shape")},
    .view = view,
    .gradient = gradient,
    .role = Role::reshape,
    .cases = {{"split and join", "S=4x6", "shape=2,2,-1"},
              {"to a scalar", "S=1x1", "shape="},
              {"no elements", "S=4x0x2", "shape=0,0,4"},
              {"a permuted operand", "S=2x3x4", "shape=6,4"}},
});
}  // namespace oarlock::op::reshape_

#include "rules.h"
namespace oarlock::op::reshape_ {
static bool row_major(const Shape& to, int64_t* out_strides) {
  int64_t n = 1;
  for (int i = to.rank - 1; i >= 0; --i) {
    out_strides[i] = n;
    n *= std::max<int64_t>(to(i), 1);
  }
  return true;
}
// Strides for `to` over memory of shape `from`, axes that lie together joined and cut anew; false if there are none.
static bool restride(const Shape& from, const int64_t* strides, const Shape& to, int64_t* out_strides) {
  Shape f;
  int64_t fs[kMaxRank];
  for (int i = 0; i < from.rank; ++i)
    if (from(i) != 1) {
      fs[f.rank] = strides[i];
      f.push(from[i]);
    }
  if (count(from) == 0) return row_major(to, out_strides);
  int i = 0, k = 0;
  while (i < f.rank && k < to.rank) {
    int i_end = i + 1, k_end = k + 1;
    int64_t a = f(i), b = to(k);
    while (a != b) {
      if (a < b) a *= f(i_end++);
      else b *= to(k_end++);
    }
    for (int q = i; q + 1 < i_end; ++q)
      if (fs[q] != fs[q + 1] * f(q + 1)) return false;
    int64_t stride = fs[i_end - 1];
    for (int q = k_end - 1; q >= k; --q) {
      out_strides[q] = stride;
      stride *= to(q);
    }
    i = i_end;
    k = k_end;
  }
  for (; k < to.rank; ++k) out_strides[k] = 1;  // sizes of 1 are left
  return true;
}

static bool view(ViewCall& c) {
  auto shape = c.attrs.dims(0);
  Dim have = 1, want = 1;
  for (Dim d : c.in) have = have * d;
  int rest = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    c.out.push(shape[i]);
    if (shape[i].n != kRest) want = want * shape[i];
    else if (rest >= 0) return c.fail("shape is " + to_string(c.out) + ". Give at most one -1");
    else rest = int(i);
  }
  auto both = [&] {
    Shape asked;
    asked.push(shape.data(), int(shape.size()));
    return c.input_text() + " (" + to_string(have) + " elements), shape is " + to_string(asked);
  };
  if (rest >= 0) {
    if (want.n == 0) return c.fail("-1 could be anything beside a size of 0: " + both() + ". Give the size");
    if (have.known() && want.known() && have.n % want.n)
      return c.fail("shape disagrees: " + both() + ", and " + to_string(have) + " is not a multiple of " +
                    to_string(want) + ". Give sizes that divide it");
    c.out.d[rest] = have / want;
  } else if (have != want && !(have.known() && want.known())) {
    if (!c.agree(have, want, "shape disagrees: " + both() + " (" + to_string(want) + ")")) return false;
  } else if (have != want) {
    return c.fail("shape disagrees: " + both() + " (" + to_string(want) + "). Give sizes whose product is " +
                  to_string(have) + ", or one -1");
  }
  if (c.in_strides && c.in_contiguous) return row_major(c.out, c.out_strides);
  return !c.in_strides || restride(c.in, c.in_strides, c.out, c.out_strides);
}
static void gradient(GradientCall& c) { c.set(0, reshape(c.dout(0), c.in(0).shape())); }
}  // namespace oarlock::op::reshape_
