#include "core/op/opdef.h"
namespace oarlock::op::stack_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "stack",
    .summary = "The operands, all of one shape, side by side along a new axis; a negative axis counts from the end of "
               "the result.",
    .source = "Array API standard 2023.12, stack",
    .inputs = {{"xs", "[*_]", variadic}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage, promotes}},
    .attributes = {integer("axis", 0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"rows", "xs=3|3"},
              {"columns", "xs=2x3|2x3|2x3", "axis=-1"},
              {"of nothing", "xs=0|0", "axis=1"},
              {"scalars", "xs=|"}},
});
}  // namespace oarlock::op::stack_

#include "rules.h"
namespace oarlock::op::stack_ {
static void infer(InferCall& c) {
  if (!c.count) return void(c.fail("it has no operands. Give at least one"));
  const Shape& x = *c.in[0];
  int64_t axis = c.attrs.integer(0);
  if (axis < -x.rank - 1 || axis > x.rank || x.rank == kMaxRank)
    return void(c.fail("axis is " + std::to_string(axis) + ", " + c.input_text(0) + ". Give " +
                       std::to_string(-x.rank - 1) + " to " + std::to_string(x.rank)));
  if (axis < 0) axis += x.rank + 1;
  for (int j = 1; j < c.count; ++j) {
    const Shape& s = *c.in[j];
    if (s.rank != x.rank)
      return void(
          c.fail("rank disagrees: " + c.input_text(0) + ", operand " + std::to_string(j) + " is " + to_string(s)));
    for (int i = 0; i < s.rank; ++i)
      if (!c.agree(x[i], s[i], "axis " + std::to_string(i), j, 0)) return;
  }
  Shape& out = c.open(0);
  out.push(x.d, int(axis));
  out.push(c.count);
  out.push(x.d + axis, x.rank - int(axis));
}
static void decompose(RuleCall& c) {
  std::vector<Tensor> rows;
  for (const Tensor& x : c.inputs) rows.push_back(unsqueeze(x, {c.attrs.integer(0)}));
  int64_t axis = c.attrs.integer(0);
  c.set(0, concat(rows, axis < 0 ? axis + c.in(0).rank() + 1 : axis));
}
}  // namespace oarlock::op::stack_
