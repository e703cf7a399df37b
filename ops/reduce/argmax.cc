#include "core/op/opdef.h"
namespace oarlock::op::argmax_ {
static InferRule infer;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "argmax",
    .summary = "The place of the greatest element along an axis, or of all in row-major order; the first NaN, if one "
               "is there, else the first of equals. Over nothing: an error.",
    .source = "Array API standard 2023.12, argmax; numpy.argmax for NaN",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "i64[*R]"}},
    .types = {{"T", kNumeric}},
    .attributes = {axis("axis").or_none(), flag("keepdims", false)},
    .infer = infer,
    .no_gradient = "its result is a place",
    .reference = reference,
    .cases = {{"nan wins", "S=6", "axis=0", "x: 1 nan 3 inf nan 2"},
              {"the first of equals", "S=2x5", "axis=1 keepdims=true", "x: 1 3 3 2 3"},
              {"of all", "S=2x3", "axis=none", "x: 0 1 2 5 4 5"},
              {"of many", "S=2x0x3", "axis=2"}},
});
}  // namespace oarlock::op::argmax_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::argmax_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  Shape& out = c.open(0);
  for (int i = 0; i < x.rank; ++i) {
    bool over = c.attrs.none(0) || c.attrs.integer(0) == i;
    if (over && x[i].n == 0)
      return void(c.fail("there is none: " + c.input_text(0) + ", axis " + std::to_string(i) + ". Give elements"));
    if (!over) out.push(x[i]);
    else if (c.attrs.flag(1)) out.push(1);
  }
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    Acc best{};
    int64_t place = 0;
    auto see = [&](int64_t i, Acc v) {
      if (i && !before(best, v)) return;
      best = v;
      place = i;
    };
    if (c.attrs.none(0)) {
      int64_t i = 0;
      for (Walk w(x); w.more(); w.next()) see(i++, load<Acc>(x, offset(x, w.index, x.n_dims)));
      return store<int64_t>(out, 0, place);
    }
    int axis = int(c.attrs.integer(0));
    bool kept = out.n_dims == x.n_dims;
    each_lane(x, axis, [&](const int64_t* index) {
      int64_t from = offset(x, index, x.n_dims), to = 0;
      for (int i = 0; i < x.n_dims; ++i)
        if (i != axis) to += index[i] * out.strides[i - (!kept && i > axis)];
      for (int64_t i = 0; i < x.shape[axis]; ++i) see(i, load<Acc>(x, from + i * x.strides[axis]));
      store<int64_t>(out, to, place);
    });
  });
}
}  // namespace oarlock::op::argmax_
