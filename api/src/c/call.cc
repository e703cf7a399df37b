#include "api/src/c/call.h"

#include <vector>

#include <oarlock/base/op.h>

#include "api/src/c/handle.h"
#include "core/dispatch/call.h"
#include "core/profile/trace.h"

namespace oarlock::c {
namespace {

// The tensors of the handles; an error names the operand that is not alive.
oar_status_t resolve(op::OpId op, oar_tensor_t* const* in, size_t n, TensorImpl** out) noexcept {
  const op::OpDef& def = *op::op_at(op).def;
  if (n > 256)
    return fail(Code::invalid_argument,
                std::string(def.name) + ": takes at most 256 operands, given " + std::to_string(n) + ".");
  if (n && !in) return fail(Code::invalid_argument, std::string(def.name) + ": the list of operands is null.");
  for (size_t i = 0; i < n; ++i) {
    out[i] = in[i] ? find(in[i]) : nullptr;
    if (in[i] && !out[i])
      return fail(Code::invalid_argument, std::string(def.name) + ": the handle of " +
                                              def.inputs[std::min(int(i), def.inputs.count - 1)].name +
                                              " is not alive; it was released, or never given out.");
  }
  return OAR_OK;
}

}  // namespace

oar_status_t call(op::OpId op, oar_tensor_t* const* in, size_t n_in, const oar_attr_t* attrs, uint32_t n_attrs,
                  oar_tensor_t** const* outs, size_t n_outs) noexcept {
  return guard([&]() -> oar_status_t {
    if (trace::active() & trace::kUnread) [[unlikely]]
      trace::read_settings();
    TensorImpl* inputs[256];
    if (oar_status_t s = resolve(op, in, n_in, inputs); s != OAR_OK) return s;
    for (size_t i = 0; i < n_outs; ++i)
      if (!outs[i])
        return fail(Code::invalid_argument,
                    std::string(op::op_at(op).def->name) + ": the place for output " + std::to_string(i) + " is null.");
    OAR_TRACE_STOP(std::string("oar_") + op::op_at(op).def->name + ": from C, handles resolved");
    if (n_outs == 1) {
      Tensor one;
      Status s = dispatch::call(op, inputs, int(n_in), attrs, n_attrs, &one, 1);
      if (!s.ok()) return fail(s);
      *outs[0] = one.defined() ? give(std::move(one)) : nullptr;
      return OAR_OK;
    }
    Tensor out[8];
    Status s = dispatch::call(op, inputs, int(n_in), attrs, n_attrs, out, int(n_outs));
    if (!s.ok()) return fail(s);
    for (size_t i = 0; i < n_outs; ++i) *outs[i] = out[i].defined() ? give(std::move(out[i])) : nullptr;
    return OAR_OK;
  });
}

oar_status_t call_variadic(op::OpId op, oar_tensor_t* const* in, size_t n_in, const oar_attr_t* attrs, uint32_t n_attrs,
                           oar_tensor_t** outs, size_t n_outs) noexcept {
  return guard([&]() -> oar_status_t {
    TensorImpl* inputs[256];
    if (oar_status_t s = resolve(op, in, n_in, inputs); s != OAR_OK) return s;
    const char* name = op::op_at(op).def->name;
    if (n_outs && !outs) return fail(Code::invalid_argument, std::string(name) + ": the list of outputs is null.");
    std::vector<Tensor> out;
    Status s = dispatch::call_variadic(op, inputs, int(n_in), attrs, n_attrs, out);
    if (!s.ok()) return fail(s);
    if (out.size() != n_outs)
      return fail(Code::invalid_argument, std::string(name) + ": gives " + std::to_string(out.size()) +
                                              " outputs, room is for " + std::to_string(n_outs) + ".");
    for (size_t i = 0; i < n_outs; ++i) outs[i] = out[i].defined() ? give(std::move(out[i])) : nullptr;
    return OAR_OK;
  });
}

}  // namespace oarlock::c
