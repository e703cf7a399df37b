// Which nodes of a body have to run before which: those that make what others read, and those that read what others write.
#pragma once
#include <vector>

#include "core/graph/program.h"

namespace oarlock::graph {

class OrderCheck {
 public:
  OrderCheck(const Program& p, const Body& body);
  // If these nodes ran as one step: a node outside of them that would have to run both after and before it; -1: none.
  // owner: by node, its group or -1; groups that were joined run as one step too.
  int closes_cycle(const std::vector<int>& nodes, const std::vector<int>& owner) const;
  // From now on they run as one; group: their number in owner, the next each time.
  void join(const std::vector<int>& nodes, int group);
  // An order in which everything can run: nodes, and -1 - group where one runs as a whole. By place where there is a choice.
  std::vector<int> order(const std::vector<int>& owner) const;

 private:
  std::vector<std::vector<int>> after_;  // by node: those that have to come later
  std::vector<std::vector<int>> groups_;
};

}  // namespace oarlock::graph
