#include "core/op/opdef.h"
namespace oarlock::op::min_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "min",
    .summary = "Least element over axes; NaN if one is there. Over nothing: infinity, or the highest integer. Elements "
               "that share the minimum share its gradient equally.",
    .source = "Array API standard 2023.12, min; ONNX operator set 18, ReduceMin, for empty axes",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"out"}},
    .decompose = decompose,
    .cases = {{"no ties", "S=3x4", "axes=0", "x: distinct"},
              {"an empty axis", "S=3x0x4", "axes=1 keepdims=true"},
              {"nan wins", "S=4", "", "x: nan nan nan 42"},
              {"nan at any place", "S=2x33", "axes=1", "x: nan inf -inf"}},
});
}  // namespace oarlock::op::min_

#include "rules.h"
#include "numbers.h"
namespace oarlock::op::min_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void gradient(GradientCall& c) {
  const Tensor& x = c.in(0);
  auto axes = c.attrs.integers(0);
  Shape kept = kept_shape(x.shape(), axes);
  Tensor hit = cast(equal(x, reshape(c.out(0), kept)), x.dtype());
  c.set(0, multiply(divide(hit, sum(hit, axes, true)), reshape(c.dout(0), kept)));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  bool floats = set_of(x.dtype()) & kFloat;
  Tensor out = max(floats ? negative(x) : inverted(x), c.attrs.integers(0), c.attrs.flag(1));
  c.set(0, floats ? negative(out) : inverted(out));
}
}  // namespace oarlock::op::min_
