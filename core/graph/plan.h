// A plan: a program made ready for given sizes on one device. Every kernel is chosen and prepared, every value has its
// place; a run is a walk down a list.
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dispatch/entry.h"
#include "core/graph/interpret.h"
#include "core/graph/program.h"

namespace oarlock::graph {

class CompiledGroup;

// Constants as one device holds them: brought there once, shared by all plans. Any thread.
class Constants {
 public:
  // t on that device; key: the value of the program that it is.
  Result<Tensor> on(const Tensor& t, ValueId key, DeviceState& device);
  // The same without keeping it: row-major on that device, t itself if it is so already.
  static Result<Tensor> bring(const Tensor& t, DeviceState& device);

 private:
  std::mutex lock_;
  std::map<std::pair<ValueId, int>, Tensor> held_;
};

struct PlanOptions {
  bool epilogues = true;  // elementwise calls go to the kernel before them, where it takes them
  bool groups = true;     // graph plugins are asked for whole parts
};

// What a step of a plan is, for reports.
struct StepInfo {
  std::string op, route, plugin, where;  // "matmul", "matmul+add+relu", "kernel", "onednn", "net.py:12"
  std::string shapes;                    // "f32[8, 16] x f32[16, 4] -> f32[8, 4]"
  std::string reason;                    // why nothing better took it
  std::string unfused;                   // what was not fused behind it, and why: "relu+erf: onednn: ..."
  uint64_t workspace_bytes = 0;
};
struct PlanInfo {
  std::vector<StepInfo> steps;
  uint64_t arena_bytes = 0, values_bytes = 0;  // the arena, and what its values would take side by side
  int values = 0, in_place = 0;                // values with memory of their own; outputs written over an input
  int fused = 0;                               // calls that are no steps, since the kernel before them does them
  std::vector<std::string> refusals;           // of graph plugins: to_text of each
};

// One run at a time.
class Plan {
 public:
  // All sizes of p are numbers (with_sizes), and it has no bodies. unsupported: a size is known only while it runs; then
  // interpret it.
  static Result<std::unique_ptr<Plan>> make(Program p, Device device, Constants& constants, PlanOptions options = {});
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Inputs of the plan's dtypes, shapes and device. An input is read where it is unless its layout is not the plan's.
  Result<Outcome> run(std::span<const Tensor> inputs);
  const PlanInfo& info() const { return info_; }

 private:
  friend class Planner;
  friend class MemoryPlan;
  struct Home;
  struct Spot;
  struct Tail;
  struct Step;
  struct Other;
  explicit Plan(DeviceState& device);
  TensorImpl& at(int spot) const;
  int root(int home) const;  // what it was merged into in the end
  Home& home_of(int spot);
  Status bind(std::span<const Tensor> inputs);
  void place(Home& home, const Tensor& t);
  Status failed(size_t step, oar_status_t status);
  Status stand_in(Step& step);
  Result<Outcome> collect();
  static oar_status_t OAR_CALL go_other(void* state, const oar_frame_t* frame);

  Program p_;
  DeviceState& device_;
  std::deque<Home> homes_;
  std::deque<Spot> spots_;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<Other>> others_;
  std::vector<std::shared_ptr<dispatch::Entry>> entries_;
  std::vector<std::unique_ptr<CompiledGroup>> groups_;
  PlanInfo info_;
  Status pending_;  // of a step that is no kernel
  Block arena_[2];  // on the host, on the device
  Stream* used_by_ = nullptr;
  struct Bound {  // a place outside of the arena, and where what goes there comes from
    enum From : uint8_t { input, feed, state, result } from;
    int index;  // of the input; of the value
    int home;
  };
  std::vector<Bound> bound_;
  struct Given {  // what a run hands out
    ValueId value;
    int spot;
  };
  std::vector<Given> results_, gradients_;
};

}  // namespace oarlock::graph
