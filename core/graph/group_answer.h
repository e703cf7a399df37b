// What a plugin answers when it compiles or loads a group, held against what it was offered.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <oarlock/plugin.h>

#include "core/device/device.h"

namespace oarlock::graph {

struct GroupOperand;

// The room behind one oar_prepared_t and all that it points to. Once read, what it holds is sound.
class GroupAnswer {
 public:
  GroupAnswer(Pack& pack, std::vector<GroupOperand> in, std::vector<GroupOperand> out);
  ~GroupAnswer();
  GroupAnswer(const GroupAnswer&) = delete;
  GroupAnswer& operator=(const GroupAnswer&) = delete;
  oar_prepared_t* prepared();
  // status: what the function gave; what: its name, for messages. Releases the state where it fails. refused, or
  // bad_data with the plugin's text, or internal: the plugin wrote what can't be.
  Status read(oar_status_t status, const char* what);
  // What the verdict says, or `otherwise`.
  std::string reason(const char* otherwise) const;

  std::vector<GroupOperand> inputs, outputs;
  void* state = nullptr;
  uint64_t workspace_bytes = 0, workspace_alignment = 0;

 private:
  struct Room;
  Status read_operand(size_t i, GroupOperand& o) const;
  Pack& pack_;
  std::unique_ptr<Room> room_;
};

}  // namespace oarlock::graph
