// Ops that plugins define: a schema's text is read into a definition like those of our op files, compiled by the same
// compiler, and put into the table behind ours.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/plugin.h>

#include "core/op/table.h"

namespace oarlock {
struct Plugin;
}

namespace oarlock::op {

// "acme.swish_gradient(x, grad y) -> (grad x)", read.
struct GradientMap {
  enum Kind : uint8_t { input, output, gradient };  // gradient: of an output
  struct Argument {
    Kind kind;
    int index;
  };
  std::string name;                 // of the gradient op; empty: none
  OpId id = kNoOp;                  // kNoOp: the op itself
  std::vector<Argument> arguments;  // what the gradient op is called with
  std::vector<int> results;         // per output of it: which input it is the gradient of; -1: none
  std::vector<int> attributes;      // per attribute of it: which of ours it takes; -1: its default
};

// A definition with all that it points to. Lives for ever once it is in the table.
struct SchemaOp : OpDef {
  std::deque<std::string> texts;
  std::string signature, gradient_text;  // as registered, each run of spaces one
  GradientMap map;
  decltype(oar_op_schema_t::infer) infer_callback = nullptr;
  const Plugin* owner = nullptr;             // who registered it first
  std::vector<const Plugin*> registered_by;  // under the registration's lock
};

// Reads name, signature, gradient and the rest; looks nothing up. The text of a failure begins with the op's name.
Result<std::unique_ptr<SchemaOp>> read_schema(const oar_op_schema_t* schema);

// Reads, checks against the gradient op, compiles and adds. The id of the op that is there already if it is the same. Any
// thread.
Result<OpId> register_schema(const Plugin& plugin, const oar_op_schema_t* schema);
// The names of a plugin's ops, in the order registered.
std::vector<std::string> ops_of(const Plugin& plugin);

}  // namespace oarlock::op
