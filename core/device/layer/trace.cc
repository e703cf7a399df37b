// The tracing layer: shows and records each call on its way to the plugin. What is written: record.h.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <unordered_map>

#include "core/device/layer/payload.h"
#include "core/device/layer/record.h"
#include "core/device/layer/slot.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace oarlock {
namespace layer {
namespace {

constexpr uint64_t kMostElements = 1 << 20;  // of an array; more is taken for nonsense
constexpr int kDeepestWritten = 40;          // below what TreeReader accepts

const void* pointer_at(const void* at) {
  const void* p;
  std::memcpy(&p, at, sizeof p);
  return p;
}
uint32_t size_at(const void* s) {
  uint32_t size;
  std::memcpy(&size, s, sizeof size);
  return size;
}
uint64_t integer_at(const void* at, size_t size, bool is_signed) {
  uint64_t v = 0;
  std::memcpy(&v, at, size);
  if (is_signed && size < 8 && (v >> (size * 8 - 1))) v |= ~uint64_t(0) << (size * 8);
  return v;
}

// Is this tensor in memory of the host CPU, where contents may be read during a call?
bool on_host(const oar_view_t& v) {
  return v.device.kind == 1 && v.device.index == 0 && v.layout == OAR_LAYOUT_STRIDED;
}

// Writes arguments and structs as the descriptions say.
class Encoder {
 public:
  explicit Encoder(TreeWriter* w) : w_(*w) {}
  bool contents = true;  // of views in host memory

  void value(const Member& m, const void* at, uint64_t n) {
    const void* p = m.stars > 0 || m.type == Type::handle || m.type == Type::memory ? pointer_at(at) : at;
    if (depth_ > kDeepestWritten || m.type == Type::host || m.type == Type::opaque || m.type == Type::function)
      return w_.null();
    if (m.type == Type::bytes) return w_.bytes({static_cast<const char*>(at), m.size});
    if (m.stars > 0 && !p) return w_.null();
    if (m.stars > 0 && m.count == -2) return w_.null();
    if (m.many() && n > kMostElements) return w_.null();
    switch (m.type) {
      case Type::integer:
        if (m.stars == 0) return w_.integer(integer_at(at, m.element, m.flags & kSigned));
        if (!m.many()) return w_.integer(integer_at(p, m.element, m.flags & kSigned));
        w_.list(n);
        for (uint64_t i = 0; i < n; ++i)
          w_.integer(integer_at(static_cast<const char*>(p) + i * m.element, m.element, m.flags & kSigned));
        return;
      case Type::text:
        if (m.stars == 0) return text(*static_cast<const oar_str_t*>(at));
        w_.list(n);
        for (uint64_t i = 0; i < n; ++i) text(static_cast<const oar_str_t*>(p)[i]);
        return;
      case Type::handle:
      case Type::memory:
        if (m.stars == 0) return w_.handle(m.handle, p);
        if (!m.many()) return w_.handle(m.handle, pointer_at(p));
        w_.list(n);
        for (uint64_t i = 0; i < n; ++i) w_.handle(m.handle, static_cast<const void* const*>(p)[i]);
        return;
      case Type::record:
        if (m.record->id == RecordId::ext) return extensions(static_cast<const oar_ext_t*>(p));
        if (m.stars == 0) return record(*m.record, at);
        if (!m.many()) return record(*m.record, p);
        w_.list(n);
        ++depth_;
        for (uint64_t i = 0; i < n; ++i)
          record(*m.record, m.stars == 1 ? static_cast<const char*>(p) + i * m.record->size
                                         : static_cast<const void* const*>(p)[i]);
        --depth_;
        return;
      default: return w_.null();
    }
  }

  void record(const Record& r, const void* p) {
    if (!p || depth_ > kDeepestWritten) return w_.null();
    for (size_t i = 0; i < seen_.size(); ++i)
      if (seen_[i].first == p && seen_[i].second == &r) return w_.again(i);
    if (r.id == RecordId::view) return view(*static_cast<const oar_view_t*>(p), contents);
    if (r.id == RecordId::region) {
      w_.with_payload();
      fields(r, p);
      return region_contents(*static_cast<const oar_region_t*>(p));
    }
    fields(r, p);
  }

  void view(const oar_view_t& v, bool with_contents) {
    w_.with_payload();
    fields(layer::record(RecordId::view), &v);
    Extent e;
    if (!with_contents || !on_host(v) || !extent_of(v, &e) || (!v.data && e.elements > 0))
      return w_.payload(nullptr, 1);
    auto base = static_cast<const char*>(v.data) + v.byte_offset;
    if (e.row_major) return w_.payload(e.elements ? base : "", e.packed_bytes);
    std::string bytes;
    gather(v, e, base, &bytes);
    w_.payload(bytes.data(), bytes.size());
  }

 private:
  void text(const oar_str_t& s) { w_.bytes(s.data ? std::string_view(s.data, s.size) : std::string_view()); }

  void extensions(const oar_ext_t* ext) {
    if (!ext) return w_.null();
    uint64_t n = 0;
    for (auto e = ext; e && n < 64; e = e->next) ++n;
    w_.list(n);
    for (uint64_t i = 0; i < n; ++i, ext = ext->next)
      w_.bytes({reinterpret_cast<const char*>(ext), std::min<size_t>(ext->struct_size, 4096)});
  }

  void fields(const Record& r, const void* p) {
    // Views come and go on the stack of one call, so the same address need not be the same view.
    bool shared = r.id != RecordId::view && r.id != RecordId::attr && r.id != RecordId::span;
    uint64_t number = ~uint64_t(0);
    if (shared) {
      number = seen_.size();
      seen_.emplace_back(p, &r);
    }
    size_t size = r.frozen ? r.size : std::min<size_t>(size_at(p), r.size);
    uint64_t n = 0;
    while (n < r.n_members && r.members[n].offset + r.members[n].size <= size) ++n;
    w_.record(r.name, number, n);
    ++depth_;
    for (uint64_t i = 0; i < n; ++i) {
      const Member& m = r.members[i];
      auto at = static_cast<const char*>(p) + m.offset;
      if (r.id == RecordId::attr && m.type == Type::bytes) {
        attribute(*static_cast<const oar_attr_t*>(p));
        continue;
      }
      bool before = contents;
      if (std::strcmp(m.name, "outputs") == 0 || std::strcmp(m.name, "output") == 0) contents = false;
      uint64_t count = 1;
      if (m.many()) {
        const Member& c = r.members[int(m.count)];
        count = integer_at(static_cast<const char*>(p) + c.offset, c.size, false);
      }
      value(m, at, count);
      contents = before;
    }
    --depth_;
  }

  void attribute(const oar_attr_t& a) {
    if (!a.is_set) return w_.null();
    switch (a.type) {
      case OAR_ATTR_BOOL:
      case OAR_ATTR_INT:
      case OAR_ATTR_DTYPE: return w_.integer(uint64_t(a.value.i));
      case OAR_ATTR_FLOAT: {
        uint64_t bits;
        std::memcpy(&bits, &a.value.f, sizeof bits);
        return w_.integer(bits);
      }
      case OAR_ATTR_STRING: return w_.bytes(a.value.str ? std::string_view(a.value.str, a.count) : std::string_view());
      case OAR_ATTR_INTS:
      case OAR_ATTR_FLOATS:
        if (a.count > kMostElements || !a.value.ints) return w_.list(0);
        w_.list(a.count);
        for (uint64_t i = 0; i < a.count; ++i) w_.integer(integer_at(&a.value.ints[i], 8, false));
        return;
      case OAR_ATTR_TENSOR: return a.value.tensor ? view(*a.value.tensor, true) : w_.null();
      default: return w_.null();
    }
  }

  void region_contents(const oar_region_t& r) {
    uint64_t packed, span;
    if (!r.src_on_host || !r.src || !region_extent(r, r.src_strides, &packed, &span)) return w_.payload(nullptr, 1);
    std::string bytes;
    gather_box(r, r.src_strides, static_cast<const char*>(r.src) + r.src_offset, &bytes);
    w_.payload(bytes.data(), bytes.size());
  }

  TreeWriter& w_;
  int depth_ = 0;
  std::vector<std::pair<const void*, const Record*>> seen_;
};

// A copy to host memory that is under way. Its contents are read as soon as an event says that it is done, before the
// host learns of it and may take the memory back.
struct Pending {
  uint64_t call;
  uint32_t region;
  oar_region_t box;
  std::vector<int64_t> counts, strides;
  bool done = false;
};
using PendingSet = std::set<std::shared_ptr<Pending>>;

std::string show_text(oar_str_t s) {
  return s.data ? std::string(s.data, std::min<size_t>(s.size, 200)) : std::string();
}
std::string show_dims(const int64_t* shape, uint64_t n) {
  std::string out = "[";
  for (uint64_t i = 0; shape && i < n && i < 32; ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}
std::string show_pointer(const void* p) {
  if (!p) return "NULL";
  char text[24];
  std::snprintf(text, sizeof text, "%p", p);
  return text;
}
std::string show_record(const Record& r, const void* p) {
  if (!p) return "NULL";
  if (r.id == RecordId::call) {
    auto c = static_cast<const oar_call_t*>(p);
    std::string out = "'" + show_text(c->op) + "' (";
    for (uint32_t i = 0; c->inputs && i < c->n_inputs && i < 16; ++i)
      out += (i ? ", " : "") + (c->inputs[i] ? show_dims(c->inputs[i]->shape, c->inputs[i]->n_dims) : std::string("-"));
    return out + ")";
  }
  if (r.id == RecordId::frame) {
    auto f = static_cast<const oar_frame_t*>(p);
    std::string out = "(";
    for (uint32_t i = 0; f->inputs && i < f->n_inputs && i < 16; ++i)
      out += (i ? ", " : "") +
             (f->inputs[i] ? show_dims(f->inputs[i]->shape, uint64_t(f->inputs[i]->n_dims)) : std::string("-"));
    out += ") -> (";
    for (uint32_t i = 0; f->outputs && i < f->n_outputs && i < 16; ++i)
      out += (i ? ", " : "") +
             (f->outputs[i] ? show_dims(f->outputs[i]->shape, uint64_t(f->outputs[i]->n_dims)) : std::string("-"));
    return out + ")";
  }
  if (r.id == RecordId::kernel_decl) return show_text(static_cast<const oar_kernel_decl_t*>(p)->op);
  return std::string("{") + r.name + "}";
}
std::string show_arguments(const Function& f, void* const* args) {
  std::string out;
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    if (m.type == Type::host || m.type == Type::opaque || m.type == Type::function) continue;
    out += (out.empty() ? "" : ", ") + std::string(m.name) + " ";
    if (m.type == Type::text && m.stars == 0) {
      out += std::to_string(static_cast<const oar_str_t*>(args[i])->size) + " bytes";
    } else if (m.type == Type::integer && m.stars == 0) {
      uint64_t v = integer_at(args[i], m.element, m.flags & kSigned);
      out += (m.flags & kSigned) ? std::to_string(int64_t(v)) : std::to_string(v);
    } else {
      const void* p = pointer_at(args[i]);
      if (m.out() && p && m.type == Type::integer) {
        out += std::to_string(integer_at(p, m.element, m.flags & kSigned));
      } else if (m.out() && p && m.type != Type::record) {
        out += show_pointer(pointer_at(p));
      } else if (m.type == Type::record && m.stars == 1 && !m.out()) {
        out += show_record(*m.record, p);
      } else {
        out += show_pointer(p);
      }
    }
  }
  return out;
}

class Tracing : public Layer {
 public:
  Tracing(const oar_plugin_t* inner, const oar_host_t* host, Recorder* recorder)
      : Layer(inner, host), recorder_(*recorder) {
    std::string version =
        OAR_HAS(inner, version) && inner->version.data ? std::string(inner->version.data, inner->version.size) : "";
    plugin_ = recorder_.add_plugin(name(), version);
  }
  void call(const Function& f, void* const* args, void* result) override;

 private:
  struct HostBody {
    void(OAR_CALL* body)(void* context);
    void* context;
    Tracing* layer;
    PendingSet done;
  };
  static void OAR_CALL host_body(void* context);

  std::string encode_begin(const Function& f, void* const* args);
  std::string encode_end(const Function& f, void* const* args, const void* result, uint64_t call, uint64_t ns,
                         bool error_told);
  void encode_prepared(TreeWriter* w, const Function& f, void* const* args, const oar_prepared_t* p);
  void track(const Function& f, void* const* args, oar_status_t status, uint64_t call);
  void read_back(const PendingSet& set);

  Recorder& recorder_;
  uint64_t plugin_;
  std::mutex mutex_;
  std::unordered_map<const void*, PendingSet> of_stream_, of_event_;
};

uint64_t count_of(const Function& f, void* const* args, const Member& m) {
  if (!m.many()) return 1;
  const Member& c = f.args[int(m.count)];
  if (!c.out()) return integer_at(args[int(m.count)], c.size, false);
  const void* p = pointer_at(args[int(m.count)]);
  return p ? integer_at(p, c.element, false) : 0;
}

std::string Tracing::encode_begin(const Function& f, void* const* args) {
  TreeWriter w;
  w.varint(plugin_);
  w.varint(uint64_t(::syscall(SYS_gettid)));
  w.name(std::string(f.table) + "." + f.name);
  w.list(f.n_args);
  Encoder e(&w);
  for (int i = 0; i < f.n_args; ++i) {
    if (f.args[i].out()) w.null();
    else e.value(f.args[i], args[i], count_of(f, args, f.args[i]));
  }
  return std::move(w.out);
}

// Later calls name a declaration by its address, so each is written beside it.
void declarations(TreeWriter* w, Encoder* e, const oar_kernel_decl_t* const* decls, uint64_t n) {
  w->list(n);
  for (uint64_t i = 0; i < n; ++i) {
    w->list(2);
    w->handle(Handle::decl, decls[i]);
    e->record(record(RecordId::kernel_decl), decls[i]);
  }
}

// The answer of prepare and its kind: how many choices there are, only the call or graph knows.
void Tracing::encode_prepared(TreeWriter* w, const Function& f, void* const* args, const oar_prepared_t* p) {
  uint64_t n_inputs = 0, n_outputs = 0;
  for (int i = 0; i < f.n_args; ++i) {
    const Record* r = f.args[i].record;
    if (r && r->id == RecordId::call) {
      n_inputs = argument<const oar_call_t*>(args, i)->n_inputs;
      n_outputs = argument<const oar_call_t*>(args, i)->n_outputs;
    } else if (r && r->id == RecordId::graph) {
      n_inputs = argument<const oar_graph_t*>(args, i)->n_inputs;
      n_outputs = argument<const oar_graph_t*>(args, i)->n_outputs;
    }
  }
  w->list(7);
  w->integer(p->workspace_space);
  w->handle(Handle::state, p->state);
  w->integer(p->workspace_bytes);
  w->integer(p->workspace_alignment);
  w->integer(p->unread_inputs);
  for (auto [choices, n] : {std::pair(p->inputs, n_inputs), std::pair(p->outputs, n_outputs)}) {
    if (!choices || n > 4096) {
      w->list(0);
      continue;
    }
    w->list(n);
    for (uint64_t i = 0; i < n; ++i) {
      if (!choices[i]) {
        w->null();
        continue;
      }
      w->list(4);
      w->integer(choices[i]->space);
      w->integer(choices[i]->layout);
      w->integer(choices[i]->size_bytes);
      w->integer(choices[i]->alignment);
    }
  }
}

std::string Tracing::encode_end(const Function& f, void* const* args, const void* result, uint64_t call, uint64_t ns,
                                bool error_told) {
  TreeWriter w;
  w.byte(uint8_t(LogRecord::end));
  w.varint(call);
  w.varint(ns);
  oar_status_t status = OAR_OK;
  switch (f.returns) {
    case Returns::nothing: w.null(); break;
    case Returns::status:
      status = *static_cast<const oar_status_t*>(result);
      w.integer(uint64_t(int64_t(status)));
      break;
    case Returns::pointer: w.handle(Handle::native, *static_cast<void* const*>(result)); break;
    case Returns::integer4: w.integer(*static_cast<const uint32_t*>(result)); break;
    case Returns::integer8: w.integer(*static_cast<const uint64_t*>(result)); break;
  }
  if (error_told) w.bytes(error_note().text);
  else w.null();
  w.list(f.n_args);
  Encoder e(&w);
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    const void* p = m.out() ? pointer_at(args[i]) : nullptr;
    if (!p || status < 0 || status == OAR_REFUSED) {
      w.null();
    } else if (m.record && m.record->id == RecordId::prepared) {
      encode_prepared(&w, f, args, static_cast<const oar_prepared_t*>(p));
    } else if (m.type == Type::record && m.stars == 2) {
      const void* array = pointer_at(p);  // out_infos: where an array of pointers was put
      if (m.record->id == RecordId::kernel_decl)
        declarations(&w, &e, static_cast<const oar_kernel_decl_t* const*>(array), count_of(f, args, m));
      else e.value(m, &array, count_of(f, args, m));
    } else {
      e.value(m, args[i], 1);
    }
  }
  std::vector<const oar_view_t*> outputs;
  auto add_frame = [&](const oar_frame_t* frame) {
    for (uint32_t i = 0; frame && frame->outputs && i < frame->n_outputs && i < 4096; ++i)
      outputs.push_back(frame->outputs[i]);
  };
  for (int i = 0; i < f.n_args; ++i) {
    const Record* r = f.args[i].record;
    if (!r) continue;
    if (r->id == RecordId::frame && f.args[i].stars == 1) add_frame(argument<const oar_frame_t*>(args, i));
    if (r->id == RecordId::frame && f.args[i].stars == 2)
      for (uint64_t k = 0; k < count_of(f, args, f.args[i]); ++k)
        add_frame(argument<const oar_frame_t* const*>(args, i)[k]);
    if (r->id == RecordId::collective)
      for (uint64_t k = 0; k < count_of(f, args, f.args[i]); ++k)
        outputs.push_back(argument<const oar_collective_t* const*>(args, i)[k]->output);
  }
  w.list(outputs.size());
  for (const oar_view_t* v : outputs) {
    if (v) e.view(*v, status == OAR_OK);
    else w.null();
  }
  return std::move(w.out);
}

void Tracing::read_back(const PendingSet& set) {
  std::lock_guard lock(mutex_);
  for (const auto& p : set) {
    if (std::exchange(p->done, true)) continue;
    TreeWriter w;
    w.byte(uint8_t(LogRecord::readback));
    w.varint(p->call);
    w.varint(p->region);
    std::string bytes;
    gather_box(p->box, p->strides.data(), static_cast<const char*>(p->box.dst) + p->box.dst_offset, &bytes);
    w.payload(bytes.data(), bytes.size());
    recorder_.append(w.out);
  }
}

void Tracing::track(const Function& f, void* const* args, oar_status_t status, uint64_t call) {
  PendingSet done;
  if (status != OAR_OK) return;
  switch (f.fn) {
    case Fn::memory_copy: {
      uint32_t n = argument<uint32_t>(args, 1);
      for (uint32_t i = 0; i < n; ++i) {
        const oar_region_t& r = *argument<const oar_region_t* const*>(args, 2)[i];
        uint64_t packed, span;
        if (!r.dst_on_host || !r.dst || !region_extent(r, r.dst_strides, &packed, &span)) continue;
        auto p = std::make_shared<Pending>(Pending{call, i, r, {}, {}});
        if (r.n_dims > 0) {
          p->counts.assign(r.counts, r.counts + r.n_dims);
          p->strides.assign(r.dst_strides, r.dst_strides + r.n_dims);
        }
        p->box.counts = p->counts.data();
        p->box.src_strides = nullptr;
        p->box.dst_strides = p->strides.data();
        std::lock_guard lock(mutex_);
        of_stream_[argument<const void*>(args, 0)].insert(p);
      }
      return;
    }
    case Fn::stream_event_record: {
      std::lock_guard lock(mutex_);
      of_event_[argument<const void*>(args, 1)] = of_stream_[argument<const void*>(args, 0)];
      return;
    }
    case Fn::stream_event_wait: {
      std::lock_guard lock(mutex_);
      const PendingSet& from = of_event_[argument<const void*>(args, 1)];
      of_stream_[argument<const void*>(args, 0)].insert(from.begin(), from.end());
      return;
    }
    case Fn::stream_event_query:
    case Fn::stream_event_sync: {
      {
        std::lock_guard lock(mutex_);
        auto it = of_event_.find(argument<const void*>(args, 0));
        if (it != of_event_.end()) done.swap(it->second);
      }
      break;
    }
    default: return;
  }
  read_back(done);
  std::lock_guard lock(mutex_);
  for (auto* map : {&of_stream_, &of_event_})
    for (auto& [key, set] : *map) std::erase_if(set, [](const auto& p) { return p->done; });
}

void OAR_CALL Tracing::host_body(void* context) {
  std::unique_ptr<HostBody> body(static_cast<HostBody*>(context));
  body->layer->read_back(body->done);
  body->body(body->context);
}

void Tracing::call(const Function& f, void* const* args, void* result) {
  bool file = recorder_.has_file();
  uint64_t call = file ? recorder_.begin(encode_begin(f, args)) : 0;
  uint64_t errors = error_note().count;
  void* replaced[16];
  std::copy_n(args, f.n_args, replaced);
  std::unique_ptr<HostBody> body;
  void(OAR_CALL * wrapped)(void*) = &host_body;
  void* wrapped_context = nullptr;
  if (file && f.fn == Fn::stream_host_call) {
    std::lock_guard lock(mutex_);
    body.reset(new HostBody{argument<void(OAR_CALL*)(void*)>(args, 1), argument<void*>(args, 2), this,
                            of_stream_[argument<const void*>(args, 0)]});
    wrapped_context = body.get();
    replaced[1] = &wrapped;
    replaced[2] = &wrapped_context;
  }
  if (f.fn == Fn::stream_destroy || f.fn == Fn::stream_event_destroy) {
    std::lock_guard lock(mutex_);
    (f.fn == Fn::stream_destroy ? of_stream_ : of_event_).erase(argument<const void*>(args, 0));
  }
  auto start = std::chrono::steady_clock::now();
  forward(f, replaced, result);
  uint64_t ns = uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  oar_status_t status = f.returns == Returns::status ? *static_cast<const oar_status_t*>(result) : OAR_OK;
  if (body && status == OAR_OK) (void)body.release();  // host_body's now
  if (file) {
    recorder_.append(encode_end(f, args, result, call, ns, error_note().count != errors));
    track(f, args, status, call);
  }
  if (recorder_.has_listener())
    recorder_.show({name(), std::string(f.table) + "." + f.name, show_arguments(f, args), status, ns});
}

}  // namespace
}  // namespace layer

const oar_plugin_t* layer_trace(const oar_plugin_t* inner, const oar_host_t* host, Recorder* recorder) {
  using namespace layer;
  set_host_recorder(host, recorder);
  const oar_plugin_t* outer = Layer::install(std::make_unique<Tracing>(inner, host, recorder));
  return outer ? outer : inner;
}

}  // namespace oarlock
