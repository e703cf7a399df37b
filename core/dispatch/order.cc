#include "core/dispatch/order.h"

#include <algorithm>
#include <numeric>

namespace oarlock::dispatch {
namespace {

bool is_batch(const op::Rule& r, const op::Spec& s) { return s.count == 1 && r.item[s.first].kind == op::Item::batch; }
}  // namespace

// A cast gives each element its own, too; its strings say "[*S]".
bool elementwise(const op::Op& op) {
  const op::OpDef& def = *op.def;
  if (def.role == op::Role::cast) return true;
  if (op.mutated || !def.inputs.count) return false;
  for (int i = 0; i < def.inputs.count; ++i)
    if (!is_batch(op.rule, op.rule.in[i]) || (def.inputs[i].flags & op::host)) return false;
  for (int i = 0; i < def.outputs.count; ++i)
    if (!is_batch(op.rule, op.rule.out[i])) return false;
  return true;
}

AxisOrder axis_order(const Call& c, const Entry& e) {
  if (e.n_outputs != 1 || e.shapes[0].rank < 2 || e.dynamic || !elementwise(c.op)) return {};
  const Shape& out = e.shapes[0];
  const TensorImpl* like = nullptr;
  for (int i = 0; i < c.n_inputs; ++i) {
    const TensorImpl* t = c.inputs[i];
    if (!t || !(t->shape == out)) continue;
    if (!like) like = t;
    for (int d = 0; d < out.rank; ++d)
      if (t->strides[d] != like->strides[d] && !(out[d] == 1)) return {};
  }
  if (!like || like->contiguous) return {};
  AxisOrder order(size_t(out.rank));
  std::iota(order.begin(), order.end(), int8_t(0));
  // Axes of 1 go first, where they disturb nothing: their strides say nothing of an order.
  auto real = std::stable_partition(order.begin(), order.end(), [&](int8_t a) { return out[a] == 1; });
  std::stable_sort(real, order.end(), [&](int8_t a, int8_t b) { return like->strides[a] > like->strides[b]; });
  int64_t expected = 1;
  for (size_t k = order.size(); k-- > 0;) {
    int d = order[k];
    if (out[d] == 1) continue;
    if (like->strides[d] != expected) return {};
    expected *= out[d].n;
  }
  return order;
}

void reorder_axes(const AxisOrder& order, Shape& shape, int64_t* strides) {
  int rank = int(order.size()), lead = rank - shape.rank;
  if (std::all_of(shape.begin(), shape.end(), [](Dim d) { return d == 1; })) return;
  Shape from = shape;
  int64_t old[kMaxRank];
  std::copy_n(strides, from.rank, old);
  shape.rank = 0;
  for (int k = 0; k < rank; ++k) {
    int d = order[size_t(k)] - lead;
    shape.push(d < 0 ? Dim(1) : from[d]);
    strides[k] = d < 0 ? 0 : old[d];
  }
  // What is said to be dense has the strides of it: of an axis of 1 they mean nothing.
  int64_t inner = 1;
  for (int k = rank - 1; k >= 0; --k) {
    if (shape[k] == 1) strides[k] = inner;
    inner = strides[k] * shape[k].n;
  }
}

const oar_view_t* OrderedViews::add(const oar_view_t* view) {
  if (!view) return nullptr;
  Geometry& g = geometry_[n_++];
  g.view = *view;
  for (int d = 0; d < view->n_dims; ++d) {
    g.shape.push(view->shape[d]);
    g.strides[d] = view->strides[d];
  }
  reorder_axes(order_, g.shape, g.strides);
  g.view.n_dims = g.shape.rank;
  g.view.shape = reinterpret_cast<const int64_t*>(g.shape.d);
  g.view.strides = g.strides;
  return &g.view;
}

}  // namespace oarlock::dispatch
