#include "core/op/opdef.h"
namespace oarlock::op::transfer_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "transfer",
    .summary = "x on another device, numbered as oarlock devices lists them; x itself if it is there already.",
    .source = "Oarlock",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {integer("device").at_least(0)},
    .gradient = gradient,
    .reference = reference,
    .role = Role::transfer,
    .cases = {{"to the host", "S=2x3", "device=0"}},
});
}  // namespace oarlock::op::transfer_

#include "rules.h"
namespace oarlock::op::transfer_ {
static void gradient(GradientCall& c) { c.set(0, transfer(c.dout(0), c.in(0).device().index())); }
// Between devices the core copies memory; on the host alone this is what is left.
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(out); w.more(); w.next())
      store<Acc>(out, offset(out, w.index, out.n_dims), load<Acc>(x, offset(x, w.index, out.n_dims)));
  });
}
}  // namespace oarlock::op::transfer_
