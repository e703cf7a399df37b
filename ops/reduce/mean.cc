#include "core/op/opdef.h"
namespace oarlock::op::mean_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "mean",
    .summary = "Arithmetic mean over axes. Over nothing: NaN.",
    .source = "Array API standard 2023.12, mean",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"an empty axis", "S=2x0x4", "axes=1"},
              {"over an empty whole", "S=2x0x4"},
              {"last axis", "S=2x3", "axes=-1 keepdims=true"}},
});
}  // namespace oarlock::op::mean_

#include "rules.h"
namespace oarlock::op::mean_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void decompose(RuleCall& c) {
  Dim n = 1;
  for (int64_t a : c.attrs.integers(0)) n = n * c.in(0).shape()[int(a)];
  Tensor x = wide(c.in(0));
  c.set(0, as(divide(sum(x, c.attrs.integers(0), c.attrs.flag(1)), number(n, x)), c.in(0).dtype()));
}
}  // namespace oarlock::op::mean_
