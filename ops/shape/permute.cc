#include "core/op/opdef.h"
namespace oarlock::op::permute_ {
static ViewRule view;
static GradientRule gradient;

extern constinit const OpDef def = define({
    .name = "permute",
    .summary = "Axis i of the result is axis axes[i] of x. The result shares x's elements.",
    .source = "Array API standard 2023.12, permute_dims",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {axes("axes")},
    .view = view,
    .gradient = gradient,
    .role = Role::permute,
    .cases = {{"backwards", "S=2x3x4", "axes=2,1,0"}, {"negative axes", "S=2x0x3", "axes=-1,0,1"}},
});
}  // namespace oarlock::op::permute_

#include "rules.h"
namespace oarlock::op::permute_ {
static bool view(ViewCall& c) {
  auto axes = c.attrs.integers(0);
  if (int(axes.size()) != c.in.rank)
    return c.fail("axes has " + std::to_string(axes.size()) + " entries, " + c.input_text() + ". Give all " +
                  std::to_string(c.in.rank) + " axes in their new order");
  for (size_t i = 0; i < axes.size(); ++i) {
    c.out.push(c.in[int(axes[i])]);
    if (c.in_strides) c.out_strides[i] = c.in_strides[axes[i]];
  }
  return true;
}
static void gradient(GradientCall& c) {
  auto axes = c.attrs.integers(0);
  int64_t back[kMaxRank];
  for (size_t i = 0; i < axes.size(); ++i) back[axes[i]] = int64_t(i);
  c.set(0, permute(c.dout(0), std::span<const int64_t>(back, axes.size())));
}
}  // namespace oarlock::op::permute_
