// One test of the kit, and what its body is given.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/cts/cts.h"

namespace oarlock::cts {

struct Skipped {
  std::string reason;
};

// Collects the failures of one test. A failure doesn't end the test; the first few are reported.
class Check {
 public:
  template <class... A>
  bool expect(bool condition, fmt::format_string<A...> text, A&&... arguments) {
    if (!condition) fail(fmt::format(text, std::forward<A>(arguments)...));
    return condition;
  }
  // As expect, but the test can't go on without it.
  template <class... A>
  void need(bool condition, fmt::format_string<A...> text, A&&... arguments) {
    if (condition) return;
    fail(fmt::format(text, std::forward<A>(arguments)...));
    throw Stopped();
  }
  void fail(std::string text);
  [[noreturn]] void skip(std::string reason) { throw Skipped{std::move(reason)}; }
  bool failed() const { return count_ > 0; }
  std::string text() const;
  std::map<std::string, double> numbers;  // as Row has them
  std::string note;

  struct Stopped {};

 private:
  std::vector<std::string> texts_;
  int count_ = 0;
};

struct Test {
  std::string level, name;
  std::function<void(Check&)> body;
  bool gate = false;  // if it fails, the rest of the level and all later levels are skipped
};

// The tests of each level, in order. None of these loads the plugin: the list must be the same in each child.
std::vector<Test> level0(const Options& options);
std::vector<Test> level1(const Options& options);
std::vector<Test> level2(const Options& options);
std::vector<Test> level3(const Options& options);
std::vector<Test> mutations(const Options& options);
std::vector<Test> performance(const Options& options);
std::vector<Test> all_tests(const Options& options);

}  // namespace oarlock::cts
