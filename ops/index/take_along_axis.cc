#include "core/op/opdef.h"
namespace oarlock::op::take_along_axis_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "take_along_axis",
    .summary = "Elements of x along an axis, as many as index has: out[i, j, k] is x[i, index[i, j, k], k] for axis 1. "
               "index is not longer than x on the other axes; negative indices count from the end, and one out of "
               "range is an error.",
    .source = "numpy.take_along_axis; ONNX operator set 13, GatherElements; torch.gather for the sizes",
    .inputs = {{"x", "[*S]"}, {"index", "I[*J]", constant, "-S[axis]..S[axis]-1"}},
    .outputs = {{"out", "[*J]"}},
    .types = {{"T", kAny | kStorage}, {"I", kInt}},
    .attributes = {axis("axis", -1)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"index"}},
    .reference = reference,
    .cases = {{"the last", "S=4x2 J=1x2", "axis=0", "index: -1"},
              {"more than there are", "S=2 J=24", "axis=0"},
              {"fewer on the other axis", "S=3x5 J=2x7", "axis=1"},
              {"none", "S=0x2 J=0x2", "axis=0"}},
});
}  // namespace oarlock::op::take_along_axis_

#include "rules.h"
#include "places.h"
namespace oarlock::op::take_along_axis_ {
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &index = *c.in[1];
  if (x.rank != index.rank) return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1)));
  for (int i = 0; i < x.rank; ++i)
    if (i != c.attrs.integer(0) && x[i].known() && index[i].known() && index[i].n > x[i].n)
      return void(c.fail("axis " + std::to_string(i) + " disagrees: " + c.input_text(0) + ", " + c.input_text(1) +
                         ". On other axes than " + std::to_string(c.attrs.integer(0)) + " index is not longer than x"));
}
static void gradient(GradientCall& c) {
  c.set(0, put_along_axis(zeros_like(c.in(0)), c.in(1), c.dout(0), c.attrs.integer(0), "add"));
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &index = c.in(1), &out = c.out(0);
  int axis = int(c.attrs.integer(0));
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(index); w.more(); w.next()) {
      int64_t at = place(c, "take_along_axis", w.index, axis), from = 0;
      if (at < 0) return;
      for (int i = 0; i < x.n_dims; ++i) from += (i == axis ? at : w.index[i]) * x.strides[i];
      store<Acc>(out, offset(out, w.index, out.n_dims), load<Acc>(x, from));
    }
  });
}
}  // namespace oarlock::op::take_along_axis_
