// Elementwise calls on operands in another order of axes than row-major (channels-last images, transposed matrices): the
// kernel sees the axes in the order in which they lie dense, so it needs no strides, and the output lies as its operands
// do. That is how a layout which one kernel chose reaches the next.
#pragma once
#include <vector>

#include "core/dispatch/entry.h"

namespace oarlock::dispatch {

// Does each element of the result come from one place of each operand alone?
bool elementwise(const op::Op& op);

// The axes of the output from outermost to innermost in memory; empty where row-major is as good: the op is not
// elementwise, the operands are row-major, disagree, or have gaps.
AxisOrder axis_order(const Call& call, const Entry& entry);

// The geometry that a kernel sees. shape and strides are in: those of the operand; out: reordered, of `order.size()` axes;
// unchanged for an operand of a single element.
void reorder_axes(const AxisOrder& order, Shape& shape, int64_t* strides);

// Views with reordered axes, for one launch.
class OrderedViews {
 public:
  OrderedViews(const AxisOrder& order, size_t n) : order_(order), geometry_(n) {}
  const oar_view_t* add(const oar_view_t* view);  // null stays null

 private:
  struct Geometry {
    oar_view_t view;
    Shape shape;
    int64_t strides[kMaxRank];
  };
  const AxisOrder& order_;
  std::vector<Geometry> geometry_;
  size_t n_ = 0;
};

}  // namespace oarlock::dispatch
