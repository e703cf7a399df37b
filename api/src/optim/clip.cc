#include <oarlock/optim/clip.h>

#include <algorithm>

#include <oarlock/base/autograd.h>
#include <oarlock/base/operators.h>

namespace oarlock::optim {
namespace {

void check_limit(const char* who, double v) {
  if (!(v > 0))
    throw Error(Code::invalid_argument,
                std::string(who) + ": clip_norm is " + std::to_string(v) + ", it has to be above 0.");
}
// Of all of them as one vector, wherever they are; on the device of the first.
Tensor norm_of(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return Tensor::scalar(0);
  std::vector<Device> places;
  std::vector<std::vector<Tensor>> there;
  for (const Tensor& t : tensors) {
    size_t i = size_t(std::find(places.begin(), places.end(), t.device()) - places.begin());
    if (i == places.size()) {
      places.push_back(t.device());
      there.emplace_back();
    }
    there[i].push_back(t);
  }
  Tensor all = global_norm(there[0]);
  for (size_t i = 1; i < there.size(); ++i) {
    Tensor part = global_norm(there[i]).to(all.device());
    all = sqrt(all * all + part * part);
  }
  return all;
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
    Tensor n = global_norm({g});
    g = times(g, norm_ / maximum(n, detail::beside(n, norm_)));
  }
}
ClipGradByGlobalNorm::ClipGradByGlobalNorm(double norm) : norm_(norm) { check_limit("ClipGradByGlobalNorm", norm); }
void ClipGradByGlobalNorm::clip(std::vector<Tensor>& gradients) const {
  if (gradients.empty()) return;
  Tensor n = norm_of(gradients);
  Tensor factor = norm_ / maximum(n, detail::beside(n, norm_));
  for (Tensor& g : gradients) g = times(g, factor);
}

Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
  check_limit("clip_grad_norm", max_norm);
  NoGrad off;
  std::vector<Tensor> gradients;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) gradients.push_back(p.grad());
  Tensor n = norm_of(gradients);
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
