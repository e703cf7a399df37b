#include "core/op/opdef.h"
namespace oarlock::op::cumulative_max_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "cumulative_max",
    .summary = "The greatest element up to each along an axis, and where it is; the first NaN, from there on, and the "
               "first of equals.",
    .source = "torch.cummax; numpy.maximum.accumulate",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"values", "[*S]"}, {"indices", "i64[*S]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axis("axis", -1)},
    .gradient = gradient,
    .saves = {{"indices"}},
    .reference = reference,
    .cases = {{"nan stays", "S=6", "", "x: 1 3 nan inf 2 nan"},
              {"first axis", "S=5x3", "axis=0", "x: distinct"},
              {"ties", "S=5", "", "x: 1 2 2 1 2"},
              {"nothing", "S=2x0"}},
});
}  // namespace oarlock::op::cumulative_max_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::cumulative_max_ {
static void gradient(GradientCall& c) {
  c.set(0, put_along_axis(zeros_like(c.in(0)), c.out(1), c.dout(0), c.attrs.integer(0), "add"));
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &values = c.out(0), &indices = c.out(1);
  int axis = int(c.attrs.integer(0));
  with_accumulator(dtype(x), [&](auto zero) {
    using Acc = decltype(zero);
    each_lane(x, axis, [&](const int64_t* index) {
      int64_t from = offset(x, index, x.n_dims), value = offset(values, index, x.n_dims);
      int64_t place = offset(indices, index, x.n_dims), best_at = 0;
      Acc best{};
      for (int64_t i = 0; i < x.shape[axis]; ++i) {
        Acc v = load<Acc>(x, from + i * x.strides[axis]);
        if (i == 0 || before(best, v)) {
          best = v;
          best_at = i;
        }
        store<Acc>(values, value + i * values.strides[axis], best);
        store<int64_t>(indices, place + i * indices.strides[axis], best_at);
      }
    });
  });
}
}  // namespace oarlock::op::cumulative_max_
