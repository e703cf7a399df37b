#include "core/op/opdef.h"
namespace oarlock::op::bernoulli_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "bernoulli",
    .summary =
        "True with probability p, a function of seed and place alone: where random_uniform's element in f32 is below "
        "it. As a number: 1.",
    .source = "ONNX operator set 15, Bernoulli",
    .inputs = {{"p", "[*S]", constant}, {"seed", "i64[2]", host}},
    .outputs = {{"out", "dtype[*S]"}},
    .types = {{"T", kFloat}},
    .attributes = {dtype("dtype", DType::boolean)},
    .no_gradient = "its results jump",
    .decompose = decompose,
    .cases = {{"never and always", "S=4", "dtype=f32", "p: 0 1"},
              {"a half", "S=17", "", "p: 0.5"},
              {"nan never", "S=2", "", "p: nan"}},
});
}  // namespace oarlock::op::bernoulli_

#include "rules.h"
namespace oarlock::op::bernoulli_ {
static void decompose(RuleCall& c) {
  const Tensor& p = c.in(0);
  DType wide = p.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Tensor u = random_uniform(c.in(1), p.shape());
  c.set(0, as(less(as(u, wide), as(p, wide)), c.attrs.dtype(0)));
}
}  // namespace oarlock::op::bernoulli_
