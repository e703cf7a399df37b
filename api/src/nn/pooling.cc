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

// One axis at a time: means of means and maxima of maxima.
static Tensor along(const Tensor& x, int axis, int64_t out, bool average) {
  int64_t n = x.size(axis);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < out; ++i) {
    Shape starts, sizes = x.shape();
    for (int a = 0; a < x.rank(); ++a) starts.push(a == axis ? i * n / out : 0);
    sizes.d[axis] = ((i + 1) * n + out - 1) / out - i * n / out;
    Tensor window = slice(x, starts, sizes);
    parts.push_back(average ? mean(window, {axis}, true) : max(window, {axis}, true));
  }
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}
Tensor AdaptivePool::forward(const Tensor& x) {
  return batched(x, axes_, name_, [&](const Tensor& b) {
    std::vector<int64_t> out = output_, kernel, all;
    bool whole = true, one = true;
    for (int i = 0; i < axes_; ++i) {
      int64_t n = b.size(i + 2), &to = out[size_t(i)];
      if (to < 0) to = n;
      if (to == 0 || n == 0)
        throw Error(Code::invalid_argument, std::string(name_) + ": output_size is " + std::to_string(to) +
                                                ", x has shape " + oarlock::to_string(b.shape()) +
                                                ". Both have to be 1 or more.");
      whole &= n % to == 0;
      one &= to == 1;
      kernel.push_back(n / to);
      all.push_back(i + 2);
    }
    if (one) return average_ ? mean(b, all, true) : max(b, all, true);
    if (whole) return average_ ? avg_pool(b, kernel, kernel) : max_pool(b, kernel, kernel);
    Tensor y = b;
    for (int i = 0; i < axes_; ++i) y = along(y, i + 2, out[size_t(i)], average_);
    return y;
  });
}
std::string AdaptivePool::extra_repr() const { return "output_size=" + tuple(output_); }

}  // namespace oarlock::nn
