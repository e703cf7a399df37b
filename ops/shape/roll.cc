#include "core/op/opdef.h"
namespace oarlock::op::roll_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "roll",
    .summary = "x moved on along axes by shifts, what leaves at the end coming in at the front; a negative shift goes "
               "the other way.",
    .source = "Array API standard 2023.12, roll",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {integers("shifts"), axes("axes")},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"forward", "S=5", "shifts=2 axes=0"},
              {"both axes", "S=3x4", "shifts=1,-1 axes=0,1"},
              {"around", "S=3", "shifts=7 axes=-1"},
              {"nothing", "S=0x2", "shifts=1 axes=0"}},
});
}  // namespace oarlock::op::roll_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::roll_ {
static void infer(InferCall& c) {
  size_t n = c.attrs.integers(0).size(), axes = c.attrs.integers(1).size();
  if (n != axes && n != 1)
    c.fail("shifts has " + std::to_string(n) + " entries, axes has " + std::to_string(axes) + ". Give 1 or as many");
}
static void decompose(RuleCall& c) {
  Tensor x = c.in(0);
  for (size_t k = 0; k < c.attrs.integers(1).size(); ++k) {
    int axis = int(c.attrs.integers(1)[k]);
    int64_t n = x.shape()(axis);
    if (n == 0) continue;
    int64_t shift = c.attrs.at(0, int(k), 0) % n;
    if (shift < 0) shift += n;
    if (shift) x = concat({part(x, axis, n - shift, shift), part(x, axis, 0, n - shift)}, axis);
  }
  c.set(0, x.impl() == c.in(0).impl() ? copy(x) : x);
}
}  // namespace oarlock::op::roll_
