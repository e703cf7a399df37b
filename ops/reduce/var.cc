#include "core/op/opdef.h"
namespace oarlock::op::var_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "var",
    .summary = "Mean of the squared distances from the mean, over axes; correction is subtracted from the number of "
               "elements (1: an estimate from a sample), down to 0. Over nothing: NaN.",
    .source = "Array API standard 2023.12, var",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false), real("correction", 0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"an empty axis", "S=2x0x4", "axes=1"},
              {"of a sample", "S=2x3", "axes=-1 keepdims=true correction=1"},
              {"of one, as a sample", "S=1", "correction=1"}},
});
}  // namespace oarlock::op::var_

#include "rules.h"
namespace oarlock::op::var_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void decompose(RuleCall& c) {
  Tensor x = wide(c.in(0));
  auto axes = c.attrs.integers(0);
  Dim n = 1;
  for (int64_t a : axes) n = n * x.shape()[int(a)];
  Tensor apart = subtract(x, mean(x, axes, true));
  Tensor freedom = maximum(subtract(number(n, x), number(c.attrs.real(2), x)), number(0, x));
  c.set(0, as(divide(sum(square(apart), axes, c.attrs.flag(1)), freedom), c.in(0).dtype()));
}
}  // namespace oarlock::op::var_
