// Where the values of a plan lie: lifetimes, writing in place, and one arena by greedy placement of the largest first (Pisarchyk
// and Lee 2020, Efficient memory management for deep neural net inference).
#pragma once
#include "core/graph/plan_parts.h"

namespace oarlock::graph {

class MemoryPlan {
 public:
  explicit MemoryPlan(Plan& plan) : plan_(plan), device_(plan.device_) {}
  // The plan has all its steps and knows what it hands out.
  Status make();

 private:
  using Home = Plan::Home;
  using Step = Plan::Step;
  using Spot = Plan::Spot;
  void lifetimes();
  void merge_in_place();
  void keep_out(int spot);
  Status arrange();
  void settle(Home& home, const Block& arena);

  Plan& plan_;
  DeviceState& device_;
};

}  // namespace oarlock::graph
