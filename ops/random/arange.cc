#include "core/op/opdef.h"
namespace oarlock::op::arange_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "arange",
    .summary = "0, 1, ... length-1.",
    .source = "Array API standard 2023.12, arange",
    .outputs = {{"out", "dtype[length]"}},
    .attributes = {dim("length"), dtype("dtype", DType::i64)},
    .no_gradient = "it has no operands",
    .reference = reference,
    .cases = {{"empty", "", "length=0"}, {"as floats", "", "length=5 dtype=f32"}},
});
}  // namespace oarlock::op::arange_

#include "rules.h"
namespace oarlock::op::arange_ {
static void reference(KernelCall& c) {
  const oar_view_t& out = c.out(0);
  int64_t n = out.shape[0];
  for (int64_t i = 0; i < n; ++i) store<int64_t>(out, i * out.strides[0], i);
}
}  // namespace oarlock::op::arange_
