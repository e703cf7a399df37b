// The tape: one node per recorded call. A node holds what its gradient rule reads and the way to the nodes before it.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include <oarlock/base/tensor.h>

#include "core/base/inline_array.h"
#include "core/op/attrs.h"
#include "core/op/table.h"

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
struct Node {
  std::atomic<uint32_t> refs{1};
  op::OpId op;
  bool freed = false;  // backward has run and nobody asked to keep it
  Node* next_freed = nullptr;
  uint64_t sequence;    // later calls have higher ones: the order of backward
  uint64_t wanted = 0;  // bit i: input i wants a gradient; bit 63 speaks for all later ones
  op::OwnedAttrs attrs;
  InlineArray<Saved, 3> inputs;
  InlineArray<Saved, 2> outputs;
  InlineArray<Edge, 3> edges;  // one per input
};

// What a tensor knows of the tape.
struct Autograd {
  Node* node = nullptr;  // null: a leaf
  int output = 0;
  Tensor grad;
};

void release_autograd(Autograd* a) noexcept;
void retain(Node* n) noexcept;
void release(Node* n) noexcept;
Autograd& autograd_of(TensorImpl& t);

bool& grad_mode();  // of this thread

// Records a call that has run. outputs: all of them, hidden ones last; null where nobody keeps one.
void record_call(const op::Op& op, op::Attrs attrs, TensorImpl* const* inputs, int n_inputs, TensorImpl* const* outputs,
                 int n_outputs);
// Which of the inputs want a gradient; bit 63 speaks for all from there on. Zero: nothing to record.
uint64_t wanted_inputs(const op::Op& op, TensorImpl* const* inputs, int n_inputs);

}  // namespace oarlock
