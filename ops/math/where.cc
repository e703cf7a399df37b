#include "core/op/opdef.h"
namespace oarlock::op::where_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "where",
    .summary = "a where condition is true, b elsewhere.",
    .source = "Array API standard 2023.12, where",
    .inputs = {{"condition", "bool[...]", constant}, {"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kAny, promotes}},
    .gradient = gradient,
    .saves = {{"condition"}},
    .reference = reference,
    .cases = {{"all three broadcast", "...=3x1x1|4x1|5"},
              {"what is not chosen does not matter", "...=6", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::where_

#include "rules.h"
namespace oarlock::op::where_ {
static void gradient(GradientCall& c) {
  Tensor zero = number(0, c.dout(0));
  if (c.wants(1)) c.set(1, where(c.in(0), c.dout(0), zero));
  if (c.wants(2)) c.set(2, where(c.in(0), zero, c.dout(0)));
}
static void reference(KernelCall& c) {
  const oar_view_t &condition = c.in(0), &a = c.in(1), &b = c.in(2), &out = c.out(0);
  with_accumulator(dtype(out), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(out); w.more(); w.next()) {
      const oar_view_t& from = load<int64_t>(condition, offset(condition, w.index, out.n_dims)) ? a : b;
      store<Acc>(out, offset(out, w.index, out.n_dims), load<Acc>(from, offset(from, w.index, out.n_dims)));
    }
  });
}
}  // namespace oarlock::op::where_
