#include "core/op/opdef.h"
namespace oarlock::op::logsumexp_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "logsumexp",
    .summary = "log(sum(exp(x))) over axes, computed from x minus its maximum. Over nothing: -infinity.",
    .source = "ONNX operator set 18, ReduceLogSumExp; scipy.special.logsumexp",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"out"}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"an empty axis", "S=3x0x4", "axes=1"},
              {"large", "S=4", "", "x: 1000 999 -1000 0"},
              {"nothing but -infinity", "S=2", "", "x: -inf"},
              {"infinity", "S=3", "", "x: inf 0 -inf"},
              {"nan", "S=3", "", "x: inf nan 0"}},
});
}  // namespace oarlock::op::logsumexp_

#include "rules.h"
namespace oarlock::op::logsumexp_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void gradient(GradientCall& c) {
  const Tensor& x = c.in(0);
  Shape kept = kept_shape(x.shape(), c.attrs.integers(0));
  Tensor out = reshape(c.out(0), kept), low = number(-INFINITY, out);
  Tensor share = exp(subtract(x, where(equal(out, low), number(0, out), out)));  // of -infinity alone: 0
  c.set(0, multiply(reshape(c.dout(0), kept), share));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  auto axes = c.attrs.integers(0);
  Tensor top = max(x, axes, true);
  Tensor base = where(isfinite(top), top, number(0, top));
  Tensor out = log(sum(exp(subtract(x, base)), axes, c.attrs.flag(1)));
  c.set(0, add(out, reshape(base, out.shape())));
}
}  // namespace oarlock::op::logsumexp_
