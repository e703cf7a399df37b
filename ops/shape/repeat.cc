#include "core/op/opdef.h"
namespace oarlock::op::repeat_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "repeat",
    .summary = "x with every element repeated next to itself along an axis.",
    .source = "Array API standard 2023.12, repeat; torch.repeat_interleave",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dim("repeats"), axis("axis", 0)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"rows", "S=2x3", "repeats=2"}, {"columns", "S=2x3", "repeats=3 axis=-1"}, {"none", "S=2", "repeats=0"}},
});
}  // namespace oarlock::op::repeat_

#include "rules.h"
namespace oarlock::op::repeat_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  if (x.rank == kMaxRank) return void(c.fail(c.input_text(0) + ". At most 15 axes are possible"));
  Shape& out = c.open(0);
  out = x;
  int axis = int(c.attrs.integer(1));
  out.d[axis] = x[axis] * c.attrs.dim(0);
}
static void decompose(RuleCall& c) {
  const Shape& in = c.in(0).shape();
  int axis = int(c.attrs.integer(1));
  Shape apart, shape = in;
  apart.push(in.d, axis + 1);
  apart.push(c.attrs.dim(0));
  apart.push(in.d + axis + 1, in.rank - axis - 1);
  shape.d[axis] = in[axis] * c.attrs.dim(0);
  c.set(0, reshape(expand(unsqueeze(c.in(0), {axis + 1}), apart), shape));
}
}  // namespace oarlock::op::repeat_
