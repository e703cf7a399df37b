#include "core/op/opdef.h"
namespace oarlock::op::sum_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "sum",
    .summary = "Sum over axes, in x's dtype: integers wrap, so cast small ones first. Over nothing: 0.",
    .source = "Array API standard 2023.12, sum",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .role = Role::sum,
    .tolerance = {.of_absolutes = true},
    .cases = {{"an empty axis", "S=3x0x4", "axes=1"},
              {"an empty axis stays", "S=3x0x4", "axes=1 keepdims=true"},
              {"both axes empty", "S=0x0", "axes=0"},
              {"over no axis", "S=2x3", "axes="},
              {"of many", "S=3x1000", "axes=1"}},
});
}  // namespace oarlock::op::sum_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::sum_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void gradient(GradientCall& c) {
  const Shape& shape = c.in(0).shape();
  c.set(0, expand(reshape(c.dout(0), kept_shape(shape, c.attrs.integers(0))), shape));
}
static void reference(KernelCall& c) {
  reduction_reference(
      c.in(0), c.out(0), c.attrs.integers(0), [](auto zero) { return zero; },
      [](auto acc, auto x) { return wrapping(acc, x, [](auto a, auto b) { return a + b; }); });
}
}  // namespace oarlock::op::sum_
