#include <algorithm>
#include <unordered_map>

#include "core/dispatch/role.h"
#include "core/graph/interpret.h"
#include "core/graph/passes/pass.h"
#include "core/graph/sizes.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

constexpr double kMayGrow = 1 << 19;  // bytes, of all constants together; compiling runs this twice

class Folder {
 public:
  explicit Folder(Program& p) : p_(p), sizes_(p.symbols), aliases_(p), uses_(count_uses(p)) {}
  int run() {
    body(p_.body);
    return changes_;
  }

 private:
  // A constant on the host; a view of one, which stays a node: it takes no memory.
  struct Known {
    Tensor tensor;
    ValueId view_of = kNone;
  };

  const Known* known(ValueId v) {
    if (auto it = known_.find(v); it != known_.end()) return &it->second;
    const Value& value = p_[v];
    if (value.kind != Kind::constant || !value.data.defined() || !value.data.impl()->storage) return nullptr;
    Tensor t;
    if (!role::transfer(value.data.detach(), host_device(), &t).ok()) return nullptr;
    return &known_.emplace(v, Known{t}).first->second;
  }
  static double bytes(const Value& v) {
    double n = info(v.dtype).bits / 8.0;
    for (Dim d : v.shape) n *= double(d.n);
    return n;
  }
  // Of the constants that nobody reads once `times` uses of v are gone.
  double freed(ValueId v, int times) const {
    if (uses_[size_t(v)] != times) return 0;
    auto it = known_.find(v);
    if (it != known_.end() && it->second.view_of != kNone) return freed(it->second.view_of, 1);
    return bytes(p_[v]);
  }
  void forget(ValueId v) {
    if (--uses_[size_t(v)] > 0) return;
    auto it = known_.find(v);
    if (it != known_.end() && it->second.view_of != kNone) forget(it->second.view_of);
  }

  bool may_fold(const Node& n) {
    const op::Op& op = n.def();
    if (!n.bodies.empty() || op.mutated || op.def->role == op::Role::transfer || n.outputs.empty()) return false;
    for (ValueId v : n.outputs) {
      if (v == kNone) continue;
      if (aliases_.written(v)) return false;
      for (Dim d : p_[v].shape)
        if (!d.known()) return false;
    }
    for (ValueId v : n.inputs)
      if (v != kNone && (aliases_.written(v) || !known(v))) return false;
    return true;
  }
  double growth(const Node& n) const {
    double out = 0;
    for (ValueId v : n.outputs)
      if (v != kNone) out += bytes(p_[v]);
    std::vector<ValueId> in = n.inputs;
    std::sort(in.begin(), in.end());
    for (size_t i = 0, end; i < in.size(); i = end) {
      end = i + 1;
      while (end < in.size() && in[end] == in[i]) ++end;
      if (in[i] != kNone) out -= freed(in[i], int(end - i));
    }
    return out;
  }
  // The node alone, run on the host.
  Result<std::vector<Tensor>> evaluate(const Node& n) {
    Result<op::OwnedAttrs> attrs = sizes_.value(n);
    if (!attrs) return std::move(attrs.status());
    Program alone;
    Node& node = alone.body.nodes.emplace_back(n);
    node.attrs = std::move(*attrs);
    std::unordered_map<ValueId, ValueId> named;
    auto name = [&](ValueId& v, Kind kind) {
      if (v == kNone) return;
      auto [it, is_new] = named.emplace(v, ValueId(alone.values.size()));
      if (is_new) {
        Value value;
        value.kind = kind;
        value.dtype = p_[v].dtype;
        value.shape = p_[v].shape;
        if (kind == Kind::constant) value.data = known(v)->tensor;
        alone.add(std::move(value));
      }
      v = it->second;
    };
    for (ValueId& v : node.inputs) name(v, Kind::constant);
    for (ValueId& v : node.outputs) {
      name(v, Kind::computed);
      if (v != kNone) alone.body.results.push_back(v);
    }
    alone.result_names.resize(alone.body.results.size());
    OAR_TRY(verify(alone));
    Result<Outcome> out = interpret(alone, {}, Device());
    if (!out) return std::move(out.status());
    return std::move(out->results);
  }
  ValueId aliased(const Node& n, const Tensor& t) {
    for (ValueId v : n.inputs)
      if (v != kNone && known(v)->tensor.impl()->storage == t.impl()->storage) return v;
    return kNone;
  }
  bool fold(const Node& n) {
    if (!may_fold(n)) return false;
    const double more = growth(n);
    if (!n.def().def->view && grown_ + more > kMayGrow) return false;
    Result<std::vector<Tensor>> made = evaluate(n);
    if (!made) return false;
    ValueId alias = kNone;
    for (const Tensor& t : *made) alias = std::max(alias, aliased(n, t));
    if (alias != kNone) {
      if (made->size() == 1 && n.inputs.size() == 1) known_[n.outputs[0]] = {(*made)[0], alias};
      return false;
    }
    if (grown_ + more > kMayGrow) return false;  // a view that had to copy
    size_t at = 0;
    for (ValueId v : n.outputs) {
      if (v == kNone) continue;
      Value& value = p_[v];
      value.kind = Kind::constant;
      value.data = (*made)[at++];
    }
    grown_ += more;
    for (ValueId v : n.inputs)
      if (v != kNone) forget(v);
    ++changes_;
    return true;
  }
  void body(Body& b) {
    std::vector<Node> kept;
    for (Node& n : b.nodes) {
      for (Body& inner : n.bodies) body(inner);
      if (!fold(n)) kept.push_back(std::move(n));
    }
    b.nodes = std::move(kept);
  }

  Program& p_;
  Sizes sizes_;
  Aliases aliases_;
  std::vector<int> uses_;
  std::unordered_map<ValueId, Known> known_;
  double grown_ = 0;
  int changes_ = 0;
};

}  // namespace

int fold_constants(Program& p) { return Folder(p).run(); }

}  // namespace oarlock::graph
