// The conformance kit: what a plugin must do to be used, as tests. `oarlock cts PLUGIN` is its front; ctest runs the
// same.
//
//   L0  the file, negotiation, sizes, faults       the kit loads the plugin itself, by the C ABI alone
//   L1  memory, copies, events, order, threads     the same
//   L2  every op and dtype, generated from the op table, through the public C++ API
//   L3  the graph table: claims, programs against the host, blobs and damaged ones
//   M   (on request) shows that L2 can fail: outputs are spoilt on purpose and the comparison must notice
//   P   (on request) how fast: launches, copies, matrix products, convolutions; fails only where a result is wrong
//
// The tests run in a spawned child, one after another. If it crashes or hangs, that test has failed, and the next child
// goes on after it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace oarlock::cts {

struct Options {
  std::string plugin;               // absolute path of a plugin, or "host": the core's references and decompositions
  std::vector<std::string> levels;  // "L0" to "L3", "M", "P"; empty: L0 to L3, and M if mutate
  std::vector<std::string> ops;     // L2 and M for these only; empty: all
  std::vector<std::string> own;     // L2 for these as well, which the plugin itself defines
  bool own_only = false;            // L2 for no others
  uint64_t seed = 1;                // same seed, same calls
  int cases = 8;                    // random calls per op and dtype
  bool mutate = false;
  int timeout_ms = 60'000;  // for one test
};

enum class Outcome { passed, failed, skipped };
struct Row {
  std::string level, name;
  Outcome outcome = Outcome::passed;
  std::string reason;  // why failed or skipped; empty if passed
  double seconds = 0;
  // What the test found out beside its outcome.
  //   L2, per op and dtype: "kernel" calls that the plugin's kernel took, "refused" that it did not, "elsewhere" that were
  //       right without it, "declared" 1 if a kernel is declared for this dtype; note: the last refusal.
  //   L3: "groups" and "nodes" compiled, calls "compiled" and "refused", blobs "changed and taken"; note: the last refusal.
  //   P: "value" and, where there is something to hold it against, "beside"; note: "GFLOP/s; reference".
  std::map<std::string, double> numbers;
  std::string note;
};
struct Report {
  std::string plugin;  // "null", or the file's name if it never said its own
  std::vector<Row> rows;
  int count(Outcome outcome) const;
  int count(Outcome outcome, const std::string& level) const;
};

// Runs everything in children of `program` (this very program: it must call run_child when given `cts --child`).
// on_row is called as results come.
Report run(const Options& options, const std::string& program, const std::function<void(const Row&)>& on_row = {});

// The child's part: runs the tests from number `from` on and writes what happens to the file descriptor, a JSON
// object a
// line. Returns the exit code.
int run_child(const Options& options, int descriptor, int from);

}  // namespace oarlock::cts
