#include <oarlock/nn/pooling.h>

#include "api/src/nn/tuple.h"

namespace oarlock::nn {

Pool::Pool(int axes, const char* name, bool average, const Sizes& kernel, const PoolOptions& o)
    : axes_(axes),
      name_(name),
      average_(average),
      options_(o),
      kernel_(kernel.of(axes, name, "kernel_size", 1)),
      stride_(o.stride ? o.stride->of(axes, name, "stride", 1) : kernel_),
      dilation_(o.dilation.of(axes, name, "dilation", 1)) {
  Padding::Ends ends = o.padding.ends(kernel_, stride_, dilation_, name);
  padding_ = ends.even() ? ends.begin : ends.all();
}
Tensor Pool::forward(const Tensor& x) {
  return batched(x, axes_, name_, [&](const Tensor& b) {
    return average_ ? avg_pool(b, kernel_, stride_, padding_, dilation_, options_.ceil_mode, !options_.exclusive)
                    : max_pool(b, kernel_, stride_, padding_, dilation_, options_.ceil_mode);
  });
}
std::string Pool::extra_repr() const {
  std::string s = "kernel_size=" + tuple(kernel_) + ", stride=" + tuple(stride_) + ", padding=" + tuple(padding_);
  if (!all_are(dilation_, 1)) s += ", dilation=" + tuple(dilation_);
  if (options_.ceil_mode) s += ", ceil_mode=True";
  if (average_ && !options_.exclusive) s += ", exclusive=False";
  return s;
}

AdaptivePool::AdaptivePool(int axes, const char* name, bool average, const Sizes& output)
    : axes_(axes), name_(name), average_(average), output_(output.of(axes, name, "output_size", -1)) {}

Tensor AdaptivePool::forward(const Tensor& x) {
  return batched(x, axes_, name_, [&](const Tensor& b) {
    Shape size;
    for (int i = 0; i < axes_; ++i) {
      int64_t to = output_[size_t(i)];
      size.push(to < 0 ? b.shape()[i + 2] : Dim(to));
    }
    return average_ ? adaptive_avg_pool(b, size) : adaptive_max_pool(b, size);
  });
}
std::string AdaptivePool::extra_repr() const { return "output_size=" + tuple(output_); }

}  // namespace oarlock::nn
