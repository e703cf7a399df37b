// Printing a layer as torch does.
#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>

#include "api/src/nn/layer_state.h"

namespace oarlock::nn {

std::string Layer::type_name() const {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
  std::string name = status == 0 && text ? text : typeid(*this).name();
  std::free(text);
  // The last part outside of brackets: "(anonymous namespace)::Net<a::b>" is a "Net<a::b>".
  int depth = 0;
  for (size_t i = name.size(); i-- > 1;) {
    if (name[i] == '>' || name[i] == ')') ++depth;
    if (name[i] == '<' || name[i] == '(') --depth;
    if (depth == 0 && name[i] == ':' && name[i - 1] == ':') return name.substr(i + 1);
  }
  return name;
}
std::string Layer::extra_repr() const { return {}; }
double Layer::multiply_adds(std::span<const Tensor>, std::span<const Tensor>) const { return 0; }

std::string Layer::to_string() const {
  std::string extra = extra_repr();
  if (state_->layers.empty()) return type_name() + "(" + extra + ")";
  std::string out = type_name() + "(\n";
  if (!extra.empty()) out += "  " + extra + "\n";
  for (auto& [name, layer] : state_->layers) {
    std::string inner = "(" + name + "): " + layer->to_string(), indented;
    for (char c : inner) {
      indented += c;
      if (c == '\n') indented += "  ";
    }
    out += "  " + indented + "\n";
  }
  return out + ")";
}

}  // namespace oarlock::nn
