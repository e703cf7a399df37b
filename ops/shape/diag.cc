#include "core/op/opdef.h"
namespace oarlock::op::diag_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "diag",
    .summary = "Matrices with the last axis of x on a diagonal and 0 elsewhere; offset moves it to the right, or down "
               "if negative.",
    .source = "torch.diag_embed; numpy.diag",
    .inputs = {{"x", "[*L, N]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny}},
    .attributes = {integer("offset", 0).at_least(-1048576).at_most(1048576)},
    .infer = infer,
    .gradient = gradient,
    .decompose = decompose,
    .cases = {{"a vector", "L= N=3"},
              {"above", "L=2 N=3", "offset=1"},
              {"below", "L= N=2", "offset=-2"},
              {"of nothing", "L= N=0", "offset=1"}},
});
}  // namespace oarlock::op::diag_

#include "rules.h"
namespace oarlock::op::diag_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  Dim n = x[x.rank - 1] + Dim(std::abs(c.attrs.integer(0)));
  Shape& out = c.open(0);
  out.push(x.d, x.rank - 1);
  out.push(n);
  out.push(n);
}
static void gradient(GradientCall& c) { c.set(0, diagonal(c.dout(0), c.attrs.integer(0))); }
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  int rank = x.rank();
  int64_t offset = c.attrs.integer(0);
  Shape before, after, column;
  for (int i = 0; i < rank; ++i) {
    before.push(i == rank - 1 && offset < 0 ? -offset : 0);
    after.push(i == rank - 1 && offset > 0 ? offset : 0);
  }
  Tensor rows = pad(x, before, after);
  Dim n = rows.shape()[rank - 1];
  column = rows.shape();
  column.push(1);
  Tensor i = reshape(arange(n), {n, 1});
  c.set(0, where(equal(add(i, number(double(offset), i)), arange(n)), reshape(rows, column), number(0, x)));
}
}  // namespace oarlock::op::diag_
