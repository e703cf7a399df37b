#include "core/op/opdef.h"
namespace oarlock::op::slice_ {
static ViewRule view;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "slice",
    .summary = "sizes[i] elements of axis i from starts[i] on, every steps[i]-th; a negative step walks backwards. The "
               "result shares x's "
               "elements unless a step is negative.",
    .source = "ONNX operator set 13, Slice, with sizes in place of ends",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dims("starts"), dims("sizes"), integers("steps", 1)},
    .view = view,
    .gradient = gradient,
    .decompose = decompose,
    .cases = {{"inner block", "S=5x6", "starts=1,2 sizes=3,2"},
              {"every second", "S=7", "starts=1 sizes=3 steps=2"},
              {"backwards", "S=3x5", "starts=0,4 sizes=3,3 steps=1,-2"},
              {"nothing at the end", "S=5", "starts=5 sizes=0"}},
});
}  // namespace oarlock::op::slice_

#include "rules.h"
namespace oarlock::op::slice_ {
// Shape and checks on numbers and symbols; strides where there are any. A negative step is no view: strides are not negative.
static bool view(ViewCall& c) {
  auto starts = c.attrs.dims(0), sizes = c.attrs.dims(1);
  auto steps = c.attrs.integers(2);
  int rank = c.in.rank;
  for (auto [name, n] : {std::pair("starts", starts.size()), std::pair("sizes", sizes.size())})
    if (int(n) != rank)
      return c.fail(std::string(name) + " has " + std::to_string(n) + " entries, " + c.input_text() + ". Give " +
                    std::to_string(rank));
  if (steps.size() != 1 && int(steps.size()) != rank)
    return c.fail("steps has " + std::to_string(steps.size()) + " entries, " + c.input_text() + ". Give 1 or " +
                  std::to_string(rank));
  bool alias = true;
  for (int i = 0; i < rank; ++i) {
    Dim start = starts[size_t(i)], size = sizes[size_t(i)], n = c.in[i];
    int64_t step = c.attrs.at(2, i, 1);
    if (step == 0) return c.fail("steps are 0 at axis " + std::to_string(i) + ". Give a step that is not 0");
    if (start.n == kRest || size.n == kRest)
      return c.fail("starts or sizes are negative at axis " + std::to_string(i) + ". Count from the front");
    if (start.known() && size.known() && n.known()) {
      int64_t last = 0;
      bool over = size.n > 0
                      ? __builtin_mul_overflow(size.n - 1, step, &last) ||
                            __builtin_add_overflow(start.n, last, &last) || last < 0 || last >= n.n || start.n >= n.n
                      : start.n > n.n;
      if (over)
        return c.fail("axis " + std::to_string(i) + " has " + to_string(n) +
                      " elements, but starts=" + to_string(start) + ", sizes=" + to_string(size) +
                      ", steps=" + std::to_string(step) + ": " + c.input_text() + ". Stay inside it");
    }
    alias &= step > 0 || size.n == 0 || size.n == 1;
    c.out.push(size);
    if (c.in_strides) {
      c.out_strides[i] = step > 0 ? c.in_strides[i] * step : c.in_strides[i];
      if (size.n > 0) c.out_offset += start.n * c.in_strides[i];
    }
  }
  if (c.in_strides)
    for (Dim d : c.out)
      if (d.n == 0) c.out_offset = 0;  // of no elements
  return alias;
}
// x with axes `axis` and 0 swapped.
static Tensor swapped(const Tensor& x, int axis) {
  int64_t axes[kMaxRank];
  for (int i = 0; i < x.rank(); ++i) axes[i] = i == 0 ? axis : i == axis ? 0 : i;
  return permute(x, std::span<const int64_t>(axes, size_t(x.rank())));
}
static void decompose(RuleCall& c) {  // axis by axis; never in terms of slice
  Tensor x = c.in(0);
  const Shape in = x.shape();
  for (int i = 0; i < in.rank; ++i) {
    Dim start = c.attrs.dims(0)[size_t(i)], size = c.attrs.dims(1)[size_t(i)];
    int64_t step = c.attrs.at(2, i, 1);
    if (start.n == 0 && size == in[i] && (step == 1 || size.n == 1)) continue;
    Tensor index = arange(size);
    index = add(multiply(index, number(double(step), index)), number(start, index));
    x = swapped(gather(swapped(x, i), index), i);
  }
  c.set(0, x.impl() == c.in(0).impl() ? copy(x) : std::move(x));
}
static void gradient(GradientCall& c) {  // zeros around and between
  const Shape& in = c.in(0).shape();
  auto starts = c.attrs.dims(0), sizes = c.attrs.dims(1);
  Shape before, after, from;
  int64_t between[kMaxRank], turn[kMaxRank];
  bool backwards = false;
  for (int i = 0; i < in.rank; ++i) {
    int64_t step = c.attrs.at(2, i, 1), width = step < 0 ? -step : step;
    Dim start = starts[size_t(i)], size = sizes[size_t(i)], span = size.n == 0 ? Dim(0) : (size - 1) * width;
    turn[i] = step < 0 ? -1 : 1;
    between[i] = width - 1;
    backwards |= step < 0;
    from.push(step < 0 && size.n != 0 ? size - 1 : Dim(0));
    before.push(step < 0 ? start - span : start);
    after.push(size.n == 0 ? in[i] - start : in[i] - (step < 0 ? start + 1 : start + span + 1));
  }
  Tensor d = c.dout(0);
  size_t n = size_t(in.rank);
  if (backwards) d = slice(d, from, d.shape(), std::span<const int64_t>(turn, n));
  c.set(0, pad(d, before, after, std::span<const int64_t>(between, n)));
}
}  // namespace oarlock::op::slice_
