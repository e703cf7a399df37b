#include <unordered_map>

#include "core/graph/passes/pass.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

constexpr uint64_t kFewBytes = 64;  // of constants that are compared

template <class T>
void put(std::string& key, const T& v) {
  key.append(reinterpret_cast<const char*>(&v), sizeof v);
}
void put(std::string& key, const oar_attr_t& a) {
  put(key, a.type);
  put(key, a.is_set);
  if (!a.is_set) return;
  const bool text = a.type == OAR_ATTR_STRING, list = a.type == OAR_ATTR_INTS || a.type == OAR_ATTR_FLOATS;
  if (!text && !list) return put(key, a.value.i);
  put(key, a.count);
  if (a.count > 0) key.append(reinterpret_cast<const char*>(a.value.ints), size_t(a.count) * (text ? 1 : 8));
}

class Merger {
 public:
  explicit Merger(Program& p) : p_(p), aliases_(p), to_(p.values.size(), kNone) {}
  int run() {
    constants();
    body(p_.body);
    if (changes_ > 0) replace_uses(p_, to_);
    return changes_;
  }

 private:
  ValueId now(ValueId v) const { return v != kNone && to_[size_t(v)] != kNone ? to_[size_t(v)] : v; }
  bool written(const std::vector<ValueId>& names) const {
    for (ValueId v : names)
      if (aliases_.written(v)) return true;
    return false;
  }

  void constants() {
    std::unordered_map<std::string, ValueId> seen;
    for (size_t i = 0; i < p_.values.size(); ++i) {
      const Value& v = p_.values[i];
      if (v.kind != Kind::constant || !v.data.defined() || !v.data.impl()->storage) continue;
      const uint64_t n = size_bytes(v.dtype, uint64_t(count(v.shape)));
      if (!v.data.impl()->device->is_host() || n > kFewBytes) continue;
      std::string key;
      put(key, v.dtype);
      put(key, v.host);
      put(key, v.shape.rank);
      for (Dim d : v.shape) put(key, d);
      char elements[kFewBytes];
      v.data.copy_to_host(elements);
      key.append(elements, n);
      auto [first, is_new] = seen.emplace(std::move(key), ValueId(i));
      if (is_new) continue;
      to_[i] = first->second;
      ++changes_;
    }
  }

  std::string key_of(const Node& n) const {
    std::string key;
    put(key, n.op);
    put(key, n.version);
    const op::Attrs attrs = n.attrs.view();
    for (uint32_t i = 0; i < attrs.n; ++i) put(key, attrs.v[i]);
    for (ValueId v : n.inputs) put(key, now(v));
    return key;
  }
  // Does the first make all that the second makes, and alike?
  bool covers(const std::vector<ValueId>& first, const std::vector<ValueId>& second) const {
    if (first.size() != second.size()) return false;
    for (size_t i = 0; i < first.size(); ++i) {
      const ValueId a = first[i], b = second[i];
      if (b == kNone) continue;
      if (a == kNone || p_[a].host != p_[b].host || !(p_[a].shape == p_[b].shape)) return false;
      if (aliases_.outside(a) && aliases_.outside(b)) return false;
    }
    return true;
  }
  void body(Body& b) {
    std::vector<std::string> own;  // keys that hold until the end of this body
    std::vector<bool> gone(b.nodes.size());
    for (size_t i = 0; i < b.nodes.size(); ++i) {
      Node& n = b.nodes[i];
      for (Body& inner : n.bodies) body(inner);
      if (!n.bodies.empty() || n.outputs.empty() || written(n.inputs) || written(n.outputs)) continue;
      std::string key = key_of(n);
      auto [first, is_new] = seen_.emplace(key, n.outputs);
      if (is_new) {
        own.push_back(std::move(key));
        continue;
      }
      if (!covers(first->second, n.outputs)) continue;
      for (size_t k = 0; k < n.outputs.size(); ++k)
        if (n.outputs[k] != kNone) {
          to_[size_t(n.outputs[k])] = first->second[k];
          aliases_.join(first->second[k], n.outputs[k]);
        }
      gone[i] = true;
      ++changes_;
    }
    for (const std::string& key : own) seen_.erase(key);
    size_t at = 0;
    std::erase_if(b.nodes, [&](const Node&) { return bool(gone[at++]); });
  }

  Program& p_;
  Aliases aliases_;
  std::vector<ValueId> to_;
  std::unordered_map<std::string, std::vector<ValueId>> seen_;  // what visible nodes make
  int changes_ = 0;
};

}  // namespace

int merge_common_subexpressions(Program& p) { return Merger(p).run(); }

}  // namespace oarlock::graph
