#include "core/op/opdef.h"
namespace oarlock::op::max_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "max",
    .summary = "Greatest element over axes; NaN if one is there. Over nothing: -infinity, or the lowest integer. "
               "Elements that share "
               "the maximum share its gradient equally.",
    .source = "Array API standard 2023.12, max; ONNX operator set 18, ReduceMax, for empty axes",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"out"}},
    .reference = reference,
    .cases = {{"no ties", "S=3x4", "axes=0", "x: distinct"},
              {"an empty axis", "S=3x0x4", "axes=1 keepdims=true"},
              {"nan wins", "S=4", "", "x: nan nan nan 42"},
              {"nan at any place", "S=2x33", "axes=1", "x: nan inf -inf"}},
});
}  // namespace oarlock::op::max_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::max_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void gradient(GradientCall& c) {
  const Tensor& x = c.in(0);
  auto axes = c.attrs.integers(0);
  Shape kept = kept_shape(x.shape(), axes);
  Tensor hit = cast(equal(x, reshape(c.out(0), kept)), x.dtype());
  Tensor share = divide(hit, sum(hit, axes, true));
  c.set(0, multiply(share, reshape(c.dout(0), kept)));
}
static void reference(KernelCall& c) {
  DType t = dtype(c.in(0));
  reduction_reference(
      c.in(0), c.out(0), c.attrs.integers(0), [t](auto zero) { return lowest<decltype(zero)>(t); },
      [](auto acc, auto x) { return acc > x || acc != acc ? acc : x; });
}
}  // namespace oarlock::op::max_
