// Running a program node by node, as eager code would run it: for programs whose sizes are known only while they run, and
// to compare plans with.
#pragma once
#include <span>
#include <vector>

#include "core/graph/program.h"

namespace oarlock::graph {

// What a run leaves: results in the program's order, and the gradients that p.gradients names. Nothing is recorded.
struct Outcome {
  std::vector<Tensor> results, gradients;
};
// Inputs on `device`, as many as the program takes. States are read and written where they are; constants are brought to the
// device. Any thread; two runs that write to one state at a time are the caller's fault.
Result<Outcome> interpret(const Program& p, std::span<const Tensor> inputs, Device device);

}  // namespace oarlock::graph
