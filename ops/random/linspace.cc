#include "core/op/opdef.h"
namespace oarlock::op::linspace_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "linspace",
    .summary = "num numbers from start to stop, evenly apart; both ends are exact, or, without endpoint, stop is the "
               "first that is left out.",
    .source = "Array API standard 2023.12, linspace",
    .outputs = {{"out", "dtype[num]"}},
    .attributes = {real("start"), real("stop"), dim("num"), flag("endpoint", true), dtype("dtype", DType::f32)},
    .infer = infer,
    .no_gradient = "it has no operands",
    .decompose = decompose,
    .cases = {{"both ends", "", "start=-1 stop=2 num=7"},
              {"without the end", "", "start=0 stop=1 num=4 endpoint=false"},
              {"one", "", "start=3 stop=5 num=1"},
              {"none", "", "start=0 stop=1 num=0"}},
});
}  // namespace oarlock::op::linspace_

#include "rules.h"
namespace oarlock::op::linspace_ {
static void infer(InferCall& c) {
  if (!(set_of(c.attrs.dtype(4)) & kFloat))
    c.fail("dtype is " + std::string(to_string(c.attrs.dtype(4))) + ", needs a float");
}
static void decompose(RuleCall& c) {
  double start = c.attrs.real(0), stop = c.attrs.real(1);
  Dim n = c.attrs.dim(2);
  DType t = c.attrs.dtype(4), wide = t == DType::f64 ? t : DType::f32;
  int64_t gaps = std::max<int64_t>(c.attrs.flag(3) ? n.n - 1 : n.n, 1);
  double step = (stop - start) / double(gaps);
  Tensor i = arange(n, wide), left = subtract(number(double(gaps), i), i);
  Tensor from_start = add(number(start, i), multiply(i, number(step, i)));
  Tensor from_stop = subtract(number(stop, i), multiply(left, number(step, i)));
  c.set(0, as(where(less(i, number(double(gaps) / 2, i)), from_start, from_stop), t));
}
}  // namespace oarlock::op::linspace_
