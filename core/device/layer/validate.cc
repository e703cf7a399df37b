// The validation layer: each call is checked against what plugin.h says of its function before it goes on, and what the
// plugin gave back is checked afterwards. Reports name table, function and argument.
#include <algorithm>
#include <cstring>
#include <thread>
#include <unordered_set>

#include "core/device/layer/sizes.gen.h"
#include "core/device/layer/slot.h"

namespace oarlock {

const char* name(FaultKind kind) {
  static constexpr const char* kNames[] = {"wrong thread", "wrong size",    "dead handle",    "missing function",
                                           "null",         "error not set", "unknown status", "wrong version"};
  return kNames[int(kind)];
}

namespace layer {
namespace {

std::mutex g_sink_mutex;
FaultSink g_sink = nullptr;
void* g_sink_context = nullptr;

// The plugin functions that this thread is inside of.
struct Running {
  const Function* function;
  const std::string* plugin;
  const Running* outer;
};
thread_local const Running* t_running = nullptr;
thread_local bool t_own_call = false;  // the layer itself is calling the host

const char* const kKinds[] = {"object", "device", "pack",   "stream", "event",
                              "comm",   "state",  "memory", "native", "declaration"};
// What launch may call back; see oar_kernel_decl_t.launch.
constexpr Fn kFromLaunch[] = {Fn::host_parallel_for, Fn::host_thread_count, Fn::host_output_alloc, Fn::host_error_set};
// Functions of which one demands another, though the header marks them optional or leaves a choice.
struct Together {
  Fn has, needs;
};
constexpr Together kTogether[] = {
    {Fn::memory_pin, Fn::memory_unpin},
    {Fn::memory_import_handle, Fn::memory_import_release},
    {Fn::stream_event_arm, Fn::stream_event_signal},
    {Fn::pack_stream_open, Fn::pack_stream_close},
    {Fn::graph_claim, Fn::graph_compile},
    {Fn::graph_compile, Fn::graph_claim},
    {Fn::graph_save, Fn::graph_load},
    {Fn::graph_load, Fn::graph_check_blob},
    {Fn::graph_capture_begin, Fn::graph_capture_end},
    {Fn::kernel_decl_prepare, Fn::kernel_decl_launch},
    {Fn::kernel_decl_prepare, Fn::kernel_decl_release},
    {Fn::kernel_decl_launch, Fn::kernel_decl_prepare},
};

bool known_status(oar_status_t s) { return s >= OAR_INTERNAL && s <= OAR_NOT_READY; }

bool destroys(const Function& f) {
  return f.fn == Fn::device_close || f.fn == Fn::stream_destroy || f.fn == Fn::stream_event_destroy ||
         f.fn == Fn::pack_close || f.fn == Fn::pack_stream_close || f.fn == Fn::comm_destroy ||
         f.fn == Fn::kernel_decl_release || f.fn == Fn::graph_release || f.fn == Fn::memory_free ||
         f.fn == Fn::memory_import_release;
}

// The last handle among the arguments, streams to order by left aside: what close, destroy and release act on.
int destroyed_argument(const Function& f) {
  if (f.fn == Fn::memory_free) return 2;
  return f.n_args - 1;
}

uint32_t size_of(const void* s) {
  uint32_t size;
  std::memcpy(&size, s, sizeof size);
  return size;
}
const void* pointer_at(const void* at) {
  const void* p;
  std::memcpy(&p, at, sizeof p);
  return p;
}

class Validation : public Layer {
 public:
  Validation(const oar_plugin_t* inner, const oar_host_t* host)
      : Layer(inner, host), sees_errors_(is_layer_host(host)) {}

  void call(const Function& f, void* const* args, void* result) override;
  void report(FaultKind kind, const char* table, const char* function, const std::string& argument, std::string text);

 protected:
  bool accept_table(const void* table, const char* name, uint64_t id, uint32_t min, uint32_t max) override;
  bool accept_decl(const oar_kernel_decl_t* decl) override;

 private:
  // Room behind an out_ struct of the host, with a guard after it.
  struct OutRoom {
    alignas(16) unsigned char bytes[OAR_OUT_ROOM + 256];
    void* host = nullptr;
    void* self = bytes;
    int arg = -1;
  };
  struct Visit {
    const Function& f;
    std::vector<std::pair<const void*, const Record*>> seen;
    bool good = true;
  };
  struct Key {
    Handle kind;
    const void* id;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const { return std::hash<const void*>()(k.id) * 31 + size_t(k.kind); }
  };
  struct Holder {
    std::thread::id thread;
    int depth = 0;
    const Function* function = nullptr;
  };

  bool fault(Visit* v, FaultKind kind, const std::string& argument, const std::string& what);
  bool check_functions(const void* table, const char* name, size_t size, const char* shown);
  void check_value(Visit* v, const Member& m, const void* at, const std::string& path, const void* base,
                   const Member* siblings, int depth);
  void check_record(Visit* v, const Record& r, const void* p, const std::string& path, int depth);
  bool check_handle(Visit* v, Handle kind, const void* id, const std::string& path, bool nullable);
  void hold(Visit* v, std::vector<Key>* keys, void* const* args);
  void let_go(const std::vector<Key>& keys);
  void created(Visit* v, void* const* args);
  void check_freed(Visit* v, void* const* args);
  void check_rooms(Visit* v, std::vector<std::unique_ptr<OutRoom>>* rooms, oar_status_t status);

  bool sees_errors_;
  std::mutex mutex_;
  std::unordered_map<Key, int, KeyHash> alive_;  // a plugin may hand out one object several times
  std::unordered_set<Key, KeyHash> dead_;
  std::unordered_map<Key, Holder, KeyHash> held_;
};

void Validation::report(FaultKind kind, const char* table, const char* function, const std::string& argument,
                        std::string text) {
  FaultSink sink;
  void* context;
  {
    std::lock_guard lock(g_sink_mutex);
    sink = g_sink;
    context = g_sink_context;
  }
  if (sink) {
    sink(context, Fault{kind, name(), table, function, argument, std::move(text)});
  } else if (host() && OAR_HAS(host(), log) && host()->log) {
    t_own_call = true;
    host()->log(host(), OAR_LOG_ERROR, {text.data(), text.size()});
    t_own_call = false;
  }
}

bool Validation::fault(Visit* v, FaultKind kind, const std::string& argument, const std::string& what) {
  std::string text =
      name() + ": " + v->f.table + "." + v->f.name + ": " + (argument.empty() ? "" : argument + " ") + what;
  if (v->good && v->f.returns == Returns::status) {
    t_own_call = true;
    fail(host(), OAR_INVALID_ARGUMENT, text);
    t_own_call = false;
  }
  v->good = false;
  report(kind, v->f.table, v->f.name, argument, std::move(text));
  return false;
}

bool Validation::accept_table(const void* table, const char* table_name, uint64_t, uint32_t min, uint32_t max) {
  auto complain = [&](FaultKind kind, const std::string& what) {
    report(kind, table_name, "", "", name() + ": " + table_name + " table: " + what);
    return false;
  };
  const Record* r = nullptr;
  std::string wanted = std::string("oar_") + table_name + "_table_t";
  for (const Record& x : kRecords)
    if (wanted == x.name) r = &x;
  uint32_t size = size_of(table);
  if (size < r->least)
    return complain(FaultKind::size, "struct_size is " + std::to_string(size) + ", its first version has " +
                                         std::to_string(r->least) + " bytes");
  uint32_t version = size_of(static_cast<const char*>(table) + 4);
  if (version == 0) return complain(FaultKind::version, "version is 0, which means it was forgotten");
  if (version < min || version > max)
    return complain(FaultKind::version, "version is " + std::to_string(version) + ", asked for was " +
                                            std::to_string(min) + " to " + std::to_string(max));
  return check_functions(table, table_name, size, table_name);
}

bool Validation::check_functions(const void* table, const char* table_name, size_t size, const char* shown) {
  auto has = [&](Fn fn) {
    const Function& f = function(fn);
    return f.offset + sizeof(void*) <= size && pointer_at(static_cast<const char*>(table) + f.offset) != nullptr;
  };
  auto complain = [&](Fn fn, const char* why) {
    report(FaultKind::missing, table_name, function(fn).name, "",
           name() + ": " + shown + " lacks " + function(fn).name + why);
    return false;
  };
  bool good = true;
  bool is_decl = std::strcmp(table_name, "kernel_decl") == 0, is_graph = std::strcmp(table_name, "graph") == 0;
  if (is_decl && !has(Fn::kernel_decl_run) && !has(Fn::kernel_decl_launch))
    good = complain(Fn::kernel_decl_run, ", and has no prepare, launch and release instead");
  if (is_graph && !has(Fn::graph_compile) && !has(Fn::graph_capture_begin))
    good = complain(Fn::graph_compile, ", and has no capture_begin instead");
  for (const Together& t : kTogether)
    if (std::strcmp(function(t.has).table, table_name) == 0 && has(t.has) && !has(t.needs))
      good = complain(t.needs, (std::string(", which goes with ") + function(t.has).name).c_str());
  for (const Function& f : kFunctions) {
    if (std::strcmp(f.table, table_name) != 0 || f.optional || is_decl) continue;
    if (f.fn == Fn::graph_claim || f.fn == Fn::graph_compile) continue;
    if (!has(f.fn)) good = complain(f.fn, ", which is required");
  }
  return good;
}

bool Validation::accept_decl(const oar_kernel_decl_t* decl) {
  const Record& r = record(RecordId::kernel_decl);
  uint32_t size = size_of(decl);
  if (size < r.least) {
    report(FaultKind::size, "kernel_decl", "", "struct_size",
           name() + ": a kernel declaration has struct_size " + std::to_string(size) + ", its first version has " +
               std::to_string(r.least) + " bytes");
    return false;
  }
  std::string shown =
      "the kernel declaration of " + (decl->op.data ? std::string(decl->op.data, decl->op.size) : "(no op)");
  return check_functions(decl, "kernel_decl", size, shown.c_str());
}

bool Validation::check_handle(Visit* v, Handle kind, const void* id, const std::string& path, bool nullable) {
  std::string what = kKinds[int(kind)];
  if (kind == Handle::native) return true;
  if (kind == Handle::decl) {
    if (!id) return fault(v, FaultKind::null, path, "is NULL");
    if (find_decl(static_cast<const oar_kernel_decl_t*>(id))) return true;
    return fault(v, FaultKind::handle, path, "is no declaration that declarations gave");
  }
  if (!id && kind != Handle::state) return nullable || fault(v, FaultKind::null, path, "is NULL");
  if (kind == Handle::memory) return true;  // the host adds offsets where it may
  bool alive, dead;
  {
    std::lock_guard lock(mutex_);
    auto it = alive_.find({kind, id});
    alive = it != alive_.end();
    dead = dead_.count({kind, id}) > 0;
  }
  if (alive) return true;
  return fault(v, FaultKind::handle, path,
               dead ? "is a " + what + " that was destroyed before" : "is no " + what + " of this plugin");
}

void Validation::check_value(Visit* v, const Member& m, const void* at, const std::string& path, const void* base,
                             const Member* siblings, int depth) {
  if (m.out()) {
    if (!pointer_at(at)) fault(v, FaultKind::null, path, "is NULL");
    return;
  }
  uint64_t n = 1;
  if (m.many()) {
    const Member& count = siblings[int(m.count)];
    const char* from = static_cast<const char*>(base) + count.offset;
    n = 0;
    std::memcpy(&n, from, count.size);
    if (count.size == 4) n = uint32_t(n);
    if (int64_t(n) < 0 || n > (1u << 24)) {
      fault(v, FaultKind::size, path, "has a count of " + std::to_string(int64_t(n)));
      return;
    }
  }
  const void* p = m.stars > 0 || m.type == Type::handle || m.type == Type::memory || m.type == Type::host ||
                          m.type == Type::function
                      ? pointer_at(at)
                      : at;
  if (m.type == Type::host) {
    if (!p) fault(v, FaultKind::null, path, "is NULL");
    return;
  }
  if (m.stars > 0 && m.many() && !p) {
    if (n > 0 && !m.nullable()) fault(v, FaultKind::null, path, "is NULL though there are " + std::to_string(n));
    return;
  }
  if (m.type == Type::handle && m.stars == 0) {
    check_handle(v, m.handle, p, path, m.nullable());
  } else if (m.type == Type::handle && m.many()) {
    for (uint64_t i = 0; i < n; ++i)
      check_handle(v, m.handle, static_cast<const void* const*>(p)[i], path + "[" + std::to_string(i) + "]",
                   m.nullable());
  } else if (m.type == Type::record && m.stars == 0) {
    check_record(v, *m.record, at, path, depth + 1);
  } else if (m.type == Type::record && m.stars == 1) {
    if (m.many()) {
      for (uint64_t i = 0; i < n; ++i)
        check_record(v, *m.record, static_cast<const char*>(p) + i * m.record->size,
                     path + "[" + std::to_string(i) + "]", depth + 1);
    } else if (p) {
      check_record(v, *m.record, p, path, depth + 1);
    }
  } else if (m.type == Type::record && m.stars == 2 && m.many()) {
    for (uint64_t i = 0; i < n; ++i)
      if (const void* one = static_cast<const void* const*>(p)[i])
        check_record(v, *m.record, one, path + "[" + std::to_string(i) + "]", depth + 1);
  } else if (m.type == Type::text && m.stars == 0) {
    auto text = static_cast<const oar_str_t*>(at);
    if (!text->data && text->size > 0)
      fault(v, FaultKind::null, path, "is NULL though its size is " + std::to_string(text->size));
  }
}

void Validation::check_record(Visit* v, const Record& r, const void* p, const std::string& path, int depth) {
  if (depth > 16) return;
  for (const auto& s : v->seen)
    if (s.first == p && s.second == &r) return;
  if (v->seen.size() < 256) v->seen.emplace_back(p, &r);
  uint32_t size = r.size;
  if (!r.frozen) {
    size = size_of(p);
    if (size < r.least) {
      fault(v, FaultKind::size, path,
            "has struct_size " + std::to_string(size) + "; " + r.name + " began with " + std::to_string(r.least) +
                " bytes");
      return;
    }
  }
  if (r.id == RecordId::attr || r.id == RecordId::ext) return;
  for (int i = 0; i < r.n_members; ++i) {
    const Member& m = r.members[i];
    if (m.offset + m.size > size) break;
    if (r.id == RecordId::view && m.type == Type::memory) continue;
    check_value(v, m, static_cast<const char*>(p) + m.offset, path + "." + m.name, p, r.members, depth);
  }
}

// Marks the objects of a one-thread call as busy; another thread that holds one is the fault.
void Validation::hold(Visit* v, std::vector<Key>* keys, void* const* args) {
  if (v->f.mark != Mark::one_thread) return;
  std::vector<Key> wanted;
  for (int i = 0; i < v->f.n_args; ++i) {
    const Member& m = v->f.args[i];
    if (m.type == Type::handle && m.stars == 0 && (i == 0 || m.handle == Handle::stream)) {
      const void* id = argument<const void*>(args, i);
      if (m.handle == Handle::state) {
        State* state = find_state(const_cast<void*>(id));
        if (state && state->decl && OAR_HAS(state->decl, flags) && (state->decl->flags & OAR_KERNEL_REENTRANT) &&
            v->f.fn == Fn::kernel_decl_launch)
          continue;
      }
      if (id) wanted.push_back({m.handle, id});
    } else if (m.record && m.record->id == RecordId::frame && m.stars == 1) {
      auto frame = argument<const oar_frame_t*>(args, i);
      if (frame && frame->stream) wanted.push_back({Handle::stream, frame->stream});
    }
  }
  for (const Key& k : wanted) {
    const Function* other = nullptr;
    {
      std::lock_guard lock(mutex_);
      Holder& h = held_[k];
      if (h.depth > 0 && h.thread != std::this_thread::get_id()) {
        other = h.function;
      } else {
        h.thread = std::this_thread::get_id();
        h.function = &v->f;
        ++h.depth;
      }
    }
    if (!other) {
      keys->push_back(k);
      continue;
    }
    std::string argument = v->f.args[0].handle == k.kind ? v->f.args[0].name : k.kind == Handle::stream ? "stream" : "";
    fault(v, FaultKind::thread, argument,
          std::string("is in use by another thread, inside ") + other->table + "." + other->name +
              "; one thread at a time may use one " + kKinds[int(k.kind)]);
    return;
  }
}

void Validation::let_go(const std::vector<Key>& keys) {
  std::lock_guard lock(mutex_);
  for (const Key& k : keys) {
    auto it = held_.find(k);
    if (it != held_.end() && --it->second.depth == 0) held_.erase(it);
  }
}

void Validation::created(Visit* v, void* const* args) {
  for (int i = 0; i < v->f.n_args; ++i) {
    const Member& m = v->f.args[i];
    if (!m.out()) continue;
    Handle kind = Handle::none;
    const void* id = nullptr;
    if ((m.type == Type::handle || m.type == Type::memory) && m.stars == 1) {
      kind = m.handle;
      id = *argument<void**>(args, i);
      if (!id && m.type == Type::handle) {
        fault(v, FaultKind::null, m.name, "was left NULL though the status is OAR_OK");
        continue;
      }
    } else if (m.record && m.record->id == RecordId::prepared) {
      kind = Handle::state;
      id = argument<oar_prepared_t*>(args, i)->state;
    } else {
      continue;
    }
    std::lock_guard lock(mutex_);
    ++alive_[{kind, id}];
    dead_.erase({kind, id});
  }
}

// Memory is known by the address that alloc gave; other handles were checked as arguments.
void Validation::check_freed(Visit* v, void* const* args) {
  if (!destroys(v->f)) return;
  const Member& m = v->f.args[destroyed_argument(v->f)];
  Key key{m.handle, argument<const void*>(args, destroyed_argument(v->f))};
  if (key.kind != Handle::memory || !key.id) return;
  bool alive, dead;
  {
    std::lock_guard lock(mutex_);
    alive = alive_.count(key) > 0;
    dead = dead_.count(key) > 0;
  }
  if (!alive)
    fault(v, FaultKind::handle, m.name, dead ? "is memory that was freed before" : "is no memory of this plugin");
}

void Validation::check_rooms(Visit* v, std::vector<std::unique_ptr<OutRoom>>* rooms, oar_status_t status) {
  for (auto& room : *rooms) {
    const Member& m = v->f.args[room->arg];
    bool overrun = false;
    for (size_t i = OAR_OUT_ROOM; i < sizeof room->bytes; ++i) overrun |= room->bytes[i] != 0xA5;
    uint32_t size = size_of(room->bytes);
    bool tells_size = status == OAR_OK && size != 0 && size < m.record->least;
    if (overrun || size > OAR_OUT_ROOM)
      fault(v, FaultKind::size, m.name,
            "outgrew its room of " + std::to_string(OAR_OUT_ROOM) + " bytes: struct_size is " + std::to_string(size) +
                (overrun ? ", and bytes behind it were written" : ""));
    else if (tells_size)
      fault(v, FaultKind::size, m.name,
            "has struct_size " + std::to_string(size) + "; " + m.record->name + " began with " +
                std::to_string(m.record->least) + " bytes");
    std::memcpy(room->host, room->bytes, OAR_OUT_ROOM);
  }
}

void Validation::call(const Function& f, void* const* args, void* result) {
  Visit v{f, {}, true};
  std::vector<Key> keys;
  // Arguments lie apart, so counts are looked up by address.
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    Member sibling{};
    const void* base = nullptr;
    if (m.many()) {
      const Member& count = f.args[int(m.count)];
      sibling = count;
      sibling.offset = 0;
      base = args[int(m.count)];
      Member one = m;
      one.count = 0;
      check_value(&v, one, args[i], m.name, base, &sibling, 0);
      continue;
    }
    check_value(&v, m, args[i], m.name, nullptr, f.args, 0);
    if (m.type == Type::record && m.stars == 1 && !m.out() && !m.nullable() && !argument<const void*>(args, i))
      fault(&v, FaultKind::null, m.name, "is NULL");
    if (m.type == Type::memory && !m.out() && !m.nullable() && !argument<const void*>(args, i))
      fault(&v, FaultKind::null, m.name, "is NULL");
    if (m.type == Type::function && !m.nullable() && !argument<const void*>(args, i))
      fault(&v, FaultKind::null, m.name, "is NULL");
  }
  if (v.good) check_freed(&v, args);
  if (v.good) hold(&v, &keys, args);
  if (!v.good) {
    let_go(keys);
    if (f.returns == Returns::status) *static_cast<oar_status_t*>(result) = OAR_INVALID_ARGUMENT;
    return;
  }

  void* replaced[16];
  std::copy_n(args, f.n_args, replaced);
  std::vector<std::unique_ptr<OutRoom>> rooms;
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    if (!m.out() || m.type != Type::record || m.stars != 1) continue;
    auto room = std::make_unique<OutRoom>();
    room->host = argument<void*>(args, i);
    room->arg = i;
    std::memcpy(room->bytes, room->host, OAR_OUT_ROOM);
    std::memset(room->bytes + OAR_OUT_ROOM, 0xA5, sizeof room->bytes - OAR_OUT_ROOM);
    replaced[i] = &room->self;
    rooms.push_back(std::move(room));
  }
  // Before the call: another thread may be given the same address again as soon as the plugin is done with it.
  if (destroys(f)) {
    int i = destroyed_argument(f);
    Key key{f.args[i].handle, argument<const void*>(args, i)};
    std::lock_guard lock(mutex_);
    auto it = alive_.find(key);
    if (it != alive_.end() && --it->second == 0) {
      alive_.erase(it);
      dead_.insert(key);
    }
  }

  Running running{&f, &name(), t_running};
  t_running = &running;
  uint64_t errors = error_note().count;
  forward(f, replaced, result);
  t_running = running.outer;
  let_go(keys);

  oar_status_t status = f.returns == Returns::status ? *static_cast<oar_status_t*>(result) : OAR_OK;
  check_rooms(&v, &rooms, status);
  if (f.returns == Returns::status && !known_status(status))
    fault(&v, FaultKind::status, "", "returned " + std::to_string(status) + ", which is no status of plugin.h");
  else if (status < 0 && sees_errors_ && f.mark != Mark::quick && error_note().count == errors)
    report(FaultKind::error_not_set, f.table, f.name, "",
           name() + ": " + f.table + "." + f.name + ": failed with " + std::to_string(status) +
               " but didn't call error_set on the same thread before");
  if (f.returns == Returns::status && status == OAR_OK) {
    created(&v, args);
    if (!v.good) *static_cast<oar_status_t*>(result) = OAR_INTERNAL;
  }
}

}  // namespace

void check_host_call(const oar_host_t* host, const Function& f) {
  const Running* r = t_running;
  if (!r || t_own_call) return;
  bool quick = r->function->mark == Mark::quick;
  bool launch = r->function->fn == Fn::kernel_decl_launch;
  for (Fn fn : kFromLaunch) launch = launch && f.fn != fn;
  if (!quick && !launch) return;
  std::string where = std::string(r->function->table) + "." + r->function->name;
  std::string text = *r->plugin + ": host." + f.name + " called from " + where +
                     (quick ? ", which is marked OAR_QUICK: it must not call the host"
                            : ", which may call back parallel_for, thread_count, output_alloc and error_set alone");
  FaultSink sink;
  void* context;
  {
    std::lock_guard lock(g_sink_mutex);
    sink = g_sink;
    context = g_sink_context;
  }
  if (sink) {
    sink(context, Fault{FaultKind::thread, *r->plugin, r->function->table, r->function->name, f.name, text});
  } else if (OAR_HAS(host, log) && host->log) {
    t_own_call = true;
    host->log(host, OAR_LOG_ERROR, {text.data(), text.size()});
    t_own_call = false;
  }
}

}  // namespace layer

void set_fault_sink(FaultSink sink, void* context) {
  std::lock_guard lock(layer::g_sink_mutex);
  layer::g_sink = sink;
  layer::g_sink_context = context;
}

const oar_plugin_t* layer_validate(const oar_plugin_t* inner, const oar_host_t* host) {
  const oar_plugin_t* outer = layer::Layer::install(std::make_unique<layer::Validation>(inner, host));
  return outer ? outer : inner;
}

}  // namespace oarlock
