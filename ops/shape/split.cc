#include "core/op/opdef.h"
namespace oarlock::op::split_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "split",
    .summary = "x cut along an axis into parts of the given sizes, which fill it. The parts share x's elements.",
    .source = "ONNX operator set 18, Split; torch.split",
    .inputs = {{"x", "[*_]"}},
    .outputs = {{"parts", "[*_]", variadic}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dims("sizes"), axis("axis", 0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"two", "x=5x2", "sizes=2,3"},
              {"an empty one", "x=2x3", "sizes=3,0 axis=-1"},
              {"one alone", "x=4", "sizes=4"}},
});
}  // namespace oarlock::op::split_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::split_ {
static void infer(InferCall& c) {
  auto sizes = c.attrs.dims(0);
  const Shape& x = *c.in[0];
  int axis = int(c.attrs.integer(1));
  Dim total = 0;
  for (Dim d : sizes) {
    if (d.n == kRest) return void(c.fail("sizes has a -1. Give every size"));
    total = total + d;
  }
  if (sizes.empty()) return void(c.fail("sizes has no entry. Give at least one"));
  if (!c.agree(x[axis], total, "the sum of sizes", -1, 0)) return;
  c.out_count = int(sizes.size());
  for (int i = 0; i < c.out_count; ++i) {
    c.out[i] = x;
    c.out[i].d[axis] = sizes[size_t(i)];
    c.out_type[i] = c.in_type[0];
  }
}
static void decompose(RuleCall& c) {
  int axis = int(c.attrs.integer(1));
  Dim start = 0;
  for (size_t i = 0; i < c.attrs.dims(0).size(); ++i) {
    Dim size = c.attrs.dims(0)[i];
    c.set(int(i), part(c.in(0), axis, start, size));
    start = start + size;
  }
}
}  // namespace oarlock::op::split_
