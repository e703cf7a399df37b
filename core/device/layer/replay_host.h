// The host that a plugin sees while it is replayed: serial, without ranks beside it, and with memory under the budget.
#pragma once
#include <map>

#include "core/device/layer/replay_build.h"

namespace oarlock::layer {

// What the host's functions work on. One replay runs at a time.
struct ReplaySession {
  std::string error;                        // what error_set was last told
  std::map<std::string, std::string> keys;  // of the key-value store
  Builder* building = nullptr;              // the call that is under way
  std::deque<std::shared_ptr<char>> made;   // by output_alloc, until the call ends
  Budget* budget = nullptr;
};
extern ReplaySession* g_session;

// The plugin may keep the pointer for ever.
const oar_host_t* replay_host();

// Stand-ins for the callbacks that the recorded host handed to the plugin.
void replay_ignore_body(void* context);
void replay_ignore_record(void* context, const oar_record_t* record);
extern const oar_claim_sink_t kReplaySink;
extern const oar_writer_t kReplayWriter;

std::string text_of(oar_str_t s);

}  // namespace oarlock::layer
