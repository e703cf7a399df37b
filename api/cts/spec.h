// The shape strings of ops, read by the kit itself: "T[N, C/groups, *K]". The kit checks the core, so it doesn't
// share the
// core's parser.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/op.h>

namespace oarlock::cts {

struct Item {
  enum Kind { name, expression, batch, pack, attribute_pack, any, any_pack, fresh } kind;
  std::string text;     // the name, or the whole expression
  bool or_one = false;  // "|1"
};
struct Spec {
  enum Type { fixed, variable, attribute } type;
  std::string type_name;  // "i64", "T", "dtype"
  bool wide = false;      // "T+": f32 for f16 and bf16
  DType dtype = DType::none;
  std::vector<Item> items;
  bool has(Item::Kind kind) const;
};
// Throws std::runtime_error for what is no shape string.
Spec parse_spec(std::string_view text);

// An expression of + - * / ( ) # and names. lookup gives the value of a name ("M", "groups", or "#S"). No value: a
// name is
// unknown, or a division is not exact.
using Lookup = std::function<std::optional<int64_t>(std::string_view name)>;
std::optional<int64_t> evaluate(std::string_view expression, const Lookup& lookup);
// Names in an expression, each once: "4*H" has H; "#S" is given with its '#'.
std::vector<std::string> names_in(std::string_view expression);

// The dtype to take where one is enough: f32 if it is in the set, else the widest that ops compute with.
DType plain_dtype(DTypeSet set);

// An op with its strings read.
struct Schema {
  const OpInfo& info;
  std::vector<Spec> inputs, outputs;
  std::vector<std::string> type_names;  // in order of appearance in the inputs and outputs
  explicit Schema(const OpInfo& info);
  DTypeSet types_of(std::string_view variable) const;
  std::string mixing_of(std::string_view variable) const;
  int attribute(std::string_view name) const;  // its position; -1: none
  const OpOperand& input(size_t i) const { return info.inputs[i < info.inputs.size() ? i : info.inputs.size() - 1]; }
  const Spec& input_spec(size_t i) const { return inputs[i < inputs.size() ? i : inputs.size() - 1]; }
};

}  // namespace oarlock::cts
