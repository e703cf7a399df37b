#include "core/op/opdef.h"
namespace oarlock::op::random_uniform_ {
static InferRule infer;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "random_uniform",
    .summary = "Numbers from [0, 1), a function of seed and place alone. seed holds a key and an offset; whoever draws "
               "again takes "
               "another offset. Element i is word i mod 4 (f64: words 2i and 2i+1) of Philox4x32-10 with key seed[0] "
               "and counter "
               "(i div 4, seed[1]): the upper 24 bits times 2^-24 (53 bits times 2^-53); f16 and bf16 are those of "
               "f32, rounded.",
    .source = "Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3",
    .inputs = {{"seed", "i64[2]", host}},
    .outputs = {{"out", "dtype[*shape]"}},
    .attributes = {dims("shape"), dtype("dtype", DType::f32)},
    .infer = infer,
    .no_gradient = "it does not depend on numbers",
    .reference = reference,
    .cases = {{"a matrix", "", "shape=3,5"}, {"f64", "", "shape=7 dtype=f64"}},
});
}  // namespace oarlock::op::random_uniform_

#include "rules.h"
#include "philox.h"
namespace oarlock::op::random_uniform_ {
static void infer(InferCall& c) {
  if (!(set_of(c.attrs.dtype(1)) & kFloat))
    c.fail("dtype is " + std::string(to_string(c.attrs.dtype(1))) + ", needs a float");
}

static void reference(KernelCall& c) {
  const oar_view_t& out = c.out(0);
  Uniforms uniforms(c.in(0), dtype(out) == DType::f64);
  uint64_t i = 0;
  for (Walk w(out); w.more(); w.next()) store<double>(out, offset(out, w.index, out.n_dims), uniforms.at(i++));
}
}  // namespace oarlock::op::random_uniform_
