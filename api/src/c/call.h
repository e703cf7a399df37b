// What the generated C functions of the ops stand on.
#pragma once
#include <cstddef>
#include <cstdint>

#include <oarlock/app.h>

#include "core/op/attrs.h"
#include "core/op/table.h"

namespace oarlock::c {

// Resolves the handles (null: an absent optional operand; a freed or foreign one is an error), runs the op and stores new
// handles. outs[i]: where the caller wants output i; null is an error. Outputs are untouched on failure, whose text is kept
// for the thread. Nothing is thrown.
oar_status_t call(op::OpId op, oar_tensor_t* const* in, size_t n_in, const oar_attr_t* attrs, uint32_t n_attrs,
                  oar_tensor_t** const* outs, size_t n_outs) noexcept;
// For an op whose number of outputs the call decides: it must be n_outs.
oar_status_t call_variadic(op::OpId op, oar_tensor_t* const* in, size_t n_in, const oar_attr_t* attrs, uint32_t n_attrs,
                           oar_tensor_t** outs, size_t n_outs) noexcept;

// How a C call site writes lists and texts; a null pointer with no entries is "not given".
inline oar_attr_t integers(const int64_t* v, size_t n) { return {OAR_ATTR_INTS, v || n, n, {.ints = v}}; }
inline oar_attr_t reals(const double* v, size_t n) { return {OAR_ATTR_FLOATS, v || n, n, {.floats = v}}; }
inline oar_attr_t text(oar_str_t v) { return {OAR_ATTR_STRING, v.data || v.size, v.size, {.str = v.data}}; }
inline oar_attr_t dtype(uint32_t v) { return {OAR_ATTR_DTYPE, 1, 1, {.i = int64_t(v)}}; }

}  // namespace oarlock::c
