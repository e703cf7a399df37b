#include "core/op/opdef.h"
namespace oarlock::op::cumulative_product_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "cumulative_product",
    .summary = "Products of the elements up to each along an axis; without its own, if exclusive; from the end, if "
               "reverse. Integers wrap.",
    .source = "Array API standard 2024.12, cumulative_prod",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axis("axis", -1), flag("exclusive", false), flag("reverse", false)},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"first axis", "S=2x5x4", "axis=0"},
              {"exclusive", "S=2x5", "axis=1 exclusive=true"},
              {"from the end, with zeros", "S=2x5", "axis=1 exclusive=true reverse=true", "x: 0 1 2 -1 3"},
              {"nothing", "S=2x0"}},
});
}  // namespace oarlock::op::cumulative_product_

#include "rules.h"
#include "elementwise.h"
#include "axes.h"
namespace oarlock::op::cumulative_product_ {
static void gradient(GradientCall& c) {
  // out[k] is the product of x[j], j <= k; x[i] has the product before it times what comes after: a recurrence.
  const Tensor& x = c.in(0);
  int axis = int(c.attrs.integer(0));
  bool reverse = c.attrs.flag(2);
  int next = reverse ? 1 : -1;
  Tensor d = c.attrs.flag(1) ? shifted(c.dout(0), axis, next) : c.dout(0);
  Tensor after = linear_scan(shifted(x, axis, next), d, axis, !reverse);
  c.set(0, multiply(cumulative_product(x, axis, true, reverse), after));
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  int axis = int(c.attrs.integer(0));
  bool exclusive = c.attrs.flag(1), reverse = c.attrs.flag(2);
  int64_t n = x.shape[axis];
  with_accumulator(dtype(x), [&](auto zero) {
    using Acc = decltype(zero);
    each_lane(x, axis, [&](const int64_t* index) {
      int64_t from = offset(x, index, x.n_dims), to = offset(out, index, x.n_dims);
      Acc total = Acc(1);
      for (int64_t k = 0; k < n; ++k) {
        int64_t i = reverse ? n - 1 - k : k;
        Acc next = wrapping(total, load<Acc>(x, from + i * x.strides[axis]), [](auto a, auto b) { return a * b; });
        store<Acc>(out, to + i * out.strides[axis], exclusive ? total : next);
        total = next;
      }
    });
  });
}
}  // namespace oarlock::op::cumulative_product_
