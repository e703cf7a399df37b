#include "core/op/opdef.h"
namespace oarlock::op::scatter_nd_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "scatter_nd",
    .summary = "x with updates written to it: each row of index holds places along x's first axes, out[index[j, 0], "
               "index[j, 1], ..., ...] gets updates[j, ...]. Updates that meet are all reduced; of assignments the "
               "last one stays. Negative indices count from the end; one out of range is an error.",
    .source = "ONNX operator set 18, ScatterND",
    .inputs = {{"x", "[*S]"}, {"index", "I[*J, K]", constant, "-S..S-1"}, {"updates", "[*_]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kAny}, {"I", kInt}},
    .attributes = {choice("reduction", "assign|add|multiply|maximum|minimum")},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"index"}, {"updates"}, {"out"}},
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"pairs", "S=3x4 J=2 K=2 updates=2", "", "index: 0 1 2 3"},
              {"rows that meet", "S=3x2 J=4 K=1 updates=4x2", "reduction=add", "index: 1"},
              {"multiplied", "S=3x2 J=4 K=1 updates=4x2", "reduction=multiply", "index: 1"},
              {"greatest", "S=3x2 J=4 K=1 updates=4x2", "reduction=maximum", "index: 1"},
              {"least", "S=3x2 J=4 K=1 updates=4x2", "reduction=minimum", "index: 1"},
              {"the last stays", "S=3x2 J=4 K=1 updates=4x2", "", "index: -2"},
              {"nothing to write", "S=3x2 J=0 K=1 updates=0x2"}},
});
}  // namespace oarlock::op::scatter_nd_

#include "rules.h"
#include "elementwise.h"
#include "places.h"
namespace oarlock::op::scatter_nd_ {
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &index = *c.in[1], &updates = *c.in[2];
  int rows = index.rank - 1;
  Dim k = index[rows];
  if (!k.known() || k.n > x.rank)
    return void(c.fail("index has " + to_string(k) + " places in each row: " + c.input_text(0) + ", " +
                       c.input_text(1) + ". Give at most " + std::to_string(x.rank)));
  int rank = rows + x.rank - int(k.n);
  if (updates.rank != rank)
    return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1) + ", so updates has rank " +
                       std::to_string(rank) + ", but " + c.input_text(2)));
  for (int i = 0; i < rank; ++i) {
    Dim want = i < rows ? index[i] : x[i - rows + int(k.n)];
    if (!c.agree(want, updates[i], "axis " + std::to_string(i) + " of updates", 2, i < rows ? 1 : 0)) return;
  }
}
static void gradient(GradientCall& c) {
  scatter_gradient(
      c, reduction_code(c.attrs.text(0)), [&](const Tensor& t) { return gather_nd(t, c.in(1)); },
      [&](const Tensor& t, const Tensor& u, std::string_view how) { return scatter_nd(t, c.in(1), u, how); });
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &index = c.in(1), &updates = c.in(2);
  int rows = index.n_dims - 1, k = int(index.shape[rows]), rest = x.n_dims - k;
  int64_t position[kMaxRank], row_size = 1;
  for (int i = k; i < x.n_dims; ++i) row_size *= x.shape[i];
  char reduction = reduction_code(c.attrs.text(0));
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    std::vector<Acc> all = gathered<Acc>(x);
    for (Walk j(index.shape, rows); j.more(); j.next()) {
      int64_t from = 0, row = 0;
      std::copy_n(j.index, rows, position);
      for (int i = 0; i < k; ++i) {
        position[rows] = i;
        int64_t at = place(c, "scatter_nd", position, i);
        if (at < 0) return;
        row = row * x.shape[i] + at;
      }
      for (int i = 0; i < rows; ++i) from += j.index[i] * updates.strides[i];
      size_t to = size_t(row * row_size);
      for (Walk w(x.shape + k, rest); w.more(); w.next(), ++to) {
        int64_t at = from;
        for (int i = 0; i < rest; ++i) at += w.index[i] * updates.strides[rows + i];
        all[to] = reduced(reduction, all[to], load<Acc>(updates, at));
      }
    }
    spread(all, c.out(0));
  });
}
}  // namespace oarlock::op::scatter_nd_
