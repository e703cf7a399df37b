#include "core/op/opdef.h"
namespace oarlock::op::concat_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "concat",
    .summary = "The operands one after another along an axis; their other sizes agree.",
    .source = "Array API standard 2023.12, concat",
    .inputs = {{"xs", "[*_]", variadic}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage, promotes}},
    .attributes = {axis("axis", 0)},
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .cases = {{"an empty one", "xs=0|2"},
              {"along the last axis", "xs=2x1|2x3|2x0", "axis=-1"},
              {"one alone", "xs=2x3", "axis=1"}},
});
}  // namespace oarlock::op::concat_

#include "rules.h"
namespace oarlock::op::concat_ {
static void infer(InferCall& c) {
  if (!c.count) return void(c.fail("it has no operands. Give at least one"));
  int axis = int(c.attrs.integer(0));
  Shape& out = c.open(0);
  out = *c.in[0];
  for (int j = 1; j < c.count; ++j) {
    const Shape& s = *c.in[j];
    auto both = [&] { return c.input_text(0) + ", operand " + std::to_string(j) + " is " + to_string(s); };
    if (s.rank != out.rank) return void(c.fail("rank disagrees: " + both()));
    for (int i = 0; i < s.rank; ++i) {
      if (i == axis) {
        out.d[i] = out.d[i] + s[i];
        continue;
      }
      if (out[i].known() && s[i].known() && out[i] != s[i])
        return void(c.fail("axis " + std::to_string(i) + " disagrees: " + both() + ". Only axis " +
                           std::to_string(axis) + " may differ"));
      c.agree(out[i], s[i], "axis " + std::to_string(i), j, 0);
      if (s[i].known()) out.d[i] = s[i];
    }
  }
}
static void gradient(GradientCall& c) {
  int axis = int(c.attrs.integer(0));
  Shape starts;
  for (int i = 0; i < c.dout(0).rank(); ++i) starts.push(0);
  for (int j = 0; j < c.count(); ++j) {
    const Shape& s = c.in(j).shape();
    if (c.wants(j)) c.set(j, slice(c.dout(0), starts, s));
    starts.d[axis] = starts.d[axis] + s[axis];
  }
}
static void reference(KernelCall& c) {
  const oar_view_t& out = c.out(0);
  int axis = int(c.attrs.integer(0));
  int64_t at = 0;
  for (int j = 0; j < c.count(); ++j) {
    const oar_view_t& x = c.in(j);
    with_accumulator(dtype(out), [&](auto acc) {
      using Acc = decltype(acc);
      for (Walk w(x); w.more(); w.next()) {
        int64_t from = 0, to = at * out.strides[axis];
        for (int i = 0; i < x.n_dims; ++i) {
          from += w.index[i] * x.strides[i];
          to += w.index[i] * out.strides[i];
        }
        store<Acc>(out, to, load<Acc>(x, from));
      }
    });
    at += x.shape[axis];
  }
}
}  // namespace oarlock::op::concat_
