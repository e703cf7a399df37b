#include "core/op/opdef.h"
namespace oarlock::op::vector_norm_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "vector_norm",
    .summary = "The order-norm over axes: sum(|x|^order)^(1/order); the greatest |x| for infinity, the least for "
               "-infinity, the number of those that are not 0 for order 0. f16 and bf16 are summed as f32. The "
               "gradient is 0 where the norm is.",
    .source = "Array API standard 2023.12, linalg.vector_norm",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {axes("axes").or_none(), flag("keepdims", false), real("order", 2)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"out"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 128},
    .cases = {{"euclidean", "S=3x4", "axes=1"},
              {"sum", "S=3x4", "axes=0 order=1"},
              {"greatest", "S=3x4", "axes=0 order=inf", "x: distinct"},
              {"least", "S=3x4", "axes=0 order=-inf", "x: distinct"},
              {"third", "S=3x4", "order=3 keepdims=true", "x: -2..2 not 0 by 0.2"},
              {"of nothing", "S=2x0", "axes=1"},
              {"of zeros", "S=3", "", "x: 0"}},
});
}  // namespace oarlock::op::vector_norm_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::vector_norm_ {
static void infer(InferCall& c) { infer_reduction(c); }
static void gradient(GradientCall& c) {
  const Tensor& x = c.in(0);
  double order = c.attrs.real(2);
  auto axes = c.attrs.integers(0);
  if (order == 0) return;
  Shape kept = kept_shape(x.shape(), axes);
  Tensor out = reshape(c.out(0), kept), d = reshape(c.dout(0), kept), zero = number(0, out), one = number(1, out);
  if (std::isinf(order)) {
    Tensor hit = as(equal(abs(x), out), x.dtype());
    return c.set(0, multiply(multiply(divide(hit, sum(hit, axes, true)), sign(x)), d));
  }
  Tensor ratio = divide(x, where(equal(out, zero), one, out));
  if (order == 1) c.set(0, multiply(sign(x), d));
  else if (order == 2) c.set(0, multiply(ratio, d));
  else {  // of elements that are 0: 0, whatever the order
    Tensor none = equal(x, zero), slope = power(where(none, one, abs(ratio)), number(order - 1, x));
    c.set(0, multiply(multiply(where(none, zero, slope), sign(x)), d));
  }
}
static void decompose(RuleCall& c) {
  double order = c.attrs.real(2);
  auto axes = c.attrs.integers(0);
  bool keep = c.attrs.flag(1);
  DType t = c.in(0).dtype();
  Tensor x = wide(c.in(0)), out;
  if (order == 0) out = sum(as(as(x, DType::boolean), x.dtype()), axes, keep);
  else if (order == INFINITY) out = maximum(max(abs(x), axes, keep), number(0, x));
  else if (order == -INFINITY) out = min(abs(x), axes, keep);
  else if (order == 1) out = sum(abs(x), axes, keep);
  else if (order == 2) out = sqrt(sum(square(x), axes, keep));
  else out = power(sum(power(abs(x), number(order, x)), axes, keep), number(1 / order, x));
  c.set(0, as(out, t));
}
static void reference(KernelCall& c) {
  double order = c.attrs.real(2);
  const oar_view_t& out = c.out(0);
  std::vector<double> total(size_t(count(out)));
  oar_view_t wide = out;  // the sums, before they are rounded
  wide.dtype = OAR_DTYPE_F64;
  wide.data = total.data();
  wide.byte_offset = 0;
  int64_t strides[kMaxRank], n = 1;
  for (int i = out.n_dims - 1; i >= 0; n *= out.shape[i--]) strides[i] = n;
  wide.strides = strides;
  reduction_reference(
      c.in(0), wide, c.attrs.integers(0),
      [=](auto zero) { return order == -INFINITY ? decltype(zero)(INFINITY) : zero; },
      [=](auto acc, auto x) {
        double size = std::fabs(double(x)), so_far = double(acc);
        double next = order == 0           ? so_far + (size != 0)
                      : order == INFINITY  ? (size > so_far || size != size ? size : so_far)
                      : order == -INFINITY ? (size < so_far || size != size ? size : so_far)
                                           : so_far + std::pow(size, order);
        return decltype(acc)(next);
      });
  n = 0;
  for (Walk w(out); w.more(); w.next(), ++n) {
    double sum = total[size_t(n)];
    store<double>(out, offset(out, w.index, out.n_dims),
                  order == 0 || std::isinf(order) ? sum : std::pow(sum, 1 / order));
  }
}
}  // namespace oarlock::op::vector_norm_
