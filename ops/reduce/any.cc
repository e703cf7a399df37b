#include "core/op/opdef.h"
namespace oarlock::op::any_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "any",
    .summary = "True where an element over axes is not 0 (NaN is not). Over nothing: false.",
    .source = "Array API standard 2023.12, any",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "bool[*R]"}},
    .types = {{"T", kAny}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"an empty axis", "S=3x0x4", "axes=1"},
              {"nan counts", "S=2", "", "x: 0 nan"},
              {"both axes", "S=2x3", "axes=0,1 keepdims=true"}},
});
}  // namespace oarlock::op::any_

#include "rules.h"
namespace oarlock::op::any_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void decompose(RuleCall& c) {
  Tensor hits = cast(cast(c.in(0), DType::boolean), DType::u8);
  c.set(0, cast(max(hits, c.attrs.integers(0), c.attrs.flag(1)), DType::boolean));
}
}  // namespace oarlock::op::any_
