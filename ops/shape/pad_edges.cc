#include "core/op/opdef.h"
namespace oarlock::op::pad_edges_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "pad_edges",
    .summary = "x with its own elements around it: reflect mirrors them without repeating the edge (again and again, "
               "where there is more to fill), replicate repeats the edge, circular goes on at the other end.",
    .source = "numpy.pad, modes reflect, edge and wrap; ONNX operator set 19, Pad",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dims("before"), dims("after"), choice("mode", "reflect|replicate|circular")},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"mirrored", "S=2x4", "before=1,3 after=0,2"},
              {"mirrored again and again", "S=3", "before=7 after=8"},
              {"of one", "S=1", "before=2 after=1"},
              {"replicated", "S=2x3", "before=1,2 after=2,0 mode=replicate"},
              {"circular, more than once", "S=3", "before=4 after=7 mode=circular"},
              {"nothing", "S=0x2", "before=0,1 after=0,1"}},
});
}  // namespace oarlock::op::pad_edges_

#include "rules.h"
namespace oarlock::op::pad_edges_ {
// The place in 0..n-1 that stands for place i of an endless axis.
static int64_t source_of(int64_t i, int64_t n, char mode) {
  if (mode == 'p') return std::clamp<int64_t>(i, 0, n - 1);
  int64_t period = mode == 'c' ? n : std::max<int64_t>(2 * (n - 1), 1), at = i % period;
  if (at < 0) at += period;
  return at < n ? at : period - at;
}
static void infer(InferCall& c) {
  const Shape& x = *c.in[0];
  for (int i = 0; i < 2; ++i)
    if (int(c.attrs[i].count) != x.rank)
      return void(c.fail(std::string(c.def.attributes[i].name) + " has " + std::to_string(c.attrs[i].count) +
                         " entries, " + c.input_text(0) + ". Give " + std::to_string(x.rank)));
  Shape& out = c.open(0);
  for (int i = 0; i < x.rank; ++i) {
    Dim before = c.attrs.dims(0)[size_t(i)], after = c.attrs.dims(1)[size_t(i)];
    if (before.n == kRest || after.n == kRest) return void(c.fail("before or after is negative. Use slice to cut off"));
    if (!x[i].known() || !before.known() || !after.known())
      return void(c.fail("axis " + std::to_string(i) + " is not known yet: " + c.input_text(0)));
    if (x[i].n == 0 && before.n + after.n > 0)
      return void(c.fail("axis " + std::to_string(i) + " has no element to repeat: " + c.input_text(0)));
    out.push(before + x[i] + after);
  }
}
static void decompose(RuleCall& c) {
  Tensor x = c.in(0);
  std::string_view name = c.attrs.text(2);
  char mode = name == "replicate" ? 'p' : name == "circular" ? 'c' : 'r';
  for (int axis = 0; axis < x.rank(); ++axis) {
    int64_t before = c.attrs.dims(0)[size_t(axis)].n, after = c.attrs.dims(1)[size_t(axis)].n, n = x.shape()(axis);
    if (before + after == 0) continue;
    std::vector<int64_t> places;
    for (int64_t i = -before; i < n + after; ++i) places.push_back(source_of(i, n, mode));
    x = take(x, Tensor::from_host(places.data(), {int64_t(places.size())}, DType::i64, x.device()), axis);
  }
  c.set(0, x.impl() == c.in(0).impl() ? copy(x) : x);
}
}  // namespace oarlock::op::pad_edges_
