#include "core/graph/plan_parts.h"

#include <oarlock/base/autograd.h>

#include "core/device/device_memory.h"
#include "core/dispatch/recorder.h"
#include "core/dispatch/role.h"
#include "core/dispatch/run.h"
#include "core/graph/compiled_group.h"
#include "core/profile/trace.h"

namespace oarlock::graph {

Result<Tensor> Constants::on(const Tensor& t, ValueId key, DeviceState& device) {
  std::lock_guard hold(lock_);
  Tensor& have = held_[{key, device.index}];
  if (!have.defined()) {
    Result<Tensor> t_there = bring(t, device);
    if (!t_there) return t_there;
    have = std::move(*t_there);
  }
  return have;
}
Result<Tensor> Constants::bring(const Tensor& t, DeviceState& device) {
  dispatch::RecorderPause pause;
  Tensor there;
  OAR_TRY(role::transfer(t.detach(), device, &there));
  if (!there.is_contiguous()) OAR_TRY(role::copy(there, &there));
  return there;
}

Plan::Plan(DeviceState& device) : device_(device) {}
Plan::~Plan() {
  steps_.clear();
  entries_.clear();
  groups_.clear();
  spots_.clear();
  for (Home& h : homes_)
    if (h.storage) release(h.storage);
  if (arena_[0].size_bytes) device_free(host_device(), arena_[0], nullptr);
  if (arena_[1].size_bytes) device_free(device_, arena_[1], used_by_);
}

TensorImpl& Plan::at(int spot) const { return *spots_[size_t(spot)].tensor.impl(); }
int Plan::root(int home) const {
  while (homes_[size_t(home)].merged >= 0) home = homes_[size_t(home)].merged;
  return home;
}
Plan::Home& Plan::home_of(int spot) { return homes_[size_t(root(spots_[size_t(spot)].home))]; }

// The home is where t is from now on.
void Plan::place(Home& home, const Tensor& t) {
  const TensorImpl& at = *t.impl();
  // A state's tensor stays the same one while its elements may move, so what counts is where they were.
  Block now{at.view.data, at.view.byte_offset, home.bytes};
  bool there =
      home.placed && home.storage->block.data == now.data && home.storage->block.byte_offset == now.byte_offset;
  home.elements = t;
  home.storage->stream = at.storage ? at.storage->stream : nullptr;
  if (there) return;
  home.placed = true;
  home.storage->block = now;
  for (int s : home.spots) {
    Spot& spot = spots_[size_t(s)];
    oar_view_t& v = spot.tensor.impl()->view;
    v.data = at.view.data;
    v.byte_offset = at.view.byte_offset;
    if (!at.device->addressable) v.byte_offset += spot.byte_offset;
    else if (v.data) v.data = static_cast<char*>(v.data) + spot.byte_offset;
  }
}

Status Plan::bind(std::span<const Tensor> inputs) {
  Stream* stream = current_stream(device_);
  auto wait_for = [&](const Tensor& t) -> Status {
    Storage* s = t.impl()->storage;
    if (!s || !stream || s->device->is_host()) return {};
    if (s->stream && s->stream != stream) OAR_TRY(order(*s->stream, *stream));
    s->stream = stream;
    return {};
  };
  for (const Bound& b : bound_) {
    Home& home = homes_[size_t(b.home)];
    const TensorImpl& like = *spots_[size_t(home.origin)].tensor.impl();
    Tensor t;
    std::string who;
    switch (b.from) {
      case Bound::input: {
        t = inputs[size_t(b.index)];
        const TensorImpl& given = *t.impl();
        if (given.dtype != like.dtype || !(given.shape == like.shape) || given.device != like.device)
          return invalid(p_.name + ": input " + p_.name_of(p_.body.parameters[size_t(b.index)]) + " is " +
                         std::string(to_string(given.dtype)) + to_string(given.shape) + " on " + given.device->name +
                         ", the plan was made for " + std::string(to_string(like.dtype)) + to_string(like.shape) +
                         " on " + like.device->name + ".");
        if (!given.contiguous) OAR_TRY(role::copy(t.detach(), &t));
        break;
      }
      case Bound::feed: {
        t = p_[b.index].feed.next();
        if (t.dtype() != like.dtype || !(t.shape() == like.shape))
          return invalid(p_.name + ": what feeds " + p_.name_of(b.index) + " gave " +
                         std::string(to_string(t.dtype())) + to_string(t.shape()) + " instead of " +
                         std::string(to_string(like.dtype)) + to_string(like.shape) + ".");
        break;
      }
      case Bound::state: {
        t = p_[b.index].data;
        const TensorImpl& now = *t.impl();
        if (now.dtype != like.dtype || !(now.shape == like.shape) || now.device != like.device ||
            !std::equal(now.strides, now.strides + now.shape.rank, like.strides))
          return {Code::refused, p_.name + ": " + p_.name_of(b.index) +
                                     " has another shape, dtype, layout or device than "
                                     "when the plan was made."};
        break;
      }
      case Bound::result: {
        Result<TensorImpl*> made =
            allocate_tensor(*home.device, like.dtype, like.shape, stream, like.contiguous ? nullptr : like.strides);
        if (!made) return std::move(made.status());
        t = Tensor::adopt(*made);
        break;
      }
    }
    OAR_TRY(wait_for(t));
    place(home, t);
  }
  if (!stream) return {};
  if (device_.lost.load(std::memory_order_relaxed))
    return {Code::device_lost, p_.name + ": " + device_.name + " is lost. Start a new process."};
  if (used_by_ == stream) return {};
  if (used_by_) OAR_TRY(order(*used_by_, *stream));
  used_by_ = stream;
  std::lock_guard hold(stream->lock);
  for (Step& s : steps_)
    if (s.pack && s.pack->device == &device_) s.frame.stream = stream_for(*stream, s.pack);
  for (auto& g : groups_) g->will_run_on(*stream);
  return {};
}

oar_status_t OAR_CALL Plan::go_other(void* state, const oar_frame_t*) {
  Other& other = *static_cast<Other*>(state);
  try {
    other.plan->pending_ = other.run();
  } catch (const Error& e) { other.plan->pending_ = Status(e.code(), e.what()); }
  return other.plan->pending_.ok() ? OAR_OK : OAR_INTERNAL;
}

// What a step's failure comes to. A kernel that refuses only now is stood in for by whoever comes after kernels.
Status Plan::failed(size_t index, oar_status_t status) {
  Step& s = steps_[index];
  const StepInfo& info = info_.steps[index];
  std::string at = s.where.empty() ? "" : " (" + s.where + ")";
  if (!pending_.ok()) {
    Status why = std::move(pending_);
    pending_ = Status();
    return {why.code(), std::string(why.text()) + at};
  }
  if (status == OAR_REFUSED && s.entry) return stand_in(s);
  if (status == OAR_DEVICE_LOST) device_.lost = true;
  Status why =
      plugin_failure(*s.pack->plugin, status < 0 ? status : OAR_INTERNAL, info.op + " on " + s.pack->device->name);
  return {why.code(), std::string(why.text()) + ": " + info.shapes + at};
}

Status Plan::stand_in(Step& s) {
  auto at_spot = [&](int i) { return i < 0 ? nullptr : spots_[size_t(i)].tensor.impl(); };
  std::vector<TensorImpl*> in;
  size_t own = s.in.size() - s.n_extra;
  for (size_t i = 0; i < own; ++i) in.push_back(at_spot(s.in[i]));
  op::Attrs attrs = s.entry->attrs.view();
  dispatch::Call call{.op = *s.entry->op,
                      .inputs = in.data(),
                      .n_inputs = int(in.size()),
                      .attrs = attrs.v,
                      .n_attrs = attrs.n,
                      .route = s.entry->op->def->decompose ? Route::decomposition : Route::reference,
                      .device = s.entry->device};
  for (size_t i = size_t(call.op.visible_outputs); i < s.out.size(); ++i) call.with_hidden |= s.out[i] >= 0;
  std::vector<Tensor> out;
  OAR_TRY(dispatch::run_call(call, out));
  for (const Tail& t : s.tail) {
    std::vector<Tensor> next;
    std::vector<TensorImpl*> operands;
    for (int i : t.inputs) operands.push_back(i < 0 ? out[0].impl() : at_spot(s.in[own + size_t(i)]));
    op::Attrs a = t.attrs.view();
    dispatch::Call then{.op = *t.op,
                        .inputs = operands.data(),
                        .n_inputs = int(operands.size()),
                        .attrs = a.v,
                        .n_attrs = a.n,
                        .device = s.entry->device};
    OAR_TRY(dispatch::run_call(then, next));
    out = std::move(next);
  }
  for (size_t i = 0; i < s.out.size() && i < out.size(); ++i)
    if (s.out[i] >= 0 && out[i].defined())
      OAR_TRY(copy_elements(*out[i].impl(), *spots_[size_t(s.out[i])].tensor.impl()));
  return {};
}

Result<Outcome> Plan::run(std::span<const Tensor> inputs) {
  NoGrad off;
  dispatch::RecorderPause pause;
  if (inputs.size() != p_.body.parameters.size())
    return invalid(p_.name + ": takes " + std::to_string(p_.body.parameters.size()) + " inputs, given " +
                   std::to_string(inputs.size()) + ".");
  OAR_TRY(bind(inputs));
  bool timed = trace::active() & trace::kProfile;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& s = steps_[i];
    uint64_t begin = timed ? trace::now_ns() : 0;
    oar_status_t status;
    if (s.frame.stream) [[unlikely]] {
      std::lock_guard hold(used_by_->lock);
      status = s.go(s.state, &s.frame);
    } else {
      status = s.go(s.state, &s.frame);
    }
    if (status != OAR_OK) [[unlikely]]
      OAR_TRY(failed(i, status));
    if (begin) [[unlikely]]
      trace::record("step", info_.steps[i].op, begin, trace::now_ns(),
                    info_.steps[i].plugin + " " + info_.steps[i].shapes);
  }
  return collect();
}

Result<Outcome> Plan::collect() {
  auto take = [&](const Given& g) -> Result<Tensor> {
    const Spot& spot = spots_[size_t(g.spot)];
    const Home& home = homes_[size_t(spot.home)];
    const TensorImpl& geometry = *spot.tensor.impl();
    uint64_t bits = oarlock::info(geometry.dtype).bits;
    Tensor t = Tensor::adopt(
        alias_tensor(*home.elements.impl(), geometry.shape, geometry.strides, int64_t(spot.byte_offset * 8 / bits)));
    if (p_[g.value].kind == Kind::constant) return t.clone();
    return t;
  };
  Outcome out;
  for (const Given& g : results_) {
    Result<Tensor> t = take(g);
    if (!t) return std::move(t.status());
    out.results.push_back(std::move(*t));
  }
  for (const Given& g : gradients_) {
    Result<Tensor> t = take(g);
    if (!t) return std::move(t.status());
    out.gradients.push_back(std::move(*t));
  }
  for (const Bound& b : bound_)  // what a run made is its caller's alone
    if (b.from != Bound::state) homes_[size_t(b.home)].elements = Tensor();
  return out;
}

}  // namespace oarlock::graph
