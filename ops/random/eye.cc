#include "core/op/opdef.h"
namespace oarlock::op::eye_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "eye",
    .summary = "1 on a diagonal, 0 elsewhere; offset moves it to the right, or down if negative. columns are as many "
               "as rows unless given.",
    .source = "Array API standard 2023.12, eye",
    .outputs = {{"out", "dtype[*R]"}},
    .attributes = {dim("rows"), dim("columns").or_none(), integer("offset", 0), dtype("dtype", DType::f32)},
    .infer = infer,
    .no_gradient = "it has no operands",
    .decompose = decompose,
    .cases = {{"square", "", "rows=3"},
              {"above, wide", "", "rows=2 columns=4 offset=1"},
              {"nothing", "", "rows=0 columns=2 dtype=i32"}},
});
}  // namespace oarlock::op::eye_

#include "rules.h"
namespace oarlock::op::eye_ {
static void infer(InferCall& c) {
  Shape& out = c.open(0);
  out.push(c.attrs.dim(0));
  out.push(c.attrs.none(1) ? c.attrs.dim(0) : c.attrs.dim(1));
}
static void decompose(RuleCall& c) {
  Dim m = c.attrs.dim(0), n = c.attrs.none(1) ? m : c.attrs.dim(1);
  double offset = std::clamp(double(c.attrs.integer(2)), -0x1p52, 0x1p52);
  Tensor i = reshape(arange(m), {m, 1});
  c.set(0, cast(equal(add(i, number(offset, i)), arange(n)), c.attrs.dtype(3)));
}
}  // namespace oarlock::op::eye_
