// The child: runs the tests in order and says at each step where it is.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>

#include <oarlock/base/settings.h>

#include "api/cts/test.h"

namespace oarlock::cts {

void Check::fail(std::string text) {
  if (++count_ <= 3) texts_.push_back(std::move(text));
}

std::string Check::text() const {
  std::string all;
  for (const std::string& t : texts_) all += (all.empty() ? "" : " | ") + t;
  if (count_ > int(texts_.size())) all += fmt::format(" | and {} more", count_ - int(texts_.size()));
  return all;
}

std::vector<Test> all_tests(const Options& options) {
  auto wanted = [&](const char* level) {
    if (options.levels.empty()) return level[0] == 'L' || (level[0] == 'M' && options.mutate);
    return std::find(options.levels.begin(), options.levels.end(), level) != options.levels.end();
  };
  std::vector<Test> tests;
  auto take = [&](std::vector<Test> more) { std::move(more.begin(), more.end(), std::back_inserter(tests)); };
  bool host = options.plugin == "host";
  if (wanted("L0") && !host) take(level0(options));
  if (wanted("L1") && !host) take(level1(options));
  if (wanted("L2")) take(level2(options));
  if (wanted("L3") && !host) take(level3(options));
  if (wanted("M")) take(mutations(options));
  if (wanted("P")) take(performance(options));
  return tests;
}

namespace {
void say(int descriptor, const nlohmann::json& message) {
  // Texts may come from a broken plugin: what is no UTF-8 is replaced.
  std::string line = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (size_t at = 0; at < line.size();) {
    ssize_t n = ::write(descriptor, line.data() + at, line.size() - at);
    if (n <= 0) _exit(3);  // nobody listens any more
    at += size_t(n);
  }
}
}  // namespace

int run_child(const Options& options, int descriptor, int from) {
  ::dup2(2, 1);  // what a plugin prints must not end up in the report
  throw_if(set_setting("host_memory_limit", "1073741824"));
  std::vector<Test> tests = all_tests(options);
  if (from == 0) {
    nlohmann::json list = nlohmann::json::array();
    for (const Test& t : tests) list.push_back({t.level, t.name, t.gate});
    say(descriptor, {{"list", list}});
  }
  for (int i = from; i < int(tests.size()); ++i) {
    const Test& test = tests[size_t(i)];
    say(descriptor, {{"begin", i}});
    auto start = std::chrono::steady_clock::now();
    std::string outcome = "passed", reason;
    Check check;
    try {
      test.body(check);
    } catch (const Skipped& s) {
      outcome = "skipped";
      reason = s.reason;
    } catch (const Check::Stopped&) {
    } catch (const std::exception& e) { check.fail(e.what()); }
    if (check.failed()) {
      outcome = "failed";
      reason = check.text();
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    say(descriptor, {{"end", i},
                     {"outcome", outcome},
                     {"reason", reason},
                     {"seconds", seconds},
                     {"numbers", check.numbers},
                     {"note", check.note}});
    if (test.gate && check.failed()) break;
  }
  say(descriptor, {{"done", true}});
  // No plugin expects to be torn down at exit, and one under test may not survive it.
  _exit(0);
}

}  // namespace oarlock::cts
