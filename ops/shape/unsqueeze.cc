#include "core/op/opdef.h"
namespace oarlock::op::unsqueeze_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "unsqueeze",
    .summary = "x with new axes of size 1; axes say where they are in the result, negative ones from its end. The "
               "result shares x's "
               "elements.",
    .source = "ONNX operator set 13, Unsqueeze; Array API standard 2023.12, expand_dims",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {integers("axes")},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"first and last", "S=3", "axes=0,-1"}, {"of a scalar", "S=", "axes=0"}},
});
}  // namespace oarlock::op::unsqueeze_

#include "rules.h"
namespace oarlock::op::unsqueeze_ {
static Shape result(const Shape& x, std::span<const int64_t> axes, std::string& out_error) {
  int rank = x.rank + int(axes.size());
  uint32_t added = 0;
  Shape out;
  if (rank > kMaxRank) return out_error = "the result has more than " + std::to_string(kMaxRank) + " axes", out;
  for (int64_t a : axes) {
    int64_t at = a < 0 ? a + rank : a;
    if (at < 0 || at >= rank || (added >> at & 1))
      return out_error = "axes holds " + std::to_string(a) + ", but the result has rank " + std::to_string(rank) +
                         ". Give each new axis once, from " + std::to_string(-rank) + " to " + std::to_string(rank - 1),
             out;
    added |= 1u << at;
  }
  for (int i = 0, k = 0; i < rank; ++i) out.push(added >> i & 1 ? Dim(1) : x[k++]);
  return out;
}
static void infer(InferCall& c) {
  std::string error;
  Shape out = result(*c.in[0], c.attrs.integers(0), error);
  if (!error.empty()) return void(c.fail(error));
  c.open(0) = out;
}
static void decompose(RuleCall& c) {
  std::string error;
  c.set(0, reshape(c.in(0), result(c.in(0).shape(), c.attrs.integers(0), error)));
}
}  // namespace oarlock::op::unsqueeze_
