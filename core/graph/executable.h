// A program that can be run: keeps a plan for each list of input shapes it has met, and one more for each thread that runs
// at the same time.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/graph/plan.h"

namespace oarlock::graph {

class Executable {
 public:
  // Of idle plans, of all shapes together, and of their arenas; the least recently used go. Each run that is under way has
  // one plan beside these.
  Executable(std::shared_ptr<const Program> program, Device device, int max_plans = 64, uint64_t max_bytes = UINT64_MAX,
             PlanOptions options = {})
      : program_(std::move(program)),
        device_(device),
        max_plans_(max_plans),
        max_bytes_(max_bytes),
        options_(options) {}
  // Inputs are brought to the device where they are elsewhere. Any thread; runs that write to states need the caller's lock.
  Result<Outcome> run(std::span<const Tensor> inputs);
  // Makes the plan for these shapes, if there is none.
  Status prepare(std::span<const Shape> inputs);
  const Program& program() const { return *program_; }
  Device device() const { return device_; }
  // Of the last plan that was made for these shapes; empty if none or if it is interpreted.
  PlanInfo info(std::span<const Shape> inputs);
  // What idle plans hold.
  struct Held {
    int plans = 0;
    uint64_t bytes = 0;
  };
  Held held();

 private:
  struct Kept {
    std::vector<Shape> shapes;
    std::unique_ptr<Plan> plan;
  };
  Result<std::unique_ptr<Plan>> take(std::span<const Shape> shapes);
  void give(std::vector<Shape> shapes, std::unique_ptr<Plan> plan);

  std::shared_ptr<const Program> program_;
  Device device_;
  int max_plans_;
  uint64_t max_bytes_, idle_bytes_ = 0;
  PlanOptions options_;
  Constants constants_;
  std::mutex lock_;
  std::list<Kept> idle_;  // most recently used first
  bool interpret_ = false;
};

}  // namespace oarlock::graph
