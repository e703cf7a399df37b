#include <oarlock/optim/clip.h>

#include <oarlock/base/autograd.h>
#include <oarlock/base/operators.h>

namespace oarlock::optim {
namespace {

void check_limit(const char* who, double v) {
  if (!(v > 0))
    throw Error(Code::invalid_argument,
                std::string(who) + ": clip_norm is " + std::to_string(v) + ", it has to be above 0.");
}
Tensor sum_of_squares(const Tensor& t) {
  Tensor x = t.dtype() == DType::f16 || t.dtype() == DType::bf16 ? cast(t, DType::f32) : t;
  return sum(x * x);
}
Tensor times(const Tensor& g, const Tensor& factor) {
  Tensor f = factor.to(g.device());
  return g * (f.dtype() == g.dtype() ? f : cast(f, g.dtype()));
}

}  // namespace

GradientClip::~GradientClip() = default;

ClipGradByValue::ClipGradByValue(double min, double max) : min_(min), max_(max) {
  if (!(min <= max))
    throw Error(Code::invalid_argument,
                "ClipGradByValue: min " + std::to_string(min) + " is above max " + std::to_string(max) + ".");
}
void ClipGradByValue::clip(std::vector<Tensor>& gradients) const {
  for (Tensor& g : gradients) g = minimum(maximum(g, detail::beside(g, min_)), detail::beside(g, max_));
}
ClipGradByNorm::ClipGradByNorm(double norm) : norm_(norm) { check_limit("ClipGradByNorm", norm); }
void ClipGradByNorm::clip(std::vector<Tensor>& gradients) const {
  for (Tensor& g : gradients) {
    Tensor n = sqrt(sum_of_squares(g));
    g = times(g, norm_ / maximum(n, detail::beside(n, norm_)));
  }
}
ClipGradByGlobalNorm::ClipGradByGlobalNorm(double norm) : norm_(norm) { check_limit("ClipGradByGlobalNorm", norm); }
void ClipGradByGlobalNorm::clip(std::vector<Tensor>& gradients) const {
  if (gradients.empty()) return;
  Tensor n = global_norm(gradients);
  Tensor factor = norm_ / maximum(n, detail::beside(n, norm_));
  for (Tensor& g : gradients) g = times(g, factor);
}

Tensor global_norm(const std::vector<Tensor>& tensors) {
  NoGrad off;
  Tensor all;
  for (const Tensor& t : tensors) {
    Tensor s = sum_of_squares(t);
    all = all.defined() ? all + s.to(all.device()) : s;
  }
  return all.defined() ? sqrt(all) : Tensor::scalar(0);
}
Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
  check_limit("clip_grad_norm", max_norm);
  NoGrad off;
  std::vector<Tensor> gradients;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) gradients.push_back(p.grad());
  Tensor n = global_norm(gradients);
  Tensor factor = max_norm / (n + 1e-6);
  factor = minimum(factor, detail::beside(factor, 1));
  for (Tensor p : parameters)
    if (p.grad().defined()) p.set_grad(times(p.grad(), factor));
  return n;
}
void clip_grad_value(const std::vector<Tensor>& parameters, double max) {
  NoGrad off;
  ClipGradByValue clip(max);
  for (Tensor p : parameters) {
    if (!p.grad().defined()) continue;
    std::vector<Tensor> one{p.grad()};
    clip.clip(one);
    p.set_grad(one[0]);
  }
}

}  // namespace oarlock::optim
