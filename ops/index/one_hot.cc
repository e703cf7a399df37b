#include "core/op/opdef.h"
namespace oarlock::op::one_hot_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "one_hot",
    .summary = "1 at the place each index names along a new last axis, 0 elsewhere; all 0 for an index outside.",
    .source = "ONNX operator set 11, OneHot",
    .inputs = {{"index", "I[*J]", constant, "0..depth-1"}},
    .outputs = {{"out", "dtype[*J, depth]"}},
    .types = {{"I", kInt}},
    .attributes = {dim("depth"), dtype("dtype", DType::f32)},
    .no_gradient = "its operand is an index",
    .decompose = decompose,
    .cases = {{"a matrix of indices", "J=2x3", "depth=4"},
              {"bools", "J=3", "depth=2 dtype=bool"},
              {"no places", "J=3", "depth=0"}},
});
}  // namespace oarlock::op::one_hot_

#include "rules.h"
namespace oarlock::op::one_hot_ {
static void decompose(RuleCall& c) {
  Tensor index = cast(c.in(0), DType::i64);  // a small type could not count to depth
  c.set(0, cast(equal(unsqueeze(index, {-1}), arange(c.attrs.dim(0))), c.attrs.dtype(1)));
}
}  // namespace oarlock::op::one_hot_
