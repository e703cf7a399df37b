#include "core/op/opdef.h"
namespace oarlock::op::count_nonzero_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "count_nonzero",
    .summary = "How many elements over axes are not 0 (NaN is not).",
    .source = "Array API standard 2024.12, count_nonzero",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "i64[*R]"}},
    .types = {{"T", kAny}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .no_gradient = "its results are counts",
    .decompose = decompose,
    .cases = {{"an empty axis", "S=3x0x4", "axes=1"}, {"one axis", "S=2x3", "axes=1 keepdims=true", "x: 0 1 nan"}},
});
}  // namespace oarlock::op::count_nonzero_

#include "rules.h"
namespace oarlock::op::count_nonzero_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void decompose(RuleCall& c) {
  Tensor hits = cast(cast(c.in(0), DType::boolean), DType::i64);
  c.set(0, sum(hits, c.attrs.integers(0), c.attrs.flag(1)));
}
}  // namespace oarlock::op::count_nonzero_
