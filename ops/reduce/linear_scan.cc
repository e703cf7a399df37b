#include "core/op/opdef.h"
namespace oarlock::op::linear_scan_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "linear_scan",
    .summary = "out[i] = decay[i] * out[i-1] + x[i] along an axis, from 0; from the end, if reverse.",
    .source = "Blelloch 1990, Prefix sums and their applications, 1.4.1",
    .inputs = {{"decay", "[*S]"}, {"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kFloat, promotes}},
    .attributes = {axis("axis", -1), flag("reverse", false)},
    .gradient = gradient,
    .saves = {{"decay"}, {"out", "decay"}},
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"first axis", "S=2x5x4", "axis=0"},
              {"from the end", "S=2x5", "axis=1 reverse=true"},
              {"nothing", "S=2x0"}},
});
}  // namespace oarlock::op::linear_scan_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::linear_scan_ {
static void gradient(GradientCall& c) {
  int axis = int(c.attrs.integer(0));
  bool reverse = c.attrs.flag(1);
  Tensor g = linear_scan(shifted(c.in(0), axis, reverse ? 1 : -1), c.dout(0), axis, !reverse);
  if (c.wants(0)) c.set(0, multiply(g, shifted(c.out(0), axis, reverse ? -1 : 1)));
  c.set(1, g);
}
static void reference(KernelCall& c) {
  const oar_view_t &decay = c.in(0), &x = c.in(1), &out = c.out(0);
  int axis = int(c.attrs.integer(0));
  int64_t n = x.shape[axis];
  each_lane(x, axis, [&](const int64_t* index) {
    int64_t at_decay = offset(decay, index, x.n_dims), from = offset(x, index, x.n_dims),
            to = offset(out, index, x.n_dims);
    double last = 0;
    for (int64_t k = 0; k < n; ++k) {
      int64_t i = c.attrs.flag(1) ? n - 1 - k : k;
      last =
          load<double>(decay, at_decay + i * decay.strides[axis]) * last + load<double>(x, from + i * x.strides[axis]);
      store<double>(out, to + i * out.strides[axis], last);
    }
  });
}
}  // namespace oarlock::op::linear_scan_
