// The ops there are: ours, generated from the folder, and those that plugins register.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <oarlock/base/status.h>

#include "core/op/grammar.h"

namespace oarlock::op {

// Place in the table: ours sorted by name, plugins' after them. Valid in one process; files and plugins use names.
using OpId = uint16_t;
inline constexpr OpId kNoOp = 0xffff;

struct Op {
  const OpDef* def;
  Rule rule;
  OpId id;
  bool host_only;                    // all inputs are host arguments or there are none
  uint64_t host_inputs;              // bit i: input i is a host argument
  uint64_t mutated;                  // bit i: input i is written
  uint64_t differentiable;           // bit i: input i may get a gradient; bit 63 speaks for all later ones
  int required_inputs;
  bool variadic;
  int visible_outputs;               // without the hidden ones at the end
  uint64_t input_read_by[10];        // inputs whose gradient reads input i (as bits), by .saves
  uint64_t output_read_by[6];
  bool broadcasts;                   // some string holds "..." or "|1"
};

const Op& op_at(OpId id);
int op_count();
OpId find_op(std::string_view name);       // kNoOp: there is none
OpId op_of(Role role);                     // kNoOp: nobody claims it
// Adds an op at run time (plugins' schemas, tests). def and all it points to must live for ever. A text says what is
// wrong with it. Any thread.
Result<OpId> register_op(const OpDef* def);

// The generated table of ops/: sorted by name, null-terminated.
std::span<const OpDef* const> builtin_ops();

}  // namespace oarlock::op
