#include "core/op/opdef.h"
namespace oarlock::op::embedding_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "embedding",
    .summary =
        "Rows of weight by their numbers, as gather. The row padding_index is read as zeros and gets no gradient; "
        "-1 is the last, none is no such row.",
    .source = "paddle.nn.functional.embedding",
    .inputs = {{"index", "I[*J]", constant, "-V..V-1"}, {"weight", "[V, *R]"}},
    .outputs = {{"out", "[*J, *R]"}},
    .types = {{"T", kAny}, {"I", kInt}},
    .attributes = {integer("padding_index").or_none()},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"index"}},
    .decompose = decompose,
    .cases = {{"a batch", "J=2x4 V=5 R=3", "padding_index=none"},
              {"padded", "J=6 V=3 R=2", "padding_index=-1", "index: 0..2"},
              {"no indices", "J=0 V=3 R=2"},
              {"none of nothing", "J=0 V=0 R=2", "padding_index=none"}},
});
}  // namespace oarlock::op::embedding_

#include "rules.h"
namespace oarlock::op::embedding_ {
static void infer(InferCall& c) {
  if (c.attrs.none(0)) return;
  int64_t p = c.attrs.integer(0);
  Dim rows = c.in[1]->d[0];
  if (rows.known() && (p >= rows.n || p < -rows.n))
    c.fail("padding_index " + std::to_string(p) + " is none of the rows: " + c.input_text(1) +
           " (V=" + to_string(rows) + ")");
}
// rows [*J, *R] with zeros where index [*J] is the padding's.
static Tensor without_padding(const Tensor& rows, const Tensor& index, Dim size, int64_t padding) {
  Tensor i = as(index, DType::i64), n = number(size, i), p = number(double(padding), i);
  if (padding < 0) p = add(n, p);
  Tensor hit = equal(where(less(i, number(0, i)), add(i, n), i), p);
  return where(with_axes_behind(hit, rows.rank() - hit.rank()), number(0, rows), rows);
}
static void gradient(GradientCall& c) {
  if (!c.wants(1)) return;
  const Tensor& w = c.in(1);
  Tensor d = c.attrs.none(0) ? c.dout(0) : without_padding(c.dout(0), c.in(0), w.shape()[0], c.attrs.integer(0));
  c.set(1, scatter_add(zeros_like(w), c.in(0), d));
}
static void decompose(RuleCall& c) {
  Tensor rows = gather(c.in(1), c.in(0));
  c.set(0, c.attrs.none(0) ? rows : without_padding(rows, c.in(0), c.in(1).shape()[0], c.attrs.integer(0)));
}
}  // namespace oarlock::op::embedding_
