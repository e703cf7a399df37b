#include "core/op/opdef.h"
namespace oarlock::op::topk_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "topk",
    .summary = "The k greatest elements of the last axis, greatest first, or the k least, least first, and where they "
               "are. NaN is the greatest; of equal ones the first comes first.",
    .source = "ONNX operator set 11, TopK, sorted",
    .inputs = {{"x", "[*L, N]"}},
    .outputs = {{"values", "[*L, k]"}, {"indices", "i64[*L, k]"}},
    .types = {{"T", kNumeric}},
    .attributes = {dim("k"), flag("largest", true)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"indices"}},
    .reference = reference,
    .cases = {{"nan is the greatest", "N=6 L=", "k=3", "x: 1 nan 3 inf -inf 2"},
              {"the least", "N=6 L=", "k=3 largest=false", "x: 1 nan 3 inf -inf 2"},
              {"no ties", "L=2 N=5", "k=2", "x: distinct"},
              {"none", "L=2 N=5", "k=0"},
              {"all", "L=3 N=4", "k=4"}},
});
}  // namespace oarlock::op::topk_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::topk_ {
static void infer(InferCall& c) {
  Dim n = (*c.in[0])[c.in[0]->rank - 1], k = c.attrs.dim(0);
  if (n.known() && k.known() && k.n > n.n)
    c.fail("k is " + to_string(k) + ", " + c.input_text(0) + " (N=" + to_string(n) + "). Give at most " + to_string(n));
}
static void gradient(GradientCall& c) {
  c.set(0, put_along_axis(zeros_like(c.in(0)), c.out(1), c.dout(0), c.in(0).rank() - 1, "add"));
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &values = c.out(0), &indices = c.out(1);
  int rank = x.n_dims, axis = rank - 1;
  bool largest = c.attrs.flag(1);
  size_t n = size_t(x.shape[axis]), k = size_t(values.shape[axis]);
  std::vector<int64_t> order(n);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    std::vector<Acc> lane(n);
    each_lane(x, axis, [&](const int64_t* index) {
      int64_t from = offset(x, index, rank), value = offset(values, index, rank), at = offset(indices, index, rank);
      for (size_t i = 0; i < n; ++i) {
        lane[i] = load<Acc>(x, from + int64_t(i) * x.strides[axis]);
        order[i] = int64_t(i);
      }
      std::partial_sort(order.begin(), order.begin() + int64_t(k), order.end(), [&](int64_t i, int64_t j) {
        Acc a = lane[size_t(i)], b = lane[size_t(j)];
        if (before(a, b) || before(b, a)) return largest ? before(b, a) : before(a, b);
        return i < j;
      });
      for (size_t i = 0; i < k; ++i) {
        store<Acc>(values, value + int64_t(i) * values.strides[axis], lane[size_t(order[i])]);
        store<int64_t>(indices, at + int64_t(i) * indices.strides[axis], order[i]);
      }
    });
  });
}
}  // namespace oarlock::op::topk_
