#include "core/dispatch/watch.h"

#include <algorithm>
#include <cstdio>

#include <oarlock/base/autograd.h>

#include "core/base/settings.h"
#include "core/profile/call_report.h"
#include "core/profile/capture.h"
#include "core/profile/trace.h"

namespace oarlock::dispatch {
namespace {

// A call under way on this thread, and those it is part of.
struct Frame {
  const Frame* outer;
  const Entry& entry;
  bool recorded;          // taken apart for the tape only: its steps count as calls of their own
  uint64_t inner_ns = 0;  // of calls that are part of it
};
thread_local Frame* t_frame = nullptr;
thread_local bool t_looking = false;  // what looking itself calls is nobody's business

struct Looking {
  Looking() { t_looking = true; }
  ~Looking() { t_looking = false; }
};

std::string operand_text(const TensorImpl* t) {
  return t ? std::string(to_string(t->dtype)) + to_string(t->shape) + (t->contiguous ? "" : " strided") : "none";
}

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

template <class T, class F>
std::string listed(std::span<const T> list, F text) {
  std::string s = "[";
  for (const T& x : list) s += (s.size() > 1 ? ", " : "") + text(x);
  return s + "]";
}

std::string attributes_text(const Entry& e) {
  std::string all;
  op::Attrs a = e.attrs.view();
  for (int i = 0; i < int(a.n); ++i) {
    std::string value = "none";
    if (!a.none(i)) switch (a[i].type) {
        case OAR_ATTR_BOOL: value = a.flag(i) ? "true" : "false"; break;
        case OAR_ATTR_FLOAT: value = number(a.real(i)); break;
        case OAR_ATTR_STRING: value = a.text(i); break;
        case OAR_ATTR_DTYPE: value = to_string(a.dtype(i)); break;
        case OAR_ATTR_INTS: value = listed<int64_t>(a.integers(i), [](int64_t x) { return std::to_string(x); }); break;
        case OAR_ATTR_FLOATS: value = listed<double>(a.reals(i), number); break;
        default: value = std::to_string(a.integer(i));
      }
    all += (i ? ", " : "") + std::string(e.op->def->attributes[i].name) + "=" + value;
  }
  return all;
}

void report(const Frame& f, const Call& c, uint64_t ns) {
  const Entry& e = f.entry;
  call_report::Row row;
  row.op = e.op->def->name;
  row.device = e.device->name;
  row.route = route_name(e.kind);
  if (e.kind == Kind::kernel) row.plugin = e.kernel.pack->plugin->info.name;
  row.reason = e.reason;
  if (c.decompose) row.reason = "gradients are recorded, and it has no gradient rule but that of its steps";
  for (int i = 0; i < c.n_inputs; ++i) row.operands += (i ? ", " : "") + operand_text(c.inputs[i]);
  row.attributes = attributes_text(e);
  // The outermost call that is taken apart or moved, or whose operands are copied for its kernel: this one is its part.
  for (const Frame* o = f.outer; o && !o->recorded; o = o->outer) row.inside = o->entry.op->def->name;
  row.recorded = c.decompose;
  call_report::add(row, ns, ns - std::min(ns, f.inner_ns));
}

Status wait(DeviceState& device) {
  Stream* s = current_stream(device);
  return s ? synchronize(*s) : Status();
}

capture::Value value_of(TensorImpl* t, bool mutated, bool host) {
  capture::Value v;
  if (!t) return v;
  detail::retain(t);
  Tensor tensor = Tensor::adopt(t);
  v.present = true;
  v.mutated = mutated;
  v.host = host;
  v.dtype = t->dtype;
  v.shape = t->shape;
  std::copy_n(t->strides, t->shape.rank, v.strides);
  v.bytes.resize(size_t(size_bytes(t->dtype, uint64_t(count(t->shape)))));
  if (t->storage) tensor.copy_to_host(v.bytes.data());
  return v;
}

Status run_captured(Entry& e, const Call& c, std::vector<Tensor>& outputs) {
  int64_t limit = setting::capture_calls.load(std::memory_order_relaxed);
  bool wanted = (e.kind == Kind::kernel || e.kind == Kind::memory) && e.launch &&
                (limit == 0 || e.calls.load(std::memory_order_relaxed) < uint64_t(limit)) &&
                std::none_of(c.inputs, c.inputs + c.n_inputs,
                             [](TensorImpl* t) { return t && (!t->storage || info(t->dtype).bits < 8); });
  if (!wanted) return carry_out(e, c, outputs);
  capture::Record r;
  auto mutated = [&](int i) { return (c.op.mutated >> std::min(i, 63) & 1) != 0; };
  try {
    Looking off;
    for (int i = 0; i < c.n_inputs; ++i)
      r.operands.push_back(value_of(c.inputs[i], mutated(i), c.op.host_inputs >> std::min(i, 63) & 1));
  } catch (const Error& error) { return {error.code(), error.what()}; }
  OAR_TRY(carry_out(e, c, outputs));
  try {
    Looking off;
    bool variadic = e.n_outputs != c.op.def->outputs.count;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (variadic || int(i) < c.op.visible_outputs) r.results.push_back(value_of(outputs[i].impl(), false, false));
    for (int i = 0; i < c.n_inputs; ++i)
      if (c.inputs[i] && mutated(i)) r.results.push_back(value_of(c.inputs[i], true, false));
  } catch (const Error& error) { return {error.code(), error.what()}; }
  r.op = c.op.def->name;
  r.version = c.op.def->version;
  r.device = e.device->name;
  r.route = route_name(e.kind);
  const Plugin* plugin = e.kind == Kind::kernel ? e.kernel.pack->plugin : e.device->plugin;
  if (plugin) r.plugin = plugin->info.name, r.path = plugin->info.path;
  r.attributes = e.attrs.view();
  capture::write(r);
  return {};
}

}  // namespace

Status run_watched(Entry& e, const Call& c, std::vector<Tensor>& outputs) {
  if (t_looking || e.kind == Kind::promote) return carry_out(e, c, outputs);
  uint32_t active = trace::active();
  Frame frame{t_frame, e, c.decompose};
  if (active & trace::kReport) OAR_TRY(wait(*e.device));
  uint64_t begin = trace::now_ns();
  t_frame = &frame;
  Status s = active & trace::kCapture ? run_captured(e, c, outputs) : carry_out(e, c, outputs);
  t_frame = const_cast<Frame*>(frame.outer);
  if (!s.ok() || !(active & trace::kReport)) return s;
  OAR_TRY(wait(*e.device));
  uint64_t ns = trace::now_ns() - begin;
  if (t_frame) t_frame->inner_ns += ns;
  Looking off;
  report(frame, c, ns);
  return s;
}

}  // namespace oarlock::dispatch
