// Patterns of ops: what a rewrite looks for.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/program.h"

namespace oarlock::rewrite {

using graph::kNone;
using graph::Node;
using graph::Program;
using graph::Value;
using graph::ValueId;

// The nodes of one body, by what they make.
class Scope {
 public:
  explicit Scope(const Program& p) : p(p) {}
  const Program& p;
  // The node whose first output v is; null: it is made elsewhere.
  const Node* maker(ValueId v) const;
  // The value of a constant of one element, or of what fills with one.
  std::optional<double> number(ValueId v) const;
  const Value& operator[](ValueId v) const { return p[v]; }

  std::unordered_map<ValueId, const Node*> makers;
  std::vector<ValueId> moved;  // values that were replaced, by what
  ValueId now(ValueId v) const;
};

struct Pattern {
  enum Kind : uint8_t { value, call, either } kind = value;
  std::string name{};            // of what it matches; the same name is the same value
  std::vector<Pattern> parts{};  // operands, alternatives
  op::OpId op = op::kNoOp;
  bool commutes = false, may_be_absent = false;
  std::function<bool(const Scope&, ValueId)> accepts{};

  Pattern as(std::string n) && {
    name = std::move(n);
    return std::move(*this);
  }
  // test: of a value.
  Pattern where(std::function<bool(const Scope&, ValueId)> test) &&;
  // test: of a call's attributes.
  Pattern with(std::function<bool(op::Attrs)> test) &&;
};
Pattern any(std::string name);
Pattern maybe(std::string name);     // an optional operand, there or not
Pattern constant(std::string name);  // with elements
Pattern number(std::string name);    // a value known to be one number
// A number that is v but for rounding to its own dtype.
Pattern number(double v);
// The first output of a call with these operands; operands of add and multiply in any order.
Pattern call(const char* op, std::vector<Pattern> operands);
Pattern either(Pattern a, Pattern b);

// What a pattern was found to be.
class Match {
 public:
  ValueId operator[](const std::string& name) const;  // kNone: an absent operand
  // The call that a part of the pattern with this name matched.
  const Node& node(const std::string& name) const;
  double number(const std::string& name) const { return *scope_->number((*this)[name]); }
  op::Attrs attrs(const std::string& name) const { return node(name).attrs.view(); }
  const Value& value(const std::string& name) const { return (*scope_)[(*this)[name]]; }
  const std::vector<const Node*>& nodes() const { return nodes_; }  // the root first, each once
  const Scope& scope() const { return *scope_; }

 private:
  friend class Matcher;
  const Scope* scope_ = nullptr;
  std::vector<std::pair<std::string, ValueId>> named_;
  std::vector<const Node*> nodes_;
};
std::optional<Match> match(const Scope& scope, const Pattern& pattern, ValueId root);

}  // namespace oarlock::rewrite
