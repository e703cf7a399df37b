#include "core/op/opdef.h"
namespace oarlock::op::flatten_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "flatten",
    .summary =
        "x with the axes from start to stop, both counted in, as one. Shares x's elements where strides can say it.",
    .source = "torch.flatten",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {axis("start", 0), axis("stop", -1)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"all", "S=2x3x4"},
              {"inner axes", "S=2x3x4", "start=1 stop=-1"},
              {"one", "S=2x3", "start=1 stop=1"},
              {"nothing", "S=2x0x3"}},
});
}  // namespace oarlock::op::flatten_

#include "rules.h"
namespace oarlock::op::flatten_ {
static Shape joined(const Shape& x, int start, int stop) {
  Shape out;
  Dim n = 1;
  for (int i = start; i <= stop; ++i) n = n * x[i];
  out.push(x.d, start);
  out.push(n);
  out.push(x.d + stop + 1, x.rank - stop - 1);
  return out;
}
static void infer(InferCall& c) {
  int64_t start = c.attrs.integer(0), stop = c.attrs.integer(1);
  if (start > stop)
    return void(
        c.fail("start is " + std::to_string(start) + ", after stop, " + std::to_string(stop) + ": " + c.input_text(0)));
  c.open(0) = joined(*c.in[0], int(start), int(stop));
}
static void decompose(RuleCall& c) {
  c.set(0, reshape(c.in(0), joined(c.in(0).shape(), int(c.attrs.integer(0)), int(c.attrs.integer(1)))));
}
}  // namespace oarlock::op::flatten_
