// What validation and tracing have in common: a slot, the wrapped tables, and the objects that are the layer's own.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device/layer/describe.h"
#include "core/device/layer/layer.h"

namespace oarlock::layer {

// What the host holds for a prepared state. The plugin's own state may be NULL or shared.
struct State {
  void* inner;
  const oar_kernel_decl_t* decl;  // the plugin's; null for a compiled graph
};

template <class T>
const T& argument(void* const* args, int i) {
  return *static_cast<const T*>(args[i]);
}

class Layer {
 public:
  Layer(const oar_plugin_t* inner, const oar_host_t* host);
  virtual ~Layer() = default;

  // One call, by the thunk in this layer's slot. result: room for what the function returns; null if it returns nothing.
  virtual void call(const Function& f, void* const* args, void* result) = 0;
  void get_table(void* const* args, void* result);

  // Puts the layer into a slot and returns the plugin to hand out; null if no slot is left.
  static const oar_plugin_t* install(std::unique_ptr<Layer> layer);

  const std::string& name() const { return name_; }
  const oar_host_t* host() const { return host_; }

 protected:
  // A chance to refuse a table before it is wrapped; false: the host gets NULL.
  virtual bool accept_table(const void* table, const char* name, uint64_t id, uint32_t min, uint32_t max);
  // The same for one kernel declaration; false: it is left out.
  virtual bool accept_decl(const oar_kernel_decl_t* decl);

  // Passes a call on: the layer's own states and declarations are replaced by the plugin's, and the other way round in
  // what comes back. A handle that the layer doesn't know gives OAR_INVALID_ARGUMENT.
  void forward(const Function& f, void* const* args, void* result);

  State* find_state(void* state);
  const oar_kernel_decl_t* find_decl(const oar_kernel_decl_t* decl);
  const char* text_of(const oar_kernel_decl_t* decl) const;

 private:
  static constexpr int kTables = 9;
  void wrap_state(oar_prepared_t* prepared, const oar_kernel_decl_t* decl);
  void wrap_decls(uint32_t* out_n, const oar_kernel_decl_t* const** out_decls);
  void launch_many(const Function& f, void* const* args, void* result);

  const oar_plugin_t* inner_;
  const oar_host_t* host_;
  std::string name_;
  int slot_ = -1;
  std::unique_ptr<char[]> outer_;

  std::mutex mutex_;
  std::atomic<const void*> inner_tables_[kTables] = {};
  std::unique_ptr<char[]> outer_tables_[kTables];
  std::unordered_map<void*, std::unique_ptr<State>> states_;
  std::unordered_map<const void*, const oar_kernel_decl_t*> inner_decls_;  // the layer's to the plugin's
  std::unordered_map<const void*, std::unique_ptr<char[]>> outer_decls_;   // the plugin's to the layer's
  std::deque<std::vector<const oar_kernel_decl_t*>> decl_lists_;
};

// What this thread last told error_set, and how often it did; any layer_host.
struct ErrorNote {
  uint64_t count = 0;
  oar_status_t status = OAR_OK;
  int64_t native = 0;
  std::string text;
};
ErrorNote& error_note();

// True if `host` came from layer_host.
bool is_layer_host(const oar_host_t* host);
// The recorder that notes the callbacks of this host; null: none.
void set_host_recorder(const oar_host_t* host, Recorder* recorder);

// Called on each callback from a plugin before it goes on to the host. In validate.cc.
void check_host_call(const oar_host_t* host, const Function& f);

// What a function's arguments and results look like to the status-returning host: error_set with this text.
oar_status_t fail(const oar_host_t* host, oar_status_t status, const std::string& text);

// Index of a table by its OAR_TABLE_ number: "memory"; null for those of vendors.
const char* table_name(uint64_t id);

}  // namespace oarlock::layer
