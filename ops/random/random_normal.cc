#include "core/op/opdef.h"
namespace oarlock::op::random_normal_ {
static InferRule infer;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "random_normal",
    .summary = "Numbers with mean 0 and standard deviation 1, a function of seed and place alone: elements 2k and 2k+1 "
               "are sqrt(-2 log(1 - u)) times cos(2 pi v) and sin(2 pi v), with u and v elements 2k and 2k+1 of "
               "random_uniform for the same seed. f16 and bf16 are those of f32, rounded. Every device agrees within "
               "16 units in the last place.",
    .source = "Box and Muller 1958, A note on the generation of random normal deviates",
    .inputs = {{"seed", "i64[2]", host}},
    .outputs = {{"out", "dtype[*shape]"}},
    .attributes = {dims("shape"), dtype("dtype", DType::f32)},
    .infer = infer,
    .no_gradient = "it does not depend on numbers",
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 16},
    .cases = {{"a matrix", "", "shape=3,5"},
              {"f64", "", "shape=7 dtype=f64"},
              {"none", "", "shape=0"},
              {"halves", "", "shape=5 dtype=f16"}},
});
}  // namespace oarlock::op::random_normal_

#include "rules.h"
#include "axes.h"
#include "philox.h"
namespace oarlock::op::random_normal_ {
// cos and sin of v turns, v in [0, 1), are the sine of a part of a turn in [-1/4, 1/4], which is exact.
static double cosine_part(double v) { return std::fabs(v - 0.5) - 0.25; }
static double sine_part(double v) { return v < 0.25 ? v : v < 0.75 ? 0.5 - v : v - 1; }
// The sine of `turns` in [-1/4, 1/4] by its series, on any device.
static Tensor sine_of_turns(const Tensor& turns) {
  Tensor square = multiply(turns, turns), sum;
  for (int k = turns.dtype() == DType::f64 ? 11 : 6; k >= 0; --k) {
    double term = std::pow(2 * std::numbers::pi, 2 * k + 1) / std::tgamma(2 * k + 2) * (k % 2 ? -1 : 1);
    sum = sum.defined() ? add(multiply(sum, square), number(term, turns)) : number(term, turns);
  }
  return multiply(turns, sum);
}
static void infer(InferCall& c) {
  if (!(set_of(c.attrs.dtype(1)) & kFloat))
    c.fail("dtype is " + std::string(to_string(c.attrs.dtype(1))) + ", needs a float");
}
static void decompose(RuleCall& c) {
  DType t = c.attrs.dtype(1), wide = t == DType::f64 ? t : DType::f32;
  Shape shape;
  shape.push(c.attrs.dims(0).data(), int(c.attrs.dims(0).size()));
  Dim n = 1;
  for (Dim d : shape) n = n * d;
  Dim pairs = (n + 1) / 2;
  Tensor both = random_uniform(c.in(0), {pairs, 2}, wide), u = part(both, 1, 0, 1), v = part(both, 1, 1, 1);
  Tensor one = number(1, u), half = number(0.5, u), quarter = number(0.25, u);
  Tensor radius = sqrt(multiply(log(subtract(one, u)), number(-2, u)));
  Tensor apart = subtract(v, half), cosine = subtract(maximum(apart, negative(apart)), quarter);
  Tensor sine = where(less(v, quarter), v, where(less(v, number(0.75, v)), subtract(half, v), subtract(v, one)));
  Tensor out = concat({multiply(radius, sine_of_turns(cosine)), multiply(radius, sine_of_turns(sine))}, 1);
  c.set(0, as(reshape(part(reshape(out, {pairs * Dim(2)}), 0, 0, n), shape), t));
}
static void reference(KernelCall& c) {
  const oar_view_t& out = c.out(0);
  Uniforms uniforms(c.in(0), dtype(out) == DType::f64);
  uint64_t i = 0;
  for (Walk w(out); w.more(); w.next(), ++i) {
    double u = uniforms.at(i & ~1ull), v = uniforms.at(i | 1);
    double part = i % 2 ? sine_part(v) : cosine_part(v);
    store<double>(out, offset(out, w.index, out.n_dims),
                  std::sqrt(-2 * std::log(1 - u)) * std::sin(2 * std::numbers::pi * part));
  }
}
}  // namespace oarlock::op::random_normal_
