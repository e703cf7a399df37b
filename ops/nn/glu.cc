#include "core/op/opdef.h"
namespace oarlock::op::glu_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "glu",
    .summary = "The first half of x along an axis, times the sigmoid of the second half.",
    .source = "Dauphin et al. 2016, Language modeling with gated convolutional networks",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {axis("axis", -1)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"last axis", "S=2x6", "axis=-1"}, {"first axis", "S=4x3", "axis=0"}, {"no elements", "S=2x0", "axis=1"}},
});
}  // namespace oarlock::op::glu_

#include "rules.h"
namespace oarlock::op::glu_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  int axis = int(c.attrs.integer(0));
  if (x[axis].known() && x[axis].n % 2)
    return void(c.fail("axis " + std::to_string(axis) + " has " + to_string(x[axis]) +
                       " elements, an odd number: " + c.input_text(0)));
  Shape& out = c.open(0);
  for (int i = 0; i < x.rank; ++i) out.push(i == axis ? x[i] / 2 : x[i]);
}
static void decompose(RuleCall& c) {
  int axis = int(c.attrs.integer(0));
  Shape half = c.in(0).shape(), start;
  half.d[axis] = half[axis] / 2;
  for (int i = 0; i < half.rank; ++i) start.push(0);
  Tensor first = slice(c.in(0), start, half);
  start.d[axis] = half[axis];
  c.set(0, multiply(first, sigmoid(slice(c.in(0), start, half))));
}
}  // namespace oarlock::op::glu_
