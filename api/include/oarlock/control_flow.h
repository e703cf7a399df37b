// Control flow that depends on values, for functions that are captured: what Python or C++ would say with if, while and for.
//
//   Tensor y = jit::cond(x.sum() > 0, [&] { return std::vector{x * x}; }, [&] { return std::vector{-x}; })[0];
//
// Called eagerly, they call the functions as often as it takes, and gradients are those of what was called. While a program
// is captured (jit.h), each function is called once, on stand-ins, and becomes a part of the program; there a function must not
// write to tensors that it did not make, nor draw random numbers. All throw Error, and pass on what the functions throw.
#pragma once
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock::jit {

using BranchFunction = std::function<std::vector<Tensor>()>;
// What true_fn gives if pred, one bool, holds, else what false_fn gives. While capturing, both must give as many tensors, of
// equal dtypes and shapes. Gradients flow through the branch that was taken. paddle.static.nn.cond
OAR_EXPORT std::vector<Tensor> cond(const Tensor& pred, const BranchFunction& true_fn, const BranchFunction& false_fn);

using LoopCondition = std::function<Tensor(std::span<const Tensor> vars)>;  // gives one bool
using LoopBody = std::function<std::vector<Tensor>(std::span<const Tensor> vars)>;
// vars = body(vars) while cond(vars); none if it does not hold at first. Variables keep their dtypes and shapes. A captured
// loop has no gradient, since nobody knows how much of it to keep: use scan. paddle.static.nn.while_loop
OAR_EXPORT std::vector<Tensor> while_loop(const LoopCondition& cond_fn, const LoopBody& body_fn,
                                          std::span<const Tensor> loop_vars);

struct Scanned {
  std::vector<Tensor> carry, ys;
};
struct ScanOptions {
  bool reverse = false;  // from the last row to the first; ys lie as xs do
  Dim length = -1;       // rows, where there are no xs; -1: as many as xs have
};
using ScanFunction = std::function<Scanned(std::span<const Tensor> carry, std::span<const Tensor> row)>;
// (carry, y) = f(carry, row) for each row of xs along axis 0, beginning with init; ys are stacked along a new axis 0. Carried
// values keep their dtypes and shapes. Gradients flow through; those of a captured scan compute each row a second time
// instead of keeping what the function made. Of no rows: init, and ys of no rows. jax.lax.scan
OAR_EXPORT Scanned scan(const ScanFunction& f, std::span<const Tensor> init, std::span<const Tensor> xs,
                        const ScanOptions& options = {});

}  // namespace oarlock::jit
