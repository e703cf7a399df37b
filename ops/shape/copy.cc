#include "core/op/opdef.h"
namespace oarlock::op::copy_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "copy",
    .summary = "The same elements in memory of their own, row-major. Reads any strides: it is how views become whole.",
    .source = "Oarlock",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kAny | kStorage}},
    .gradient = gradient,
    .reference = reference,
    .role = Role::copy,
    .cases = {{"special values", "S=4", "", "x: nan inf -inf 0"}},
});
}  // namespace oarlock::op::copy_

#include "rules.h"
namespace oarlock::op::copy_ {
static void gradient(GradientCall& c) { c.set(0, c.dout(0)); }
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(out); w.more(); w.next())
      store<Acc>(out, offset(out, w.index, out.n_dims), load<Acc>(x, offset(x, w.index, out.n_dims)));
  });
}
}  // namespace oarlock::op::copy_
