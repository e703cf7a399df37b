#include "core/op/opdef.h"
namespace oarlock::op::take_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "take",
    .summary = "x at places along an axis: that axis is replaced by index's. Negative indices count from the end; one "
               "out of range is an error.",
    .source = "ONNX operator set 13, Gather; Array API standard 2023.12, take",
    .inputs = {{"x", "[*S]"}, {"index", "I[*J]", constant, "-S[axis]..S[axis]-1"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}, {"I", kInt}},
    .attributes = {axis("axis", 0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"columns", "S=3x4 J=2", "axis=1"},
              {"a matrix of them", "S=2x4x3 J=2x2", "axis=-2"},
              {"the last", "S=2x4 J=", "axis=1", "index: -1"},
              {"none of nothing", "S=2x0 J=0", "axis=1"}},
});
}  // namespace oarlock::op::take_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::take_ {
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &index = *c.in[1];
  int axis = int(c.attrs.integer(0));
  if (x.rank + index.rank - 1 > kMaxRank)
    return void(c.fail("the result has more than " + std::to_string(kMaxRank) + " axes: " + c.input_text(0) + ", " +
                       c.input_text(1)));
  Shape& out = c.open(0);
  out.push(x.d, axis);
  out.push(index.d, index.rank);
  out.push(x.d + axis + 1, x.rank - axis - 1);
}
static void decompose(RuleCall& c) {
  const Tensor &x = c.in(0), &index = c.in(1);
  int axis = int(c.attrs.integer(0)), rank = x.rank() - 1 + index.rank();
  Tensor rows = gather(axis ? axis_moved(x, axis, 0) : x, index);
  if (!axis) return c.set(0, rows);
  int64_t axes[kMaxRank];  // rows holds index's axes, then x's others
  for (int i = 0; i < rank; ++i) axes[i] = i < axis ? index.rank() + i : i < axis + index.rank() ? i - axis : i;
  c.set(0, permute(rows, std::span<const int64_t>(axes, size_t(rank))));
}
}  // namespace oarlock::op::take_
