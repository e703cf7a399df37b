// Windows as views, and products over them: what the decompositions of convolutions and poolings are made of.
#include "rules.h"
#include "window.h"

namespace oarlock::op {

WindowPlan::WindowPlan(const Attrs& a, WindowLists at, std::span<const Dim> sizes) : axes(int(sizes.size())) {
  for (int i = 0; i < axes; ++i) {
    axis[i] = window_axis(a, at, i, axes);
    kernel[i] = sizes[size_t(i)];
  }
}

Tensor unfolded(const Tensor& x, const WindowPlan& plan, double fill, std::span<const Dim> count) {
  Shape before{0, 0}, after{0, 0};
  bool pads = false;
  for (int i = 0; i < plan.axes; ++i) {
    const WindowAxis& w = plan.axis[i];
    Dim have = x.shape()[i + 2] + w.before + w.after, end = w.after;
    if (!count.empty()) {  // to the end of the last window
      Dim reach = (count[size_t(i)] - 1) * w.stride + (plan.kernel[i] - 1) * w.dilation + 1;
      if (reach.known() && have.known() && reach.n > have.n) end = end + (reach - have);
    }
    before.push(w.before);
    after.push(end);
    pads |= w.before != 0 || !(end == 0);
  }
  Tensor out = pads ? pad(x, before, after, {}, fill) : x;
  for (int i = 0; i < plan.axes; ++i)
    out = windows(out, plan.kernel[i], i + 2, plan.axis[i].stride, plan.axis[i].dilation);
  if (count.empty()) return out;
  Shape kept = out.shape(), starts;
  for (int i = 0; i < kept.rank; ++i) starts.push(0);
  for (int i = 0; i < plan.axes; ++i) kept.d[i + 2] = count[size_t(i)];
  return kept == out.shape() ? out : slice(out, starts, kept);
}

Tensor window_rows(const Tensor& x, int axes, int64_t groups) {
  const Shape s = x.shape();
  Dim channels = s[1] / groups, places = s[0], row = channels;
  Shape split{s[0], groups, channels};
  split.push(s.d + 2, s.rank - 2);
  int64_t order[kMaxRank] = {1, 0};
  int n = 2;
  for (int i = 0; i < axes; ++i) {
    order[n++] = 3 + i;
    places = places * s[2 + i];
  }
  order[n++] = 2;
  for (int i = 0; i < axes; ++i) {
    order[n++] = 3 + axes + i;
    row = row * s[2 + axes + i];
  }
  return reshape(permute(reshape(x, split), std::span<const int64_t>(order, size_t(n))), {groups, places, row});
}

Tensor rows_to_images(const Tensor& rows, Dim images, std::span<const Dim> places) {
  Shape split{rows.shape()[0], images}, out{images, rows.shape()[0] * rows.shape()[2]};
  int64_t order[kMaxRank] = {1, 0, int64_t(places.size()) + 2};
  for (size_t i = 0; i < places.size(); ++i) {
    split.push(places[i]);
    out.push(places[i]);
    order[i + 3] = int64_t(i) + 2;
  }
  split.push(rows.shape()[2]);
  return reshape(permute(reshape(rows, split), std::span<const int64_t>(order, places.size() + 3)), out);
}

Tensor window_counts(std::span<const Dim> size, const WindowPlan& plan, bool padding, std::span<const Dim> count,
                     DType t) {
  Shape image{1, 1}, before{0, 0}, after{0, 0}, places;
  for (int i = 0; i < plan.axes; ++i) {
    image.push(size[size_t(i)]);
    before.push(plan.axis[i].before);
    after.push(plan.axis[i].after);
  }
  Tensor ones = full(image, 1, t);
  WindowPlan inner = plan;
  if (padding) {
    ones = pad(ones, before, after, {}, 1);
    for (int i = 0; i < plan.axes; ++i) inner.axis[i].before = inner.axis[i].after = 0;
  }
  Tensor all = unfolded(ones, inner, 0, count);
  int64_t taps[kMaxRank];
  for (int i = 0; i < plan.axes; ++i) {
    taps[i] = 2 + plan.axes + i;
    places.push(count[size_t(i)]);
  }
  if (plan.axes) all = sum(all, std::span<const int64_t>(taps, size_t(plan.axes)));
  return maximum(reshape(all, places), full({}, 1, t));
}

}  // namespace oarlock::op
