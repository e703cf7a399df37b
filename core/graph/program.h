// A program: calls in SSA form. Nodes (an op, its version and attributes) connect values (dtype, shape with named sizes);
// nodes may hold bodies of their own, which see the values around them. Plain data: whoever changes one runs verify after it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/dtype.h>
#include <oarlock/base/shape.h>
#include <oarlock/base/status.h>
#include <oarlock/base/tensor.h>

#include "core/op/attrs.h"
#include "core/op/infer.h"
#include "core/op/symbol.h"
#include "core/op/table.h"

namespace oarlock::graph {

// Place in Program::values.
using ValueId = int32_t;
inline constexpr ValueId kNone = -1;  // an absent optional operand, an output that nobody wants

enum class Kind : uint8_t {
  input,     // given at each run
  feed,      // asked for at the start of each run: random seeds, learning rates
  constant,  // never changes; data holds it
  state,     // a parameter or buffer, shared with whoever made it; a run may write to it
  computed,  // an output of a node
  parameter  // of a body: given by the node that runs it
};
const char* to_text(Kind kind);

// Host values a run asks for. In a saved program only random may be left: the next draw of the run's generator, i64[2].
struct Feed {
  bool random = false;
  std::function<Tensor()> next;
};

struct Value {
  Kind kind = Kind::computed;
  DType dtype = DType::none;
  bool host = false;  // lies in host memory wherever the program runs: what host arguments are made of
  Shape shape;
  std::string name;  // [A-Za-z0-9_][A-Za-z0-9_.]*, unique in the program ("0.weight"); or empty: then texts call it %7
  Tensor data;       // constant and state: the elements
  Feed feed;
};

struct Body;
struct Node {
  op::OpId op = op::kNoOp;
  int version = 0;       // of the op, that attrs are written for
  op::OwnedAttrs attrs;  // all of them, in schema order, normalised
  std::vector<ValueId> inputs;
  // Those of the op, hidden ones last; then, for each operand that is written to, in order of the operands, its value from
  // there on, which lies in the operand's memory. Nobody may read the operand's old value after such a node.
  std::vector<ValueId> outputs;
  std::vector<Body> bodies;  // of ops with regions, in schema order
  std::string where;         // the place in the user's source; may be empty

  Node() = default;
  Node(const Node& o);
  Node& operator=(const Node& o);
  Node(Node&&) = default;
  Node& operator=(Node&&) = default;
  const op::Op& def() const { return op::op_at(op); }
  // How many of outputs are the op's own; the rest are values of written operands.
  int own_outputs() const;
};
struct Body {
  std::vector<ValueId> parameters;  // of the program's own body: its inputs, in the order that a run takes them
  std::vector<Node> nodes;          // in an order that can be executed
  std::vector<ValueId> results;     // any values that are visible here
};

struct Program {
  std::string name = "main";
  op::Symbols symbols;  // that shapes, and attributes of the kinds dim and dims, speak of
  std::vector<Value> values;
  Body body;
  std::vector<std::string> result_names;  // one per result of the body
  std::vector<ValueId> feeds;             // in the order that a run asks for them
  // States, and the values they end with where a node wrote to them.
  struct Update {
    ValueId state, value;
  };
  std::vector<Update> updates;
  std::vector<Update> gradients;  // states, and what is their gradient after a run
  std::vector<op::Guard> guards;  // on sizes, checked when a plan for given sizes is made

  ValueId add(Value v);
  Value& operator[](ValueId v) { return values[size_t(v)]; }
  const Value& operator[](ValueId v) const { return values[size_t(v)]; }
  std::string name_of(ValueId v) const;  // "weight", "%7"; "none"
};

// Every node, those of bodies as well; a node comes before those in its bodies.
void each_node(Body& body, const std::function<void(Node&)>& see);
void each_node(const Body& body, const std::function<void(const Node&)>& see);
// What a node reads from outside itself: its operands and what its bodies take from around them.
std::vector<ValueId> reads(const Node& node);
// Values per use: how many operands, results, updates and gradients name each. Place: ValueId.
std::vector<int> count_uses(const Program& p);
// Every use of `from` becomes one of `to`, in all bodies, results, updates and gradients.
void replace_uses(Program& p, ValueId from, ValueId to);
// Leaves out values that nothing names any more; ids change.
void compact(Program& p);

// Checks everything that this header says, each op's own rule on the types of its operands and outputs, and that values are
// defined before they are read. The error names the node and its place. verify.cc
Status verify(const Program& p);

}  // namespace oarlock::graph
