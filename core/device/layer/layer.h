// Layers stand between the host and a plugin: validation reports who breaks the rules of plugin.h, tracing prints and
// records every call. Where no layer is installed, calls go straight to the plugin and cost nothing more.
//
//   const oar_host_t* host = layer_host(plain_host);            // before the query: the plugin keeps this pointer
//   oar_plugin_query(host, &plugin);
//   plugin = layer_trace(plugin, host, recorder);
//   plugin = layer_validate(plugin, host);                      // stacks in any order
//
// Handles pass through layers unchanged but for prepared states and kernel declarations, which are the layer's own: use
// what the outermost layer gave you. Any function here may be called from any thread. Layers live until the process ends.
#pragma once
#include <string>

#include <oarlock/plugin.h>

namespace oarlock {

class Recorder;

enum class FaultKind {
  thread,         // two threads inside a one-thread function on one object; a host callback where none is allowed
  size,           // struct_size zero or below the first version; an out struct that outgrew its room
  handle,         // used after destroy, destroyed twice, never created
  missing,        // a required function is absent from a table or declaration
  null,           // NULL where none is allowed, or no object where one was promised
  error_not_set,  // a failure without error_set before it
  status,         // a status that is none of OAR_
  version,        // a table's version is zero or outside what was asked for
};
const char* name(FaultKind kind);

struct Fault {
  FaultKind kind;
  std::string plugin;
  std::string table;     // "memory", "kernel_decl", "host"
  std::string function;  // "alloc"; empty where the table itself is wrong
  std::string argument;  // "stream" or "frame.inputs[1].shape"; empty where it is the call itself
  std::string text;      // the whole sentence
};
// Where faults go, from whichever thread met them, with no lock held. Null: the host's log, as errors.
using FaultSink = void (*)(void* context, const Fault& fault);
void set_fault_sink(FaultSink sink, void* context);

// A host that sees its plugin's callbacks and passes them on to `host`. Without it validation can't tell whether
// error_set was called, nor who called back from where. The same host gives the same pointer.
const oar_host_t* layer_host(const oar_host_t* host);

// A plugin that checks each call and passes it on to `inner`; calls that break a rule are refused with
// OAR_INVALID_ARGUMENT, or skipped where there is no status. Returns `inner` itself, with a line in the log, once the
// slots are used up: 32 layers in one process.
const oar_plugin_t* layer_validate(const oar_plugin_t* inner, const oar_host_t* host);
// A plugin whose calls go to `recorder` on the way to `inner`. The recorder must live as long as the process.
const oar_plugin_t* layer_trace(const oar_plugin_t* inner, const oar_host_t* host, Recorder* recorder);

}  // namespace oarlock
