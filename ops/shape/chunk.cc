#include "core/op/opdef.h"
namespace oarlock::op::chunk_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "chunk",
    .summary = "x cut along an axis into a number of equal parts. The parts share x's elements.",
    .source = "ONNX operator set 18, Split, num_outputs; torch.chunk",
    .inputs = {{"x", "[*_]"}},
    .outputs = {{"parts", "[*_]", variadic}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {integer("parts").at_least(1).at_most(64), axis("axis", 0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"three", "x=6x2", "parts=3"}, {"of nothing", "x=2x0", "parts=2 axis=-1"}, {"one", "x=4", "parts=1"}},
});
}  // namespace oarlock::op::chunk_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::chunk_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  int64_t parts = c.attrs.integer(0);
  int axis = int(c.attrs.integer(1));
  if (x[axis].known() && x[axis].n % parts)
    return void(c.fail("axis " + std::to_string(axis) + " does not divide into " + std::to_string(parts) +
                       " parts: " + c.input_text(0) + ". Use split with sizes"));
  c.out_count = int(parts);
  for (int i = 0; i < c.out_count; ++i) {
    c.out[i] = x;
    c.out[i].d[axis] = x[axis] / Dim(parts);
    c.out_type[i] = c.in_type[0];
  }
}
static void decompose(RuleCall& c) {
  int axis = int(c.attrs.integer(1));
  Dim size = c.in(0).shape()[axis] / Dim(c.attrs.integer(0));
  for (int i = 0; i < int(c.attrs.integer(0)); ++i) c.set(i, part(c.in(0), axis, size * Dim(i), size));
}
}  // namespace oarlock::op::chunk_
