#include "core/op/opdef.h"
namespace oarlock::op::rsqrt_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "rsqrt",
    .summary = "1 / sqrt(x); NaN below 0, infinity at 0.",
    .source = "torch.rsqrt",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .cases = {{"positive", "...=3x5", "", "x: 0.1..4"}, {"the edge", "...=5", "", "x: 0 -1 inf nan 4"}},
});
}  // namespace oarlock::op::rsqrt_

#include "rules.h"
namespace oarlock::op::rsqrt_ {
static void gradient(GradientCall& c) {
  Tensor out = c.out(0), cube = multiply(out, multiply(out, out));
  c.set(0, multiply(c.dout(0), multiply(cube, number(-0.5, out))));
}
static void decompose(RuleCall& c) { c.set(0, divide(number(1, c.in(0)), sqrt(c.in(0)))); }
}  // namespace oarlock::op::rsqrt_
