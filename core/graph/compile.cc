#include "core/graph/compile.h"

#include <algorithm>

namespace oarlock::graph {
namespace {

// States that nothing writes to, and that get no gradient, become constants: kernels may pack them once.
void freeze_states(Program& p) {
  std::vector<bool> written(p.values.size());
  for (const auto* list : {&p.updates, &p.gradients})
    for (const Program::Update& u : *list) written[size_t(u.state)] = true;
  for (size_t i = 0; i < p.values.size(); ++i) {
    Value& v = p.values[i];
    if (v.kind != Kind::state || written[i]) continue;
    v.kind = Kind::constant;
    v.data = v.data.detach();
  }
}

struct Pass {
  const char* name;
  void (*run)(Program& p);
};
constexpr Pass kPasses[] = {{"freeze_states", freeze_states}};

}  // namespace

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Pass& pass : kPasses) out.push_back(pass.name);
    return out;
  }();
  return names;
}

Status compile(Program& p, const CompileOptions& options) {
  const std::vector<std::string>& names = pass_names();
  for (const std::string& name : options.off) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    return invalid(p.name + ": no pass is called " + name + ". There are: " + all + ".");
  }
  OAR_TRY(verify(p));
  for (const Pass& pass : kPasses) {
    if (std::find(options.off.begin(), options.off.end(), pass.name) != options.off.end()) continue;
    pass.run(p);
    if (Status s = verify(p); !s.ok())
      return {Code::internal,
              "pass " + std::string(pass.name) + " left a program that is not sound. " + std::string(s.text())};
  }
  return {};
}

}  // namespace oarlock::graph
