#include "core/op/opdef.h"
namespace oarlock::op::random_exponential_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "random_exponential",
    .summary =
        "Numbers with the density exp(-x), a function of seed and place alone: -log(1 - u), u as of random_uniform.",
    .source = "Devroye 1986, Non-uniform random variate generation, II.2",
    .inputs = {{"seed", "i64[2]", host}},
    .outputs = {{"out", "dtype[*shape]"}},
    .attributes = {dims("shape"), dtype("dtype", DType::f32)},
    .infer = infer,
    .no_gradient = "it does not depend on numbers",
    .decompose = decompose,
    .cases = {{"a matrix", "", "shape=3,5"}, {"f64", "", "shape=7 dtype=f64"}},
});
}  // namespace oarlock::op::random_exponential_

#include "rules.h"
namespace oarlock::op::random_exponential_ {
static void infer(InferCall& c) {
  if (!(set_of(c.attrs.dtype(1)) & kFloat))
    c.fail("dtype is " + std::string(to_string(c.attrs.dtype(1))) + ", needs a float");
}
static void decompose(RuleCall& c) {
  DType t = c.attrs.dtype(1);
  Shape shape;
  shape.push(c.attrs.dims(0).data(), int(c.attrs.dims(0).size()));
  Tensor u = random_uniform(c.in(0), shape, t == DType::f64 ? t : DType::f32);
  c.set(0, as(negative(log(subtract(number(1, u), u))), t));
}
}  // namespace oarlock::op::random_exponential_
