// The tape: one node per recorded call. A node holds what its gradient rule reads and the way to the nodes before it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <oarlock/base/autograd.h>
#include <oarlock/base/tensor.h>

#include "core/base/inline_array.h"
#include "core/op/attrs.h"
#include "core/op/table.h"
#include "core/tensor/impl.h"

namespace oarlock {

struct Node;

// A value that a rule may read. alias: of an output it shares the elements but not the tape, or a circle would never be
// freed. Not saved: shape and dtype only.
struct Saved {
  TensorImpl* tensor = nullptr;
  uint32_t version = 0;
  bool has_elements = false;
  bool is_output = false;
};
// Where an input came from: an output of a node, or a leaf, or (neither) nothing that wants a gradient.
struct Edge {
  Node* node = nullptr;
  int output = 0;
  TensorImpl* leaf = nullptr;
};
struct Hook {
  int output;
  uint64_t id;
  GradHook call;
};
// What few nodes have.
struct NodeExtra {
  std::shared_ptr<Function> function;  // instead of an op
  std::vector<Saved> saved;            // by the function; is_output: then output tells which
  std::vector<int> saved_output;
  std::vector<Hook> hooks;
  std::string call_site;  // in anomaly mode
};
struct Node {
  std::atomic<uint32_t> refs{1};
  op::OpId op;         // meaningless with extra->function
  bool freed = false;  // backward has run and nobody asked to keep it
  Node* next_freed = nullptr;
  uint64_t sequence;    // later calls have higher ones: the order of backward
  uint64_t wanted = 0;  // bit i: input i wants a gradient; bit 63 speaks for all later ones
  op::OwnedAttrs attrs;
  InlineArray<Saved, 3> inputs;
  InlineArray<Saved, 2> outputs;
  InlineArray<Edge, 3> edges;  // one per input
  std::unique_ptr<NodeExtra> extra;
};
inline bool is_function(const Node& n) { return n.extra && n.extra->function; }
NodeExtra& extra_of(Node& n);

// What a tensor knows of the tape.
struct Autograd {
  Node* node = nullptr;  // null: a leaf
  int output = 0;
  Tensor grad;
  struct Extra {                   // what few tensors have
    std::vector<Hook> hooks;       // of a leaf
    std::shared_ptr<Tensor> kept;  // the gradient of a computed tensor, if it is to be kept
  };
  std::unique_ptr<Extra> extra;
  Extra& more() {
    if (!extra) extra = std::make_unique<Extra>();
    return *extra;
  }
};
// Runs the hooks of one output (a leaf: 0) over a gradient, which they may replace. Throws Error.
void run_hooks(const std::vector<Hook>& hooks, int output, Tensor& gradient);

// What a function's backward is given. function.cc
FunctionContext context_for_backward(uint64_t wanted, std::vector<Tensor> saved);

// NaN in the elements of a floating tensor; waits for its device. anomaly.cc
bool has_nan(const Tensor& t);
// The text of the place that set_call_site tells; empty if nobody does.
std::string call_site();
// Anomaly mode: an error if an output holds a NaN that no input has. what: "log", "gradient of log".
Status check_for_nan(const std::string& what, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     const std::string& where);

void release_autograd(Autograd* a) noexcept;
void retain(Node* n) noexcept;
void release(Node* n) noexcept;
Autograd& autograd_of(TensorImpl& t);

bool& grad_mode();  // of this thread

uint64_t next_in_sequence();

// What calls recorded from `since` (a place in the sequence) on read of the tape before: tensors that stand where theirs stood,
// good for gradients_since and as operands. Leaves are themselves; each once. border.cc
std::vector<Tensor> read_before(std::span<const Tensor> results, uint64_t since);
// As gradients, through nothing that was recorded before. backward.cc
std::vector<Tensor> gradients_since(uint64_t since, std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                    std::span<const Tensor> seeds);
// Holds a reference to what it names.
[[gnu::always_inline]] inline void set_edge(Edge& e, TensorImpl* t) {
  if (!t->requires_grad) return;
  if (t->autograd && t->autograd->node) {
    e.node = t->autograd->node;
    e.output = t->autograd->output;
    retain(e.node);
  } else {
    e.leaf = t;
    detail::retain(t);
  }
}

// Records a call that has run. outputs: all of them, hidden ones last; null where nobody keeps one.
void record_call(const op::Op& op, op::Attrs attrs, TensorImpl* const* inputs, int n_inputs, TensorImpl* const* outputs,
                 int n_outputs);
// Which of the inputs want a gradient; bit 63 speaks for all from there on. Zero: nothing to record.
uint64_t wanted_inputs(const op::Op& op, TensorImpl* const* inputs, int n_inputs);

}  // namespace oarlock
