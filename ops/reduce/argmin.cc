#include "core/op/opdef.h"
namespace oarlock::op::argmin_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "argmin",
    .summary = "The place of the least element along an axis, or of all in row-major order; the first NaN, if one is "
               "there, else the first of equals. Over nothing: an error.",
    .source = "Array API standard 2023.12, argmin; numpy.argmin for NaN",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "i64[*R]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axis("axis").or_none(), flag("keepdims", false)},
    .infer = infer,
    .no_gradient = "its result is a place",
    .decompose = decompose,
    .cases = {{"nan wins", "S=6", "axis=0", "x: 1 nan 3 -inf nan 2"},
              {"of all", "S=2x3", "axis=none", "x: 5 1 2 5 1 5"}},
});
}  // namespace oarlock::op::argmin_

#include "rules.h"
#include "numbers.h"
namespace oarlock::op::argmin_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  Shape& out = c.open(0);
  for (int i = 0; i < x.rank; ++i) {
    bool over = c.attrs.none(0) || c.attrs.integer(0) == i;
    if (over && x[i].n == 0)
      return void(c.fail("there is none: " + c.input_text(0) + ", axis " + std::to_string(i) + ". Give elements"));
    if (!over) out.push(x[i]);
    else if (c.attrs.flag(1)) out.push(1);
  }
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor turned = set_of(x.dtype()) & kFloat ? negative(x) : inverted(x);
  c.set(0, argmax(turned, c.attrs.none(0) ? std::nullopt : std::optional(c.attrs.integer(0)), c.attrs.flag(1)));
}
}  // namespace oarlock::op::argmin_
