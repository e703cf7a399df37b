#include <oarlock/nn/padding.h>

#include <oarlock/base/ops.h>

#include "api/src/nn/made.h"
#include "api/src/nn/tuple.h"

namespace oarlock::nn {
namespace {

Tensor part(const Tensor& x, int axis, int64_t start, int64_t size, int64_t step = 1) {
  Shape starts, sizes = x.shape();
  std::vector<int64_t> steps(size_t(x.rank()), 1);
  for (int i = 0; i < x.rank(); ++i) starts.push(i == axis ? start : 0);
  sizes.d[axis] = size;
  steps[size_t(axis)] = step;
  return slice(x, starts, sizes, steps);
}
// The `n` elements that come before (or, at_end, after) axis.
Tensor border(const Tensor& x, int axis, int64_t n, bool at_end, const std::string& mode, const std::string& who) {
  int64_t size = x.size(axis);
  auto most = [&](int64_t limit) {
    if (n > limit)
      throw Error(Code::invalid_argument, who + ": padding is " + std::to_string(n) + " in mode " + mode +
                                              ", x has shape " + to_string(x.shape()) + ". At most " +
                                              std::to_string(std::max<int64_t>(limit, 0)) + " fit axis " +
                                              std::to_string(axis) + ".");
  };
  if (mode == "reflect") {
    most(size - 1);
    return part(x, axis, at_end ? size - 2 : n, n, -1);
  }
  if (mode == "circular") {
    most(size);
    return part(x, axis, at_end ? 0 : size - n, n);
  }
  if (size == 0) most(0);
  Shape wide = x.shape();
  wide.d[axis] = n;
  return expand(part(x, axis, at_end ? size - 1 : 0, 1), wide);
}

}  // namespace

Tensor pad_axes(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                const std::string& mode, double value, const std::string& who) {
  int first = x.rank() - int(before.size());
  if (first < 0)
    throw Error(Code::invalid_argument, who + ": x has shape " + to_string(x.shape()) + ", padding is for " +
                                            std::to_string(before.size()) + " axes.");
  if (mode == "constant") {
    Shape b, a;
    for (int i = 0; i < x.rank(); ++i) {
      b.push(i < first ? 0 : before[size_t(i - first)]);
      a.push(i < first ? 0 : after[size_t(i - first)]);
    }
    return pad(x, b, a, {}, value);
  }
  if (mode != "reflect" && mode != "replicate" && mode != "circular")
    throw Error(Code::invalid_argument,
                who + ": mode is \"" + mode + "\"; there are constant, reflect, replicate and circular.");
  Tensor out = x;
  for (int axis = first; axis < x.rank(); ++axis) {
    int64_t b = before[size_t(axis - first)], a = after[size_t(axis - first)];
    std::vector<Tensor> parts;
    if (b) parts.push_back(border(out, axis, b, false, mode, who));
    parts.push_back(out);
    if (a) parts.push_back(border(out, axis, a, true, mode, who));
    if (parts.size() > 1) out = concat(parts, axis);
  }
  return out;
}

PadLayer::PadLayer(int axes, const char* name, const Sizes& padding, std::string mode, double value)
    : axes_(axes), name_(name), mode_(std::move(mode)), value_(value) {
  std::vector<int64_t> each = padding.of(2 * axes, name, "padding", 0);
  for (int i = axes - 1; i >= 0; --i) {
    before_.push_back(each[size_t(2 * i)]);
    after_.push_back(each[size_t(2 * i + 1)]);
  }
}
Tensor PadLayer::forward(const Tensor& x) {
  return batched(x, axes_, name_.c_str(),
                 [&](const Tensor& b) { return pad_axes(b, before_, after_, mode_, value_, name_); });
}
std::string PadLayer::extra_repr() const {
  std::vector<int64_t> each;
  for (int i = axes_ - 1; i >= 0; --i) {
    each.push_back(before_[size_t(i)]);
    each.push_back(after_[size_t(i)]);
  }
  std::string text = "padding=" + tuple(each) + ", mode=" + mode_;
  return mode_ == "constant" ? text + ", value=" + number_text(value_) : text;
}

}  // namespace oarlock::nn
