#include <map>
#include <tuple>

#include <oarlock/base/profile.h>

#include "core/dispatch/entry.h"

namespace oarlock {
namespace dispatch {
namespace {

using Place = std::tuple<std::string, std::string, std::string, std::string, std::string>;
struct Totals {
  std::mutex lock;
  std::map<Place, std::pair<uint64_t, uint64_t>> gone;    // of entries that are no more
  std::map<Place, std::pair<uint64_t, uint64_t>> before;  // what the last reset saw
};
Totals& totals() {
  static Totals* t = new Totals;
  return *t;
}
Place place(const Entry& e) {
  return {e.op->def->name, e.device->name, route_name(e.kind),
          e.kind == Kind::kernel ? e.kernel.pack->plugin->info.name : "", e.reason};
}
std::map<Place, std::pair<uint64_t, uint64_t>> now() {
  std::map<Place, std::pair<uint64_t, uint64_t>> sum;
  each_cache([&](Cache& c) {
    c.each([&](const Entry& e) {
      if (e.kind == Kind::promote) return;
      auto& s = sum[place(e)];
      s.first += e.calls.load(std::memory_order_relaxed);
      s.second += e.host_ns.load(std::memory_order_relaxed);
    });
  });
  std::lock_guard hold(totals().lock);
  for (auto& [key, v] : totals().gone) {
    auto& s = sum[key];
    s.first += v.first;
    s.second += v.second;
  }
  return sum;
}

}  // namespace

void retire(const Entry& e) {
  if (e.kind == Kind::promote) return;
  std::lock_guard hold(totals().lock);
  auto& s = totals().gone[place(e)];
  s.first += e.calls.load(std::memory_order_relaxed);
  s.second += e.host_ns.load(std::memory_order_relaxed);
}

}  // namespace dispatch

std::vector<PlacementRow> placement() {
  auto sum = dispatch::now();
  std::lock_guard hold(dispatch::totals().lock);
  std::vector<PlacementRow> rows;
  for (auto& [key, v] : sum) {
    auto before = dispatch::totals().before.find(key);
    uint64_t calls = v.first, ns = v.second;
    if (before != dispatch::totals().before.end()) calls -= before->second.first, ns -= before->second.second;
    if (calls == 0) continue;
    auto& [op, device, route, plugin, reason] = key;
    rows.push_back({op, device, route, plugin, reason, calls, ns});
  }
  return rows;
}
void reset_placement() {
  auto sum = dispatch::now();
  std::lock_guard hold(dispatch::totals().lock);
  dispatch::totals().before = std::move(sum);
}

}  // namespace oarlock
