// The state dict: out, and in again after everything has been compared.
#include <unordered_map>
#include <unordered_set>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

#include "api/src/nn/layer_state.h"

namespace oarlock::nn {
namespace {

template <class F>
void for_each_layer(const Layer& root, const std::string& prefix, F f) {
  auto walk = [&](auto& self, const Layer& l, const std::string& at) -> void {
    f(l, at);
    for (auto& [name, layer] : l.sublayer_slots()) self(self, *layer, at + name + ".");
  };
  walk(walk, root, prefix.empty() ? prefix : prefix + ".");
}

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == 20) return out + " and " + std::to_string(names.size() - 20) + " more";
    out += (i ? ", " : "") + names[i];
  }
  return out;
}

}  // namespace

NamedTensors Layer::state_dict(const std::string& prefix) const {
  NamedTensors out;
  for_each_layer(*this, prefix, [&](const Layer& l, const std::string& at) {
    for (State::Slot& s : l.state_->parameters)
      if (!s.name.empty() && s.value.defined()) out.emplace_back(at + s.name, s.value.detach());
    for (State::Slot& s : l.state_->buffers)
      if (!s.name.empty() && s.value.defined() && s.options.persistable)
        out.emplace_back(at + s.name, s.value.detach());
  });
  return out;
}

StateReport Layer::set_state_dict(const NamedTensors& state, bool strict) {
  std::unordered_map<std::string_view, const Tensor*> given;
  for (const auto& [name, tensor] : state) {
    if (!given.emplace(name, &tensor).second)
      throw Error(Code::invalid_argument, "set_state_dict: the state has \"" + name + "\" twice. Keep one.");
    if (!tensor.defined())
      throw Error(Code::invalid_argument, "set_state_dict: \"" + name + "\" of the state has no value.");
  }
  StateReport report;
  std::vector<std::string> disagreeing;
  std::vector<std::pair<Tensor, const Tensor*>> copies;
  std::unordered_set<std::string> known;
  auto meet = [&](const std::string& name, const State::Slot& s) {
    known.insert(name);
    auto it = given.find(name);
    if (it == given.end()) {
      if (!s.options.may_be_missing) report.missing.push_back(name);
      return;
    }
    const Tensor& from = *it->second;
    if (from.shape() == s.value.shape()) copies.emplace_back(s.value, &from);
    else
      disagreeing.push_back(name + " is " + oarlock::to_string(s.value.shape()) + " here, " +
                            oarlock::to_string(from.shape()) + " in the state");
  };
  for_each_layer(*this, {}, [&](const Layer& l, const std::string& at) {
    for (State::Slot& s : l.state_->parameters)
      if (!s.name.empty() && s.value.defined()) meet(at + s.name, s);
    for (State::Slot& s : l.state_->buffers)
      if (!s.name.empty() && s.value.defined() && s.options.persistable) meet(at + s.name, s);
  });
  for (const auto& [name, tensor] : state)
    if (!known.contains(name)) report.unexpected.push_back(name);
  std::string problem;
  if (!disagreeing.empty()) problem += " shapes disagree: " + list(disagreeing) + ".";
  if (strict && !report.missing.empty()) problem += " missing: " + list(report.missing) + ".";
  if (strict && !report.unexpected.empty()) problem += " unexpected: " + list(report.unexpected) + ".";
  if (!problem.empty())
    throw Error(Code::invalid_argument,
                "set_state_dict of " + type_name() + ":" + problem +
                    (disagreeing.empty() ? " Rename them, or pass strict = false to go on without." : ""));
  NoGrad off;
  std::vector<Tensor> converted;  // all of them before the first is written
  for (auto& [to, from] : copies) {
    Tensor t = from->detach();
    if (t.dtype() != to.dtype()) t = cast(t, to.dtype());
    converted.push_back(t.to(to.device()));
  }
  for (size_t i = 0; i < copies.size(); ++i) assign(copies[i].first, converted[i]);
  return report;
}

}  // namespace oarlock::nn
