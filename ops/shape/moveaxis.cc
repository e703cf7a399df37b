#include "core/op/opdef.h"
namespace oarlock::op::moveaxis_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "moveaxis",
    .summary =
        "x with axes source[i] at places destination[i] of the result, the others in their order. Shares x's elements.",
    .source = "Array API standard 2023.12, moveaxis",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {axes("source"), axes("destination")},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"first to last", "S=2x3x4", "source=0 destination=-1"},
              {"two", "S=2x3x4", "source=0,2 destination=1,0"},
              {"none", "S=2x3", "source= destination="}},
});
}  // namespace oarlock::op::moveaxis_

#include "rules.h"
namespace oarlock::op::moveaxis_ {
// Axis i of the result is axis order[i] of x.
static void order_of(int rank, std::span<const int64_t> from, std::span<const int64_t> to, int64_t* order) {
  std::fill_n(order, rank, -1);
  for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  int next = 0;
  for (int i = 0; i < rank; ++i) {
    if (order[i] >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    order[i] = next++;
  }
}
static void infer(InferCall& c) {
  auto from = c.attrs.integers(0), to = c.attrs.integers(1);
  if (from.size() != to.size())
    return void(c.fail("source has " + std::to_string(from.size()) + " entries, destination " +
                       std::to_string(to.size()) + ". Give as many"));
  const Shape& x = *c.in[0];
  int64_t order[kMaxRank];
  order_of(x.rank, from, to, order);
  Shape& out = c.open(0);
  for (int i = 0; i < x.rank; ++i) out.push(x[int(order[i])]);
}
static void decompose(RuleCall& c) {
  int64_t order[kMaxRank];
  order_of(c.in(0).rank(), c.attrs.integers(0), c.attrs.integers(1), order);
  c.set(0, permute(c.in(0), std::span<const int64_t>(order, size_t(c.in(0).rank()))));
}
}  // namespace oarlock::op::moveaxis_
