#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include <oarlock/base/profile.h>

#include "core/dispatch/entry.h"

namespace oarlock {
namespace dispatch {
namespace {

using Place = std::tuple<std::string, std::string, std::string, std::string, std::string>;
struct Counts {
  uint64_t calls = 0, host_ns = 0, bytes = 0;
  Counts& operator+=(const Counts& o) {
    calls += o.calls;
    host_ns += o.host_ns;
    bytes += o.bytes;
    return *this;
  }
};
using Report = std::map<Place, Counts>;
struct Totals {
  std::mutex lock;
  Report gone;    // of entries that are no more, and of transfers
  Report before;  // what the last reset saw
};
Totals& totals() {
  static Totals* t = new Totals;
  return *t;
}
std::string& transfer_reason() {
  static thread_local std::string why;
  return why;
}

Place place(const Entry& e) {
  std::string why = e.reason;
  if (why.empty() && (e.kind == Kind::decomposition || e.kind == Kind::reference || e.kind == Kind::fallback))
    why = "no plugin has this op on " + e.device->name;
  return {e.op->def->name, e.device->name, route_name(e.kind),
          e.kind == Kind::kernel ? e.kernel.pack->plugin->info.name : "", why};
}
Counts counts(const Entry& e) {
  return {e.calls.load(std::memory_order_relaxed), e.host_ns.load(std::memory_order_relaxed)};
}
Report now() {
  Report sum;
  each_cache([&](Cache& c) {
    c.each([&](const Entry& e) {
      if (e.kind != Kind::promote) sum[place(e)] += counts(e);
    });
  });
  std::lock_guard hold(totals().lock);
  for (auto& [key, v] : totals().gone) sum[key] += v;
  return sum;
}

}  // namespace

void retire(const Entry& e) {
  if (e.kind == Kind::promote) return;
  std::lock_guard hold(totals().lock);
  totals().gone[place(e)] += counts(e);
}

void count_transfer(const DeviceState& from, const DeviceState& to, uint64_t bytes, uint64_t host_ns) {
  const std::string& why = transfer_reason();
  std::lock_guard hold(totals().lock);
  totals().gone[{"transfer", to.name, "transfer", "",
                 "from " + from.name + ", " + (why.empty() ? "asked for by the program" : why)}] += {1, host_ns, bytes};
}

TransferReason::TransferReason(std::string why) : before_(std::exchange(transfer_reason(), std::move(why))) {}
TransferReason::~TransferReason() { transfer_reason() = std::move(before_); }

}  // namespace dispatch

std::vector<PlacementRow> placement() {
  dispatch::Report sum = dispatch::now();
  std::lock_guard hold(dispatch::totals().lock);
  std::vector<PlacementRow> rows;
  for (auto& [key, v] : sum) {
    dispatch::Counts before;
    if (auto at = dispatch::totals().before.find(key); at != dispatch::totals().before.end()) before = at->second;
    if (v.calls == before.calls) continue;
    auto& [op, device, route, plugin, reason] = key;
    rows.push_back({op, device, route, plugin, reason, v.calls - before.calls, v.host_ns - before.host_ns,
                    v.bytes - before.bytes});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const PlacementRow& a, const PlacementRow& b) {
    return a.host_ns != b.host_ns ? a.host_ns > b.host_ns : a.calls > b.calls;
  });
  return rows;
}

void reset_placement() {
  dispatch::Report sum = dispatch::now();
  std::lock_guard hold(dispatch::totals().lock);
  dispatch::totals().before = std::move(sum);
}

std::string to_string(std::span<const PlacementRow> rows) {
  if (rows.empty()) return "nothing ran";
  size_t op = 2, device = 6, by = 2;
  auto by_of = [](const PlacementRow& r) { return r.plugin.empty() ? r.route : r.plugin; };
  bool timed = false;
  for (const PlacementRow& r : rows) {
    op = std::max(op, r.op.size());
    device = std::max(device, r.device.size());
    by = std::max(by, by_of(r).size());
    timed |= r.host_ns != 0;
  }
  std::string text;
  auto line = [&](const std::string& o, const std::string& d, const std::string& b, const std::string& calls,
                  const std::string& ms, const std::string& why) {
    char out[64];
    auto left = [&](const std::string& s, size_t width) { text += s + std::string(width - s.size() + 2, ' '); };
    left(o, op);
    left(d, device);
    left(b, by);
    std::snprintf(out, sizeof out, "%10s", calls.c_str());
    text += out;
    if (timed) {
      std::snprintf(out, sizeof out, "%12s", ms.c_str());
      text += out;
    }
    text += (why.empty() ? "" : "  " + why) + "\n";
  };
  auto ms = [](uint64_t ns) {
    char out[32];
    std::snprintf(out, sizeof out, "%.3f", double(ns) / 1e6);
    return std::string(out);
  };
  line("op", "device", "by", "calls", "ms", "why");
  std::map<std::string, uint64_t> sums;
  for (const PlacementRow& r : rows) {
    std::string why = r.reason;
    if (r.bytes) why += ", " + std::to_string(r.bytes) + " bytes";
    line(r.op, r.device, by_of(r), std::to_string(r.calls), ms(r.host_ns), why);
    sums[r.route] += r.calls;
  }
  std::string total;
  for (auto& [route, calls] : sums) total += (total.empty() ? "" : ", ") + std::to_string(calls) + " by " + route;
  return text + "calls: " + total;
}

}  // namespace oarlock
