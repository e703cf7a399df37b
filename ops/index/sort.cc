#include "core/op/opdef.h"
namespace oarlock::op::sort_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "sort",
    .summary =
        "x sorted along an axis, and where each element was. Equal elements keep their order; NaN is the greatest.",
    .source = "Array API standard 2023.12, sort and argsort; numpy.sort for NaN",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"values", "[*S]"}, {"indices", "i64[*S]"}},
    .types = {{"T", kAny}},
    .attributes = {axis("axis", -1), flag("descending", false)},
    .gradient = gradient,
    .saves = {{"indices"}},
    .reference = reference,
    .cases = {{"nan last", "S=6", "", "x: 1 nan 3 inf -inf 2"},
              {"nan first", "S=6", "descending=true", "x: 1 nan 3 inf -inf 2"},
              {"first axis", "S=4x3", "axis=0", "x: distinct"},
              {"ties", "S=17", "descending=true", "x: 1 0"},
              {"nothing", "S=2x0"}},
});
}  // namespace oarlock::op::sort_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::sort_ {
static void gradient(GradientCall& c) {
  c.set(0, put_along_axis(zeros_like(c.in(0)), c.out(1), c.dout(0), c.attrs.integer(0), "add"));
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &values = c.out(0), &indices = c.out(1);
  int axis = int(c.attrs.integer(0)), rank = x.n_dims;
  bool descending = c.attrs.flag(1);
  size_t n = size_t(x.shape[axis]);
  std::vector<int64_t> order(n);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    std::vector<Acc> lane(n);
    each_lane(x, axis, [&](const int64_t* index) {
      int64_t from = offset(x, index, rank), value = offset(values, index, rank), at = offset(indices, index, rank);
      for (size_t i = 0; i < n; ++i) {
        lane[i] = load<Acc>(x, from + int64_t(i) * x.strides[axis]);
        order[i] = int64_t(i);
      }
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t k) {
        Acc a = lane[size_t(i)], b = lane[size_t(k)];
        return descending ? before(b, a) : before(a, b);
      });
      for (size_t i = 0; i < n; ++i) {
        store<Acc>(values, value + int64_t(i) * values.strides[axis], lane[size_t(order[i])]);
        store<int64_t>(indices, at + int64_t(i) * indices.strides[axis], order[i]);
      }
    });
  });
}
}  // namespace oarlock::op::sort_
