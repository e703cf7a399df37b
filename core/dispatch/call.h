// The one door through which every op goes: C++, C, Python, rules and the tape.
#pragma once
#include <cstdint>
#include <vector>

#include <oarlock/base/status.h>
#include <oarlock/base/tensor.h>

#include "core/op/table.h"

namespace oarlock::dispatch {

// Runs op on inputs (null: an absent optional one) and fills outputs[0 .. n_outputs), the visible ones; n_outputs may be
// fewer than there are. attrs in schema order, fewer than all: the rest are defaults. Infers, chooses a kernel, launches,
// and records when a gradient is wanted. Any thread. Outputs are untouched on failure.
Status call(op::OpId op, TensorImpl* const* inputs, int n_inputs, const oar_attr_t* attrs, uint32_t n_attrs,
            Tensor* outputs, int n_outputs);
// For ops whose number of outputs the call decides.
Status call_variadic(op::OpId op, TensorImpl* const* inputs, int n_inputs, const oar_attr_t* attrs, uint32_t n_attrs,
                     std::vector<Tensor>& outputs);

}  // namespace oarlock::dispatch
