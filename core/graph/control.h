// Calls of ops with regions: run as they come while eager, recorded with bodies while a program is captured.
#pragma once
#include <span>
#include <vector>

#include "core/op/control.h"
#include "core/op/table.h"

namespace oarlock::graph {

// attrs in schema order; fewer than all: the rest are defaults. While capturing, each function is called once, on stand-ins,
// whatever the operands hold. Throws Error, and what the functions throw.
std::vector<Tensor> call_control(op::OpId op, std::span<const Tensor> inputs, std::span<const oar_attr_t> attrs,
                                 std::span<const op::RegionFunction> regions);

// What the op's rule says of the types, in programs and calls. c.error tells what is wrong.
Status check_types(op::ControlTypes& c);

}  // namespace oarlock::graph
