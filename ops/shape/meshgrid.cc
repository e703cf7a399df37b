#include "core/op/opdef.h"
namespace oarlock::op::meshgrid_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "meshgrid",
    .summary = "The coordinates of a grid: as many tensors as operands, each of one axis or none, all of the grid's "
               "shape. xy exchanges the first two axes, ij leaves them in order. They share the operands' elements.",
    .source = "Array API standard 2023.12, meshgrid",
    .inputs = {{"xs", "[*_]", variadic}},
    .outputs = {{"grids", "[*_]", variadic}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {choice("indexing", "xy|ij")},
    .infer = infer,
    .decompose = decompose,
    .cases =
        {{"two", "xs=2|3"}, {"three in order", "xs=2|3|4", "indexing=ij"}, {"one", "xs=3"}, {"with nothing", "xs=0|2"}},
});
}  // namespace oarlock::op::meshgrid_

#include "rules.h"
namespace oarlock::op::meshgrid_ {
// Where operand j has its axis in the grid.
static int axis_of(int j, int count, std::string_view indexing) {
  return indexing == "xy" && count > 1 && j < 2 ? 1 - j : j;
}
static void infer(InferCall& c) {
  if (c.count > kMaxRank) return void(c.fail(std::to_string(c.count) + " operands given. At most 16 are possible"));
  Shape grid;
  for (int j = 0; j < c.count; ++j) grid.push(1);
  for (int j = 0; j < c.count; ++j) {
    const Shape& x = *c.in[j];
    if (x.rank > 1)
      return void(c.fail("operand " + std::to_string(j) + " is " + to_string(x) + ", of more than one axis"));
    if (x.rank) grid.d[axis_of(j, c.count, c.attrs.text(0))] = x[0];
  }
  c.out_count = c.count;
  for (int j = 0; j < c.count; ++j) {
    c.out[j] = grid;
    c.out_type[j] = c.in_type[j];
  }
}
static void decompose(RuleCall& c) {
  int n = c.count();
  Shape ones, grid;
  for (int j = 0; j < n; ++j) ones.push(1);
  grid = ones;
  for (int j = 0; j < n; ++j)
    if (c.in(j).rank()) grid.d[axis_of(j, n, c.attrs.text(0))] = c.in(j).shape()[0];
  for (int j = 0; j < n; ++j) {
    Shape own = ones;
    int axis = axis_of(j, n, c.attrs.text(0));
    own.d[axis] = grid[axis];
    c.set(j, expand(reshape(c.in(j), own), grid));
  }
}
}  // namespace oarlock::op::meshgrid_
