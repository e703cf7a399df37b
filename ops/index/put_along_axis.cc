#include "core/op/opdef.h"
namespace oarlock::op::put_along_axis_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "put_along_axis",
    .summary = "x with updates written to places along an axis: out[i, index[i, j, k], k] for axis 1. Updates that "
               "meet are all reduced; of assignments the last one stays. index is not longer than x on the other axes; "
               "negative indices count from the end, and one out of range is an error.",
    .source = "ONNX operator set 18, ScatterElements; numpy.put_along_axis",
    .inputs = {{"x", "[*S]"}, {"index", "I[*J]", constant, "-S[axis]..S[axis]-1"}, {"updates", "[*J]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kAny}, {"I", kInt}},
    .attributes = {axis("axis", -1), choice("reduction", "assign|add|multiply|maximum|minimum")},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"index"}, {"updates"}, {"out"}},
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"updates that meet", "S=3x2 J=4x2", "axis=0", "index: 1"},
              {"all meet, added", "S=2 J=24", "axis=0 reduction=add"},
              {"all meet, multiplied", "S=2 J=4", "axis=0 reduction=multiply"},
              {"nan stays", "S=2 J=4", "axis=0 reduction=maximum", "updates: 1 nan 2 3"},
              {"least", "S=2 J=4", "axis=0 reduction=minimum"},
              {"the last", "S=4 J=1", "axis=0", "index: -1"},
              {"nothing to write", "S=3 J=0", "axis=0"}},
});
}  // namespace oarlock::op::put_along_axis_

#include "rules.h"
#include "elementwise.h"
#include "places.h"
namespace oarlock::op::put_along_axis_ {
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &index = *c.in[1];
  if (x.rank != index.rank) return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1)));
  for (int i = 0; i < x.rank; ++i)
    if (i != c.attrs.integer(0) && x[i].known() && index[i].known() && index[i].n > x[i].n)
      return void(c.fail("axis " + std::to_string(i) + " disagrees: " + c.input_text(0) + ", " + c.input_text(1) +
                         ". On other axes than " + std::to_string(c.attrs.integer(0)) + " index is not longer than x"));
}
static void gradient(GradientCall& c) {
  int64_t axis = c.attrs.integer(0);
  scatter_gradient(
      c, reduction_code(c.attrs.text(1)), [&](const Tensor& t) { return take_along_axis(t, c.in(1), axis); },
      [&](const Tensor& t, const Tensor& u, std::string_view how) { return put_along_axis(t, c.in(1), u, axis, how); });
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &index = c.in(1), &updates = c.in(2);
  int axis = int(c.attrs.integer(0));
  char reduction = reduction_code(c.attrs.text(1));
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    std::vector<Acc> all = gathered<Acc>(x);
    for (Walk w(index); w.more(); w.next()) {
      int64_t at = place(c, "put_along_axis", w.index, axis), to = 0;
      if (at < 0) return;
      for (int i = 0; i < x.n_dims; ++i) to = to * x.shape[i] + (i == axis ? at : w.index[i]);
      Acc& old = all[size_t(to)];
      old = reduced(reduction, old, load<Acc>(updates, offset(updates, w.index, updates.n_dims)));
    }
    spread(all, c.out(0));
  });
}
}  // namespace oarlock::op::put_along_axis_
