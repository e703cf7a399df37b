#include "core/op/opdef.h"
namespace oarlock::op::scatter_add_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "scatter_add",
    .summary = "x with updates added to its rows: out[index[j], ...] += updates[j, ...]. Rows that meet are all added. "
               "Negative indices "
               "count from the end; one out of range is an error.",
    .source = "ONNX operator set 18, ScatterND, reduction add, on axis 0",
    .inputs = {{"x", "[V, *R]"}, {"index", "I[*J]", constant, "-V..V-1"}, {"updates", "[*_]"}},
    .outputs = {{"out", "[V, *R]"}},
    .types = {{"T", kNumeric}, {"I", kInt}},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"index", "updates"}},
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"rows that meet", "V=3 R=2 J=4", "", "index: 1"},
              {"the last", "V=4 R=2 J=1", "", "index: -1"},
              {"nothing to add", "V=3 R=2 J=0"}},
});
}  // namespace oarlock::op::scatter_add_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::scatter_add_ {
static void infer(InferCall& c) {  // updates is [*J, *R], two packs that one string can't match
  const Shape &x = *c.in[0], &index = *c.in[1], &updates = *c.in[2];
  int rank = index.rank + x.rank - 1;
  if (updates.rank != rank)
    return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1) + ", so updates has rank " +
                       std::to_string(rank) + ", but " + c.input_text(2)));
  for (int i = 0; i < rank; ++i) {
    int from = i < index.rank ? 1 : 0;
    Dim want = from ? index[i] : x[i - index.rank + 1];
    if (!c.agree(want, updates[i], "axis " + std::to_string(i) + " of updates", 2, from)) return;
  }
}
static void gradient(GradientCall& c) {
  c.set(0, c.dout(0));
  if (c.wants(2)) c.set(2, gather(c.dout(0), c.in(1)));
}
// The row that index `at` means, or -1 after telling what is wrong with it.
static int64_t row_of(KernelCall& c, const oar_view_t& index, const int64_t* position, int64_t rows) {
  int64_t at = load<int64_t>(index, offset(index, position, index.n_dims));
  if (at < rows && at >= -rows && !(at < 0 && dtype(index) == DType::u64)) return at < 0 ? at + rows : at;
  Shape where;
  for (int i = 0; i < index.n_dims; ++i) where.push(position[i]);
  std::string text = dtype(index) == DType::u64 ? std::to_string(uint64_t(at)) : std::to_string(at);
  c.fail("scatter_add: index " + text + " at position " + to_string(where) + " is out of range: axis 0 of x has " +
         std::to_string(rows) + " elements" +
         (rows ? ". Give " + std::to_string(-rows) + " to " + std::to_string(rows - 1) : std::string()) + ".");
  return -1;
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &index = c.in(1), &updates = c.in(2), &out = c.out(0);
  int rest = x.n_dims - 1;
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    std::vector<Acc> total(size_t(count(x)));  // rounded once, however many rows meet
    size_t n = 0;
    for (Walk w(x); w.more(); w.next()) total[n++] = load<Acc>(x, offset(x, w.index, x.n_dims));
    int64_t row_size = x.shape[0] ? int64_t(n) / x.shape[0] : 0;
    for (Walk j(index); j.more(); j.next()) {
      int64_t row = row_of(c, index, j.index, x.shape[0]);
      if (row < 0) return;
      int64_t from = 0, to = row * row_size;
      for (int i = 0; i < index.n_dims; ++i) from += j.index[i] * updates.strides[i];
      for (Walk w(x.shape + 1, rest); w.more(); w.next(), ++to) {
        int64_t at = from;
        for (int i = 0; i < rest; ++i) at += w.index[i] * updates.strides[index.n_dims + i];
        total[size_t(to)] = wrapping(total[size_t(to)], load<Acc>(updates, at), [](auto a, auto b) { return a + b; });
      }
    }
    n = 0;
    for (Walk w(out); w.more(); w.next()) store<Acc>(out, offset(out, w.index, out.n_dims), total[n++]);
  });
}
}  // namespace oarlock::op::scatter_add_
