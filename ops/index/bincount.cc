#include "core/op/opdef.h"
namespace oarlock::op::bincount_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "bincount",
    .summary = "How often each number from 0 to length-1 is in index, or the sum of its weights. A number outside is "
               "an error.",
    .source = "numpy.bincount, with a fixed length",
    .inputs = {{"index", "I[N]", constant, "0..length-1"}, {"weights", "W[N]", optional}},
    .outputs = {{"out", "dtype[length]"}},
    .types = {{"I", kInt}, {"W", kNumeric}},
    .attributes = {dim("length"), dtype("dtype", DType::i64)},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"counted", "N=5", "length=3"}, {"as floats", "N=4", "length=2 dtype=f32"}, {"none", "N=0", "length=2"}},
});
}  // namespace oarlock::op::bincount_

#include "rules.h"
namespace oarlock::op::bincount_ {
static void infer(InferCall& c) {
  DType t = c.attrs.dtype(1);
  if (!(set_of(t) & kNumeric)) c.fail("dtype is " + std::string(to_string(t)) + ", needs an integer or a float");
}
static void decompose(RuleCall& c) {
  const Tensor& index = c.in(0);
  DType t = c.attrs.dtype(1);
  Tensor weights = c.has(1) ? cast(c.in(1), t) : full(index.shape(), 1, t);
  Tensor at = cast(index, DType::i64);  // one from the end would count otherwise
  at = where(less(at, number(0, at)), number(c.attrs.dim(0), at), at);
  c.set(0, scatter_add(full({c.attrs.dim(0)}, 0, t), at, weights));
}
}  // namespace oarlock::op::bincount_
