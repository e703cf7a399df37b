#include "core/op/table.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/generation.h"

namespace oarlock::op {
namespace {

// The inputs whose gradient reads the value of that name; bit 63 speaks for all later ones.
uint64_t read_by(const OpDef& def, std::string_view name) {
  uint64_t inputs = 0;
  for (const Saved& s : def.saves) {
    if (name != s.name) continue;
    if (!s.wanted_by) return ~0ull;
    for (int i = 0; i < def.inputs.count; ++i)
      if (std::string_view(def.inputs[i].name) == s.wanted_by)
        inputs |= def.inputs[i].flags & variadic ? ~0ull << i : 1ull << i;
  }
  return inputs;
}

// The table only grows, so readers of a row need no lock.
struct Table {
  static constexpr int kMost = 8192;
  std::atomic<const Op*> rows[kMost]{};
  std::atomic<int> count{0};
  std::shared_mutex mutex;  // guards by_name and who appends
  std::unordered_map<std::string_view, OpId> by_name;
  OpId by_role[int(Role::count)];

  Table() {
    std::fill(std::begin(by_role), std::end(by_role), kNoOp);
    for (const OpDef* def : builtin_ops()) {
      OpId id = append(def);
      if (def->role != Role::none) by_role[int(def->role)] = id;
    }
  }

  OpId append(const OpDef* def) {  // throws what compile throws
    auto op = std::make_unique<Op>();
    op->def = def;
    op->rule = compile(*def);
    op->id = OpId(count.load(std::memory_order_relaxed));
    op->host_inputs = op->mutated = op->differentiable = 0;
    op->required_inputs = op->visible_outputs = 0;
    op->variadic = op->broadcasts = false;
    bool all_host = true;
    for (int i = 0; i < def->inputs.count; ++i) {
      int flags = def->inputs[i].flags;
      if (flags & host) op->host_inputs |= 1ull << i;
      else all_host = false;
      if (flags & mutated) op->mutated |= 1ull << i;
      if (!(flags & (constant | host | mutated)) && !def->no_gradient)
        op->differentiable |= flags & variadic ? ~0ull << i : 1ull << i;
      if (flags & variadic) op->variadic = true;
      else if (!(flags & optional)) op->required_inputs = i + 1;
    }
    op->host_only = all_host;
    for (int i = 0; i < def->outputs.count; ++i)
      if (!(def->outputs[i].flags & hidden)) op->visible_outputs = i + 1;
    for (int i = 0; i < op->rule.item_count; ++i)
      op->broadcasts |= op->rule.item[i].kind == Item::batch || op->rule.item[i].or_one;
    for (int i = 0; i < 10; ++i) op->input_read_by[i] = i < def->inputs.count ? read_by(*def, def->inputs[i].name) : 0;
    for (int i = 0; i < 6; ++i)
      op->output_read_by[i] = i < def->outputs.count ? read_by(*def, def->outputs[i].name) : 0;
    by_name.emplace(def->name, op->id);
    rows[op->id].store(op.release(), std::memory_order_release);
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return OpId(count.load(std::memory_order_relaxed) - 1);
  }
};

Table& table() {
  static Table* t = new Table;  // never destroyed: threads may call ops until the very end
  return *t;
}

}  // namespace

const Op& op_at(OpId id) { return *table().rows[id].load(std::memory_order_acquire); }
int op_count() { return table().count.load(std::memory_order_acquire); }

OpId find_op(std::string_view name) {
  Table& t = table();
  std::shared_lock lock(t.mutex);
  auto it = t.by_name.find(name);
  return it == t.by_name.end() ? kNoOp : it->second;
}

OpId op_of(Role role) { return table().by_role[int(role)]; }

Result<OpId> register_op(const OpDef* def) {
  Table& t = table();
  std::unique_lock lock(t.mutex);
  std::string name = def && def->name ? def->name : "an op without a name";
  if (def && def->name && t.by_name.count(def->name)) return invalid(name + ": there is an op of that name already.");
  if (t.count.load() == Table::kMost) return invalid(name + ": the op table is full.");
  try {
    if (!def) bad_op("its definition is a null pointer");
    OpId id = t.append(def);
    something_changed();
    return id;
  } catch (const std::invalid_argument& e) { return invalid(name + ": " + e.what() + "."); }
}

}  // namespace oarlock::op
