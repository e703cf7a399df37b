#include "core/op/opdef.h"
namespace oarlock::op::random_integers_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "random_integers",
    .summary = "Whole numbers from low to high - 1, each as likely as the others within 2^-53, a function of seed and "
               "place alone: low plus u * (high - low) rounded down, u as of random_uniform in f64.",
    .source = "torch.randint; ONNX has none",
    .inputs = {{"seed", "i64[2]", host}},
    .outputs = {{"out", "dtype[*shape]"}},
    .attributes = {dims("shape"), integer("low").at_least(-4503599627370496).at_most(4503599627370496),
                   integer("high").at_least(-4503599627370496).at_most(4503599627370496), dtype("dtype", DType::i64)},
    .infer = infer,
    .no_gradient = "it does not depend on numbers",
    .decompose = decompose,
    .cases = {{"dice", "", "shape=3,5 low=1 high=7"},
              {"one", "", "shape=4 low=-2 high=-1"},
              {"small", "", "shape=4 low=0 high=200 dtype=u8"}},
});
}  // namespace oarlock::op::random_integers_

#include "rules.h"
namespace oarlock::op::random_integers_ {
static void infer(InferCall& c) {
  int64_t low = c.attrs.integer(1), high = c.attrs.integer(2);
  DType t = c.attrs.dtype(3);
  if (!(set_of(t) & kInt)) c.fail("dtype is " + std::string(to_string(t)) + ", needs an integer");
  if (low >= high)
    c.fail("low is " + std::to_string(low) + ", high is " + std::to_string(high) + ". Give a high above low");
}
static void decompose(RuleCall& c) {
  double low = double(c.attrs.integer(1)), range = double(c.attrs.integer(2)) - low;
  Shape shape;
  shape.push(c.attrs.dims(0).data(), int(c.attrs.dims(0).size()));
  Tensor u = random_uniform(c.in(0), shape, DType::f64);
  Tensor i = cast(multiply(u, number(range, u)), DType::i64);  // u is at most 1 - 2^-53, but the product is rounded
  c.set(0, cast(add(minimum(i, number(range - 1, i)), number(low, i)), c.attrs.dtype(3)));
}
}  // namespace oarlock::op::random_integers_
