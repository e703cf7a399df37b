#include "core/op/opdef.h"
namespace oarlock::op::tile_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "tile",
    .summary = "x repeated side by side along each axis; repetitions are right-aligned with its shape, and either may "
               "be the longer.",
    .source = "Array API standard 2023.12, tile",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {integers("repetitions").at_least(0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"both axes", "S=2x3", "repetitions=2,3"},
              {"a new axis", "S=2", "repetitions=3,1"},
              {"fewer than axes", "S=2x3", "repetitions=2"},
              {"none", "S=2", "repetitions=0"}},
});
}  // namespace oarlock::op::tile_

#include "rules.h"
namespace oarlock::op::tile_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  auto times = c.attrs.integers(0);
  int rank = std::max(x.rank, int(times.size()));
  if (rank >= kMaxRank)
    return void(c.fail("the result would have " + std::to_string(rank) + " axes. At most 15 are possible"));
  Shape& out = c.open(0);
  for (int i = 0; i < rank; ++i) {
    int at_x = i - (rank - x.rank), at = i - (rank - int(times.size()));
    out.push((at_x < 0 ? Dim(1) : x[at_x]) * Dim(at < 0 ? 1 : times[size_t(at)]));
  }
}
static void decompose(RuleCall& c) {
  auto times = c.attrs.integers(0);
  int rank = std::max(c.in(0).rank(), int(times.size()));
  Shape shape;
  for (int i = c.in(0).rank(); i < rank; ++i) shape.push(1);
  shape.push(c.in(0).shape().d, c.in(0).rank());
  Tensor x = reshape(c.in(0), shape);
  for (int i = 0; i < rank; ++i) {
    int at = i - (rank - int(times.size()));
    int64_t n = at < 0 ? 1 : times[size_t(at)];
    if (n == 1) continue;
    Shape apart;  // a new axis before the one that is repeated
    apart.push(x.shape().d, i);
    apart.push(n);
    apart.push(x.shape().d + i, rank - i);
    shape.d[i] = shape[i] * Dim(n);
    x = reshape(expand(unsqueeze(x, {i}), apart), shape);
  }
  c.set(0, x);
}
}  // namespace oarlock::op::tile_
