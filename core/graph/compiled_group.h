// A group of nodes that a plugin has compiled, or that came back from a blob: ready to launch.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/claim.h"

namespace oarlock::graph {

class GroupAnswer;

// What launch takes in one place.
struct GroupOperand {
  DType dtype = DType::none;
  Shape shape;
  std::vector<int64_t> strides;  // as the plugin wants it: row-major, or dense in another order
  uint64_t alignment = 0;        // bytes; 0: the device's own
  bool host = false;             // in host memory
};

// What becomes of a blob on this machine.
struct BlobVerdict {
  enum { ok, recompile, refused } answer = refused;
  std::string text;  // why not ok
};

class CompiledGroup {
 public:
  // refused: the plugin thinks otherwise by now; the text says why. Anything else is a failure of the plugin's. Constants
  // are copied: the program isn't needed afterwards.
  static Result<std::unique_ptr<CompiledGroup>> compile(const Program& p, const Body& body, const Group& group);
  // Waits for what was launched.
  ~CompiledGroup();
  CompiledGroup(const CompiledGroup&) = delete;
  CompiledGroup& operator=(const CompiledGroup&) = delete;

  const std::vector<GroupOperand>& inputs() const { return inputs_; }    // Ends::inputs
  const std::vector<GroupOperand>& outputs() const { return outputs_; }  // Ends::outputs
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  uint64_t workspace_alignment() const { return workspace_alignment_; }
  Pack& pack() const { return *pack_; }

  // Enqueues one run; views are those of inputs() and outputs(), in their strides. stream: of the device, null on the host.
  // workspace: null: taken from the device's memory for this launch. One launch at a time; others wait.
  Status launch(std::span<const oar_view_t* const> inputs, std::span<const oar_view_t* const> outputs, Stream* stream,
                const oar_span_t* workspace = nullptr);
  // For plans, which check operands once and keep their frames: what launch calls, and on what.
  oar_status_t(OAR_CALL* function() const)(void* state, const oar_frame_t* frame) {
    return pack_->plugin->graph->launch;
  }
  void* state() const { return state_; }
  void will_run_on(Stream& stream);

  // The plugin's blob behind a header of ours: plugin, device, operands, checksum. key: whatever the caller knows it by
  // again: a hash of the program, say. unsupported: the plugin saves nothing.
  Result<std::string> save(std::string_view key) const;
  // refused if check_blob says anything but ok.
  static Result<std::unique_ptr<CompiledGroup>> load(Pack& pack, std::string_view blob, std::string_view key);

 private:
  explicit CompiledGroup(Pack& pack) : pack_(&pack) {}
  Status check_view(const oar_view_t* view, const GroupOperand& operand, const char* kind, size_t i) const;
  Status take(GroupAnswer& answer, oar_status_t status, const char* what);

  Pack* pack_;
  void* state_ = nullptr;
  bool has_state_ = false;
  std::vector<GroupOperand> inputs_, outputs_;
  uint64_t workspace_bytes_ = 0, workspace_alignment_ = 0;
  std::mutex lock_;
  std::vector<Stream*> used_by_;
};

// Any bytes. Damage is an answer, refused, with a text that says where.
BlobVerdict check_blob(Pack& pack, std::string_view blob, std::string_view key);

}  // namespace oarlock::graph
