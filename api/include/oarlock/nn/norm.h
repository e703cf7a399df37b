// Normalisation. Weights are called weight and bias, running statistics running_mean and running_var, as in torch.nn;
// weight_attr or bias_attr = false leaves one out.
#pragma once
#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>
#include <oarlock/nn/sizes.h>

namespace oarlock::nn {

struct BatchNormOptions {
  double momentum = 0.9;  // running = momentum * running + (1 - momentum) * batch
  double epsilon = 1e-5;
  ParamAttr weight_attr{}, bias_attr{};
  bool use_global_stats = false;  // the running statistics in training too
};
// Over N and all axes behind C of [N, C, ...]: in training with the batch's own statistics, and the running ones follow; in eval
// with these. The running variance follows the batch's variance over n, as paddle has it (torch: over n - 1). Ioffe and
// Szegedy 2015, Batch normalization.
class OAR_EXPORT BatchNorm : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Tensor &weight, &bias;
  Tensor &running_mean, &running_var, &num_batches_tracked;

 protected:
  BatchNorm(int least_rank, int most_rank, const char* name, int64_t features, const BatchNormOptions& options);

 private:
  int least_, most_;
  const char* name_;
  int64_t features_;
  BatchNormOptions options_;
};
class OAR_EXPORT BatchNorm1D : public BatchNorm {  // [N, C] or [N, C, L]
 public:
  explicit BatchNorm1D(int64_t num_features, BatchNormOptions options = {})
      : BatchNorm(2, 3, "BatchNorm1D", num_features, options) {}
  std::string type_name() const override { return "BatchNorm1D"; }
};
class OAR_EXPORT BatchNorm2D : public BatchNorm {
 public:
  explicit BatchNorm2D(int64_t num_features, BatchNormOptions options = {})
      : BatchNorm(4, 4, "BatchNorm2D", num_features, options) {}
  std::string type_name() const override { return "BatchNorm2D"; }
};
class OAR_EXPORT BatchNorm3D : public BatchNorm {
 public:
  explicit BatchNorm3D(int64_t num_features, BatchNormOptions options = {})
      : BatchNorm(5, 5, "BatchNorm3D", num_features, options) {}
  std::string type_name() const override { return "BatchNorm3D"; }
};

struct NormOptions {
  double epsilon = 1e-5;
  ParamAttr weight_attr{}, bias_attr{};
};
// Over the last axes, which have the sizes normalized_shape; weight and bias have that shape. Ba et al. 2016, Layer
// normalization.
class OAR_EXPORT LayerNorm : public Layer {
 public:
  explicit LayerNorm(Sizes normalized_shape, NormOptions options = {});
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "LayerNorm"; }
  std::string extra_repr() const override;

  Tensor &weight, &bias;

 private:
  std::vector<int64_t> shape_;
  double epsilon_;
};
// x / sqrt(mean of squares + epsilon) * weight over the last axes; no bias. Zhang and Sennrich 2019, Root mean square layer
// normalization.
class OAR_EXPORT RMSNorm : public Layer {
 public:
  explicit RMSNorm(Sizes normalized_shape, double epsilon = 1e-5, ParamAttr weight_attr = {});
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "RMSNorm"; }
  std::string extra_repr() const override;

  Tensor& weight;

 private:
  std::vector<int64_t> shape_;
  double epsilon_;
};
// Over the channels of each of num_groups groups and all axes behind them. Wu and He 2018, Group normalization.
class OAR_EXPORT GroupNorm : public Layer {
 public:
  GroupNorm(int64_t num_groups, int64_t num_channels, NormOptions options = {});
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "GroupNorm"; }
  std::string extra_repr() const override;

  Tensor &weight, &bias;

 private:
  int64_t groups_, channels_;
  double epsilon_;
};
// Over the axes behind [N, C], each image and channel by itself. Ulyanov et al. 2016, Instance normalization.
class OAR_EXPORT InstanceNorm : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Tensor &weight, &bias;

 protected:
  InstanceNorm(int axes, const char* name, int64_t features, const NormOptions& options);

 private:
  int axes_;
  const char* name_;
  int64_t features_;
  double epsilon_;
};
class OAR_EXPORT InstanceNorm1D : public InstanceNorm {
 public:
  explicit InstanceNorm1D(int64_t num_features, NormOptions options = {})
      : InstanceNorm(1, "InstanceNorm1D", num_features, options) {}
  std::string type_name() const override { return "InstanceNorm1D"; }
};
class OAR_EXPORT InstanceNorm2D : public InstanceNorm {
 public:
  explicit InstanceNorm2D(int64_t num_features, NormOptions options = {})
      : InstanceNorm(2, "InstanceNorm2D", num_features, options) {}
  std::string type_name() const override { return "InstanceNorm2D"; }
};
class OAR_EXPORT InstanceNorm3D : public InstanceNorm {
 public:
  explicit InstanceNorm3D(int64_t num_features, NormOptions options = {})
      : InstanceNorm(3, "InstanceNorm3D", num_features, options) {}
  std::string type_name() const override { return "InstanceNorm3D"; }
};

}  // namespace oarlock::nn
