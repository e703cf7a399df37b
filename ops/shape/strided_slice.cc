#include "core/op/opdef.h"
namespace oarlock::op::strided_slice_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "strided_slice",
    .summary = "x[start:end:step] of each axis as Python has it: negative starts and ends count from the end, what is "
               "outside is cut "
               "off, and an end of -2^63 with a negative step goes through the first element.",
    .source = "ONNX operator set 13, Slice",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {integers("starts"), integers("ends"), axes("axes").or_none(), integers("steps", 1)},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"end beyond, backwards", "S=5", "starts=-1 ends=2147483647 axes=0 steps=-1"},
              {"the whole backwards", "S=5", "starts=-1 ends=-9223372036854775808 axes=0 steps=-1"},
              {"a step against the range", "S=10", "starts=0 ends=5 axes=0 steps=-1"},
              {"one of two axes", "S=4x5", "starts=-3 ends=-1 axes=-1"}},
});
}  // namespace oarlock::op::strided_slice_

#include "rules.h"
namespace oarlock::op::strided_slice_ {
struct Range {
  Dim start = 0, size = 0;
};
static Range range_of(Dim n, int64_t start, int64_t end, int64_t step) {
  if (!n.known()) {  // what does not depend on the number
    if (start == 0 && step == 1 && end == INT64_MAX) return {0, n};
    return {Dim(kRest), Dim(kRest)};
  }
  int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n.n - 1 : n.n;
  auto place = [&](int64_t i) { return std::clamp(i < 0 ? i + n.n : i, low, high); };
  int64_t from = place(start), to = place(end);
  uint64_t width = step < 0 ? -uint64_t(step) : uint64_t(step);
  int64_t distance = step < 0 ? from - to : to - from;
  if (distance <= 0) return {0, 0};
  return {from, int64_t((uint64_t(distance) + width - 1) / width)};
}
static void infer(InferCall& c) {
  auto starts = c.attrs.integers(0), ends = c.attrs.integers(1), axes = c.attrs.integers(2);
  auto steps = c.attrs.integers(3);
  for (auto [name, n] : {std::pair("starts", starts.size()), std::pair("ends", ends.size())})
    if (n != axes.size())
      return void(c.fail(std::string(name) + " has " + std::to_string(n) + " entries, axes " +
                         std::to_string(axes.size()) + ". Give as many"));
  if (steps.size() != 1 && steps.size() != axes.size())
    return void(
        c.fail("steps has " + std::to_string(steps.size()) + " entries. Give 1 or " + std::to_string(axes.size())));
  Shape& out = c.open(0);
  out = *c.in[0];
  for (size_t i = 0; i < axes.size(); ++i) {
    if (c.attrs.at(3, int(i), 1) == 0) return void(c.fail("steps are 0. Give steps that are not 0"));
    Dim& d = out.d[axes[i]];
    Range r = range_of(d, starts[i], ends[i], c.attrs.at(3, int(i), 1));
    if (r.size.n == kRest)
      return void(c.fail("axis " + std::to_string(axes[i]) + " is not known yet: " + c.input_text(0) +
                         ". Use slice with sizes"));
    d = r.size;
  }
}
static void decompose(RuleCall& c) {
  const Shape& in = c.in(0).shape();
  auto axes = c.attrs.integers(2);
  Shape starts, sizes = in;
  int64_t steps[kMaxRank];
  for (int i = 0; i < in.rank; ++i) {
    starts.push(0);
    steps[i] = 1;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t a = axes[i], step = c.attrs.at(3, int(i), 1);
    Range r = range_of(in[int(a)], c.attrs.integers(0)[i], c.attrs.integers(1)[i], step);
    starts.d[a] = r.start;
    sizes.d[a] = r.size;
    steps[a] = r.size.n == 0 ? 1 : step;
  }
  c.set(0, slice(c.in(0), starts, sizes, std::span<const int64_t>(steps, size_t(in.rank))));
}
}  // namespace oarlock::op::strided_slice_
