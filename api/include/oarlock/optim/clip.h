// Keeping gradients small before a step. An optimiser that has one of these clips what it reads; grad() of the parameters
// stays as it was. Nothing here waits for a device.
#pragma once
#include <memory>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock::optim {

class OAR_EXPORT GradientClip {
 public:
  virtual ~GradientClip();
  // Replaces each of them.
  virtual void clip(std::vector<Tensor>& gradients) const = 0;
};
using ClipPtr = std::shared_ptr<const GradientClip>;

class OAR_EXPORT ClipGradByValue : public GradientClip {  // each element to [min, max]
 public:
  explicit ClipGradByValue(double max) : ClipGradByValue(-max, max) {}
  ClipGradByValue(double min, double max);
  void clip(std::vector<Tensor>& gradients) const override;

 private:
  double min_, max_;
};
// Each gradient by itself to an L2 norm of at most clip_norm: times clip_norm / max(norm, clip_norm).
class OAR_EXPORT ClipGradByNorm : public GradientClip {
 public:
  explicit ClipGradByNorm(double clip_norm);
  void clip(std::vector<Tensor>& gradients) const override;

 private:
  double norm_;
};
// The same for all of them as one vector. Pascanu et al. 2013, On the difficulty of training recurrent neural networks.
class OAR_EXPORT ClipGradByGlobalNorm : public GradientClip {
 public:
  explicit ClipGradByGlobalNorm(double clip_norm);
  void clip(std::vector<Tensor>& gradients) const override;

 private:
  double norm_;
};

// torch.nn.utils.clip_grad_norm_: replaces the gradients of the parameters by themselves times
// min(1, max_norm / (norm + 1e-6)), and returns the norm before.
OAR_EXPORT Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);
OAR_EXPORT void clip_grad_value(const std::vector<Tensor>& parameters, double max);

}  // namespace oarlock::optim
