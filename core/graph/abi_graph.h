// Some nodes of a program as plugins see them: an oar_graph_t. Values keep the order in which the nodes meet them.
#pragma once
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <oarlock/plugin.h>

#include "core/device/device.h"
#include "core/graph/program.h"

namespace oarlock::graph {

// How a part of a body meets the rest. Each list in the order in which the part's nodes first name the values.
struct Ends {
  std::vector<ValueId> inputs;     // read and not made there; no constants
  std::vector<ValueId> constants;  // of Kind::constant
  std::vector<ValueId> outputs;    // made there, and named anywhere else
};
// nodes: places in body.nodes, ascending.
Ends ends_of(const Program& p, const Body& body, std::span<const int> nodes);

// Why a graph table can't have a node, whatever its plugin thinks; reason OAR_REASON_NONE: it may.
struct Bar {
  uint32_t reason = OAR_REASON_NONE;
  std::string text;
  bool shown = true;  // the plugin sees the node
};
Bar bar_of(const Program& p, const Node& node, const oar_graph_table_t& table);

// Borrows from the program and the table, which have to stay as they are.
class AbiGraph {
 public:
  // nodes: ascending, each shown to this table. Values that the device will hold are offered: inputs row-major, outputs in
  // strides of the plugin's choice, what is between in anything. Constants that lie in host memory have their elements.
  AbiGraph(const Program& p, const Body& body, std::span<const int> nodes, const oar_graph_table_t& table,
           const DeviceState& device);
  AbiGraph(const AbiGraph&) = delete;
  AbiGraph& operator=(const AbiGraph&) = delete;
  // Copies constants to host memory that are elsewhere or have gaps: what compile is promised.
  Status read_constants();
  const oar_graph_t& graph() const { return graph_; }
  const Ends& ends() const { return ends_; }

 private:
  const oar_value_t* value(ValueId v, oar_layout_t layout);  // layout: of one that is new
  void add_node(const Node& n, const oar_graph_table_t& table);
  struct Call {
    oar_call_t call{};
    std::vector<const oar_value_t*> inputs, outputs;
  };

  const Program& p_;
  const DeviceState& device_;
  Ends ends_;
  std::vector<int> place_;  // of a program's value: where it is in values_; -1: not there
  std::deque<oar_value_t> values_;
  std::deque<std::vector<int64_t>> strides_;
  std::vector<ValueId> ids_;
  std::deque<Call> calls_;
  std::deque<Tensor> held_;  // constants
  std::vector<const oar_value_t*> value_list_, inputs_, outputs_;
  std::vector<const oar_call_t*> call_list_;
  oar_graph_t graph_{};
};

}  // namespace oarlock::graph
