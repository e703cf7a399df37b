#include "core/op/opdef.h"
namespace oarlock::op::gather_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "gather",
    .summary = "Rows of x: out[j, ...] is x[index[j], ...]; negative indices count from the end. One out of range is "
               "an error.",
    .source = "ONNX operator set 13, Gather, axis 0; Array API standard 2023.12, take",
    .inputs = {{"x", "[V, *R]"}, {"index", "I[*J]", constant, "-V..V-1"}},
    .outputs = {{"out", "[*J, *R]"}},
    .types = {{"T", kAny | kStorage}, {"I", kInt}},
    .gradient = gradient,
    .saves = {{"index"}},
    .reference = reference,
    .cases = {{"a table and a batch", "V=5 R=3 J=2x4"},
              {"one index", "V=5 R= J="},
              {"the last", "V=4 R=2 J=1", "", "index: -1"},
              {"none of nothing", "V=0 R=2 J=0"}},
});
}  // namespace oarlock::op::gather_

#include "rules.h"
namespace oarlock::op::gather_ {
static void gradient(GradientCall& c) { c.set(0, scatter_add(zeros_like(c.in(0)), c.in(1), c.dout(0))); }
// The row that index `at` means, or -1 after telling what is wrong with it.
static int64_t row_of(KernelCall& c, const oar_view_t& index, const int64_t* position, int64_t rows) {
  int64_t at = load<int64_t>(index, offset(index, position, index.n_dims));
  if (at < rows && at >= -rows && !(at < 0 && dtype(index) == DType::u64)) return at < 0 ? at + rows : at;
  Shape where;
  for (int i = 0; i < index.n_dims; ++i) where.push(position[i]);
  std::string text = dtype(index) == DType::u64 ? std::to_string(uint64_t(at)) : std::to_string(at);
  c.fail("gather: index " + text + " at position " + to_string(where) + " is out of range: axis 0 of x has " +
         std::to_string(rows) + " elements" +
         (rows ? ". Give " + std::to_string(-rows) + " to " + std::to_string(rows - 1) : std::string()) + ".");
  return -1;
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &index = c.in(1), &out = c.out(0);
  int rest = x.n_dims - 1;
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk j(index); j.more(); j.next()) {
      int64_t row = row_of(c, index, j.index, x.shape[0]);
      if (row < 0) return;
      int64_t to = 0;
      for (int i = 0; i < index.n_dims; ++i) to += j.index[i] * out.strides[i];
      for (Walk w(x.shape + 1, rest); w.more(); w.next()) {
        int64_t from = row * x.strides[0], at = to;
        for (int i = 0; i < rest; ++i) {
          from += w.index[i] * x.strides[i + 1];
          at += w.index[i] * out.strides[index.n_dims + i];
        }
        store<Acc>(out, at, load<Acc>(x, from));
      }
    }
  });
}
}  // namespace oarlock::op::gather_
