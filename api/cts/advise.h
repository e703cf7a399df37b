// Which kernels a plugin should have next, by what a program's calls lost without them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "api/cts/program.h"

namespace oarlock::cts {

// One op, one choice of dtypes.
struct Advice {
  std::string op, dtypes, device;  // "f32, f32"
  std::string via;     // "decomposition", "reference", "fallback", or "copies": a kernel took it, but operands
                       // had to be copied into another layout first
  std::string reason;  // why the plugin's kernel did not take it; "no kernel is declared"
  uint64_t calls = 0;
  double seconds = 0;                 // from call to result, the device waited for; of copies: theirs alone
  std::vector<std::string> examples;  // operands and attributes, the costliest first
  std::vector<std::string> parts;     // ops that it is taken apart into and that have no kernel either
};
struct Advised {
  std::string plugin;
  double seconds = 0;                 // from the first op to the end of the program
  double in_ops = 0, in_kernels = 0;  // of these in ops, and in the plugin's own kernels
  std::vector<Advice> advice;         // the most time first
  std::vector<Advice> recorded;       // taken apart because gradients are recorded and the op has no rule of its own: a
                                      // kernel would not be asked
  std::string ended;                  // how the program ended, if not well
};

// Runs the program to its end; what it prints goes to standard error. Throws std::runtime_error: it can't be run, or it
// called no op at all.
Advised advise(const Program& program);
// Of a report that the setting `call_report` wrote.
Advised advise_from(const std::string& report_file, const std::string& plugin);

}  // namespace oarlock::cts
