#include <oarlock/nn/padding.h>

#include <oarlock/base/ops.h>

#include "api/src/nn/made.h"
#include "api/src/nn/tuple.h"

namespace oarlock::nn {
Tensor pad_axes(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                const std::string& mode, double value, const std::string& who) {
  int first = x.rank() - int(before.size());
  if (first < 0)
    throw Error(Code::invalid_argument, who + ": x has shape " + to_string(x.shape()) + ", padding is for " +
                                            std::to_string(before.size()) + " axes.");
  Shape b, a;
  for (int i = 0; i < x.rank(); ++i) {
    b.push(i < first ? 0 : before[size_t(i - first)]);
    a.push(i < first ? 0 : after[size_t(i - first)]);
  }
  return mode == "constant" ? pad(x, b, a, {}, value) : pad_edges(x, b, a, mode);
}

static void check_mode(const std::string& who, const std::string& mode) {
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    throw Error(Code::invalid_argument,
                who + ": mode is \"" + mode + "\"; there are constant, reflect, replicate and circular.");
}
PadLayer::PadLayer(int axes, const char* name, const Sizes& padding, std::string mode, double value)
    : axes_(axes), name_(name), mode_(std::move(mode)), value_(value) {
  check_mode(name_, mode_);
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
