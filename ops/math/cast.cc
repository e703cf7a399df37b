#include "core/op/opdef.h"
namespace oarlock::op::cast_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "cast",
    .summary = "x in another dtype. Float to integer truncates toward zero; out of range it saturates, and NaN becomes "
               "0, on every "
               "device alike. Integer to integer wraps. To a float: to nearest, ties to even. To bool: x != 0.",
    .source = "Array API standard 2023.12, astype; Oarlock where that leaves a choice",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "dtype[*S]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dtype("dtype")},
    .gradient = gradient,
    .reference = reference,
    .role = Role::cast,
    .cases = {{"negative float to unsigned", "S=3", "dtype=u32", "x: -0.5 -1.5 0.7"},
              {"out of range", "S=5", "dtype=i8", "x: nan inf -inf 300 -300"},
              {"to a float of 16 bits", "S=3x5", "dtype=bf16"}},
});
}  // namespace oarlock::op::cast_

#include "rules.h"
namespace oarlock::op::cast_ {
static void gradient(GradientCall& c) {
  DType from = c.in(0).dtype();
  if (set_of(from) & kFloat) c.set(0, cast(c.dout(0), from));  // an integer has no gradient
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(out); w.more(); w.next())
      store<Acc>(out, offset(out, w.index, out.n_dims), load<Acc>(x, offset(x, w.index, out.n_dims)));
  });
}
}  // namespace oarlock::op::cast_
