#include "core/graph/claim.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/graph/order_check.h"

namespace oarlock::graph {
namespace {

constexpr size_t kMostText = 1000;

// What a plugin says of the graph it is shown, taken down as it comes and judged afterwards. A plugin may use threads.
struct Sink {
  oar_claim_sink_t c{};  // first: plugins hold a pointer to it
  uint32_t n_nodes;
  std::mutex lock;
  struct Take {
    std::vector<uint32_t> nodes;
    uint32_t n;
    uint64_t cost_ns;
  };
  std::vector<Take> takes;
  struct Refuse {
    uint32_t node, reason;
    std::string text;
  };
  std::vector<Refuse> refuses;
  bool flooded = false;

  explicit Sink(uint32_t n) : n_nodes(n) {
    c.struct_size = sizeof c;
    c.take = take;
    c.refuse = refuse;
  }
  static Sink& of(const oar_claim_sink_t* c) { return const_cast<Sink&>(*reinterpret_cast<const Sink*>(c)); }
  static void OAR_CALL take(const oar_claim_sink_t* c, uint32_t n, const uint32_t* nodes, uint64_t cost_ns) {
    Sink& s = of(c);
    std::lock_guard hold(s.lock);
    if (s.takes.size() > s.n_nodes) {
      s.flooded = true;
      return;
    }
    Take& t = s.takes.emplace_back(Take{{}, n, cost_ns});
    if (nodes && n <= s.n_nodes) t.nodes.assign(nodes, nodes + n);
  }
  static void OAR_CALL refuse(const oar_claim_sink_t* c, uint32_t node, uint32_t reason, oar_str_t text) {
    Sink& s = of(c);
    std::lock_guard hold(s.lock);
    if (s.refuses.size() > 4 * size_t(s.n_nodes)) return;
    s.refuses.push_back({node, reason, text.data ? std::string(text.data, std::min(text.size, kMostText)) : ""});
  }
};

class Claimer {
 public:
  Claimer(const Program& p, const Body& body, DeviceState& device)
      : p_(p), body_(body), device_(device), owner_(body.nodes.size(), -1), order_(p, body) {}

  Claims claim() {
    for (Pack* pack : device_.packs) {
      const oar_graph_table_t* t = pack->plugin->graph;
      if (t && OAR_HAS(t, compile) && t->claim && t->compile) ask(*pack, *t);
    }
    std::sort(out_.groups.begin(), out_.groups.end(),
              [](const Group& a, const Group& b) { return a.nodes.front() < b.nodes.front(); });
    return std::move(out_);
  }

 private:
  void ask(Pack& pack, const oar_graph_table_t& table) {
    const std::string& plugin = pack.plugin->info.name;
    std::vector<Bar> bars;
    std::vector<int> shown;
    for (size_t i = 0; i < body_.nodes.size(); ++i) {
      bars.push_back(bar_of(p_, body_.nodes[i], table));
      if (bars.back().shown) shown.push_back(int(i));
    }
    std::map<int, Refusal> why;  // by node
    const char* otherwise = "it left this node and gave no reason";
    bool any = std::any_of(bars.begin(), bars.end(), [](const Bar& b) { return b.reason == OAR_REASON_NONE; });
    if (any) {
      AbiGraph graph(p_, body_, shown, table, device_);
      Sink sink{uint32_t(shown.size())};
      oar_status_t s = table.claim(pack.handle, &graph.graph(), &sink.c);
      if (s < 0) {
        note(plugin, OAR_REASON_OTHER, std::string(plugin_failure(*pack.plugin, s, "graph.claim").text()));
        otherwise = "it failed to look at this program";
      } else {
        if (sink.flooded)
          note(plugin, OAR_REASON_OTHER, "it took more groups than there are nodes; the rest is left out");
        for (const Sink::Refuse& r : sink.refuses) {
          if (r.node >= shown.size()) {
            note(plugin, OAR_REASON_OTHER,
                 "it refused node " + std::to_string(r.node) + " of " + std::to_string(shown.size()));
            continue;
          }
          std::string text = r.text.empty() ? "it gave no reason" : r.text;
          why.emplace(shown[r.node], Refusal{shown[r.node], plugin, r.reason, std::move(text)});
        }
        for (const Sink::Take& t : sink.takes) take(pack, t, shown, bars);
      }
    }
    for (size_t i = 0; i < bars.size(); ++i) {
      int node = int(i);
      if (owner_[i] >= 0 && out_.groups[size_t(owner_[i])].pack == &pack) continue;
      auto said = why.find(node);
      if (bars[i].reason != OAR_REASON_NONE) out_.refusals.push_back({node, plugin, bars[i].reason, bars[i].text});
      else if (owner_[i] >= 0) out_.refusals.push_back({node, plugin, OAR_REASON_OTHER, taken_by(node)});
      else if (said != why.end()) out_.refusals.push_back(std::move(said->second));
      else out_.refusals.push_back({node, plugin, OAR_REASON_OTHER, otherwise});
    }
  }

  void take(Pack& pack, const Sink::Take& t, const std::vector<int>& shown, const std::vector<Bar>& bars) {
    const std::string& plugin = pack.plugin->info.name;
    auto drop = [&](const std::string& text) {
      note(plugin, OAR_REASON_OTHER, "a group of " + std::to_string(t.n) + " nodes is dropped: " + text);
    };
    if (t.n == 0 || t.nodes.size() != t.n) return drop("there are " + std::to_string(shown.size()) + " nodes");
    Group g;
    g.pack = &pack;
    g.cost_ns = t.cost_ns;
    for (uint32_t i : t.nodes) {
      if (i >= shown.size())
        return drop("it names node " + std::to_string(i) + ", there are " + std::to_string(shown.size()));
      g.nodes.push_back(shown[i]);
    }
    std::sort(g.nodes.begin(), g.nodes.end());
    for (size_t k = 0; k < g.nodes.size(); ++k) {
      int node = g.nodes[k];
      std::string name = name_of(node);
      if (k && g.nodes[k - 1] == node) return drop("it names " + name + " twice");
      if (bars[size_t(node)].reason != OAR_REASON_NONE) return drop(name + ": " + bars[size_t(node)].text);
      if (owner_[size_t(node)] >= 0) return drop(name + " " + taken_by(node));
    }
    if (int between = order_.closes_cycle(g.nodes, owner_); between >= 0)
      return drop(name_of(between) + " has to run after some of them and before others");
    g.ends = ends_of(p_, body_, g.nodes);
    for (int node : g.nodes) owner_[size_t(node)] = int(out_.groups.size());
    order_.join(g.nodes, int(out_.groups.size()));
    out_.groups.push_back(std::move(g));
  }

  void note(const std::string& plugin, uint32_t reason, std::string text) {
    out_.refusals.push_back({-1, plugin, reason, std::move(text)});
  }
  std::string name_of(int node) const {
    return "node " + std::to_string(node) + " (" + body_.nodes[size_t(node)].def().def->name + ")";
  }
  std::string taken_by(int node) const {
    return "is in a group of " + out_.groups[size_t(owner_[size_t(node)])].pack->plugin->info.name + " already";
  }

  const Program& p_;
  const Body& body_;
  DeviceState& device_;
  std::vector<int> owner_;  // by node: its group, or -1
  OrderCheck order_;
  Claims out_;
};

}  // namespace

Claims claim(const Program& p, const Body& body, DeviceState& device) { return Claimer(p, body, device).claim(); }

std::string to_text(const Body& body, const Refusal& r) {
  if (r.node < 0) return r.plugin + ": " + r.text;
  const Node& n = body.nodes[size_t(r.node)];
  return std::string(n.def().def->name) + (n.where.empty() ? "" : " at " + n.where) + ": " + r.plugin + ": " + r.text;
}

}  // namespace oarlock::graph
