#include "core/op/opdef.h"
namespace oarlock::op::product_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "product",
    .summary = "Product over axes, in x's dtype: integers wrap. Over nothing: 1.",
    .source = "Array API standard 2023.12, prod",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"an empty axis", "S=3x0x4", "axes=1"},
              {"a zero", "S=4", "", "x: 2 0 3 -1"},
              {"outer axes", "S=2x3x2", "axes=0,2"}},
});
}  // namespace oarlock::op::product_

#include "rules.h"
#include "elementwise.h"
#include "axes.h"
namespace oarlock::op::product_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void gradient(GradientCall& c) {
  const Tensor& x = c.in(0);  // of all others: those before times those after, right with zeros too
  AxesLast order(x.rank(), c.attrs.integers(0));
  Tensor moved = order.of(x);
  Dim lanes = 1, n = 1;
  int reduced = int(c.attrs.integers(0).size());
  for (int i = 0; i < x.rank(); ++i)
    (i < x.rank() - reduced ? lanes : n) = (i < x.rank() - reduced ? lanes : n) * moved.shape()[i];
  Tensor flat = reshape(moved, {lanes, n});
  Tensor others = multiply(cumulative_product(flat, 1, true, false), cumulative_product(flat, 1, true, true));
  Tensor d = multiply(reshape(others, moved.shape()),
                      order.of(expand(reshape(c.dout(0), kept_shape(x.shape(), c.attrs.integers(0))), x.shape())));
  c.set(0, order.undone(d));
}
static void reference(KernelCall& c) {
  reduction_reference(
      c.in(0), c.out(0), c.attrs.integers(0), [](auto zero) { return decltype(zero)(1); },
      [](auto acc, auto x) { return wrapping(acc, x, [](auto a, auto b) { return a * b; }); });
}
}  // namespace oarlock::op::product_
