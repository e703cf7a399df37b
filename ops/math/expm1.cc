#include "core/op/opdef.h"
namespace oarlock::op::expm1_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "expm1",
    .summary = "exp(x) - 1, exact near 0.",
    .source = "Array API standard 2023.12, expm1",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .reference = reference,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"},
              {"near zero", "...=3", "", "x: 0.0001 -0.0001 0.00000001"}},
});
}  // namespace oarlock::op::expm1_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::expm1_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), add(c.out(0), number(1, c.out(0))))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::expm1(x); });
}
}  // namespace oarlock::op::expm1_
