#include "core/op/opdef.h"
namespace oarlock::op::median_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "median",
    .summary = "The middle one of the sorted elements of an axis, of an even number the mean of the two middle ones; "
               "NaN if one is there. Over nothing: an error.",
    .source = "numpy.median",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {axis("axis", -1), flag("keepdims", false)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"odd", "S=5x2", "axis=0", "x: distinct"},
              {"even", "S=2x4", "axis=1 keepdims=true", "x: distinct"},
              {"nan", "S=3", "", "x: 1 nan 2"}},
});
}  // namespace oarlock::op::median_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::median_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  Shape& out = c.open(0);
  for (int i = 0; i < x.rank; ++i) {
    bool over = c.attrs.integer(0) == i;
    if (over && x[i].n == 0)
      return void(c.fail("there is none: " + c.input_text(0) + ", axis " + std::to_string(i) + ". Give elements"));
    if (!over) out.push(x[i]);
    else if (c.attrs.flag(1)) out.push(1);
  }
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  int axis = int(c.attrs.integer(0));
  int64_t n = x.shape()(axis);
  Tensor sorted = sort(x, axis).values, last = part(sorted, axis, n - 1, 1);
  Tensor low = part(sorted, axis, (n - 1) / 2, 1), high = part(sorted, axis, n / 2, 1);
  Tensor half = number(0.5, x), middle = add(multiply(low, half), multiply(high, half));  // the sum could overflow
  Tensor out = where(equal(last, last), middle, last);
  c.set(0, c.attrs.flag(1) ? out : squeeze(out, {axis}));
}
}  // namespace oarlock::op::median_
