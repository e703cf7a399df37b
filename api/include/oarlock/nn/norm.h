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

}  // namespace oarlock::nn
