#include "api/cts/advise.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <oarlock/base/plugin.h>

namespace oarlock::cts {

namespace {

// "f32[2, 3], f32[3] strided, none" without shapes: "f32, f32, none".
std::string dtypes_of(const std::string& operands) {
  std::string all;
  bool named = false;  // the dtype of this operand is over
  int depth = 0;
  for (char c : operands) {
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0) all += ", ", named = false;
    else if (c == '[') named = true;
    else if (depth == 0 && c != ' ' && c != ']' && !named) all += c;
  }
  return all;
}

struct Gathered {
  Advice advice;
  std::map<std::string, double> examples, parts;
};

// Only the names of the largest, the largest first.
std::vector<std::string> largest(const std::map<std::string, double>& of, size_t n) {
  std::vector<std::pair<std::string, double>> sorted(of.begin(), of.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (auto& [name, seconds] : sorted)
    if (names.size() < n) names.push_back(name);
  return names;
}

std::vector<Advice> in_order(std::vector<Gathered> all) {
  std::vector<Advice> list;
  for (Gathered& g : all) {
    g.advice.examples = largest(g.examples, 3);
    g.advice.parts = largest(g.parts, 8);
    list.push_back(std::move(g.advice));
  }
  std::stable_sort(list.begin(), list.end(), [](const Advice& a, const Advice& b) { return a.seconds > b.seconds; });
  return list;
}

}  // namespace

Advised advise_from(const std::string& report_file, const std::string& plugin) {
  Advised result;
  result.plugin = plugin;
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, Gathered> lost, recorded;
  std::vector<nlohmann::json> inner;
  std::ifstream file(report_file);
  for (std::string line; std::getline(file, line);) {
    nlohmann::json j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object()) throw std::runtime_error(report_file + ": this is no report of the setting call_report.");
    if (j.contains("wall_ns")) {
      result.seconds += double(j["wall_ns"]) / 1e9;
      continue;
    }
    std::string op = j.at("op"), route = j.at("route"), operands = j.at("operands"), attributes = j.at("attributes");
    double seconds = double(j.at("ns")) / 1e9, own = double(j.at("own_ns")) / 1e9;
    bool kernel = route == "kernel", is_recorded = j.at("recorded"), outer = std::string(j.at("inside")).empty();
    if (outer && !is_recorded) result.in_ops += seconds;
    if (kernel && j.at("plugin") == plugin) result.in_kernels += own;
    if (!outer) {
      if (!kernel && route != "memory copy") inner.push_back(j);
      continue;
    }
    double copies = kernel ? seconds - own : 0;
    if (route == "memory copy" || (kernel && copies < 0.02 * seconds)) continue;
    Gathered& g = (is_recorded ? recorded : lost)[{op, dtypes_of(operands), j.at("device"), route, j.at("reason")}];
    Advice& a = g.advice;
    a.op = op;
    a.dtypes = dtypes_of(operands);
    a.device = j.at("device");
    a.via = kernel ? "copies" : route;
    a.reason = j.at("reason");
    if (a.reason.empty()) a.reason = "no kernel is declared";
    a.calls += j.at("calls").get<uint64_t>();
    a.seconds += kernel ? copies : seconds;
    g.examples[operands + (attributes.empty() ? "" : "; " + attributes)] += seconds;
  }
  for (const nlohmann::json& j : inner)
    for (auto& [key, g] : lost)
      if (std::get<0>(key) == j.at("inside") && std::get<3>(key) != "kernel" && std::get<2>(key) == j.at("device"))
        g.parts[std::string(j.at("op"))] += double(j.at("own_ns")) / 1e9;
  std::vector<Gathered> all;
  for (auto& [key, g] : lost) all.push_back(std::move(g));
  result.advice = in_order(std::move(all));
  all.clear();
  for (auto& [key, g] : recorded) all.push_back(std::move(g));
  result.recorded = in_order(std::move(all));
  return result;
}

Advised advise(const Program& program) {
  PrivateFolder folder;
  std::string report = folder.path() + "/calls";
  Running running(program, folder, {{"OARLOCK_CALL_REPORT", report}});
  std::string ended = Running::how_it_ended(running.wait());
  std::ifstream file(report);
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    throw std::runtime_error(fmt::format("{}: it called no op{}.", program.file, ended.empty() ? "" : "; " + ended));
  std::string name = program.plugins.empty() ? "" : probe_plugin(program.plugins[0]).name;
  Advised result = advise_from(report, name);
  result.ended = ended;
  return result;
}

}  // namespace oarlock::cts
