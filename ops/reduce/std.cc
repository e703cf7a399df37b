#include "core/op/opdef.h"
namespace oarlock::op::std_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "std",
    .summary = "Standard deviation over axes: the square root of var. The gradient is 0 where it is 0.",
    .source = "Array API standard 2023.12, std",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false), real("correction", 0)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"out"}},
    .decompose = decompose,
    .cases = {{"an empty axis", "S=2x0x4", "axes=1"}, {"of a sample", "S=2x3", "axes=-1 keepdims=true correction=1"}},
});
}  // namespace oarlock::op::std_

#include "rules.h"
namespace oarlock::op::std_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void gradient(GradientCall& c) {
  Tensor x = wide(c.in(0));
  auto axes = c.attrs.integers(0);
  Dim n = 1;
  for (int64_t a : axes) n = n * x.shape()[int(a)];
  Shape kept = kept_shape(x.shape(), axes);
  Tensor out = wide(reshape(c.out(0), kept)), freedom = subtract(number(n, x), number(c.attrs.real(2), x));
  Tensor safe = where(equal(out, number(0, out)), number(1, out), out), apart = subtract(x, mean(x, axes, true));
  Tensor dx = multiply(wide(reshape(c.dout(0), kept)), divide(apart, multiply(safe, freedom)));
  c.set(0, as(dx, c.in(0).dtype()));
}
static void decompose(RuleCall& c) {
  c.set(0, sqrt(var(c.in(0), c.attrs.integers(0), c.attrs.flag(1), c.attrs.real(2))));
}
}  // namespace oarlock::op::std_
