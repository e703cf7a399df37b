#include "core/autograd/tape.h"

#include <new>

#include <oarlock/base/autograd.h>

#include "core/device/host_memory.h"
#include "core/profile/trace.h"
#include "core/tensor/impl.h"

namespace oarlock {
namespace {

std::atomic<uint64_t> next_sequence{1};

void drop(Node* n) {
  for (Saved& s : n->inputs)
    if (s.tensor) detail::release(s.tensor);
  for (Saved& s : n->outputs)
    if (s.tensor) detail::release(s.tensor);
  if (n->extra)
    for (Saved& s : n->extra->saved)
      if (s.tensor) detail::release(s.tensor);
  for (Edge& e : n->edges) {
    if (e.node) release(e.node);
    if (e.leaf) detail::release(e.leaf);
  }
  n->~Node();
  object_free(n, sizeof(Node));
}

}  // namespace

void retain(Node* n) noexcept { n->refs.fetch_add(1, std::memory_order_relaxed); }
void release(Node* n) noexcept {
  if (n->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // A chain of a million nodes must not be a million stack frames: whoever frees first frees all.
  __attribute__((tls_model("initial-exec"))) static thread_local Node** waiting = nullptr;
  if (waiting) {
    n->next_freed = *waiting;
    *waiting = n;
    return;
  }
  Node* list = nullptr;
  waiting = &list;
  drop(n);
  while (list) {
    Node* next = list;
    list = next->next_freed;
    drop(next);
  }
  waiting = nullptr;
}

void release_autograd(Autograd* a) noexcept {
  if (a->node) release(a->node);
  a->~Autograd();
  object_free(a, sizeof(Autograd));
}
Autograd& autograd_of(TensorImpl& t) {
  if (!t.autograd) t.autograd = new (object_allocate(sizeof(Autograd))) Autograd;
  return *t.autograd;
}

NodeExtra& extra_of(Node& n) {
  if (!n.extra) n.extra = std::make_unique<NodeExtra>();
  return *n.extra;
}

bool& grad_mode() {
  __attribute__((tls_model("initial-exec"))) static thread_local bool on = true;
  return on;
}
NoGrad::NoGrad() : before_(grad_mode()) { grad_mode() = false; }
NoGrad::~NoGrad() { grad_mode() = before_; }
bool grad_enabled() { return grad_mode(); }
bool set_grad_enabled(bool on) { return std::exchange(grad_mode(), on); }

uint64_t wanted_inputs(const op::Op& op, TensorImpl* const* inputs, int n) {
  uint64_t wanted = 0;
  for (int i = 0; i < n; ++i) {
    if (!inputs[i] || !inputs[i]->requires_grad) continue;
    int bit = i < 63 ? i : 63;
    if (op.differentiable >> bit & 1) wanted |= uint64_t(1) << bit;
  }
  return wanted;
}

uint64_t next_in_sequence() { return next_sequence.fetch_add(1, std::memory_order_relaxed); }

void record_call(const op::Op& op, op::Attrs attrs, TensorImpl* const* inputs, int n_inputs, TensorImpl* const* outputs,
                 int n_outputs) {
  auto* n = new (object_allocate(sizeof(Node))) Node;
  n->op = op.id;
  n->sequence = next_in_sequence();
  n->wanted = wanted_inputs(op, inputs, n_inputs);
  if (attrs.n) n->attrs = op::OwnedAttrs(attrs);
  const op::OpDef& def = *op.def;
  // Shape and dtype of what is not saved. Most operands look like the output, so one stands for all of those.
  TensorImpl* like = nullptr;
  auto outline = [&](TensorImpl& t) {
    if (like && like->dtype == t.dtype && like->device == t.device && like->shape == t.shape) {
      detail::retain(like);
      return like;
    }
    TensorImpl* h = hollow_tensor(t);
    if (!like) like = h;
    return h;
  };
  n->outputs.resize(size_t(n_outputs));
  for (int i = 0; i < n_outputs; ++i) {
    TensorImpl* t = outputs[i];
    if (!t) continue;
    const op::Output& out = def.outputs[std::min(i, def.outputs.count - 1)];
    bool save = has_elements(*t) &&
                ((out.flags & op::hidden) || (op.output_read_by[std::min(i, def.outputs.count - 1)] & n->wanted));
    if (save) n->outputs[size_t(i)] = {alias_tensor(*t, t->shape, t->strides, 0), version_of(*t), true, true};
    else n->outputs[size_t(i)] = {outline(*t), 0, false, true};
    if (!(set_of(t->dtype) & (kFloat | kComplex))) continue;
    t->requires_grad = true;
    Autograd& a = autograd_of(*t);
    a.node = n;
    a.output = i;
    retain(n);
  }
  n->inputs.resize(size_t(n_inputs));
  n->edges.resize(size_t(n_inputs));
  for (int i = 0; i < n_inputs; ++i) {
    TensorImpl* t = inputs[i];
    if (!t) continue;
    const op::Input& in = def.inputs[std::min(i, def.inputs.count - 1)];
    if ((op.input_read_by[std::min(i, def.inputs.count - 1)] & n->wanted) || (in.flags & op::host)) {
      detail::retain(t);
      n->inputs[size_t(i)] = {t, version_of(*t), true, false};
    } else {
      n->inputs[size_t(i)] = {outline(*t), 0, false, false};
    }
    set_edge(n->edges[size_t(i)], t);
  }
  if (trace::active() & trace::kAnomaly) [[unlikely]]
    extra_of(*n).call_site = call_site();
  release(n);  // the outputs hold it now
}

}  // namespace oarlock
