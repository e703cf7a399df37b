#include "core/op/opdef.h"
namespace oarlock::op::pad_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "pad",
    .summary = "x with value around it, before and after each axis, and between its elements.",
    .source = "ONNX operator set 13, Pad, mode constant; StableHLO, pad, for the padding between",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dims("before"), dims("after"), integers("between", 0).at_least(0), real("value", 0)},
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .cases = {{"with a value", "S=2x3", "before=1,0 after=0,2 value=7"},
              {"between", "S=4", "before=0 after=1 between=2"},
              {"around nothing", "S=0x2", "before=1,1 after=2,0 between=3"}},
});
}  // namespace oarlock::op::pad_

#include "rules.h"
namespace oarlock::op::pad_ {
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  for (int i = 0; i < 3; ++i) {
    size_t n = c.attrs[i].count;
    if (int(n) == x.rank || (i == 2 && n == 1)) continue;
    return void(c.fail(std::string(c.def.attributes[i].name) + " has " + std::to_string(n) + " entries, " +
                       c.input_text(0) + ". Give " + std::to_string(x.rank)));
  }
  Shape& out = c.open(0);
  for (int i = 0; i < x.rank; ++i) {
    Dim before = c.attrs.dims(0)[size_t(i)], after = c.attrs.dims(1)[size_t(i)];
    if (before.n == kRest || after.n == kRest) return void(c.fail("before or after is negative. Use slice to cut off"));
    Dim inner = x[i].n == 0 ? Dim(0) : x[i] + (x[i] - 1) * c.attrs.at(2, i, 0);
    out.push(before + inner + after);
  }
}
static void gradient(GradientCall& c) {
  const Shape& in = c.in(0).shape();
  Shape starts;
  starts.push(c.attrs.dims(0).data(), in.rank);
  int64_t steps[kMaxRank];
  for (int i = 0; i < in.rank; ++i) steps[i] = c.attrs.at(2, i, 0) + 1;
  c.set(0, slice(c.dout(0), starts, in, std::span<const int64_t>(steps, size_t(in.rank))));
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  for (Walk w(out); w.more(); w.next()) store<double>(out, offset(out, w.index, out.n_dims), c.attrs.real(3));
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(x); w.more(); w.next()) {
      int64_t from = 0, to = 0;
      for (int i = 0; i < x.n_dims; ++i) {
        from += w.index[i] * x.strides[i];
        to += (c.attrs.dims(0)[size_t(i)].n + w.index[i] * (c.attrs.at(2, i, 0) + 1)) * out.strides[i];
      }
      store<Acc>(out, to, load<Acc>(x, from));
    }
  });
}
}  // namespace oarlock::op::pad_
