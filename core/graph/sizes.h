// The named sizes of a program for one run: bound from the shapes it is given, read back into shapes and attributes.
#pragma once
#include <map>
#include <span>
#include <string>

#include "core/graph/program.h"

namespace oarlock::graph {

class Sizes {
 public:
  explicit Sizes(const op::Symbols& symbols) : symbols_(symbols) {}
  // Gives names their values so that `declared` becomes `actual`. who: what has that shape, for the text of a failure.
  Status bind(const Shape& declared, const Shape& actual, const std::string& who);
  void set(const std::string& name, int64_t n) { known_[name] = n; }
  // All names that have values, to go back to.
  using Names = std::map<std::string, int64_t, std::less<>>;
  const Names& names() const { return known_; }
  void set(Names names) { known_ = std::move(names); }
  // Symbolic sizes become numbers; one that speaks of a name without a value stays as it is.
  Dim value(Dim d) const;
  Shape value(const Shape& s) const;
  // A node's attributes with its sizes as numbers. An error if one is not known yet.
  Result<op::OwnedAttrs> value(const Node& node) const;
  Status check(const std::vector<op::Guard>& guards) const;

 private:
  void solve(Dim d, int64_t actual);
  std::string shape_text(const Shape& s) const;  // "[N=4, 3]"
  const op::Symbols& symbols_;
  Names known_;
};

// The program for inputs of these shapes: every size a number where names allow it, guards checked.
Result<Program> with_sizes(const Program& p, std::span<const Shape> inputs);
}  // namespace oarlock::graph
