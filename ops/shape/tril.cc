#include "core/op/opdef.h"
namespace oarlock::op::tril_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "tril",
    .summary = "The matrices in the last two axes, 0 above their diagonal. offset moves the diagonal to the right.",
    .source = "Array API standard 2023.12, tril",
    .inputs = {{"x", "[*L, M, N]"}},
    .outputs = {{"out", "[*L, M, N]"}},
    .types = {{"T", kAny}},
    .attributes = {integer("offset", 0)},
    .decompose = decompose,
    .cases = {{"square", "L= M=3 N=3"},
              {"above, wide", "L=2 M=2 N=4", "offset=1"},
              {"below, tall", "L= M=4 N=2", "offset=-2"},
              {"nothing", "L= M=0 N=2"}},
});
}  // namespace oarlock::op::tril_

#include "rules.h"
namespace oarlock::op::tril_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Dim m = x.shape()[x.rank() - 2], n = x.shape()[x.rank() - 1];
  double offset = std::clamp(double(c.attrs.integer(0)), -0x1p52, 0x1p52);
  Tensor i = reshape(arange(m), {m, 1}), diagonal = add(i, number(offset, i));
  c.set(0, where(less_equal(arange(n), diagonal), x, number(0, x)));
}
}  // namespace oarlock::op::tril_
