#include "core/dispatch/call.h"

#include <mutex>
#include <set>

#include "core/autograd/tape.h"
#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/dispatch/key.h"
#include "core/dispatch/recorder.h"
#include "core/dispatch/role.h"
#include "core/dispatch/run.h"
#include "core/profile/trace.h"

namespace oarlock::dispatch {
namespace {

std::string operand(const op::Op& op, int i) {
  const op::OpDef& def = *op.def;
  std::string name = def.inputs.count ? def.inputs[std::min(i, def.inputs.count - 1)].name : "operand";
  return def.inputs.count && i >= def.inputs.count ? name + "[" + std::to_string(i - def.inputs.count + 1) + "]" : name;
}

Status check_operands(const Call& c, const Recorder* recorder) {
  const op::OpDef& def = *c.op.def;
  if (def.regions.count)
    return invalid(std::string(def.name) + ": it calls functions, which a call of an op can't give. Use jit::" + def.name +
                   ".");
  int most = c.op.variadic ? c.n_inputs : def.inputs.count;
  if (c.n_inputs < c.op.required_inputs || c.n_inputs > most)
    return invalid(std::string(def.name) + ": takes " + std::to_string(c.op.required_inputs) +
                   (most == c.op.required_inputs && !c.op.variadic ? ""
                    : c.op.variadic                                ? " or more"
                                                                   : " to " + std::to_string(most)) +
                   " operands, given " + std::to_string(c.n_inputs) + ".");
  for (int i = 0; i < c.n_inputs; ++i) {
    const TensorImpl* t = c.inputs[i];
    int flags = def.inputs[std::min(i, def.inputs.count - 1)].flags;
    if (!t) {
      if (flags & op::optional) continue;
      return invalid(std::string(def.name) + ": " + operand(c.op, i) + " has no value; it is required.");
    }
    if (t->stands_for) {
      if (!recorder || !recorder->owns(*t))
        return invalid(std::string(def.name) + ": " + operand(c.op, i) + ": " + no_elements_text(*t));
    } else if (!t->storage && count(t->shape) != 0)
      return invalid(std::string(def.name) + ": " + operand(c.op, i) +
                     " has a shape but no elements: a gradient rule read what its op did not list in .saves.");
    if (flags & op::host) {
      if (!t->device->is_host())
        return invalid(std::string(def.name) + ": " + operand(c.op, i) + " is on " + t->device->name +
                       "; it is a host argument. Move it with .to(cpu).");
    }
  }
  return {};
}

}  // namespace

Status find_device(Call& c) {
  DeviceState* device = nullptr;
  int first = 0;
  for (int i = 0; i < c.n_inputs; ++i) {
    if (!c.inputs[i] || (c.op.host_inputs >> std::min(i, 63) & 1)) continue;
    if (!device) {
      device = c.inputs[i]->device;
      first = i;
    } else if (device != c.inputs[i]->device) [[unlikely]] {
      return invalid(std::string(c.op.def->name) + ": devices disagree: " + operand(c.op, first) + " is on " +
                     device->name + ", " + operand(c.op, i) + " is on " + c.inputs[i]->device->name +
                     ". Move one of them with .to(...).");
    }
  }
  c.device = device ? device : &device_at(current_device_index());
  return {};
}

namespace {

// Where operands of several devices go if the setting across_devices lets them: to the one that is written to, else to
// the first that is not the host's. The copies are recorded, so gradients go home.
Status gather(Call& c, Status disagreement, std::vector<Tensor>& keep, std::vector<TensorImpl*>& in) {
  enum Policy { off, warn, allow };
  int64_t policy = setting::across_devices.load(std::memory_order_relaxed);
  const char* name = c.op.def->name;
  if (policy == off)
    return invalid(std::string(disagreement.text()) + " The setting across_devices=allow copies them by itself.");
  auto bit = [](uint64_t mask, int i) { return mask >> std::min(i, 63) & 1; };
  DeviceState* to = nullptr;
  for (int i = 0; i < c.n_inputs; ++i) {
    if (!c.inputs[i] || bit(c.op.host_inputs, i) || !bit(c.op.mutated, i)) continue;
    if (to && to != c.inputs[i]->device) return disagreement;  // a copy would be written to, and lost
    to = c.inputs[i]->device;
  }
  for (int i = 0; !to && i < c.n_inputs; ++i)
    if (c.inputs[i] && !bit(c.op.host_inputs, i) && !c.inputs[i]->device->is_host()) to = c.inputs[i]->device;
  in.assign(c.inputs, c.inputs + c.n_inputs);
  for (int i = 0; i < c.n_inputs; ++i) {
    if (!in[size_t(i)] || bit(c.op.host_inputs, i) || in[size_t(i)]->device == to) continue;
    std::string from = in[size_t(i)]->device->name, what = std::string(name) + ", " + operand(c.op, i);
    if (policy == warn) {
      static std::mutex lock;
      static auto* told = new std::set<std::string>;
      std::lock_guard hold(lock);
      if (told->insert(what + from + to->name).second)
        log(OAR_LOG_WARNING, what + " is copied from " + from + " to " + to->name +
                                 ", where its other operands are. Keep it there, or set across_devices=allow.");
    }
    detail::retain(in[size_t(i)]);
    Tensor t = Tensor::adopt(in[size_t(i)]);
    TransferReason why("for " + what);
    OAR_TRY(role::transfer(t, *to, &t));
    in[size_t(i)] = t.impl();
    keep.push_back(std::move(t));
  }
  c.inputs = in.data();
  c.device = to;
  return {};
}

}  // namespace

Status perform(const Call& c, std::vector<Tensor>& outputs) {
  const op::OpDef& def = *c.op.def;
  outputs.clear();
  if (def.role == op::Role::assign) return run_assign(c);
  if (!def.view && def.role != op::Role::transfer) return run_call(c, outputs);
  outputs.resize(1);
  return def.view ? run_view(c, &outputs[0]) : run_transfer(c, &outputs[0]);
}

Status call_with(Call& c, std::vector<Tensor>& outputs) {
  if (trace::active() & trace::kUnread) [[unlikely]]
    trace::read_settings();
  const op::OpDef& def = *c.op.def;
  Recorder* recording = trace::active() & trace::kRecording ? recorder() : nullptr;
  OAR_TRY(check_operands(c, recording));
  std::vector<Tensor> gathered;
  std::vector<TensorImpl*> in;
  if (Status found = find_device(c); !found.ok()) [[unlikely]]
    OAR_TRY(gather(c, std::move(found), gathered, in));
  uint64_t wanted = grad_mode() ? wanted_inputs(c.op, c.inputs, c.n_inputs) : 0;
  if (trace::active()) [[unlikely]] {
    std::string text = std::string(def.name) + "(";
    for (int i = 0; i < c.n_inputs; ++i)
      text +=
          (i ? ", " : "") + (c.inputs[i] ? std::string(to_string(c.inputs[i]->dtype)) + to_string(c.inputs[i]->shape)
                                         : std::string("none"));
    OAR_TRACE_STOP(text + ") on " + c.device->name + (wanted ? ", recorded for gradients" : ""));
  }
  if (grad_mode() && c.op.mutated)
    for (int i = 0; i < c.n_inputs; ++i)
      if (c.inputs[i] && (c.op.mutated >> std::min(i, 63) & 1) && c.inputs[i]->requires_grad)
        return invalid(std::string(def.name) + ": " + operand(c.op, i) +
                       " requires a gradient, and writing to it would not be recorded. Wrap the call in NoGrad.");
  outputs.clear();
  if (recording) {
    c.decompose = wanted && !def.gradient && def.decompose;
    c.with_hidden = wanted && def.gradient;
    OAR_TRY(recording->record(c, outputs));
    if (def.role == op::Role::assign) return {};
  } else if (def.role == op::Role::assign) {
    return run_assign(c);
  } else {
    c.decompose = wanted && !def.gradient && def.decompose;
    c.with_hidden = wanted && def.gradient;
    if (wanted && !def.view && def.role != op::Role::transfer) {  // the casts are calls of their own on the tape
      std::vector<Tensor> keep;
      std::vector<TensorImpl*> cast;
      OAR_TRY(promote_operands(c, keep, cast));
      if (!cast.empty()) return call_with(c, outputs);
    }
    OAR_TRY(perform(c, outputs));
  }
  if (!recording && trace::active() & trace::kAnomaly) [[unlikely]] {
    std::vector<Tensor> in(size_t(c.n_inputs));
    for (int i = 0; i < c.n_inputs; ++i)
      if (c.inputs[i]) {
        detail::retain(c.inputs[i]);
        in[size_t(i)] = Tensor::adopt(c.inputs[i]);
      }
    OAR_TRY(check_for_nan(def.name, in, outputs, wanted ? call_site() : std::string()));
  }
  if (wanted && def.gradient) {
    TensorImpl* out[op::InferCall::kMaxOutputs];
    int n = int(outputs.size());
    for (int i = 0; i < n; ++i) out[i] = outputs[size_t(i)].impl();
    op::AttrScratch scratch;
    OAR_TRY(op::normalise(def, c.n_inputs && c.inputs[0] ? &c.inputs[0]->shape : nullptr, c.attrs, c.n_attrs, scratch));
    record_call(c.op, op::Attrs(scratch.values, uint32_t(def.attributes.count)), c.inputs, c.n_inputs, out, n);
    OAR_TRACE_STOP("recorded on the tape");
  }
  return {};
}

namespace {

// The usual call in a straight line: seen before, a kernel on the host, nothing to arrange. False: go the whole way.
// A hit says that the operands passed every check before, since all that is checked is in the key.
inline bool straight(const Call& c, Tensor* output, Status* status) {
  Cache& cache = Cache::of_thread();
  Entry* e = cache.current() && !c.n_attrs ? cache.last(c.op.id) : nullptr;
  if (!e || !has_signature(c, *e)) {
    Key key;
    make_key(c, key);
    if (!key.fits) [[unlikely]]
      return false;
    e = cache.find(key);
    if (!e || !e->simple) [[unlikely]]
      return false;
    cache.last(c.op.id) = e;
  }
  Result<TensorImpl*> made = allocate_like(*e->like.impl(), e->like_bytes);
  if (!made) [[unlikely]] {
    *status = Status(made.status().code(), std::string(c.op.def->name) + ": " + std::string(made.status().text()));
    return true;
  }
  TensorImpl* out = *made;
  const oar_view_t* inputs[8];
  for (int i = 0; i < c.n_inputs; ++i) inputs[i] = c.inputs[i] ? &c.inputs[i]->view : nullptr;
  const oar_view_t* outputs[] = {&out->view};
  oar_frame_t f;
  f.struct_size = sizeof f;
  f.n_inputs = uint32_t(c.n_inputs);
  f.n_outputs = 1;
  f.reserved = 0;
  f.inputs = inputs;
  f.outputs = outputs;
  f.workspace = {};
  f.stream = nullptr;
  f.correlation = 0;
  f.call = e->prepared ? nullptr : &e->call;
  f.host_frame = nullptr;
  const oar_kernel_decl_t* decl = e->kernel.decl;
  oar_status_t s = e->prepared ? decl->launch(e->state, &f) : decl->run(e->kernel.pack->handle, decl, &f);
  if (s != OAR_OK) [[unlikely]] {
    detail::release(out);
    if (s > 0) return false;
    *status = plugin_failure(*e->kernel.pack->plugin, s, std::string(c.op.def->name) + " on " + e->device->name);
    return true;
  }
  e->calls.store(e->calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  *output = Tensor::adopt(out);
  return true;
}

}  // namespace

Status call(op::OpId id, TensorImpl* const* inputs, int n_inputs, const oar_attr_t* attrs, uint32_t n_attrs,
            Tensor* outputs, int n_outputs) {
  Call c{.op = op::op_at(id), .inputs = inputs, .n_inputs = n_inputs, .attrs = attrs, .n_attrs = n_attrs};
  const op::OpDef& def = *c.op.def;
  if (!trace::active() && n_outputs == 1 && n_inputs > 0 && inputs[0] && !(c.op.host_inputs & 1)) [[likely]] {
    uint64_t wanted = grad_mode() ? wanted_inputs(c.op, inputs, n_inputs) : 0;
    c.device = inputs[0]->device;
    if (def.view && !wanted && n_inputs == 1) return run_view(c, outputs);
    if (c.device->is_host() && !def.view && (!wanted || (def.gradient && def.outputs.count == 1))) {
      c.with_hidden = wanted;
      Status s;
      Tensor out;
      if (straight(c, &out, &s)) [[likely]] {
        if (!s.ok()) [[unlikely]]
          return s;
        if (wanted) {
          TensorImpl* made = out.impl();
          if (n_attrs || def.attributes.count) {
            op::AttrScratch scratch;
            OAR_TRY(op::normalise(def, &inputs[0]->shape, attrs, n_attrs, scratch));
            record_call(c.op, op::Attrs(scratch.values, uint32_t(def.attributes.count)), inputs, n_inputs, &made, 1);
          } else {
            record_call(c.op, op::Attrs(), inputs, n_inputs, &made, 1);
          }
        }
        outputs[0] = std::move(out);
        return s;
      }
      c.with_hidden = false;
    }
  }
  std::vector<Tensor> all;
  OAR_TRY(call_with(c, all));
  for (int i = 0; i < n_outputs && i < int(all.size()); ++i) outputs[i] = std::move(all[size_t(i)]);
  return {};
}

Status call_variadic(op::OpId id, TensorImpl* const* inputs, int n_inputs, const oar_attr_t* attrs, uint32_t n_attrs,
                     std::vector<Tensor>& outputs) {
  Call c{.op = op::op_at(id), .inputs = inputs, .n_inputs = n_inputs, .attrs = attrs, .n_attrs = n_attrs};
  return call_with(c, outputs);
}

}  // namespace oarlock::dispatch
