#include "core/op/opdef.h"
namespace oarlock::op::unstack_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "unstack",
    .summary = "The slices of x along an axis, which is gone in them. They share x's elements.",
    .source = "Array API standard 2023.12, unstack",
    .inputs = {{"x", "[*_]"}},
    .outputs = {{"parts", "[*_]", variadic}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {axis("axis", 0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"rows", "x=3x2"}, {"columns", "x=2x3", "axis=-1"}},
});
}  // namespace oarlock::op::unstack_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::unstack_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  int axis = int(c.attrs.integer(0));
  if (!x[axis].known() || x[axis].n > c.kMaxOutputs)
    return void(c.fail("axis " + std::to_string(axis) + " has " + to_string(x[axis]) + " slices: " + c.input_text(0) +
                       ". At most " + std::to_string(c.kMaxOutputs) + " are possible"));
  c.out_count = int(x[axis].n);
  for (int i = 0; i < c.out_count; ++i) {
    c.out[i].rank = 0;
    for (int k = 0; k < x.rank; ++k)
      if (k != axis) c.out[i].push(x[k]);
    c.out_type[i] = c.in_type[0];
  }
}
static void decompose(RuleCall& c) {
  int axis = int(c.attrs.integer(0));
  for (int i = 0; i < int(c.in(0).shape()(axis)); ++i) c.set(i, squeeze(part(c.in(0), axis, i, 1), {axis}));
}
}  // namespace oarlock::op::unstack_
