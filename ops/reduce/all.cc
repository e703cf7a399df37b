#include "core/op/opdef.h"
namespace oarlock::op::all_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "all",
    .summary = "True where no element over axes is 0 (NaN is not). Over nothing: true.",
    .source = "Array API standard 2023.12, all",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "bool[*R]"}},
    .types = {{"T", kAny}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"an empty axis", "S=3x0x4", "axes=1"},
              {"nan counts", "S=2", "", "x: 1 nan"},
              {"both axes", "S=2x3", "axes=0,1 keepdims=true"}},
});
}  // namespace oarlock::op::all_

#include "rules.h"
namespace oarlock::op::all_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void decompose(RuleCall& c) {
  Tensor misses = cast(equal(c.in(0), number(0, c.in(0))), DType::u8);
  c.set(0, logical_not(cast(max(misses, c.attrs.integers(0), c.attrs.flag(1)), DType::boolean)));
}
}  // namespace oarlock::op::all_
