#include "core/op/opdef.h"
namespace oarlock::op::flip_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "flip",
    .summary = "x with the order of elements turned around along axes.",
    .source = "Array API standard 2023.12, flip",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {axes("axes").or_none()},
    .decompose = decompose,
    .cases = {{"rows", "S=3x2", "axes=0"}, {"both", "S=3x2", "axes=none"}, {"nothing", "S=0x2", "axes=0"}},
});
}  // namespace oarlock::op::flip_

#include "rules.h"
namespace oarlock::op::flip_ {
static void decompose(RuleCall& c) {
  const Shape& shape = c.in(0).shape();
  Shape starts;
  int64_t steps[kMaxRank];
  for (int i = 0; i < shape.rank; ++i) {
    auto axes = c.attrs.integers(0);
    bool turned = std::find(axes.begin(), axes.end(), i) != axes.end();
    steps[i] = turned ? -1 : 1;
    starts.push(turned && shape[i].n != 0 ? shape[i] - 1 : Dim(0));
  }
  c.set(0, slice(c.in(0), starts, shape, std::span<const int64_t>(steps, size_t(shape.rank))));
}
}  // namespace oarlock::op::flip_
