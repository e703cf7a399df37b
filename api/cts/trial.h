// Calls of a plugin's kernel in a child process, which may crash or hang, one after another.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "api/cts/op_call.h"
#include "api/cts/record.h"

namespace oarlock::cts {

// What a call gave on the device under test.
struct Answer {
  std::vector<HostTensor> results;
  std::string failure;   // what the call failed with, or how the child died; then there are no results
  bool refused = false;  // no kernel took it
};

class Trial {
 public:
  // program: this very program, which calls serve_calls when given `bisect --serve`.
  Trial(std::string program, std::string plugin, int timeout_ms = 30'000)
      : program_(std::move(program)), plugin_(std::move(plugin)), timeout_ms_(timeout_ms) {}
  ~Trial() { stop(); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  Answer run(const Recorded& call);
  int calls() const { return calls_; }

 private:
  bool start();
  std::string stop();  // how it ended
  std::string program_, plugin_;
  int timeout_ms_, calls_ = 0;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

// The child's part: reads calls from descriptor 8 and writes what they gave to 9, until the end. Returns the exit code.
int serve_calls(const std::string& plugin);

// What the call must give, and what is wrong with what it gave: nothing if all is right. Throws Error or RefusedCall if the
// host can't say.
struct Judged {
  Oracle oracle;
  std::optional<std::string> wrong;
};
Judged judge(const Schema& schema, Draw draw, const std::vector<HostTensor>& got);

}  // namespace oarlock::cts
