#include "core/op/opdef.h"
namespace oarlock::op::full_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "full",
    .summary = "A tensor whose elements all are value, converted as cast does.",
    .source = "Array API standard 2023.12, full",
    .outputs = {{"out", "dtype[*shape]"}},
    .attributes = {dims("shape"), real("value"), dtype("dtype", DType::f32)},
    .no_gradient = "it has no operands",
    .reference = reference,
    .role = Role::full,
    .cases = {{"no axes", "", "shape= value=2.5"},
              {"no elements", "", "shape=2,0 value=1"},
              {"negative in an unsigned type", "", "shape=2 value=-1 dtype=u8"}},
});
}  // namespace oarlock::op::full_

#include "rules.h"
namespace oarlock::op::full_ {
static void reference(KernelCall& c) {
  const oar_view_t& out = c.out(0);
  for (Walk w(out); w.more(); w.next()) store<double>(out, offset(out, w.index, out.n_dims), c.attrs.real(1));
}
}  // namespace oarlock::op::full_
