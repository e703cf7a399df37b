// Replay: reads a log, opens the plugin, reissues its calls, compares. Order: a call is issued where it ended, since what
// it needed had ended before; calls that destroy are issued where they began, since their handle may be given out again
// before they end. The file stays whole because what a call needs before, during and after it is one story over one set of
// maps; building its arguments (replay_build.cc) and the host it calls back (replay_host.cc) are apart.
#include <oarlock/base/replay.h>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include <oarlock/base/dtype.h>

#include "core/device/layer/replay_host.h"
#include "core/device/layer/wrap.h"

namespace oarlock {
namespace layer {
namespace {

std::mutex& replay_mutex() {
  static std::mutex mutex;
  return mutex;
}

struct RecordedCall {
  uint64_t number = 0;
  std::string_view function;
  Node args;
  bool ended = false, issued = false;
  Node result, error, out_args, outputs;
};
// An object of the plugin that replay created and nothing has destroyed yet.
struct Live {
  Handle kind = Handle::none;
  void* object = nullptr;
  void* owner = nullptr;  // the device of memory, the pack of a stream that stream_open made
  uint32_t space = 0;
  const oar_kernel_decl_t* decl = nullptr;  // of a state; null: of the graph table
};
struct PendingCopy {
  std::vector<BuiltRegion> regions;
  uint64_t stream = 0;
  bool made_up = false;
};

std::string status_text(oar_status_t s) { return std::to_string(s) + " (" + oarlock::name(Code(s)) + ")"; }

// Calls without a result are issued where they began; all but abort and unpin end a handle.
bool destroys(const Function& f) { return f.returns == Returns::nothing; }

// The first element in which two payloads differ, in words.
std::string show_difference(uint32_t dtype, std::string_view now, std::string_view then) {
  size_t at = 0;
  while (at < now.size() && at < then.size() && now[at] == then[at]) ++at;
  size_t size = std::max<size_t>(1, element_bits(dtype) / 8), i = at / size;
  auto show = [&](std::string_view s) -> std::string {
    const char* p = s.data() + i * size;
    if ((i + 1) * size > s.size()) return "nothing";
    auto number = [&](auto v) {
      std::memcpy(&v, p, sizeof v);
      return std::to_string(v);
    };
    switch (DType(dtype)) {
      case DType::f32: return number(float());
      case DType::f64: return number(double());
      case DType::i64: return number(int64_t());
      case DType::i32: return number(int32_t());
      case DType::u8: return number(uint8_t());
      default: {
        std::string out = "bytes";
        char hex[8];
        for (size_t k = 0; k < size; ++k) {
          std::snprintf(hex, sizeof hex, " %02x", uint8_t(p[k]));
          out += hex;
        }
        return out;
      }
    }
  };
  return "element " + std::to_string(i) + " is " + show(now) + ", recorded was " + show(then);
}

class Replay {
 public:
  Replay(const ReplayOptions& options) : options_(options), world_(options.memory_limit_bytes) {
    world_.seed = options.seed;
    session.budget = &world_.budget;
  }

  Status open(const std::string& path);
  Status run(const std::vector<std::string_view>& bodies);
  void close();  // destroys what the recording left alive
  ReplayReport report;

  ReplaySession session;
  void remark(const std::string& text) {
    if (report.remarks.size() < 64 && remarked_.insert(text).second) report.remarks.push_back(text);
  }

 private:
  Status choose_plugin(const std::vector<std::string_view>& bodies);
  Status read_begin(TreeReader* r);
  Status read_end(TreeReader* r);
  Status read_back(TreeReader* r);
  Status issue(RecordedCall* c);
  bool out_arguments(const Function& f, Builder* b, void** args);
  bool translate(const Function& f, const RecordedCall& c, Builder* b, void** args);
  const void* where(const Function& f, const Builder& b, void* const* args);
  void note_created(const Function& f, void** args);
  void results(const Function& f, RecordedCall* c, Builder* b, void** args, oar_status_t status);
  void finish_copies(uint64_t event);
  void gone(Handle kind, const void* object);
  void compare_outputs(RecordedCall* c, Builder* b, oar_status_t status);
  void map_decls(RecordedCall* c, const Node& recorded, uint32_t n, const oar_kernel_decl_t* const* decls);
  void difference(const RecordedCall& c, const std::string& text);
  void difference(uint64_t call, std::string_view function, const std::string& text);
  const void* table(const char* name);

  const ReplayOptions& options_;
  ReplayWorld world_;
  uint64_t plugin_id_ = 0;
  const oar_plugin_t* plugin_ = nullptr;
  std::map<std::string, const void*> tables_;
  std::map<uint64_t, RecordedCall> calls_;
  std::map<uint64_t, PendingCopy> copies_;                    // by call
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> events_;  // stream and call of the last record
  std::set<std::string> remarked_;
  std::vector<Live> live_;
  std::map<uint64_t, uint64_t> device_index_;  // old device handle to index
  std::vector<std::vector<uint32_t>> space_flags_;
  bool trailer_ = false;
};

const Function* find_function(std::string_view name) {
  static const auto* by_name = [] {
    auto* map = new std::map<std::string, const Function*, std::less<>>;
    for (const Function& f : kFunctions)
      if (std::strcmp(f.table, "host") != 0 && f.fn != Fn::plugin_get_table)
        (*map)[std::string(f.table) + "." + f.name] = &f;
    return map;
  }();
  auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

// ---------------------------------------------------------------- opening
Status Replay::open(const std::string& path) {
  void* library =
      ::dlopen(path.find('/') == std::string::npos ? ("./" + path).c_str() : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {Code::invalid_argument, std::string("replay: can't open the plugin: ") + ::dlerror()};
  auto query = reinterpret_cast<decltype(&oar_plugin_query)>(::dlsym(library, "oar_plugin_query"));
  if (!query) return {Code::invalid_argument, "replay: " + path + " is no plugin: it has no oar_plugin_query"};
  oar_status_t status = query(replay_host(), &plugin_);
  if (status != OAR_OK || !plugin_)
    return {Code::invalid_argument,
            "replay: the plugin's query failed with " + status_text(status) + ": " + session.error};
  if (plugin_->struct_size < record(RecordId::plugin).least || plugin_->abi_min > OAR_ABI_VERSION ||
      plugin_->abi_max < OAR_ABI_VERSION || !plugin_->get_table)
    return {Code::invalid_argument,
            "replay: " + path + " does not speak ABI version " + std::to_string(OAR_ABI_VERSION)};
  report.replayed_on = text_of(plugin_->name) + " " + text_of(plugin_->version);
  return {};
}

const void* Replay::table(const char* name) {
  auto [it, fresh] = tables_.emplace(name, nullptr);
  if (!fresh) return it->second;
  static const std::map<std::string, std::pair<uint64_t, uint32_t>> kIds = {
      {"device", {OAR_TABLE_DEVICE, OAR_DEVICE_VERSION}}, {"memory", {OAR_TABLE_MEMORY, OAR_MEMORY_VERSION}},
      {"stream", {OAR_TABLE_STREAM, OAR_STREAM_VERSION}}, {"pack", {OAR_TABLE_PACK, OAR_PACK_VERSION}},
      {"kernel", {OAR_TABLE_KERNEL, OAR_KERNEL_VERSION}}, {"graph", {OAR_TABLE_GRAPH, OAR_GRAPH_VERSION}},
      {"comm", {OAR_TABLE_COMM, OAR_COMM_VERSION}},       {"profiler", {OAR_TABLE_PROFILER, OAR_PROFILER_VERSION}}};
  auto id = kIds.find(name);
  if (id == kIds.end()) return nullptr;
  const void* t = plugin_->get_table(replay_host(), id->second.first, 1, id->second.second);
  uint32_t size = 0;
  if (t) std::memcpy(&size, t, sizeof size);
  if (size >= 8) it->second = t;
  return it->second;
}

const void* Replay::where(const Function& f, const Builder& b, void* const* args) {
  const void* base = nullptr;
  if (std::strcmp(f.table, "kernel_decl") == 0) {
    for (int i = 0; i < f.n_args; ++i)
      if (f.args[i].handle == Handle::decl) base = *static_cast<void* const*>(args[i]);
    if (!base && !b.states.empty()) base = b.states[0]->decl;
  } else {
    base = table(f.table);
  }
  if (!base) return nullptr;
  uint32_t size;
  std::memcpy(&size, base, sizeof size);
  void* present = nullptr;
  if (f.offset + sizeof present <= size)
    std::memcpy(&present, static_cast<const char*>(base) + f.offset, sizeof present);
  return present ? static_cast<const char*>(base) + f.offset : nullptr;
}

// ---------------------------------------------------------------- one call
void Replay::difference(uint64_t call, std::string_view function, const std::string& text) {
  if (report.differences++ == 0) {
    report.first_difference = call;
    report.difference = "call " + std::to_string(call) + " " + std::string(function) + ": " + text;
  }
}
void Replay::difference(const RecordedCall& c, const std::string& text) { difference(c.number, c.function, text); }

// Old addresses outside of views and regions.
bool Replay::translate(const Function& f, const RecordedCall&, Builder* b, void** args) {
  auto old = [&](int i) { return uint64_t(reinterpret_cast<uintptr_t>(*static_cast<void**>(args[i]))); };
  switch (f.fn) {
    case Fn::memory_free:
    case Fn::memory_import_release:
    case Fn::memory_export_handle: {
      int i = f.fn == Fn::memory_free ? 2 : 1;
      if (old(i) == 0) return true;
      auto it = world_.allocations.find(old(i));
      if (it == world_.allocations.end()) return b->skip("frees or shares memory that was not allocated here");
      *static_cast<void**>(args[i]) = it->second.data;
      if (f.fn != Fn::memory_export_handle) world_.allocations.erase(it);
      return true;
    }
    case Fn::memory_fill: {
      auto span = *static_cast<const oar_span_t**>(args[1]);
      if (!span) return b->bad("has no span");
      return true;
    }
    case Fn::memory_pin: {
      auto buffer = world_.budget.take(*static_cast<uint64_t*>(args[2]));
      if (!buffer) return b->bad("takes more host memory than replay may hold");
      world_.pinned[old(1)] = buffer;
      *static_cast<void**>(args[1]) = buffer.get();
      return true;
    }
    case Fn::memory_unpin: {
      auto it = world_.pinned.find(old(1));
      if (it == world_.pinned.end()) return b->skip("unpins memory that was not pinned here");
      *static_cast<void**>(args[1]) = it->second.get();
      return true;
    }
    case Fn::memory_import_handle: return b->skip("imports memory of another process or plugin");
    case Fn::comm_create: {
      auto config = *static_cast<const oar_comm_config_t**>(args[1]);
      if (config && config->size > 1) return b->skip("joins a group of " + std::to_string(config->size) + " ranks");
      return true;
    }
    case Fn::stream_host_call: *reinterpret_cast<void (**)(void*)>(args[1]) = replay_ignore_body; return true;
    case Fn::profiler_drain:
      *reinterpret_cast<void (**)(void*, const oar_record_t*)>(args[1]) = replay_ignore_record;
      return true;
    case Fn::graph_claim: *static_cast<const oar_claim_sink_t**>(args[2]) = &kReplaySink; return true;
    case Fn::graph_save: *static_cast<const oar_writer_t**>(args[1]) = &kReplayWriter; return true;
    case Fn::stream_event_sync: {
      auto& timeout = *static_cast<uint64_t*>(args[1]);
      timeout = std::max<uint64_t>(std::min<uint64_t>(timeout, options_.timeout_ns), options_.timeout_ns);
      return true;
    }
    default: return true;
  }
}

bool Replay::out_arguments(const Function& f, Builder* b, void** args) {
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    if (m.type == Type::host) {
      static const oar_host_t* host = replay_host();
      args[i] = &host;
    }
    if (!m.out()) continue;
    void* room = b->room(OAR_OUT_ROOM + 16);
    auto slot = static_cast<void**>(b->room(16));
    if (!room || !slot) return false;
    *slot = room;
    args[i] = slot;
    if (!m.record) continue;
    oar_verdict_t* verdict = nullptr;
    if (m.record->id == RecordId::verdict) verdict = static_cast<oar_verdict_t*>(room);
    if (m.record->id == RecordId::prepared) {
      auto p = static_cast<oar_prepared_t*>(room);
      p->struct_size = sizeof *p;
      const oar_call_t* c = b->call;
      const oar_graph_t* g = b->graph;
      p->inputs = c   ? b->offers(c->n_inputs, c->inputs)
                  : g ? b->offers(g->n_inputs, g->inputs)
                      : b->offers(64, nullptr);
      p->outputs = c   ? b->offers(c->n_outputs, c->outputs)
                   : g ? b->offers(g->n_outputs, g->outputs)
                       : b->offers(64, nullptr);
      p->n_inputs = c ? c->n_inputs : g ? g->n_inputs : 0;
      p->n_outputs = c ? c->n_outputs : g ? g->n_outputs : 0;
      verdict = static_cast<oar_verdict_t*>(b->room(OAR_OUT_ROOM));
      if (!p->inputs || !p->outputs || !verdict) return false;
      p->verdict = verdict;
    }
    if (verdict) {
      verdict->struct_size = sizeof *verdict;
      verdict->text = static_cast<char*>(b->room(512));
      if (!verdict->text) return false;
      verdict->text_capacity = 512;
    }
  }
  return true;
}

void Replay::map_decls(RecordedCall* c, const Node& recorded, uint32_t n, const oar_kernel_decl_t* const* decls) {
  uint64_t missing = 0;
  std::string first;
  for (size_t i = 0; i < recorded.children.size(); ++i) {
    const Node& pair = recorded.children[i];
    if (!pair.is(Tag::list) || pair.children.size() != 2 || !pair.children[0].is(Tag::handle) ||
        !pair.children[1].is(Tag::record) || pair.children[1].children.size() < 6 ||
        !pair.children[1].children[2].is(Tag::bytes))
      continue;
    const auto& fields = pair.children[1].children;
    auto same = [&](const oar_kernel_decl_t* d) {
      return d && d->struct_size >= record(RecordId::kernel_decl).least && text_of(d->op) == fields[2].text &&
             d->op_min == fields[3].value && d->priority == int32_t(fields[5].value);
    };
    const oar_kernel_decl_t* found = i < n && same(decls[i]) ? decls[i] : nullptr;
    for (uint32_t k = 0; !found && k < n; ++k)
      if (same(decls[k])) found = decls[k];
    if (found) {
      world_.decls[pair.children[0].value] = found;
    } else if (missing++ == 0) {
      first = fields[2].text;
    }
  }
  if (missing) difference(*c, std::to_string(missing) + " kernel declarations are gone, the first is of " + first);
}

void Replay::note_created(const Function& f, void** args) {
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    if (!m.out()) continue;
    void *room = *static_cast<void**>(args[i]), *now;
    std::memcpy(&now, room, sizeof now);
    if (m.type == Type::handle && now)
      live_.push_back({m.handle, now, f.fn == Fn::pack_stream_open ? *static_cast<void**>(args[0]) : nullptr});
    else if (m.type == Type::memory && f.fn == Fn::memory_alloc && now)
      live_.push_back({Handle::memory, now, *static_cast<void**>(args[0]), *static_cast<uint32_t*>(args[1])});
    else if (m.record && m.record->id == RecordId::prepared)
      live_.push_back({Handle::state, static_cast<oar_prepared_t*>(room)->state, nullptr, 0,
                       f.fn == Fn::kernel_decl_prepare ? *static_cast<const oar_kernel_decl_t**>(args[1]) : nullptr});
  }
}

void Replay::results(const Function& f, RecordedCall* c, Builder* b, void** args, oar_status_t status) {
  const Node* recorded = c->ended && c->out_args.children.size() == f.n_args ? c->out_args.children.data() : nullptr;
  if (status != OAR_OK) return;
  note_created(f, args);
  if (!recorded) return;
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    if (!m.out()) continue;
    void* room = *static_cast<void**>(args[i]);
    const Node& old = recorded[i];
    if (m.type == Type::handle && old.is(Tag::handle)) {
      void* now;
      std::memcpy(&now, room, sizeof now);
      if (old.value != 0) world_.handles[int(m.handle)][old.value] = now;
      if (f.fn == Fn::device_open) device_index_[old.value] = *static_cast<uint32_t*>(args[1]);
    } else if (m.type == Type::memory && old.is(Tag::handle)) {
      void* now;
      std::memcpy(&now, room, sizeof now);
      Allocation a;
      a.data = now;
      a.size = f.fn == Fn::memory_alloc ? *static_cast<uint64_t*>(args[2]) : 0;
      uint32_t space = f.fn == Fn::memory_alloc ? *static_cast<uint32_t*>(args[1]) : 0;
      uint64_t index = device_index_[c->args.children[0].value];
      if (index < space_flags_.size() && space < space_flags_[index].size())
        a.addressable = space_flags_[index][space] & OAR_SPACE_ADDRESSABLE;
      if (old.value != 0) world_.allocations[old.value] = std::move(a);
    } else if (m.record && m.record->id == RecordId::prepared && old.is(Tag::list) && old.children.size() == 7 &&
               old.children[1].is(Tag::handle)) {
      auto p = static_cast<oar_prepared_t*>(room);
      ReplayState state;
      state.inner = p->state;
      state.made_up = b->made_up;
      state.workspace_bytes = p->workspace_bytes;
      if (f.fn == Fn::kernel_decl_prepare) state.decl = *static_cast<const oar_kernel_decl_t**>(args[1]);
      world_.states[old.children[1].value] = state;
      if (p->workspace_bytes > old.children[2].value)
        difference(*c, "prepare wants " + std::to_string(p->workspace_bytes) + " bytes of workspace, recorded were " +
                           std::to_string(old.children[2].value));
      for (auto [list, choices] : {std::pair(&old.children[5], p->inputs), std::pair(&old.children[6], p->outputs)})
        for (size_t k = 0; k < list->children.size(); ++k) {
          const Node& n = list->children[k];
          if (!(b->call || b->graph) || !n.is(Tag::list) || n.children.size() != 4) continue;
          uint64_t count = b->call ? (list == &old.children[5] ? b->call->n_inputs : b->call->n_outputs)
                                   : (list == &old.children[5] ? b->graph->n_inputs : b->graph->n_outputs);
          if (k >= count || !choices[k]) continue;
          bool opaque = choices[k]->layout >= OAR_LAYOUT_OPAQUE, was_opaque = n.children[1].value >= OAR_LAYOUT_OPAQUE;
          if (opaque && was_opaque) {
            uint64_t& most = world_.states[old.children[1].value].token_bytes[n.children[1].value];
            most = std::max(most, choices[k]->size_bytes);
            world_.tokens[n.children[1].value] = choices[k]->layout;
          }
          if (opaque != was_opaque || choices[k]->space != n.children[0].value)
            difference(*c, "prepare chose another layout or space for an operand than when it was recorded");
        }
    } else if (f.fn == Fn::device_enumerate && m.type == Type::record) {
      uint32_t n = 0;
      std::memcpy(&n, *static_cast<void**>(args[1]), sizeof n);
      const oar_device_info_t* const* infos;
      std::memcpy(&infos, room, sizeof infos);
      if (n < old.children.size())
        difference(*c, std::to_string(n) + " devices, recorded were " + std::to_string(old.children.size()));
      space_flags_.assign(std::min<uint32_t>(n, 4096), {});
      for (size_t k = 0; k < space_flags_.size(); ++k)
        for (uint32_t s = 0; infos[k] && s < infos[k]->n_spaces && s < 64; ++s)
          space_flags_[k].push_back(infos[k]->spaces[s] ? infos[k]->spaces[s]->flags : 0);
    } else if (f.fn == Fn::kernel_declarations && m.type == Type::record) {
      uint32_t n = 0;
      std::memcpy(&n, *static_cast<void**>(args[1]), sizeof n);
      const oar_kernel_decl_t* const* decls;
      std::memcpy(&decls, room, sizeof decls);
      map_decls(c, old, n, decls);
    }
  }
}

void Replay::gone(Handle kind, const void* object) {
  for (size_t i = live_.size(); i-- > 0;)
    if (live_[i].kind == kind && live_[i].object == object) {
      live_.erase(live_.begin() + long(i));
      return;
    }
}

void Replay::close() {
  auto call = [&](const Function& f, const oar_kernel_decl_t* decl, std::initializer_list<void*> values) {
    const void* base = decl ? static_cast<const void*>(decl) : table(f.table);
    uint32_t size = 0;
    void* present = nullptr;
    if (base) std::memcpy(&size, base, sizeof size);
    if (f.offset + sizeof present <= size)
      std::memcpy(&present, static_cast<const char*>(base) + f.offset, sizeof present);
    std::vector<void*> held(values);
    void* args[8] = {};
    for (size_t i = 0; i < held.size(); ++i) args[i] = &held[i];
    if (present) invoke(f.fn, static_cast<const char*>(base) + f.offset, args, nullptr);
  };
  for (Handle kind :
       {Handle::state, Handle::comm, Handle::memory, Handle::event, Handle::stream, Handle::pack, Handle::device})
    for (size_t i = live_.size(); i-- > 0;) {
      const Live l = live_[i];
      if (l.kind != kind) continue;
      uint64_t space = l.space;
      void* space_word;
      std::memcpy(&space_word, &space, sizeof space_word);
      switch (kind) {
        case Handle::state:
          call(function(l.decl ? Fn::kernel_decl_release : Fn::graph_release), l.decl, {l.object});
          break;
        case Handle::comm: call(function(Fn::comm_destroy), nullptr, {l.object}); break;
        case Handle::memory: call(function(Fn::memory_free), nullptr, {l.owner, space_word, l.object, nullptr}); break;
        case Handle::event: call(function(Fn::stream_event_destroy), nullptr, {l.object}); break;
        case Handle::stream:
          if (l.owner) call(function(Fn::pack_stream_close), nullptr, {l.owner, l.object});
          else call(function(Fn::stream_destroy), nullptr, {l.object});
          break;
        case Handle::pack: call(function(Fn::pack_close), nullptr, {l.object}); break;
        default: call(function(Fn::device_close), nullptr, {l.object});
      }
    }
  live_.clear();
}

// Host memory goes back once an event after the copy has passed; what was copied to it waits for the readback.
void Replay::finish_copies(uint64_t event) {
  auto it = events_.find(event);
  if (it == events_.end()) return;
  auto [stream, last] = it->second;
  for (auto copy = copies_.begin(); copy != copies_.end() && copy->first < last;) {
    bool waits = false;
    if (copy->second.stream == stream)
      for (BuiltRegion& r : copy->second.regions) {
        r.host_src.reset();
        waits |= r.host_dst != nullptr;
      }
    copy = copy->second.stream == stream && !waits ? copies_.erase(copy) : std::next(copy);
  }
}

void Replay::compare_outputs(RecordedCall* c, Builder* b, oar_status_t status) {
  std::vector<BuiltView*> outputs;
  for (BuiltView& v : b->views)
    if (v.output) outputs.push_back(&v);
  if (status != OAR_OK) return;
  for (BuiltView* v : outputs) {
    if (auto it = world_.opaque.find(v->opaque); v->opaque && it != world_.opaque.end())
      it->second.made_up = b->made_up;
    if (!v->allocation) continue;
    uint64_t end = v->offset + v->extent.span_bytes;
    if (b->made_up) v->allocation->made_up.add(v->offset, end);
    else if (v->extent.row_major) v->allocation->made_up.remove(v->offset, end);
  }
  if (!c->ended || !c->outputs.is(Tag::list)) return;
  std::vector<const Node*> recorded;
  for (const Node& n : c->outputs.children)
    if (n.is(Tag::with_payload)) recorded.push_back(&n);
  for (size_t i = 0; i < outputs.size() && i < recorded.size(); ++i) {
    BuiltView& v = *outputs[i];
    if (!v.host || v.extent.packed_bytes == 0) continue;  // on a device, opaque or empty
    const Node& p = recorded[i]->children[1];
    if (b->made_up || p.have == 0) {
      ++report.outputs_uncompared;
      continue;
    }
    std::string bytes;
    gather(*v.view, v.extent, v.host, &bytes);
    ++report.outputs_compared;
    std::string where = "output " + std::to_string(i) + ": ";
    if (p.size != bytes.size()) {
      difference(*c, where + std::to_string(bytes.size()) + " bytes, recorded were " + std::to_string(p.size));
    } else if (p.have == 1 && bytes != p.text) {
      difference(*c, where + show_difference(v.view->dtype, bytes, p.text));
    } else if (p.have == 2) {
      uint64_t hash = hash_bytes(bytes.data(), bytes.size());
      if (hash != p.value) difference(*c, where + "the hash of its " + std::to_string(bytes.size()) + " bytes differs");
      else world_.cache.put(hash, std::move(bytes));
    }
  }
}

Status Replay::issue(RecordedCall* c) {
  c->issued = true;
  const Function* f = find_function(c->function);
  auto skip = [&](const std::string& why) {
    ++report.skipped;
    remark(std::string(c->function) + " " + why);
  };
  if (!f) {
    skip("is unknown to this build");
    return {};
  }
  if (!c->args.is(Tag::list) || c->args.children.size() != f->n_args)
    return {Code::bad_data, "replay: call " + std::to_string(c->number) + " " + std::string(c->function) + ": has " +
                                std::to_string(c->args.children.size()) + " arguments, not " +
                                std::to_string(f->n_args)};
  oar_status_t then = OAR_OK;
  bool compared = c->ended && f->returns == Returns::status;
  if (compared) {
    if (!c->result.is(Tag::integer))
      return {Code::bad_data, "replay: call " + std::to_string(c->number) + " has no status"};
    then = oar_status_t(c->result.value);
  }
  if (f->fn == Fn::stream_event_query) {  // whether it was ready is chance
    if (then != OAR_OK) return {};
    f = &function(Fn::stream_event_sync);
  }

  Builder b(&world_);
  void* args[16] = {};
  auto problem = [&]() -> Status {
    if (b.problem() == Builder::Problem::bad)
      return {Code::bad_data,
              "replay: call " + std::to_string(c->number) + " " + std::string(c->function) + ": " + b.text()};
    skip(b.text());
    return {};
  };
  for (size_t i = 0; i < c->args.children.size(); ++i) {
    const Member& m = f->args[i];
    if (m.type == Type::function) {
      args[i] = b.room(16);
      continue;
    }
    if (m.out()) continue;
    if (!b.argument(m, c->args.children[i], &args[i])) return problem();
    // Counts among the arguments are held against their arrays, as they are inside structs.
    if (m.many()) {
      const Node& count = c->args.children[size_t(m.count)];
      uint64_t have = c->args.children[i].is(Tag::list) ? c->args.children[i].children.size() : 0;
      if (!count.is(Tag::integer) || count.value != have) {
        b.bad(std::string("has ") + std::to_string(have) + " of " + m.name + ", which is not what its count says");
        return problem();
      }
    }
    if (m.type == Type::record && m.stars == 1 && !m.nullable() && !*static_cast<void**>(args[i]) &&
        f->fn != Fn::graph_claim && f->fn != Fn::graph_save) {
      b.bad(std::string("lacks ") + m.name);
      return problem();
    }
    if (m.type == Type::handle && m.stars == 0 && !m.nullable() && m.handle != Handle::state &&
        !*static_cast<void**>(args[i])) {
      b.bad(std::string("lacks ") + m.name);
      return problem();
    }
  }
  if (f->fn == Fn::stream_event_sync && c->args.children.size() == 1) {
    args[1] = b.room(16);
    std::memset(args[1], 0xff, 8);
  }
  if (!out_arguments(*f, &b, args) || !translate(*f, *c, &b, args)) return problem();
  for (oar_frame_t* frame : b.frames) {
    if (!b.states.empty() && frame->workspace.size_bytes < b.states[0]->workspace_bytes) {
      skip("has less workspace than prepare wants now");
      return {};
    }
  }
  const void* at = where(*f, b, args);
  if (!at) {
    skip("is a function that this plugin doesn't have");
    if (then == OAR_OK && compared) difference(*c, "this plugin doesn't have it");
    return {};
  }
  if (!c->ended) remark("the recording ends inside call " + std::to_string(c->number) + " " + std::string(c->function));

  session.building = &b;
  session.error.clear();
  uint64_t result = 0;
  invoke(f->fn, at, args, &result);
  session.building = nullptr;
  session.made.clear();
  ++report.replayed;
  oar_status_t now = f->returns == Returns::status ? oar_status_t(int32_t(uint32_t(result))) : OAR_OK;

  if (f->fn == Fn::memory_unpin) {
    for (auto it = world_.pinned.begin(); it != world_.pinned.end();)
      it = it->second.get() == *static_cast<char**>(args[1]) ? world_.pinned.erase(it) : std::next(it);
  }
  if (destroys(*f))
    for (uint64_t old : b.old_states) {
      gone(Handle::state, world_.states[old].inner);
      world_.states.erase(old);
    }
  if (f->fn == Fn::memory_free) gone(Handle::memory, *static_cast<void**>(args[2]));
  for (int i = 0; i < f->n_args && destroys(*f); ++i)
    if (i == f->n_args - 1 && f->args[i].type == Type::handle && f->args[i].handle != Handle::state &&
        f->fn != Fn::memory_free && f->fn != Fn::comm_abort) {
      gone(f->args[i].handle, *static_cast<void**>(args[i]));
      world_.handles[int(f->args[i].handle)].erase(c->args.children[size_t(i)].value);
    }
  if (f->fn == Fn::memory_copy && now == OAR_OK) {
    PendingCopy copy;
    copy.made_up = b.made_up;
    copy.stream = c->args.children[0].value;
    for (BuiltRegion& r : b.regions) copy.regions.push_back(std::move(r));
    copies_[c->number] = std::move(copy);
  }
  if (f->fn == Fn::stream_event_record && now == OAR_OK)
    events_[c->args.children[1].value] = {c->args.children[0].value, c->number};
  if (f->fn == Fn::stream_event_sync && now == OAR_OK) finish_copies(c->args.children[0].value);
  if (c->ended && f->returns == Returns::pointer && c->result.is(Tag::handle) && c->result.value != 0)
    world_.handles[int(Handle::native)][c->result.value] = reinterpret_cast<void*>(uintptr_t(result));

  bool chance = f->fn == Fn::stream_event_sync && then == OAR_TIMEOUT;
  if (compared && !chance) {
    if (now != then) {
      std::string why = now < 0 && !session.error.empty() ? ": " + session.error : "";
      difference(*c, "returned " + status_text(now) + why + ", recorded was " + status_text(then));
    } else if (now < 0) {
      if (report.failures++ == 0) {
        report.first_failure = c->number;
        report.failure = std::string(c->function) + " failed with " + status_text(now) + ": " + session.error;
      }
    }
  }
  results(*f, c, &b, args, now);
  compare_outputs(c, &b, now);
  return {};
}

// ---------------------------------------------------------------- the log
Status Replay::choose_plugin(const std::vector<std::string_view>& bodies) {
  std::vector<std::pair<uint64_t, std::pair<std::string, std::string>>> plugins;
  for (std::string_view body : bodies) {
    TreeReader r(body);
    if (LogRecord(r.byte()) != LogRecord::plugin) continue;
    uint64_t id = r.varint();
    std::string n(r.name()), v(r.name());
    if (r.ok()) plugins.push_back({id, {n, v}});
  }
  if (plugins.empty()) return {Code::bad_data, "replay: the log names no plugin"};
  std::string names;
  for (auto& [id, p] : plugins) {
    if (plugin_id_ == 0 && (plugins.size() == 1 || p.first == text_of(plugin_->name))) {
      plugin_id_ = id;
      report.plugin = p.first + " " + p.second;
    }
    names += (names.empty() ? "" : ", ") + p.first;
  }
  if (plugin_id_ == 0)
    return {Code::invalid_argument,
            "replay: the log has " + names + ", the plugin is " + text_of(plugin_->name) + ". Replay one of these"};
  return {};
}

Status Replay::read_begin(TreeReader* r) {
  RecordedCall c;
  c.number = r->varint();
  uint64_t plugin = r->varint();
  r->varint();
  c.function = r->name();
  c.args = r->node();
  if (!r->ok() || !r->at_end()) return {Code::bad_data, "replay: a call that can't be read"};
  if (plugin != plugin_id_) return {};
  ++report.calls;
  auto [it, fresh] = calls_.emplace(c.number, std::move(c));
  if (!fresh) return {Code::bad_data, "replay: two calls are number " + std::to_string(it->first)};
  const Function* f = find_function(it->second.function);
  if (!f || !destroys(*f)) return {};
  it->second.ended = true;
  return issue(&it->second);
}

Status Replay::read_end(TreeReader* r) {
  uint64_t number = r->varint();
  r->varint();
  Node result = r->node(), told = r->node(), out_args = r->node(), outputs = r->node();
  if (!r->ok() || !r->at_end())
    return {Code::bad_data, "replay: the end of call " + std::to_string(number) + " can't be read"};
  auto it = calls_.find(number);
  if (it == calls_.end()) return {};  // another plugin's
  RecordedCall& c = it->second;
  if (!c.issued) {
    if (c.ended) return {Code::bad_data, "replay: call " + std::to_string(number) + " ends twice"};
    c.ended = true;
    c.result = std::move(result);
    c.error = std::move(told);
    c.out_args = std::move(out_args);
    c.outputs = std::move(outputs);
    OAR_TRY(issue(&c));
  }
  calls_.erase(it);
  return {};
}

Status Replay::read_back(TreeReader* r) {
  uint64_t number = r->varint(), region = r->varint();
  Node p = r->node();
  if (!r->ok() || !r->at_end() || !p.is(Tag::payload)) return {Code::bad_data, "replay: a readback that can't be read"};
  auto it = copies_.find(number);
  if (it == copies_.end()) return {};  // another plugin's, or it was skipped
  if (region >= it->second.regions.size() || !it->second.regions[region].host_dst)
    return {Code::bad_data, "replay: a readback of call " + std::to_string(number) + " has no such region"};
  BuiltRegion& built = it->second.regions[region];
  if (it->second.made_up || p.have == 0) {
    ++report.outputs_uncompared;
    return {};
  }
  if (p.size != built.packed)
    return {Code::bad_data, "replay: a readback of call " + std::to_string(number) + " has the wrong size"};
  std::string bytes;
  built.box.counts = built.counts.data();
  gather_box(built.box, built.dst_strides.data(), built.host_dst.get(), &bytes);
  built.host_dst.reset();
  ++report.outputs_compared;
  if (p.have == 1 ? bytes != p.text : hash_bytes(bytes.data(), bytes.size()) != p.value)
    difference(number, "memory.copy",
               "region " + std::to_string(region) + " brought other bytes" +
                   (p.have == 1 ? ": " + show_difference(OAR_DTYPE_U8, bytes, p.text) : std::string()));
  else if (p.have == 2) world_.cache.put(p.value, std::move(bytes));
  return {};
}

Status Replay::run(const std::vector<std::string_view>& bodies) {
  OAR_TRY(choose_plugin(bodies));
  for (std::string_view body : bodies) {
    TreeReader r(body);
    if (LogRecord(r.byte()) != LogRecord::host) continue;
    std::string function(r.name());
    Node key = r.node(), value = r.node();
    if (r.ok() && function == "kv_get") session.keys[std::string(key.text)] = std::string(value.text);
  }
  for (std::string_view body : bodies) {
    TreeReader r(body);
    Status status;
    switch (LogRecord(r.byte())) {
      case LogRecord::begin: status = read_begin(&r); break;
      case LogRecord::end: status = read_end(&r); break;
      case LogRecord::readback: status = read_back(&r); break;
      case LogRecord::plugin:
      case LogRecord::host: break;
      case LogRecord::trailer: trailer_ = true; break;
      default: status = {Code::bad_data, "replay: a record of an unknown kind"};
    }
    OAR_TRY(std::move(status));
    if (trailer_) break;
  }
  for (auto& [number, c] : calls_)
    if (!c.issued) OAR_TRY(issue(&c));
  report.complete = trailer_;
  report.payloads_regenerated = world_.regenerated;
  if (world_.regenerated)
    remark(std::to_string(world_.regenerated) + " payloads were made up from seed " + std::to_string(options_.seed) +
           "; what depends on them was not compared");
  return {};
}

}  // namespace
}  // namespace layer

Result<ReplayReport> layer::replay_log(std::string_view log, std::string_view plugin_path,
                                       const ReplayOptions& options) {
  std::vector<std::string_view> bodies;
  if (Status s = read_log(log, &bodies); !s.ok()) return s;
  std::lock_guard lock(replay_mutex());
  Replay replay(options);
  g_session = &replay.session;
  Status status = replay.open(std::string(plugin_path));
  if (status.ok()) status = replay.run(bodies);
  replay.close();
  g_session = nullptr;
  if (!status.ok()) return status;
  return std::move(replay.report);
}

Result<ReplayReport> replay(std::string_view log_path, std::string_view plugin_path, const ReplayOptions& options) {
  std::ifstream in{std::string(log_path), std::ios::binary};
  if (!in) return Status(Code::invalid_argument, "replay: can't read " + std::string(log_path));
  std::string log((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return layer::replay_log(log, plugin_path, options);
}

}  // namespace oarlock
