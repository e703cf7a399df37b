// Recording an op with regions: each function once, its calls on a tape of their own, and out of that the body's gradient.
#pragma once
#include "core/graph/control.h"
#include "core/graph/recording.h"

namespace oarlock::graph {

// c: the types of the operands and parameters, found sound.
std::vector<Tensor> record_control(Recording& recording, op::OpId id, std::span<const Tensor> inputs,
                                   op::ControlTypes& c, std::span<const op::RegionFunction> regions);
// An error if one has no value.
void check_given(const op::OpDef& def, int region, std::span<const Tensor> given);

}  // namespace oarlock::graph
