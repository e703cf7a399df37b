#include "core/graph/passes/pass.h"

namespace oarlock::graph {

int freeze_states(Program& p) {
  const Aliases aliases(p);
  std::vector<bool> kept(p.values.size());
  for (const auto* list : {&p.updates, &p.gradients})
    for (const Program::Update& u : *list) kept[size_t(u.state)] = true;
  int changes = 0;
  for (size_t i = 0; i < p.values.size(); ++i) {
    Value& v = p.values[i];
    if (v.kind != Kind::state || kept[i] || aliases.written(ValueId(i)) || !v.data.defined()) continue;
    v.kind = Kind::constant;
    v.data = v.data.detach();
    ++changes;
  }
  return changes;
}

}  // namespace oarlock::graph
