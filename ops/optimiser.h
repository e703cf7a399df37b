// What the optimiser steps share: the dtype to compute in, and scalars from the host.
#pragma once
#include "rules.h"

namespace oarlock::op {

struct Step {
  DType dtype;  // f32, or f64 where an operand has that
  int64_t device;
  Step(const Tensor& parameter, const Tensor& state)
      : dtype(parameter.dtype() == DType::f64 || state.dtype() == DType::f64 ? DType::f64 : DType::f32),
        device(parameter.device().index()) {}
  Tensor wide(const Tensor& x) const { return as(x, dtype); }
  Tensor scalar(const Tensor& host) const { return transfer(as(host, dtype), device); }
  // weight * old + (1 - weight) * now
  Tensor mixed(const Tensor& old, const Tensor& now, double weight) const {
    return add(multiply(wide(old), number(weight, now)), multiply(now, number(1 - weight, now)));
  }
};

// 1 - beta^step, f64 on the host.
inline Tensor correction(double beta, const Tensor& step) {
  return subtract(Tensor::scalar(1, DType::f64), power(Tensor::scalar(beta, DType::f64), as(step, DType::f64)));
}

}  // namespace oarlock::op
