#include "core/op/opdef.h"
namespace oarlock::op::sum_to_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "sum_to",
    .summary = "Sums x over the axes that broadcasting to x's shape would repeat: the reverse of expand.",
    .source = "Oarlock",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*shape]"}},
    .types = {{"T", kNumeric}},
    .attributes = {dims("shape")},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"leading and inner axes", "S=4x2x3", "shape=2,1"},
              {"to a scalar", "S=2x3", "shape="},
              {"nothing to do", "S=2x3", "shape=2,3"}},
});
}  // namespace oarlock::op::sum_to_

#include "rules.h"
namespace oarlock::op::sum_to_ {
static void infer(InferCall& c) {
  auto shape = c.attrs.dims(0);
  int rank = c.in[0]->rank, lead = rank - int(shape.size());
  if (lead < 0)
    return void(c.fail("shape has " + std::to_string(shape.size()) + " sizes, " + c.input_text(0) + ". Give at most " +
                       std::to_string(rank)));
  for (int i = lead; i < rank; ++i)
    if (shape[size_t(i - lead)].n != 1 && !c.agree(shape[size_t(i - lead)], c.in[0]->d[i], "shape", 0, -1)) return;
}
static void decompose(RuleCall& c) {
  const Shape& from = c.in(0).shape();
  auto shape = c.attrs.dims(0);
  int lead = from.rank - int(shape.size());
  int64_t axes[kMaxRank];
  size_t n = 0;
  for (int i = 0; i < from.rank; ++i)
    if (i < lead || (shape[size_t(i - lead)].n == 1 && from[i].n != 1)) axes[n++] = i;
  Tensor out = n ? sum(c.in(0), std::span<const int64_t>(axes, n), true) : c.in(0);
  Shape to;
  to.push(shape.data(), int(shape.size()));
  c.set(0, lead ? reshape(out, to) : out);
}
}  // namespace oarlock::op::sum_to_
