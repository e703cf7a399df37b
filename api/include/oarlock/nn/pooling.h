// Pooling over the axes behind [N, C]; without N as well.
//
// stride: kernel_size unless given. ceil_mode: a last window may reach over the end, unless it would start in the padding.
#pragma once
#include <optional>

#include <oarlock/nn/layer.h>
#include <oarlock/nn/sizes.h>

namespace oarlock::nn {

struct PoolOptions {
  std::optional<Sizes> stride{};
  Padding padding = 0;
  bool ceil_mode = false;
  bool exclusive = true;  // of averages: padding does not count
  Sizes dilation = 1;
};
class OAR_EXPORT Pool : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 protected:
  Pool(int axes, const char* name, bool average, const Sizes& kernel, const PoolOptions& options);

 private:
  int axes_;
  const char* name_;
  bool average_;
  PoolOptions options_;
  std::vector<int64_t> kernel_, stride_, padding_, dilation_;
};
#define OAR_POOL(name, axes, average)                                                                                \
  class OAR_EXPORT name : public Pool {                                                                              \
   public:                                                                                                           \
    explicit name(Sizes kernel_size, PoolOptions options = {}) : Pool(axes, #name, average, kernel_size, options) {} \
    std::string type_name() const override { return #name; }                                                         \
  };
OAR_POOL(MaxPool1D, 1, false)
OAR_POOL(MaxPool2D, 2, false)
OAR_POOL(MaxPool3D, 3, false)
OAR_POOL(AvgPool1D, 1, true)
OAR_POOL(AvgPool2D, 2, true)
OAR_POOL(AvgPool3D, 3, true)
#undef OAR_POOL

// To output_size elements, whatever the size of x: output i is over elements floor(i n / out) to ceil((i + 1) n / out) - 1. A
// size of -1 stays as it is.
class OAR_EXPORT AdaptivePool : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 protected:
  AdaptivePool(int axes, const char* name, bool average, const Sizes& output);

 private:
  int axes_;
  const char* name_;
  bool average_;
  std::vector<int64_t> output_;
};
#define OAR_POOL(name, axes, average)                                                     \
  class OAR_EXPORT name : public AdaptivePool {                                           \
   public:                                                                                \
    explicit name(Sizes output_size) : AdaptivePool(axes, #name, average, output_size) {} \
    std::string type_name() const override { return #name; }                              \
  };
OAR_POOL(AdaptiveAvgPool1D, 1, true)
OAR_POOL(AdaptiveAvgPool2D, 2, true)
OAR_POOL(AdaptiveAvgPool3D, 3, true)
OAR_POOL(AdaptiveMaxPool1D, 1, false)
OAR_POOL(AdaptiveMaxPool2D, 2, false)
OAR_POOL(AdaptiveMaxPool3D, 3, false)
#undef OAR_POOL

}  // namespace oarlock::nn
