// What is done to a program before it is run for inference: passes, each with a name by which it can be switched off.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/program.h"

namespace oarlock::graph {

struct CompileOptions {
  std::vector<std::string> off;  // names of passes that are left out
  // Called before and after each run of a pass.
  std::function<void(std::string_view pass, bool after, const Program&)> dump;
};
// One run of a pass.
struct PassReport {
  std::string pass;
  int nodes_before = 0, nodes_after = 0;  // those in bodies as well
  int changes = 0;                        // places
  double microseconds = 0;
};
// Names of all passes, in the order of their first runs.
const std::vector<std::string>& pass_names();
// Those that may change the rounding of results, within the tolerances of the ops they put in place; the others leave every
// bit of what the same kernels compute.
const std::vector<std::string>& rounding_pass_names();
// Verifies p before and after each pass. An error for a name that no pass has. On failure p is as it was.
Status compile(Program& p, const CompileOptions& options = {}, std::vector<PassReport>* out_report = nullptr);

}  // namespace oarlock::graph
