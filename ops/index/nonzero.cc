#include "core/op/opdef.h"
namespace oarlock::op::nonzero_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "nonzero",
    .summary = "The places of the elements that are not 0 (NaN is not), a row for each, in row-major order.",
    .source = "ONNX operator set 13, NonZero, transposed",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "i64[?N, #S]"}},
    .types = {{"T", kAny}},
    .no_gradient = "its results are places",
    .reference = reference,
    .cases = {{"a matrix", "S=2x3", "", "x: 0 1 0 nan"},
              {"a scalar", "S=", "", "x: 1"},
              {"nothing", "S=0x3"},
              {"all zero", "S=3", "", "x: 0"}},
});
}  // namespace oarlock::op::nonzero_

#include "rules.h"
namespace oarlock::op::nonzero_ {
static void reference(KernelCall& c) {
  const oar_view_t& x = c.in(0);
  int64_t n = 0;
  auto is = [&](const Walk& w) {
    int64_t at = offset(x, w.index, x.n_dims);
    return set_of(dtype(x)) & kFloat ? load<double>(x, at) != 0 : load<int64_t>(x, at) != 0;
  };
  for (Walk w(x); w.more(); w.next()) n += is(w);
  const oar_view_t* out = c.allocate(0, {n, x.n_dims});
  if (!out) return;
  int64_t row = 0;
  for (Walk w(x); w.more(); w.next()) {
    if (!is(w)) continue;
    for (int i = 0; i < x.n_dims; ++i) store<int64_t>(*out, row * out->strides[0] + i * out->strides[1], w.index[i]);
    ++row;
  }
}
}  // namespace oarlock::op::nonzero_
