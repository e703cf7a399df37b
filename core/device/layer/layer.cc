#include "core/device/layer/slot.h"

#include <algorithm>
#include <cstring>

#include "core/device/layer/record.h"
#include "core/device/layer/wrap.h"

namespace oarlock::layer {
namespace {

constexpr const char* kTableNames[] = {nullptr,  "device", "memory", "stream",  "pack",
                                       "kernel", "graph",  "comm",   "profiler"};
constexpr size_t kLargest = 4096;  // bytes of a struct that a layer copies; what lies further is of another age

std::atomic<Layer*> g_slots[kSlots];
std::atomic<int> g_slots_used{0};

uint32_t struct_size(const void* s) {
  uint32_t size;
  std::memcpy(&size, s, sizeof size);
  return size;
}

void put_pointer(char* at, const void* from) { std::memcpy(at, from, sizeof(void*)); }

bool has_function(const char* table, size_t size, size_t offset) {
  void* f = nullptr;
  if (offset + sizeof f > size) return false;
  std::memcpy(&f, table + offset, sizeof f);
  return f != nullptr;
}

// A zeroed copy of a table or declaration, its functions replaced by those of the slot.
std::unique_ptr<char[]> wrapped_copy(const void* from, size_t room, const char* table, int slot) {
  size_t size = std::min<size_t>(struct_size(from), kLargest);
  auto copy = std::make_unique<char[]>(std::max(size, room));
  std::memcpy(copy.get(), from, size);
  for (const Function& f : kFunctions)
    if (std::strcmp(f.table, table) == 0 && has_function(copy.get(), size, f.offset))
      put_pointer(copy.get() + f.offset, thunk(slot, f.fn));
  return copy;
}

void set_status(const Function& f, void* result, oar_status_t status) {
  if (f.returns == Returns::status) std::memcpy(result, &status, sizeof status);
}

oar_prepared_t* prepared_of(const Function& f, void* const* args) {
  for (int i = 0; i < f.n_args; ++i)
    if (f.args[i].out() && f.args[i].record && f.args[i].record->id == RecordId::prepared)
      return argument<oar_prepared_t*>(args, i);
  return nullptr;
}

}  // namespace

const char* table_name(uint64_t id) { return id < std::size(kTableNames) ? kTableNames[id] : nullptr; }

oar_status_t fail(const oar_host_t* host, oar_status_t status, const std::string& text) {
  if (host && OAR_HAS(host, error_set) && host->error_set) host->error_set(host, status, 0, {text.data(), text.size()});
  return status;
}

Layer::Layer(const oar_plugin_t* inner, const oar_host_t* host) : inner_(inner), host_(host) {
  if (OAR_HAS(inner, name) && inner->name.data) name_.assign(inner->name.data, inner->name.size);
}

const oar_plugin_t* Layer::install(std::unique_ptr<Layer> layer) {
  int slot = g_slots_used.load();
  do {
    if (slot == kSlots) {
      std::string text =
          layer->name_ + ": no slot left for another layer, so its calls are neither checked nor recorded";
      if (layer->host_ && OAR_HAS(layer->host_, log) && layer->host_->log)
        layer->host_->log(layer->host_, OAR_LOG_WARNING, {text.data(), text.size()});
      return nullptr;
    }
  } while (!g_slots_used.compare_exchange_weak(slot, slot + 1));
  Layer* l = layer.release();  // until the process ends: handed-out tables point to it
  l->slot_ = slot;
  l->outer_ = wrapped_copy(l->inner_, sizeof(oar_plugin_t), "plugin", slot);
  g_slots[slot].store(l, std::memory_order_release);
  return reinterpret_cast<const oar_plugin_t*>(l->outer_.get());
}

bool Layer::accept_table(const void* table, const char*, uint64_t, uint32_t, uint32_t) {
  return struct_size(table) >= 8;
}
bool Layer::accept_decl(const oar_kernel_decl_t* decl) {
  return struct_size(decl) >= record(RecordId::kernel_decl).least;
}

void Layer::get_table(void* const* args, void* result) {
  uint64_t id = argument<uint64_t>(args, 1);
  const void*& out = *static_cast<const void**>(result);
  out = inner_->get_table(host_, id, argument<uint32_t>(args, 2), argument<uint32_t>(args, 3));
  const char* table = table_name(id);
  if (!out || !table) return;
  {
    std::lock_guard lock(mutex_);
    if (inner_tables_[id].load(std::memory_order_relaxed) == out) {
      out = outer_tables_[id].get();
      return;
    }
  }
  if (!accept_table(out, table, id, argument<uint32_t>(args, 2), argument<uint32_t>(args, 3))) {
    out = nullptr;
    return;
  }
  std::lock_guard lock(mutex_);
  // A table is constant, so a second one under the same id can't be told apart from the first in what follows.
  if (!outer_tables_[id]) {
    outer_tables_[id] = wrapped_copy(out, 0, table, slot_);
    inner_tables_[id].store(out, std::memory_order_release);
  }
  out = outer_tables_[id].get();
}

State* Layer::find_state(void* state) {
  std::lock_guard lock(mutex_);
  auto it = states_.find(state);
  return it == states_.end() ? nullptr : it->second.get();
}

const oar_kernel_decl_t* Layer::find_decl(const oar_kernel_decl_t* decl) {
  std::lock_guard lock(mutex_);
  auto it = inner_decls_.find(decl);
  return it == inner_decls_.end() ? nullptr : it->second;
}

void Layer::wrap_state(oar_prepared_t* prepared, const oar_kernel_decl_t* decl) {
  auto state = std::make_unique<State>(State{prepared->state, decl});
  prepared->state = state.get();
  std::lock_guard lock(mutex_);
  states_.emplace(state.get(), std::move(state));
}

void Layer::wrap_decls(uint32_t* out_n, const oar_kernel_decl_t* const** out_decls) {
  std::vector<const oar_kernel_decl_t*> list;
  for (uint32_t i = 0; i < *out_n; ++i) {
    const oar_kernel_decl_t* inner = (*out_decls)[i];
    if (!inner || !accept_decl(inner)) continue;
    std::lock_guard lock(mutex_);
    std::unique_ptr<char[]>& copy = outer_decls_[inner];
    if (!copy) {
      copy = wrapped_copy(inner, sizeof(oar_kernel_decl_t), "kernel_decl", slot_);
      inner_decls_[copy.get()] = inner;
    }
    list.push_back(reinterpret_cast<const oar_kernel_decl_t*>(copy.get()));
  }
  std::lock_guard lock(mutex_);
  *out_n = uint32_t(list.size());
  for (const auto& known : decl_lists_)
    if (known == list) {
      *out_decls = known.data();
      return;
    }
  decl_lists_.push_back(std::move(list));
  *out_decls = decl_lists_.back().data();
}

void Layer::launch_many(const Function& f, void* const* args, void* result) {
  uint32_t n = argument<uint32_t>(args, 1);
  auto decls = argument<const oar_kernel_decl_t* const*>(args, 2);
  auto states = argument<void* const*>(args, 3);
  std::vector<const oar_kernel_decl_t*> inner_decls(n);
  std::vector<void*> inner_states(n);
  for (uint32_t i = 0; i < n; ++i) {
    State* state = find_state(states[i]);
    inner_decls[i] = find_decl(decls[i]);
    if (!state || !inner_decls[i])
      return set_status(f, result,
                        fail(host_, OAR_INVALID_ARGUMENT,
                             name_ + ": kernel.launch_many: no such " + (state ? "declaration" : "state")));
    inner_states[i] = state->inner;
  }
  auto d = static_cast<const oar_kernel_decl_t* const*>(inner_decls.data());
  auto s = static_cast<void* const*>(inner_states.data());
  void* replaced[] = {args[0], args[1], &d, &s, args[4], args[5]};
  auto table = static_cast<const char*>(inner_tables_[OAR_TABLE_KERNEL].load(std::memory_order_acquire));
  invoke(f.fn, table + f.offset, replaced, result);
}

void Layer::forward(const Function& f, void* const* args, void* result) {
  if (f.fn == Fn::kernel_launch_many) return launch_many(f, args, result);
  void* replaced[16];
  std::copy_n(args, f.n_args, replaced);
  const oar_kernel_decl_t* decl = nullptr;
  State* state = nullptr;
  void* inner_state = nullptr;
  for (int i = 0; i < f.n_args; ++i) {
    const Member& m = f.args[i];
    if (m.type == Type::host) {
      replaced[i] = &host_;
    } else if (m.type == Type::handle && m.stars == 0 && m.handle == Handle::state) {
      state = find_state(argument<void*>(args, i));
      if (!state)
        return set_status(f, result,
                          fail(host_, OAR_INVALID_ARGUMENT, name_ + ": " + f.table + "." + f.name + ": no such state"));
      inner_state = state->inner;
      decl = state->decl;
      replaced[i] = &inner_state;
    } else if (m.type == Type::handle && m.stars == 0 && m.handle == Handle::decl) {
      decl = find_decl(argument<const oar_kernel_decl_t*>(args, i));
      if (!decl)
        return set_status(
            f, result,
            fail(host_, OAR_INVALID_ARGUMENT, name_ + ": " + f.table + "." + f.name + ": no such declaration"));
      replaced[i] = &decl;
    }
  }
  const char* table = nullptr;
  if (std::strcmp(f.table, "kernel_decl") == 0) {
    table = reinterpret_cast<const char*>(decl);
  } else {
    for (uint64_t id = 1; id < kTables; ++id)
      if (std::strcmp(kTableNames[id], f.table) == 0)
        table = static_cast<const char*>(inner_tables_[id].load(std::memory_order_acquire));
  }
  bool releases = f.fn == Fn::kernel_decl_release || f.fn == Fn::graph_release;
  std::unique_ptr<State> last;
  if (releases) {
    std::lock_guard lock(mutex_);
    auto it = states_.find(state);
    if (it == states_.end()) return;
    last = std::move(it->second);
    states_.erase(it);
  }
  if (!table || !has_function(table, struct_size(table), f.offset))
    return set_status(f, result, fail(host_, OAR_UNSUPPORTED, name_ + ": no " + f.table + "." + f.name));
  invoke(f.fn, table + f.offset, replaced, result);

  if (f.returns == Returns::status && *static_cast<oar_status_t*>(result) == OAR_OK) {
    if (oar_prepared_t* prepared = prepared_of(f, args))
      wrap_state(prepared, f.fn == Fn::kernel_decl_prepare ? decl : nullptr);
    if (f.fn == Fn::kernel_declarations)
      wrap_decls(argument<uint32_t*>(args, 1), argument<const oar_kernel_decl_t* const**>(args, 2));
  }
}

void enter(int slot, Fn fn, void* const* args, void* result) {
  Layer* layer = g_slots[slot].load(std::memory_order_acquire);
  if (fn == Fn::plugin_get_table) layer->get_table(args, result);
  else layer->call(function(fn), args, result);
}

}  // namespace oarlock::layer
