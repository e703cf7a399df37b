// What a plan is made of; for plan.cc, which runs one, and planner.cc, which makes one.
#pragma once
#include "core/graph/plan.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {

// Memory of one value and of all that are views of it.
struct Plan::Home {
  enum Kind : uint8_t { arena, bound } kind = arena;
  DeviceState* device = nullptr;
  uint64_t bytes = 0, offset = 0;  // of the arena
  int first = -1, last = -1;       // steps that touch it
  int origin = -1;                 // the spot that covers it
  int merged = -1;                 // into another home, by writing in place
  bool constant = false;           // of a constant: its elements are there for as long as the plan
  Storage* storage = nullptr;      // its spots'; borrows whatever is here at the time
  bool placed = false;             // the storage says where
  Tensor elements{};               // of a bound one: who is here at the time
  std::vector<int> spots{};
};
// A place as kernels see it: a home, from an offset on, in a geometry.
struct Plan::Spot {
  int home;
  uint64_t byte_offset;
  Tensor tensor;  // its storage is the home's
};
// An elementwise call on the running value.
struct Plan::Tail {
  const op::Op* op;
  op::OwnedAttrs attrs;
  std::vector<int> inputs;  // places among the step's extra operands; -1: the running value
};
struct Plan::Step {
  oar_status_t(OAR_CALL* go)(void* state, const oar_frame_t* frame) = nullptr;
  void* state = nullptr;
  oar_frame_t frame{};
  // What a run without failure does not look at.
  dispatch::Entry* entry = nullptr;
  Pack* pack = nullptr;  // of a kernel or a group: whose stream it takes
  std::vector<const oar_view_t*> inputs{}, outputs{};
  std::vector<int> in{}, out{};  // spots; -1: absent
  int workspace = -1;            // home
  std::string where{};
  std::vector<Tail> tail{};  // what the kernel does behind its op
  size_t n_extra = 0;        // the last of in, which the tail reads
};
// A step that is no kernel: a copy, a reference.
struct Plan::Other {
  virtual ~Other() = default;
  virtual Status run() = 0;
  Plan* plan = nullptr;
};

}  // namespace oarlock::graph
