// Whole parts of programs for plugins that compile graphs: which nodes they take, and why not the others.
#pragma once
#include <string>
#include <vector>

#include "core/graph/abi_graph.h"

namespace oarlock::graph {

// Nodes that one plugin runs at once. They close no cycle with the rest, nor with other groups: there is an order in which
// each group can run as one step, and no write comes between two of its nodes.
struct Group {
  Pack* pack = nullptr;
  std::vector<int> nodes;  // places in body.nodes, ascending
  uint64_t cost_ns = 0;    // for one launch, as the plugin sees it; 0: unknown
  Ends ends;               // inputs and outputs in the order in which launch takes them
};
struct Refusal {
  int node = -1;  // place in body.nodes; -1: of what the plugin did as a whole
  std::string plugin;
  uint32_t reason = OAR_REASON_OTHER;
  std::string text;
};
struct Claims {
  std::vector<Group> groups;      // in the order of their first nodes
  std::vector<Refusal> refusals;  // one per plugin and node that it leaves; by plugin, then by node
};

// Asks the graph tables of the device's packs, in the order in which they were loaded: who comes first has a node. A plugin
// that fails or claims what can't be takes nothing by it, and a refusal says so. Sizes of p should be numbers (with_sizes);
// nodes where one isn't stay out, as do nodes with bodies.
Claims claim(const Program& p, const Body& body, DeviceState& device);

// "relu at net.py:12: npu: it has no elements"
std::string to_text(const Body& body, const Refusal& refusal);

}  // namespace oarlock::graph
