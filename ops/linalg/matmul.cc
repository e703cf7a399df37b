#include "core/op/opdef.h"
namespace oarlock::op::matmul_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "matmul",
    .summary = "Matrix product of the last two axes; the axes before them broadcast. Integers wrap.",
    .source = "Array API standard 2023.12, matmul",
    .inputs = {{"a", "[..., M, K]"}, {"b", "[..., K, N]"}},
    .outputs = {{"out", "[..., M, N]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"b", "a"}, {"a", "b"}},  // a's gradient reads b, and the other way round
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"an empty sum is zero", "M=2 K=0 N=3"}, {"batches broadcast", "...=5x1|4 M=2 K=3 N=2"}},
});
}  // namespace oarlock::op::matmul_

#include "rules.h"
#include "elementwise.h"
#define EIGEN_DONT_PARALLELIZE  // one thread: the same sum in the same order on every machine
#include <Eigen/Core>
namespace oarlock::op::matmul_ {
// [..., M, N] as [... * M, N].
static Tensor one_matrix(const Tensor& x) {
  if (x.rank() == 2) return x;
  const Shape& s = x.shape();
  Dim rows = 1;
  for (int i = 0; i + 1 < s.rank; ++i) rows = rows * s[i];
  return reshape(x, {rows, s[s.rank - 1]});
}
static void gradient(GradientCall& c) {  // summed over broadcast axes by the core, which knows "..."
  if (c.wants(0)) c.set(0, matmul(c.dout(0), matrix_transpose(c.in(1))));
  if (!c.wants(1)) return;
  const Tensor& b = c.in(1);
  if (b.rank() > 2) return c.set(1, matmul(matrix_transpose(c.in(0)), c.dout(0)));
  // One matrix for all batches: one product sums over them, where a product each would have to be added up. It is made
  // the way b lies, so that the gradient of a weight given as its transpose lies as the weight does.
  Tensor a = one_matrix(c.in(0)), d = one_matrix(c.dout(0));
  if (b.is_contiguous()) c.set(1, matmul(matrix_transpose(a), d));
  else c.set(1, matrix_transpose(matmul(matrix_transpose(d), a)));
}

// Eigen would keep a float sum in float; the reference sums in double and rounds once.
template <class T>
static void eigen_product(const oar_view_t& a, int64_t at_a, const oar_view_t& b, int64_t at_b, const oar_view_t& out,
                          int64_t at_out) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  auto map = [](const oar_view_t& v, int64_t at) {
    int r = v.n_dims;
    return Eigen::Map<Matrix, 0, Strides>(elements<T>(v) + at, v.shape[r - 2], v.shape[r - 1],
                                          Strides(v.strides[r - 2], v.strides[r - 1]));
  };
  if (a.shape[a.n_dims - 1] == 0) return void(map(out, at_out).setZero());  // a and b may have no memory to point into
  map(out, at_out) = (map(a, at_a).template cast<double>() * map(b, at_b).template cast<double>()).template cast<T>();
}

template <class Acc>
static void product(const oar_view_t& a, int64_t at_a, const oar_view_t& b, int64_t at_b, const oar_view_t& out,
                    int64_t at_out) {
  int r = out.n_dims, ra = a.n_dims, rb = b.n_dims;
  for (int64_t m = 0; m < out.shape[r - 2]; ++m)
    for (int64_t n = 0; n < out.shape[r - 1]; ++n) {
      Acc sum = 0;
      for (int64_t k = 0; k < a.shape[ra - 1]; ++k)
        sum = wrapping(sum,
                       wrapping(load<Acc>(a, at_a + m * a.strides[ra - 2] + k * a.strides[ra - 1]),
                                load<Acc>(b, at_b + k * b.strides[rb - 2] + n * b.strides[rb - 1]),
                                [](auto x, auto y) { return x * y; }),
                       [](auto x, auto y) { return x + y; });
      store<Acc>(out, at_out + m * out.strides[r - 2] + n * out.strides[r - 1], sum);
    }
}

static void reference(KernelCall& c) {
  oar_view_t a = c.in(0), b = c.in(1), out = c.out(0);
  int batch = out.n_dims - 2;
  auto start = [&](oar_view_t v, const int64_t* index) {  // of the matrix at a batch index
    v.n_dims -= 2;
    return offset(v, index, batch);
  };
  for (Walk w(out.shape, batch); w.more(); w.next()) {
    int64_t at_a = start(a, w.index), at_b = start(b, w.index), at_out = start(out, w.index);
    if (dtype(out) == DType::f32) eigen_product<float>(a, at_a, b, at_b, out, at_out);
    else if (dtype(out) == DType::f64) eigen_product<double>(a, at_a, b, at_b, out, at_out);
    else with_accumulator(dtype(out), [&](auto acc) { product<decltype(acc)>(a, at_a, b, at_b, out, at_out); });
  }
}
}  // namespace oarlock::op::matmul_
