#include "core/op/opdef.h"
namespace oarlock::op::squeeze_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "squeeze",
    .summary = "x without the given axes, each of size 1. The result shares x's elements.",
    .source = "Array API standard 2023.12, squeeze",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {axes("axes")},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"first and last", "S=1x3x1", "axes=0,-1"}, {"to a scalar", "S=1", "axes=0"}},
});
}  // namespace oarlock::op::squeeze_

#include "rules.h"
namespace oarlock::op::squeeze_ {
static Shape result(const Shape& x, std::span<const int64_t> axes) {
  Shape out;
  for (int i = 0; i < x.rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) out.push(x[i]);
  return out;
}
static void infer(InferCall& c) {
  for (int64_t a : c.attrs.integers(0))
    if (!c.agree(1, c.in[0]->d[a], "size of axis " + std::to_string(a), 0, -1)) return;
  c.open(0) = result(*c.in[0], c.attrs.integers(0));
}
static void decompose(RuleCall& c) { c.set(0, reshape(c.in(0), result(c.in(0).shape(), c.attrs.integers(0)))); }
}  // namespace oarlock::op::squeeze_
