#include "core/graph/compile.h"

#include <algorithm>
#include <chrono>

#include <oarlock/base/autograd.h>

#include "core/dispatch/recorder.h"
#include "core/graph/passes/pass.h"

namespace oarlock::graph {
namespace {

constexpr Pass kFirst[] = {
    {"freeze_states", true, freeze_states},
    {"common_subexpressions", true, merge_common_subexpressions},
    {"constant_folding", true, fold_constants},
};
// After the rewrites: what they left behind and what they made.
constexpr Pass kLast[] = {
    {"common_subexpressions", true, merge_common_subexpressions},
    {"constant_folding", true, fold_constants},
    {"dead_code", true, remove_dead_code},
};

const std::vector<Pass>& passes() {
  static const std::vector<Pass> all = [] {
    std::vector<Pass> out(std::begin(kFirst), std::end(kFirst));
    out.insert(out.end(), rewrites().begin(), rewrites().end());
    out.insert(out.end(), std::begin(kLast), std::end(kLast));
    return out;
  }();
  return all;
}
std::vector<std::string> names(bool exact_as_well) {
  std::vector<std::string> out;
  for (const Pass& pass : passes())
    if ((exact_as_well || !pass.exact) && std::find(out.begin(), out.end(), pass.name) == out.end())
      out.push_back(pass.name);
  return out;
}
bool lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
int count_nodes(const Program& p) {
  int n = 0;
  each_node(p.body, [&](const Node&) { ++n; });
  return n;
}

Status run(const Pass& pass, Program& p, const CompileOptions& options, std::vector<PassReport>* out_report) {
  if (options.dump) options.dump(pass.name, false, p);
  PassReport report{.pass = pass.name, .nodes_before = count_nodes(p)};
  auto start = std::chrono::steady_clock::now();
  try {
    report.changes = pass.run(p);
  } catch (const Error& e) { return {e.code(), "pass " + std::string(pass.name) + ": " + e.what()}; }
  if (report.changes > 0) compact(p);
  report.microseconds = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  report.nodes_after = count_nodes(p);
  if (options.dump) options.dump(pass.name, true, p);
  if (Status s = verify(p); !s.ok())
    return {Code::internal,
            "pass " + std::string(pass.name) + " left a program that is not sound. " + std::string(s.text())};
  if (out_report) out_report->push_back(std::move(report));
  return {};
}

}  // namespace

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> all = names(true);
  return all;
}
const std::vector<std::string>& rounding_pass_names() {
  static const std::vector<std::string> some = names(false);
  return some;
}

Status compile(Program& p, const CompileOptions& options, std::vector<PassReport>* out_report) {
  for (const std::string& name : options.off) {
    if (lists(pass_names(), name)) continue;
    std::string all;
    for (const std::string& n : pass_names()) all += (all.empty() ? "" : ", ") + n;
    return invalid(p.name + ": no pass is called " + name + ". There are: " + all + ".");
  }
  OAR_TRY(verify(p));
  dispatch::RecorderPause pause;
  NoGrad no_grad;
  Program work = p;
  for (const Pass& pass : passes())
    if (!lists(options.off, pass.name)) OAR_TRY(run(pass, work, options, out_report));
  p = std::move(work);
  return {};
}

}  // namespace oarlock::graph
