// Turns the tree of a recorded call back into arguments for a plugin: structs in memory of this call, old handles replaced
// by new ones, buffers with the recorded contents. The tree may be hostile: whatever doesn't fit the descriptions, or
// would let a plugin read past a buffer, is refused.
#pragma once
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include <oarlock/base/replay.h>

#include "core/device/layer/payload.h"
#include "core/device/layer/record.h"
#include "core/device/layer/replay_memory.h"

namespace oarlock::layer {

// As replay(), of a log in memory.
Result<ReplayReport> replay_log(std::string_view log, std::string_view plugin_path, const ReplayOptions& options = {});

// A prepared state as replay holds it.
struct ReplayState {
  void* inner = nullptr;
  const oar_kernel_decl_t* decl = nullptr;  // null: of the graph table
  bool made_up = false;                     // absorbed made-up contents
  uint64_t workspace_bytes = 0;
  std::unordered_map<uint64_t, uint64_t> token_bytes;  // by the recorded layout token: the most an operand takes
};

// What lives longer than one call.
struct ReplayWorld {
  explicit ReplayWorld(uint64_t limit) : budget(limit), cache(limit / 4) {}
  std::unordered_map<uint64_t, void*> handles[kHandleKinds];  // by kind, old to new
  std::unordered_map<uint64_t, const oar_kernel_decl_t*> decls;
  std::unordered_map<uint64_t, ReplayState> states;
  std::map<uint64_t, Allocation> allocations;  // by old address
  std::unordered_map<uint64_t, std::shared_ptr<char>> pinned;
  std::unordered_map<uint64_t, uint64_t> tokens;  // opaque layouts, recorded to this plugin's own
  struct Opaque {
    std::shared_ptr<char> buffer;
    uint64_t size;
    bool made_up;
  };
  std::unordered_map<uint64_t, Opaque> opaque;  // host tensors in such layouts, by old address; their contents stay
  Budget budget;
  ContentCache cache;
  uint64_t seed = 1;
  uint64_t regenerated = 0;

  // The allocation that an old address lies in, and how far; null: none.
  Allocation* find(uint64_t old, uint64_t* out_offset);
};

// A tensor of a call, as built and as recorded.
struct BuiltView {
  oar_view_t* view = nullptr;
  char* host = nullptr;  // where its elements begin; null: not in host memory
  Allocation* allocation = nullptr;
  uint64_t offset = 0;  // into the allocation
  Extent extent;
  bool strided = false;
  bool made_up = false;
  bool output = false;
  uint64_t opaque = 0;  // old address of a host tensor in a layout of the plugin's own
};
struct BuiltRegion {
  oar_region_t box = {};  // its arrays are the two below
  std::vector<int64_t> counts, dst_strides;
  std::shared_ptr<char> host_dst, host_src;
  uint64_t packed = 0;
  bool made_up = false;
};

class Builder {
 public:
  enum class Problem { none, skip, bad };

  explicit Builder(ReplayWorld* world) : world_(*world) {}

  // Room for argument m and, at *out_at, its value.
  bool argument(const Member& m, const Node& node, void** out_at);
  // The decls and states of a built argument were looked up in the recording's terms.
  Problem problem() const { return problem_; }
  const std::string& text() const { return text_; }

  bool skip(std::string text) { return note(Problem::skip, std::move(text)); }
  bool bad(std::string text) { return note(Problem::bad, std::move(text)); }
  void* room(uint64_t size);

  bool find_handle(Handle kind, uint64_t old, void** out);

  // Of the call that was built.
  std::vector<BuiltView> views;
  std::deque<BuiltRegion> regions;
  std::vector<ReplayState*> states;
  std::vector<uint64_t> old_states;
  const oar_call_t* call = nullptr;
  const oar_graph_t* graph = nullptr;
  std::vector<oar_frame_t*> frames;
  bool made_up = false;
  std::string saved;  // what save wrote

  BuiltView* view_of(const oar_view_t* view);
  // [in] choices for n values, holding their offers; values null: n empty ones.
  oar_choice_t** offers(uint32_t n, const oar_value_t* const* values);

 private:
  struct HostRange {
    uint64_t begin, end;
    std::shared_ptr<char> buffer;
  };
  bool note(Problem p, std::string text);
  bool value(const Member& m, const Node& node, char* at, bool output);
  bool list(const Member& m, const Node& node, char* at, bool output);
  bool record(const Record& r, const Node& node, void** out, bool output);
  bool fields(const Record& r, const Node& node, char* at, bool output);
  bool view(const Node& node, char* at, bool output);
  bool opaque_view(BuiltView* built, uint64_t old, uint64_t byte_offset);
  bool attribute(const Node& node, oar_attr_t* a);
  bool region(const Node& node, char* at);
  bool extensions(const Node& node, char* at);
  bool text(const Node& node, oar_str_t* out);
  bool span(oar_span_t* s);
  bool contents(const Node& payload, uint32_t dtype, std::string* out_bytes, uint64_t size, bool* out_made_up);
  void collect(const Node& node, int depth);
  char* host_buffer(uint64_t old, uint64_t size);
  bool inside(const Allocation& a, uint64_t offset, uint64_t size);

  ReplayWorld& world_;
  Problem problem_ = Problem::none;
  std::string text_;
  std::deque<std::unique_ptr<uint64_t[]>> rooms_;
  std::deque<std::shared_ptr<char>> buffers_;
  std::vector<HostRange> ranges_;
  struct Numbered {
    const Record* record;
    void* at;
    bool whole;  // a struct can't point to itself on its way in
  };
  std::unordered_map<uint64_t, Numbered> numbered_;
  uint64_t room_used_ = 0;
};

}  // namespace oarlock::layer
