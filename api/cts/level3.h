// What the tests of level 3 share: graphs that the kit makes, and a plugin that claims, compiles and launches them, all by
// the C ABI alone.
#pragma once
#include <oarlock/plugin.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/cts/op_call.h"
#include "api/cts/raw.h"

namespace oarlock::cts {

// Calls in an order that can be executed, and the elements of every value, as the host computes them.
struct Graph {
  struct Value {
    DType dtype = DType::none;
    std::vector<int64_t> shape;
    std::vector<uint8_t> bytes;  // row-major
    bool host = false, constant = false;
    HostTensor tensor() const { return {Shape(shape), dtype, bytes}; }
  };
  struct Call {
    std::string op;
    std::vector<int> inputs, outputs;  // values; -1: absent
    std::vector<AttrValue> attrs;
  };
  std::vector<Value> values;
  std::vector<Call> calls;
  std::vector<int> inputs, outputs;

  // Adds a call whose outputs the host computes here and now. Throws Error or RefusedCall as a call does.
  const Call& add(const std::string& op, std::vector<int> inputs, std::vector<AttrValue> attrs);
  // Some of the calls as a graph of their own.
  Graph part(const std::vector<uint32_t>& nodes) const;
  std::string to_string() const;  // "relu(f32[2, 3]); add(...)"
};

// A drawn call as a graph. Some of its operands become constants.
Graph graph_of(const Schema& schema, const Draw& draw, Random& random);
// A drawn call, and after it a few of these ops on what there is by then, all elementwise and tame.
std::optional<Graph> draw_chain(const std::vector<std::string>& first, const std::vector<std::string>& then,
                                DType dtype, Random& random);

// Its elements where they are.
oar_view_t host_view(const Graph::Value& v, const std::vector<int64_t>& strides);

// The graph as a plugin sees it. Borrows from it.
class Shown {
 public:
  Shown(const Graph& graph, const oar_graph_table_t& table);
  const oar_graph_t& graph() const { return graph_; }

 private:
  std::vector<oar_value_t> values_;
  std::vector<std::vector<int64_t>> strides_;
  std::deque<oar_view_t> constants_;
  std::deque<std::vector<oar_attr_t>> attrs_;
  std::deque<std::vector<const oar_value_t*>> operands_;
  std::vector<oar_call_t> calls_;
  std::vector<const oar_value_t*> value_list_, inputs_, outputs_;
  std::vector<const oar_call_t*> call_list_;
  oar_graph_t graph_{};
};

const oar_op_range_t* range_of(const oar_graph_table_t& table, const std::string& op);

// What a plugin said of a graph.
struct Claimed {
  std::vector<std::vector<uint32_t>> groups;
  struct Refused {
    uint32_t reason;
    std::string text;
  };
  std::map<uint32_t, Refused> refused;
};

struct Program {
  void* state = nullptr;
  std::vector<std::vector<int64_t>> input_strides, output_strides;
  uint64_t workspace_bytes = 0, workspace_alignment = 0;
};

// A plugin with a graph table and its pack, on its own device or, without one, on the host. Skips the test if it has none.
class GraphRig {
 public:
  GraphRig(Check& check, const std::string& path);
  ~GraphRig();
  GraphRig(const GraphRig&) = delete;
  GraphRig& operator=(const GraphRig&) = delete;

  const oar_graph_table_t& table() const { return *(rig_ ? rig_->plugin : *host_).graph; }
  oar_pack_t* pack() const { return pack_; }
  bool saves() const;
  // Checks the answer against the table: nodes that exist, each in one group, of ops that it reads; reasons that are some.
  Claimed claim(const Graph& graph);
  // No value: refused, with a reason in out_why. Any other failure fails the test.
  std::optional<Program> compile(const Graph& graph, std::string& out_why);
  // As compile; out_status: what load gave.
  std::optional<Program> load(const Graph& graph, std::string_view blob, oar_status_t& out_status,
                              std::string& out_why);
  oar_status_t check_blob(std::string_view blob, std::string& out_why);
  std::string save(const Program& program);
  void release(const Program& program) { table().release(program.state); }
  // With the values' elements as inputs; the outputs' elements.
  std::vector<HostTensor> run(const Graph& graph, const Program& program);

  Check& check;

 private:
  std::optional<Program> prepare(const Graph& graph, const char* function,
                                 const std::function<oar_status_t(oar_prepared_t*)>& fill, oar_status_t& out_status,
                                 std::string& out_why);
  std::unique_ptr<Rig> rig_;      // with a device of its own
  std::unique_ptr<Plugin> host_;  // without
  oar_pack_t* pack_ = nullptr;
};

}  // namespace oarlock::cts
