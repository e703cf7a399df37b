// What is done to a program before it is run for inference: passes, each with a name by which it can be switched off.
#pragma once
#include <string>
#include <vector>

#include "core/graph/program.h"

namespace oarlock::graph {

struct CompileOptions {
  std::vector<std::string> off;  // names of passes that are left out
};
// Names of all passes, in the order they are run.
const std::vector<std::string>& pass_names();
// Verifies p before and after each pass. An error for a name that no pass has; p is as it was then.
Status compile(Program& p, const CompileOptions& options = {});

}  // namespace oarlock::graph
