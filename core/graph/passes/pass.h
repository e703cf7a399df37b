// A pass changes a program into one that gives the same results. Those that know no op are here; rewrites, which name ops,
// are a table that ops/rewrite fills.
#pragma once
#include <span>
#include <vector>

#include "core/graph/program.h"

namespace oarlock::graph {

struct Pass {
  const char* name;
  bool exact;              // every bit of the results stays, whatever the values; else their rounding may change
  int (*run)(Program& p);  // the number of places it changed; values that nothing names any more may be left behind
};

// States that nothing writes to, and that get no gradient, become constants: kernels may pack them once.
int freeze_states(Program& p);
// Nodes whose outputs nobody uses and that write to nothing go.
int remove_dead_code(Program& p);
// Of nodes with the same op, attributes and operands the first stays; so do equal constants of a few bytes.
int merge_common_subexpressions(Program& p);
// Nodes that read only constants are run once, on the host. What they make may take up to 512 KB more than the constants that
// nobody reads any more; views of constants stay nodes. A node that fails stays as it is.
int fold_constants(Program& p);

// In the order in which they are run. ops/rewrite/table.cc
std::span<const Pass> rewrites();

// Which values may share elements, by the nodes that may be views, and who else sees those.
class Aliases {
 public:
  explicit Aliases(const Program& p);
  // A node writes to it: it is not to be moved, merged or read at another time.
  bool written(ValueId v) const { return (marks(v) & kWritten) != 0; }
  // An input, state or result: to be one with another that is so, too, would be seen by who writes to either.
  bool outside(ValueId v) const { return (marks(v) & kOutside) != 0; }
  // From here on they are the same, or share elements.
  void join(ValueId a, ValueId b);

 private:
  static constexpr uint8_t kWritten = 1, kOutside = 2;
  uint8_t marks(ValueId v) const { return v != kNone && size_t(v) < marks_.size() ? marks_[size_t(root(v))] : 0; }
  ValueId root(ValueId v) const;
  mutable std::vector<ValueId> parent_;
  std::vector<uint8_t> marks_;
};
// Does the node, or one in its bodies, write to an operand?
bool writes(const Node& node);
// Every use of v becomes one of to[v]; where that is kNone, or beyond the end, of itself. Chains are followed.
void replace_uses(Program& p, const std::vector<ValueId>& to);

}  // namespace oarlock::graph
