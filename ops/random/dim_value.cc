#include "core/op/opdef.h"
namespace oarlock::op::dim_value_ {
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "dim_value",
    .summary = "A size as an element: what a rule computes with where the size is known only when the program runs.",
    .source = "Oarlock",
    .outputs = {{"out", "dtype[]"}},
    .attributes = {dim("dim"), dtype("dtype", DType::i64)},
    .no_gradient = "it has no operands",
    .decompose = decompose,
    .reference = reference,
    .cases = {{"as a float", "", "dim=17 dtype=f32"}},
});
}  // namespace oarlock::op::dim_value_

#include "rules.h"
namespace oarlock::op::dim_value_ {
static void decompose(RuleCall& c) { c.set(0, full({}, double(c.attrs.integer(0)), c.attrs.dtype(1))); }
static void reference(KernelCall& c) { store<int64_t>(c.out(0), 0, c.attrs.integer(0)); }
}  // namespace oarlock::op::dim_value_
