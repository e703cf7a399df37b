// Convolutions over one, two and three axes, and their transposes.
//
// x [N, in_channels, ...] -> [N, out_channels, ...]; without N as well. Weights as torch.nn keeps them:
// [out, in / groups, ...kernel], of a transposed one [in, out / groups, ...kernel]. Weight and bias start from
// U(-1/sqrt(fan), 1/sqrt(fan)) with fan = in / groups * kernel elements (transposed: out / groups * kernel elements).
#pragma once
#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>
#include <oarlock/nn/sizes.h>

namespace oarlock::nn {

struct ConvOptions {
  Sizes stride = 1;
  Padding padding = 0;
  Sizes dilation = 1;
  int64_t groups = 1;
  std::string padding_mode = "zeros";  // zeros, reflect, replicate, circular
  ParamAttr weight_attr{}, bias_attr{};
};
class OAR_EXPORT Conv : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  double multiply_adds(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const override;

  Tensor &weight, &bias;

 protected:
  Conv(int axes, const char* name, int64_t in, int64_t out, const Sizes& kernel, const ConvOptions& options);

 private:
  struct Plan;
  Conv(const char* name, Plan plan, const ConvOptions& options);
  std::shared_ptr<const Plan> plan_;
};
class OAR_EXPORT Conv1D : public Conv {
 public:
  Conv1D(int64_t in_channels, int64_t out_channels, Sizes kernel_size, ConvOptions options = {})
      : Conv(1, "Conv1D", in_channels, out_channels, kernel_size, options) {}
  std::string type_name() const override { return "Conv1D"; }
};
class OAR_EXPORT Conv2D : public Conv {
 public:
  Conv2D(int64_t in_channels, int64_t out_channels, Sizes kernel_size, ConvOptions options = {})
      : Conv(2, "Conv2D", in_channels, out_channels, kernel_size, options) {}
  std::string type_name() const override { return "Conv2D"; }
};
class OAR_EXPORT Conv3D : public Conv {
 public:
  Conv3D(int64_t in_channels, int64_t out_channels, Sizes kernel_size, ConvOptions options = {})
      : Conv(3, "Conv3D", in_channels, out_channels, kernel_size, options) {}
  std::string type_name() const override { return "Conv3D"; }
};

// Sizes come out as (n - 1) * stride - padding at both ends + dilation * (kernel - 1) + output_padding + 1.
struct ConvTransposeOptions {
  Sizes stride = 1;
  Padding padding = 0;
  Sizes output_padding = 0;  // less than stride or dilation
  int64_t groups = 1;
  Sizes dilation = 1;
  ParamAttr weight_attr{}, bias_attr{};
};
class OAR_EXPORT ConvTranspose : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  double multiply_adds(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const override;

  Tensor &weight, &bias;

 protected:
  ConvTranspose(int axes, const char* name, int64_t in, int64_t out, const Sizes& kernel,
                const ConvTransposeOptions& options);

 private:
  struct Plan;
  ConvTranspose(const char* name, Plan plan, const ConvTransposeOptions& options);
  std::shared_ptr<const Plan> plan_;
};
class OAR_EXPORT Conv1DTranspose : public ConvTranspose {
 public:
  Conv1DTranspose(int64_t in_channels, int64_t out_channels, Sizes kernel_size, ConvTransposeOptions options = {})
      : ConvTranspose(1, "Conv1DTranspose", in_channels, out_channels, kernel_size, options) {}
  std::string type_name() const override { return "Conv1DTranspose"; }
};
class OAR_EXPORT Conv2DTranspose : public ConvTranspose {
 public:
  Conv2DTranspose(int64_t in_channels, int64_t out_channels, Sizes kernel_size, ConvTransposeOptions options = {})
      : ConvTranspose(2, "Conv2DTranspose", in_channels, out_channels, kernel_size, options) {}
  std::string type_name() const override { return "Conv2DTranspose"; }
};
class OAR_EXPORT Conv3DTranspose : public ConvTranspose {
 public:
  Conv3DTranspose(int64_t in_channels, int64_t out_channels, Sizes kernel_size, ConvTransposeOptions options = {})
      : ConvTranspose(3, "Conv3DTranspose", in_channels, out_channels, kernel_size, options) {}
  std::string type_name() const override { return "Conv3DTranspose"; }
};

}  // namespace oarlock::nn
