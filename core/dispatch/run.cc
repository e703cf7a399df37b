#include "core/dispatch/key.h"
#include "core/dispatch/run.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <oarlock/base/autograd.h>

#include "core/autograd/tape.h"
#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/device/device_memory.h"
#include "core/device/output.h"
#include "core/dispatch/call.h"
#include "core/dispatch/order.h"
#include "core/dispatch/role.h"
#include "core/dispatch/watch.h"
#include "core/op/calls.h"
#include "core/profile/trace.h"

namespace oarlock {
namespace dispatch {
namespace {

// What a frame's host_frame points to: where output_alloc puts what it makes.
struct Running {
  Entry& entry;
  std::vector<TensorImpl*>& outputs;
  std::vector<const oar_view_t*>& views;
  Stream* stream;
  Status status{};
};

const oar_view_t* allocate_output(void* context, int output, const Shape& shape) {
  Running& r = *static_cast<Running*>(context);
  if (output < 0 || output >= r.entry.n_outputs) {
    r.status = invalid(std::string(r.entry.op->def->name) + ": output " + std::to_string(output) + " does not exist.");
    return nullptr;
  }
  DType type = r.entry.dtypes[size_t(output)];
  Status sizes = check_sizes(shape, type, r.entry.op->def->name);
  if (!sizes.ok()) {
    r.status = std::move(sizes);
    return nullptr;
  }
  Result<TensorImpl*> t = allocate_tensor(*r.entry.device, type, shape, r.stream);
  if (!t) {
    r.status = std::move(t.status());
    return nullptr;
  }
  if (r.outputs[size_t(output)]) detail::release(r.outputs[size_t(output)]);
  r.outputs[size_t(output)] = *t;
  return r.views[size_t(output)] = &(*t)->view;
}

// Releases what was made if the call fails before it is handed on.
struct Outputs {
  std::vector<TensorImpl*> made;
  std::vector<const oar_view_t*> views;
  ~Outputs() {
    for (TensorImpl* t : made)
      if (t) detail::release(t);
  }
  void hand_over(std::vector<Tensor>& to) {
    to.clear();
    for (TensorImpl*& t : made) {
      to.push_back(Tensor::adopt(t));
      t = nullptr;
    }
  }
};

Status make_outputs(Entry& e, const Call& c, Stream* stream, Outputs& out) {
  out.made.assign(size_t(e.n_outputs), nullptr);
  out.views.assign(size_t(e.n_outputs), nullptr);
  bool variadic = e.n_outputs != c.op.def->outputs.count;
  for (int i = 0; i < e.n_outputs; ++i) {
    if (!variadic && i >= c.op.visible_outputs && !c.with_hidden) continue;
    if (e.dynamic) {
      bool known = true;
      for (Dim d : e.shapes[size_t(i)]) known &= d.known();
      if (!known) continue;
    }
    const auto& s = e.strides;
    Result<TensorImpl*> t = allocate_tensor(*e.device, e.dtypes[size_t(i)], e.shapes[size_t(i)], stream,
                                            !s.empty() && !s[size_t(i)].empty() ? s[size_t(i)].data() : nullptr);
    if (!t) [[unlikely]]
      return Status(t.status().code(), std::string(c.op.def->name) + ": " + std::string(t.status().text()));
    out.made[size_t(i)] = *t;
    out.views[size_t(i)] = &(*t)->view;
  }
  return {};
}

Status launch_kernel(Entry& e, const Call& c, const oar_view_t* const* inputs, Outputs& out, Stream* stream,
                     bool* refused) {
  DeviceState& d = *e.device;
  Block workspace;
  if (e.workspace_bytes) {
    Result<Block> w = device_allocate(d, e.workspace_bytes, stream);
    if (!w) return std::move(w.status());
    workspace = *w;
  }
  Running running{e, out.made, out.views, stream};
  oar_frame_t f;
  f.struct_size = sizeof f;
  f.n_inputs = uint32_t(c.n_inputs);
  f.n_outputs = uint32_t(e.n_outputs);
  f.reserved = 0;
  f.inputs = inputs;
  f.outputs = out.views.data();
  f.workspace = {workspace.data, workspace.byte_offset, e.workspace_bytes};
  f.stream = nullptr;
  f.correlation = 0;
  f.call = e.prepared ? nullptr : &e.call;
  f.host_frame = &running;
  oar_status_t status;
  const oar_kernel_decl_t* decl = e.kernel.decl;
  if (!stream) {
    status = e.prepared ? decl->launch(e.state, &f) : decl->run(e.kernel.pack->handle, decl, &f);
  } else {
    std::lock_guard hold(stream->lock);
    f.stream = stream_for(*stream, e.kernel.pack);
    status = e.prepared ? decl->launch(e.state, &f) : decl->run(e.kernel.pack->handle, decl, &f);
  }
  if (e.workspace_bytes) device_free(d, workspace, stream);
  if (status == OAR_OK) [[likely]]
    return {};
  if (status == OAR_REFUSED) {
    *refused = true;
    return {};
  }
  if (!running.status.ok()) return std::move(running.status);
  if (status == OAR_DEVICE_LOST) d.lost = true;
  return plugin_failure(*e.kernel.pack->plugin, status, std::string(c.op.def->name) + " on " + d.name);
}

Status run_reference(Entry& e, const Call& c, const oar_view_t* const* inputs, Outputs& out) {
  Running running{e, out.made, out.views, nullptr};
  op::KernelCall call{.inputs = {inputs, size_t(c.n_inputs)},
                      .outputs = {out.views.data(), out.views.size()},
                      .attrs = e.attrs.view(),
                      .allocate_output = allocate_output,
                      .context = &running};
  uint64_t begin = trace::now_ns();
  c.op.def->reference(call);
  uint64_t us = (trace::now_ns() - begin) / 1000;
  int64_t limit = setting::warn_reference_us.load(std::memory_order_relaxed);
  if (limit && us > uint64_t(limit) && !e.warned && c.route == Route::dispatch) {
    e.warned = true;
    std::string shapes;
    for (int i = 0; i < c.n_inputs; ++i)
      if (c.inputs[i])
        shapes += (i ? ", " : "") + std::string(to_string(c.inputs[i]->dtype)) + to_string(c.inputs[i]->shape);
    log(OAR_LOG_INFO, std::string(c.op.def->name) + "(" + shapes + ") ran the reference in " + std::to_string(us) +
                          " us" + (e.reason.empty() ? ": no plugin has this op." : ": " + e.reason + "."));
  }
  if (!running.status.ok()) return std::move(running.status);
  if (!call.status.ok()) return Status(call.status.code(), std::string(call.status.text()));
  return {};
}

// Is this the shape that the strings say, as far as they know it?
bool fits(const Shape& got, const Shape& want) {
  if (got.rank != want.rank) return false;
  for (int i = 0; i < got.rank; ++i)
    if (want[i].known() && want[i].n != got[i].n) return false;
  return true;
}

}  // namespace

Status run_decomposition(Entry& e, const Call& c, std::vector<Tensor>& outputs) {
  const op::OpDef& def = *c.op.def;
  std::vector<Tensor> in(size_t(c.n_inputs)), out;
  for (int i = 0; i < c.n_inputs; ++i)
    if (c.inputs[i]) {
      detail::retain(c.inputs[i]);
      in[size_t(i)] = Tensor::adopt(c.inputs[i]);
    }
  OAR_TRACE_STOP(std::string(def.name) + ": decomposed");
  bool before = grad_mode();
  struct Restore {
    bool value;
    ~Restore() { grad_mode() = value; }
  } restore{before};
  if (!c.decompose) grad_mode() = false;
  try {
    DeviceScope scope(Device(e.device->index));
    op::RuleCall rule{in, e.attrs.view(), out};
    def.decompose(rule);
  } catch (const Error& error) {
    return {error.code(), std::string(def.name) + ": in its decomposition: " + error.what()};
  }
  out.resize(size_t(e.n_outputs));
  bool variadic = e.n_outputs != def.outputs.count;
  for (int i = 0; i < e.n_outputs; ++i) {
    if (!out[size_t(i)].defined()) {
      if (!variadic && i >= c.op.visible_outputs) continue;
      return {Code::internal,
              std::string(def.name) + ": its decomposition left output " + std::to_string(i) + " without a value."};
    }
    if (!fits(out[size_t(i)].shape(), e.shapes[size_t(i)]) || out[size_t(i)].dtype() != e.dtypes[size_t(i)])
      return {Code::internal, std::string(def.name) + ": its decomposition gave " +
                                  std::string(to_string(out[size_t(i)].dtype())) + to_string(out[size_t(i)].shape()) +
                                  ", its strings say " + std::string(to_string(e.dtypes[size_t(i)])) +
                                  to_string(e.shapes[size_t(i)]) + "."};
    if (!variadic && i >= c.op.visible_outputs && !c.with_hidden) out[size_t(i)] = Tensor();
  }
  // An operand that is handed on as it was gets a header of its own: the tape writes into those of results.
  if (!c.decompose)
    for (Tensor& t : out)
      if (t.defined() && (std::count(c.inputs, c.inputs + c.n_inputs, t.impl()) ||
                          std::count_if(out.begin(), out.end(), [&](auto& o) { return o.impl() == t.impl(); }) > 1))
        t = t.detach();
  outputs = std::move(out);
  return {};
}

// May this op run on the host instead? Gradients never do: a training step must not be slow in secret.
Status allow_fallback(const Entry& e, const Call& c) {
  std::string policy = setting::fallback();
  std::string name = c.op.def->name;
  auto refused = [&](const std::string& why) {
    return Status(Code::unsupported, name + " on " + e.device->name +
                                         ": no kernel takes this call and it has no decomposition" +
                                         (e.reason.empty() ? "" : " (" + e.reason + ")") + ". " + why);
  };
  if (c.op.mutated) return refused("It writes to its operands, so it can't run on the host instead.");
  if (policy == "off") return refused("Setting fallback is off; warn would let it run on the host.");
  if (wanted_inputs(c.op, c.inputs, c.n_inputs) && grad_mode())
    return refused(
        "While gradients are recorded nothing falls back to the host. Compute it on the host with .to(cpu).");
  if (policy == "warn") {
    static std::mutex lock;
    static auto* told = new std::set<std::string>;
    std::lock_guard hold(lock);
    if (told->insert(name + "@" + e.device->name).second)
      log(OAR_LOG_WARNING, name + " on " + e.device->name +
                               " runs on the host: " + (e.reason.empty() ? "no plugin has this op there" : e.reason) +
                               ". Setting fallback=off makes this an error.");
    return {};
  }
  std::string list = "," + policy + ",";
  if (list.find("," + name + ",") == std::string::npos) return refused("Setting fallback allows only: " + policy + ".");
  return {};
}

namespace {

Status run_fallback(Entry& e, const Call& c, std::vector<Tensor>& outputs) {
  OAR_TRY(allow_fallback(e, c));
  TransferReason why("for the fallback of " + std::string(c.op.def->name));
  std::vector<Tensor> moved(size_t(c.n_inputs));
  std::vector<TensorImpl*> in(size_t(c.n_inputs), nullptr);
  for (int i = 0; i < c.n_inputs; ++i) {
    if (!c.inputs[i]) continue;
    detail::retain(c.inputs[i]);
    Tensor t = Tensor::adopt(c.inputs[i]);
    OAR_TRY(role::transfer(t, host_device(), &moved[size_t(i)]));
    in[size_t(i)] = moved[size_t(i)].impl();
  }
  Call host{.op = c.op,
            .inputs = in.data(),
            .n_inputs = c.n_inputs,
            .attrs = c.attrs,
            .n_attrs = c.n_attrs,
            .with_hidden = c.with_hidden};
  host.device = &host_device();
  std::vector<Tensor> out;
  OAR_TRY(run_call(host, out));
  for (Tensor& t : out)
    if (t.defined()) OAR_TRY(role::transfer(t, *e.device, &t));
  outputs = std::move(out);
  return {};
}

// Inputs that the kernel wants row-major or expanded, made so; the rest as they are.
Status arrange(const Entry& e, const Call& c, std::vector<Tensor>& keep, std::vector<TensorImpl*>& in) {
  NoGrad off;
  in.assign(c.inputs, c.inputs + c.n_inputs);
  for (int i = 0; i < c.n_inputs; ++i) {
    if (!in[size_t(i)] || (c.op.host_inputs >> std::min(i, 63) & 1)) continue;
    const op::Rule& r = c.op.rule;
    const op::Spec& spec = r.in[std::min(i, c.op.def->inputs.count - 1)];
    bool batch = spec.count == 1 && r.item[spec.first].kind == op::Item::batch;
    bool expand = e.expand && batch && !(in[size_t(i)]->shape == e.shapes[0]);
    if (!expand && in[size_t(i)]->contiguous) continue;
    detail::retain(in[size_t(i)]);
    Tensor t = Tensor::adopt(in[size_t(i)]);
    if (expand) OAR_TRY(role::expand(t, e.shapes[0], &t));
    OAR_TRY(role::copy(t, &t));
    in[size_t(i)] = t.impl();
    keep.push_back(std::move(t));
  }
  return {};
}

void count_time(Entry& e, uint64_t ns) {
  e.host_ns.store(e.host_ns.load(std::memory_order_relaxed) + ns, std::memory_order_relaxed);
}

// The last stop: the kernel, where its plugin declares it.
void trace_kernel(const Entry& e) {
  const oar_kernel_decl_t& d = *e.kernel.decl;
  std::string text =
      std::string(e.op->def->name) + (e.prepared ? ": launch" : ": run") + " in " + e.kernel.pack->plugin->info.name;
  if (OAR_HAS(&d, source_line) && d.source_file.size)
    trace::stop(text, std::string(d.source_file.data, d.source_file.size).c_str(), int(d.source_line));
  else trace::stop_at(e.prepared ? reinterpret_cast<void*>(d.launch) : reinterpret_cast<void*>(d.run), text);
}

}  // namespace

Status cast_operands(const Entry& e, Call& c, std::vector<Tensor>& keep, std::vector<TensorImpl*>& in) {
  in.assign(c.inputs, c.inputs + c.n_inputs);
  for (int i = 0; i < c.n_inputs; ++i) {
    if (e.cast_to[size_t(i)] == DType::none) continue;
    detail::retain(in[size_t(i)]);
    Tensor t = Tensor::adopt(in[size_t(i)]);
    OAR_TRY(role::cast(t, e.cast_to[size_t(i)], &t));
    in[size_t(i)] = t.impl();
    keep.push_back(std::move(t));
  }
  c.inputs = in.data();
  return {};
}

namespace {

// The entry of a call: found or made. once keeps it alive where calls inside may push it out of the cache.
Result<Entry*> entry_of(const Call& c, std::shared_ptr<Entry>& once, bool* cached) {
  ensure_plugins_loaded();
  Key key;
  make_key(c, key);
  Cache& cache = Cache::of_thread();
  *cached = key.fits;
  if (Entry* e = key.fits ? cache.find(key) : nullptr) {
    if (e->kind != Kind::kernel || e->make_contiguous) once = e->shared_from_this();
    OAR_TRACE_STOP(std::string(c.op.def->name) + ": found what was chosen before");
    return e;
  }
  Result<std::shared_ptr<Entry>> made = make_entry(c);
  if (!made) return std::move(made.status());
  once = std::move(*made);
  Entry* e = key.fits ? cache.add(key, once) : once.get();
  if (trace::active() & trace::kStops)
    OAR_TRACE_STOP(std::string(c.op.def->name) + ": chose " +
                   (e->kind == Kind::kernel ? e->kernel.pack->plugin->info.name + "'s kernel"
                                            : std::string("the ") + route_name(e->kind)) +
                   (e->reason.empty() ? "" : " (" + e->reason + ")"));
  return e;
}

}  // namespace

Status promote_operands(Call& c, std::vector<Tensor>& keep, std::vector<TensorImpl*>& in) {
  std::shared_ptr<Entry> once;
  bool cached = false;
  Result<Entry*> e = entry_of(c, once, &cached);
  if (!e) return std::move(e.status());
  return (*e)->kind == Kind::promote ? cast_operands(**e, c, keep, in) : Status();
}

Status run_entry(Entry& e, const Call& call, std::vector<Tensor>& outputs) {
  if (trace::active() & (trace::kReport | trace::kCapture)) [[unlikely]]
    return run_watched(e, call, outputs);
  return carry_out(e, call, outputs);
}

Status carry_out(Entry& e, const Call& call, std::vector<Tensor>& outputs) {
  e.calls.store(e.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (e.kind == Kind::promote) {
    std::vector<Tensor> keep;
    std::vector<TensorImpl*> in;
    Call again = call;
    OAR_TRY(cast_operands(e, again, keep, in));
    return run_call(again, outputs);
  }
  if (e.kind == Kind::decomposition || e.kind == Kind::fallback) {
    uint64_t begin = trace::active() & trace::kPlacementTime ? trace::now_ns() : 0;
    OAR_TRY(e.kind == Kind::decomposition ? run_decomposition(e, call, outputs) : run_fallback(e, call, outputs));
    if (begin) [[unlikely]]
      count_time(e, trace::now_ns() - begin);
    return {};
  }

  Call c = call;
  std::vector<Tensor> keep;
  std::vector<TensorImpl*> arranged;
  if (e.make_contiguous) {
    OAR_TRY(arrange(e, c, keep, arranged));
    c.inputs = arranged.data();
  }
  Stream* stream = current_stream(*e.device);
  if (stream) {
    if (e.device->lost.load(std::memory_order_relaxed) || forked()) [[unlikely]]
      return Status(forked() ? Code::unsupported : Code::device_lost,
                    std::string(c.op.def->name) + " on " + e.device->name +
                        (forked() ? ": this process was forked after the device was opened. Start workers as threads "
                                    "or by spawning a new process."
                                  : ": the device is lost. Its tensors can't be read any more; start a new process."));
    for (int i = 0; i < c.n_inputs; ++i) {  // wait for what other streams still do to an operand
      if (!c.inputs[i] || !c.inputs[i]->storage || c.inputs[i]->device->is_host()) continue;
      Storage& s = *c.inputs[i]->storage;
      if (s.stream && s.stream != stream) OAR_TRY(order(*s.stream, *stream));
      s.stream = stream;
    }
  }
  Outputs out;
  OAR_TRY(make_outputs(e, c, stream, out));
  const oar_view_t* views[256];
  for (int i = 0; i < c.n_inputs; ++i) views[i] = c.inputs[i] ? &c.inputs[i]->view : nullptr;
  OrderedViews ordered(e.order, e.order.empty() ? 0 : size_t(c.n_inputs + e.n_outputs));
  if (!e.order.empty()) {
    for (int i = 0; i < c.n_inputs; ++i) views[i] = ordered.add(views[i]);
    for (const oar_view_t*& v : out.views) v = ordered.add(v);
  }
  uint64_t begin = trace::active() & (trace::kProfile | trace::kPlacementTime) ? trace::now_ns() : 0;
  bool refused = false;
  if (!e.launch) {
    // Every output is empty: there is nothing to compute.
  } else if (e.kind == Kind::kernel) {
    if (trace::active() & trace::kStops) [[unlikely]]
      trace_kernel(e);
    OAR_TRY(launch_kernel(e, c, views, out, stream, &refused));
    if (refused) return Status(Code::refused, "");
  } else if (e.kind == Kind::memory) {
    OAR_TRACE_STOP(std::string(c.op.def->name) + ": copied by the device's memory table");
    OAR_TRY(copy_elements(*c.inputs[0], *out.made[0]));
  } else {
    OAR_TRACE_STOP(std::string(c.op.def->name) + ": reference on the host");
    OAR_TRY(run_reference(e, c, views, out));
  }
  if (begin) [[unlikely]] {
    if (stream && trace::active() & trace::kPlacementTime) OAR_TRY(synchronize(*stream));
    uint64_t end = trace::now_ns();
    count_time(e, end - begin);
    if (trace::active() & trace::kProfile)
      trace::record(route_name(e.kind), c.op.def->name, begin, end,
                    e.device->name + (e.kind == Kind::kernel ? " " + e.kernel.pack->plugin->info.name : ""));
  }
  if (c.op.mutated)
    for (int i = 0; i < c.n_inputs; ++i)
      if (c.inputs[i] && (c.op.mutated >> std::min(i, 63) & 1))
        c.inputs[i]->storage->version.fetch_add(1, std::memory_order_relaxed);
  out.hand_over(outputs);
  return {};
}

Status run_call(const Call& c, std::vector<Tensor>& outputs) {
  std::shared_ptr<Entry> once;
  bool cached = false;
  Result<Entry*> e = entry_of(c, once, &cached);
  if (!e) return std::move(e.status());
  Status s = run_entry(**e, c, outputs);
  if (s.code() == Code::refused) {  // a kernel that only noticed while running: go on without kernels
    Call without = c;
    without.route = c.op.def->decompose ? Route::decomposition : Route::reference;
    if (cached) Cache::of_thread().remove(*e);
    return run_call(without, outputs);
  }
  return s;
}

}  // namespace dispatch

oar_status_t allocate_dynamic_output(const oar_frame_t* frame, uint32_t output, uint32_t n_dims, const int64_t* shape,
                                     const oar_view_t** out_view) {
  if (!frame || !frame->host_frame || !out_view || n_dims > uint32_t(kMaxRank) || (n_dims && !shape))
    return OAR_INVALID_ARGUMENT;
  Shape s;
  for (uint32_t i = 0; i < n_dims; ++i) {
    if (shape[i] < 0) return OAR_INVALID_ARGUMENT;
    s.push(shape[i]);
  }
  *out_view = dispatch::allocate_output(frame->host_frame, int(output), s);
  if (*out_view) return OAR_OK;
  return static_cast<dispatch::Running*>(frame->host_frame)->status.code() == Code::out_of_memory
             ? OAR_OUT_OF_MEMORY
             : OAR_INVALID_ARGUMENT;
}

}  // namespace oarlock
