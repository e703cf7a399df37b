#include "core/op/opdef.h"
namespace oarlock::op::masked_select_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "masked_select",
    .summary = "The elements of x where mask is true, in row-major order.",
    .source = "torch.masked_select; Array API standard 2023.12, indexing by a boolean array",
    .inputs = {{"x", "[...]"}, {"mask", "bool[...]", constant}},
    .outputs = {{"out", "[?N]"}},
    .types = {{"T", kAny | kStorage}},
    .decompose = decompose,
    .cases = {{"both broadcast", "...=3x1|4"},
              {"none", "...=3", "", "mask: 0"},
              {"a scalar", "...=|", "", "mask: 1"},
              {"nothing", "...=0x3"}},
});
}  // namespace oarlock::op::masked_select_

#include "rules.h"
namespace oarlock::op::masked_select_ {
static Shape broadcast(const Shape& a, const Shape& b) {
  const Shape &long_one = a.rank < b.rank ? b : a, &other = a.rank < b.rank ? a : b;
  Shape out = long_one;
  for (int i = 0; i < other.rank; ++i) {
    Dim& d = out.d[out.rank - other.rank + i];
    if (d.n == 1) d = other[i];
  }
  return out;
}
static void decompose(RuleCall& c) {
  Shape shape = broadcast(c.in(0).shape(), c.in(1).shape());
  Dim n = 1;
  for (Dim d : shape) n = n * d;
  Tensor places = nonzero(reshape(expand(c.in(1), shape), {n}));
  c.set(0, gather(reshape(expand(c.in(0), shape), {n}), reshape(places, {places.shape()[0]})));
}
}  // namespace oarlock::op::masked_select_
