#include "core/op/opdef.h"
namespace oarlock::op::assign_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "assign",
    .summary = "Writes value into target, whose version rises. The only op that writes to an operand.",
    .source = "Oarlock",
    .inputs = {{"target", "[*S]", mutated}, {"value", "[*S]"}},
    .types = {{"T", kAny | kStorage}},
    .no_gradient = "it has no result",
    .reference = reference,
    .role = Role::assign,
    .cases = {{"a stack", "S=2x3"}},
});
}  // namespace oarlock::op::assign_

#include "rules.h"
namespace oarlock::op::assign_ {
static void reference(KernelCall& c) {  // of operands that do not overlap: the core copies value first where they do
  const oar_view_t &target = c.in(0), &value = c.in(1);
  with_accumulator(dtype(value), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(target); w.more(); w.next())
      store<Acc>(target, offset(target, w.index, target.n_dims),
                 load<Acc>(value, offset(value, w.index, target.n_dims)));
  });
}
}  // namespace oarlock::op::assign_
