// Finds patterns in a program and puts something else in their place.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/passes/pass.h"
#include "core/graph/recording.h"
#include "ops/rewrite/pattern.h"

namespace oarlock::rewrite {

// Stand-ins of what was found, for the calls that replace it.
class Found {
 public:
  Found(const Match& match, graph::Recording& recording) : match(match), recording_(recording) {}
  Tensor operator()(const std::string& name) const {
    const ValueId v = match[name];
    return v == kNone ? Tensor() : recording_.tensor(v);
  }
  const Match& match;

 private:
  graph::Recording& recording_;
};

struct Rule {
  Pattern pattern;
  // Calls ops with what was found; the result takes the place of the pattern's root. No value: it stays as it is.
  std::function<Tensor(const Found&)> put;
  // What lies between the root and the operands may be used elsewhere, too, and stays then: for what costs nothing.
  bool shared = false;
  // Operands that nothing else may use: their elements go into new ones.
  std::vector<std::string> consumed{};
  bool is_view = false;  // what was there shared its elements with the operand
};

// Applies the rules wherever they match, the first that does, from the end to the beginning, until none does; the number of
// places. A replacement of another dtype or shape, or one that throws, is left out.
int rewrite_by(Program& p, std::span<const Rule> rules);

}  // namespace oarlock::rewrite
