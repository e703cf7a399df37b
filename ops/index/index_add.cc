#include "core/op/opdef.h"
namespace oarlock::op::index_add_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "index_add",
    .summary = "x with updates added at places along an axis: what take read there. Updates that meet are all added. "
               "Negative indices count from the end; one out of range is an error.",
    .source = "torch.index_add",
    .inputs = {{"x", "[*S]"}, {"index", "I[N]", constant, "-S[axis]..S[axis]-1"}, {"updates", "[*_]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kNumeric}, {"I", kInt}},
    .attributes = {axis("axis", 0)},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"columns", "S=3x4 N=2 updates=3x2", "axis=1"},
              {"columns that meet", "S=3x4 N=5 updates=3x5", "axis=1", "index: 2"},
              {"nothing to add", "S=3x4 N=0 updates=0x4", "axis=0"}},
});
}  // namespace oarlock::op::index_add_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::index_add_ {
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &updates = *c.in[2];
  int axis = int(c.attrs.integer(0));
  if (x.rank != updates.rank) return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(2)));
  for (int i = 0; i < x.rank; ++i) {
    Dim want = i == axis ? (*c.in[1])[0] : x[i];
    if (!c.agree(want, updates[i], "axis " + std::to_string(i) + " of updates", 2, i == axis ? 1 : 0)) return;
  }
}
static void decompose(RuleCall& c) {
  int axis = int(c.attrs.integer(0));
  if (!axis) return c.set(0, scatter_add(c.in(0), c.in(1), c.in(2)));
  c.set(0, axis_moved(scatter_add(axis_moved(c.in(0), axis, 0), c.in(1), axis_moved(c.in(2), axis, 0)), 0, axis));
}
}  // namespace oarlock::op::index_add_
