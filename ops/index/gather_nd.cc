#include "core/op/opdef.h"
namespace oarlock::op::gather_nd_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "gather_nd",
    .summary =
        "Elements or slices of x: each row of index holds places along x's first axes, out[j, ...] is x[index[j, 0], "
        "index[j, 1], ..., ...]. Negative indices count from the end; one out of range is an error.",
    .source = "ONNX operator set 13, GatherND, batch_dims 0",
    .inputs = {{"x", "[*S]"}, {"index", "I[*J, K]", constant, "-S..S-1"}},
    .outputs = {{"out", "[*J, *R]"}},
    .types = {{"T", kAny | kStorage}, {"I", kInt}},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"index"}},
    .reference = reference,
    .cases = {{"pairs", "S=3x4 J=2 K=2", "", "index: 0 1 2 3"},
              {"rows", "S=3x4 J=2x2 K=1"},
              {"from the end", "S=3x4 J=1 K=2", "", "index: -1 -4"},
              {"the whole", "S=2x3 J=2 K=0"},
              {"none of nothing", "S=0x2 J=0 K=1"}},
});
}  // namespace oarlock::op::gather_nd_

#include "rules.h"
#include "places.h"
namespace oarlock::op::gather_nd_ {
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &index = *c.in[1];
  Dim k = index[index.rank - 1];
  if (!k.known() || k.n > x.rank)
    return void(c.fail("index has " + to_string(k) + " places in each row: " + c.input_text(0) + ", " +
                       c.input_text(1) + ". Give at most " + std::to_string(x.rank)));
  Shape& rest = c.open(0);
  for (int i = int(k.n); i < x.rank; ++i) rest.push(x[i]);
}
static void gradient(GradientCall& c) { c.set(0, scatter_nd(zeros_like(c.in(0)), c.in(1), c.dout(0), "add")); }
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &index = c.in(1), &out = c.out(0);
  int rows = index.n_dims - 1, k = int(index.shape[rows]), rest = x.n_dims - k;
  int64_t position[kMaxRank];
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk j(index.shape, rows); j.more(); j.next()) {
      int64_t from = 0, to = 0;
      std::copy_n(j.index, rows, position);
      for (int i = 0; i < k; ++i) {
        position[rows] = i;
        int64_t at = place(c, "gather_nd", position, i);
        if (at < 0) return;
        from += at * x.strides[i];
      }
      for (int i = 0; i < rows; ++i) to += j.index[i] * out.strides[i];
      for (Walk w(x.shape + k, rest); w.more(); w.next()) {
        int64_t at_x = from, at_out = to;
        for (int i = 0; i < rest; ++i) {
          at_x += w.index[i] * x.strides[k + i];
          at_out += w.index[i] * out.strides[rows + i];
        }
        store<Acc>(out, at_out, load<Acc>(x, at_x));
      }
    }
  });
}
}  // namespace oarlock::op::gather_nd_
