// Making a plan: nodes in order, each asked of dispatch as an eager call would be, with places instead of elements. What is
// decomposed is recorded and planned in its stead (planner.cc); elementwise calls go to the kernel before them where it takes
// them (planner_fuse.cc); parts that graph plugins take are one step each (planner_groups.cc). Then everything gets its
// memory: memory_plan.cc.
#pragma once
#include <unordered_map>

#include "core/graph/claim.h"
#include "core/graph/compiled_group.h"
#include "core/graph/plan_parts.h"

namespace oarlock::graph {

class Planner {
 public:
  Planner(Plan& plan, Constants& constants, PlanOptions options);
  Status make();

 private:
  using Home = Plan::Home;
  using Step = Plan::Step;
  using Spot = Plan::Spot;

  // One thing to do: a node, or a group that a plugin runs.
  struct Unit {
    const Node* node = nullptr;
    int group = -1;
    bool done = false;
  };
  // What is planned in one go, and who reads what is made there.
  struct List {
    std::vector<Unit> units;
    struct Use {
      int n = 0;        // of all kinds
      int reader = -1;  // the last unit that reads it
    };
    std::unordered_map<ValueId, Use> uses;
    std::vector<int> writes;  // by unit: how many of those up to it write to an operand
    size_t at = 0;            // the unit that is being planned
    List(const std::vector<Node>& nodes, std::span<const int> order, std::span<const ValueId> wanted);
  };

  // ---- places and steps: planner_steps.cc
  int new_home(DeviceState& d, uint64_t bytes, Home::Kind kind);
  int new_spot(int home, DType dtype, const Shape& shape, const int64_t* strides, uint64_t byte_offset);
  TensorImpl& at(int spot) const { return plan_.at(spot); }
  int fresh(DeviceState& d, DType dtype, const Shape& shape, const int64_t* strides = nullptr);
  int bound(DType dtype, const Shape& shape, const int64_t* strides, DeviceState& d, Plan::Bound::From from, int index);
  int view_of(int spot, const Shape& shape, const int64_t* strides, int64_t offset);
  // Where a value is, on that device; brought there by a step if it isn't.
  Result<int> operand(ValueId v, DeviceState& d);
  Status no_elements(ValueId v) const;
  Step& add_step(std::string op, std::string route, std::vector<int> in, std::vector<int> out);
  void set_other(Step& s, std::unique_ptr<Plan::Other> other);
  struct Copy;
  void add_copy(int from, int to, const char* op, bool counts = false);
  // The same elements without gaps, by the op that copies.
  Result<int> row_major(int spot);
  int ordered(int spot, const dispatch::AxisOrder& order);
  static oar_status_t OAR_CALL go_run(void* state, const oar_frame_t* frame);
  Status add_kernel(std::shared_ptr<dispatch::Entry> e, std::vector<int> in, std::vector<int> out);
  struct Reference;
  void add_reference(std::shared_ptr<dispatch::Entry> e, std::vector<int> in, std::vector<int> out);

  // ---- nodes: planner.cc
  Status plan_list(List& list);
  Status plan_node(const Node& n, bool on_host, List* list);
  Status plan_call(const Node& n, DeviceState& d, std::vector<int>& in, std::vector<TensorImpl*>& impls, List* list);
  // The spot of an alias; -1: only the decomposition can do it.
  Result<int> plan_view(const op::Op& op, op::Attrs attrs, int spot);
  // Operands that the kernel wants row-major or expanded.
  Status arrange_inputs(const dispatch::Entry& e, const op::Op& op, std::vector<int>& in);
  // The op's decomposition, recorded into the program and planned in the node's place.
  Status decompose(const Node& n, dispatch::Entry& e, DeviceState& d);
  Status hand_out(ValueId v, std::vector<Plan::Given>& to);
  bool is_constant(int spot) const {
    return spot >= 0 && plan_.homes_[size_t(plan_.spots_[size_t(spot)].home)].constant;
  }

  // ---- planner_fuse.cc
  // The elementwise calls that may run right behind n: each the one reader of what the one before it makes, its other
  // operands there already.
  std::vector<Unit*> chain_behind(const Node& n, DeviceState& d, List& list) const;
  bool follows(const Node& n, ValueId running, DeviceState& d) const;
  // Plans n with as much of the chain as a kernel takes; false: with nothing, and why says who refused what.
  Result<bool> fuse(const Node& n, dispatch::Call call, const std::vector<int>& in, List& list, std::string& why);

  // ---- planner_groups.cc
  // Claims and compiles. order: of the units, if there are groups: nodes, and -1 - group.
  Status claim_groups(std::vector<int>& order);
  Status plan_group(int group);
  Result<int> arranged(int spot, const GroupOperand& o);
  // On a device without kernels: does the node run on the host instead? Fails where the setting fallback says no.
  Result<bool> leaves_device(const Node& n) const;

  Plan& plan_;
  Program& p_;
  DeviceState& device_;
  Constants& constants_;
  PlanOptions options_;
  size_t own_values_;
  std::vector<int> spot_of_;
  std::map<std::pair<ValueId, int>, int> constant_spot_;  // plus one
  std::map<std::pair<int, int>, int> moved_;              // a spot on another device; plus one
  std::vector<Group> claimed_;                            // those of plan_.groups_
  bool graphs_only_ = false;                              // the device has no kernel
  std::string where_;
};

}  // namespace oarlock::graph
