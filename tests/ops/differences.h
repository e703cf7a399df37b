// Gradients by central differences in f64: what every op's own gradient must agree with, also its gradient's gradient.
#pragma once
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

namespace oarlock::test {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

inline Tensor random_f64(const Shape& shape, uint32_t seed, double low = -1, double high = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> draw(low, high);
  Tensor t = Tensor::empty(shape, DType::f64);
  double* to = t.data_as<double>();
  for (int64_t i = 0, n = t.element_count(); i < n; ++i) to[i] = draw(engine);
  return t;
}

// The sum over outputs of <output, weight>.
inline double weighed(const std::vector<Tensor>& outputs, const std::vector<Tensor>& weights) {
  double total = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined()) continue;
    Tensor whole = outputs[k].detach().contiguous();
    for (int64_t i = 0, n = whole.element_count(); i < n; ++i)
      total += whole.data_as<double>()[i] * weights[k].data_as<double>()[i];
  }
  return total;
}

inline std::vector<Tensor> seeds_for(const std::vector<Tensor>& outputs, uint32_t seed) {
  std::vector<Tensor> out;
  for (auto& t : outputs) out.push_back(t.defined() ? random_f64(t.shape(), seed++) : Tensor());
  return out;
}

// The gradients of f's outputs, weighed by seeds, with respect to all inputs; no value where nothing reaches one.
inline std::vector<Tensor> gradients_of(const Function& f, const std::vector<Tensor>& inputs,
                                        const std::vector<Tensor>& seeds, bool create_graph = false) {
  std::vector<Tensor> outputs = f(inputs), used, with;
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].defined() && outputs[k].requires_grad()) {
      used.push_back(outputs[k]);
      with.push_back(seeds[k]);
    }
  return used.empty() ? std::vector<Tensor>(inputs.size()) : gradients(used, inputs, with, create_graph, create_graph);
}

// Largest difference between f's gradient and central differences, over all inputs (f64), relative to 1 + |difference|.
inline double gradient_error(const Function& f, const std::vector<Tensor>& inputs, double h = 1e-5) {
  std::vector<Tensor> seeds = seeds_for(f(inputs), 77), leaves, moved;
  for (auto& t : inputs) {
    leaves.push_back(t.clone().set_requires_grad());
    moved.push_back(t.clone());
  }
  std::vector<Tensor> got = gradients_of(f, leaves, seeds);
  double worst = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    Tensor g = got[k].defined() ? got[k].detach().contiguous() : Tensor();
    if (g.defined() && !(g.shape() == inputs[k].shape())) return INFINITY;
    double* at = moved[k].data_as<double>();
    for (int64_t i = 0, n = inputs[k].element_count(); i < n; ++i) {
      double x = at[i];
      at[i] = x + h;
      double up = weighed(f(moved), seeds);
      at[i] = x - h;
      double down = weighed(f(moved), seeds);
      at[i] = x;
      double want = (up - down) / (2 * h), have = g.defined() ? g.data_as<double>()[i] : 0;
      double error = std::fabs(have - want) / (1 + std::fabs(want));
      if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
    }
  }
  return worst;
}

// f's gradient as a function of the inputs: its gradient_error is that of the second order.
inline Function gradient_function(const Function& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> seeds = seeds_for(f(inputs), 5);
  return [f, seeds](const std::vector<Tensor>& x) {
    std::vector<Tensor> leaves;
    for (auto& t : x) leaves.push_back(t.requires_grad() ? t : t.detach().set_requires_grad());
    return gradients_of(f, leaves, seeds, true);
  };
}

}  // namespace oarlock::test
