// The parent: spawns children, follows what they say, and turns silence or death into failed tests.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/cts/cts.h"

extern char** environ;

namespace oarlock::cts {

int Report::count(Outcome outcome) const {
  int n = 0;
  for (const Row& row : rows) n += row.outcome == outcome;
  return n;
}
int Report::count(Outcome outcome, const std::string& level) const {
  int n = 0;
  for (const Row& row : rows) n += row.outcome == outcome && row.level == level;
  return n;
}

namespace {

struct Child {
  pid_t pid = -1;
  int descriptor = -1;
};

Child spawn(const Options& options, const std::string& program, int from) {
  int ends[2];
  Child child;
  if (::pipe2(ends, O_CLOEXEC) != 0) return child;
  const int kChildEnd = 9;
  std::vector<std::string> words = {program,
                                    "cts",
                                    options.plugin,
                                    "--child",
                                    std::to_string(kChildEnd),
                                    "--from",
                                    std::to_string(from),
                                    "--seed",
                                    std::to_string(options.seed),
                                    "--cases",
                                    std::to_string(options.cases)};
  for (const std::string& level : options.levels) words.insert(words.end(), {"--level", level});
  for (const std::string& op : options.ops) words.insert(words.end(), {"--ops", op});
  for (const std::string& op : options.own) words.insert(words.end(), {"--own", op});
  if (options.own_only) words.push_back("--own-only");
  if (options.mutate) words.push_back("--mutate");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  // Only the plugin under test is loaded.
  std::vector<std::string> settings;
  for (char** e = environ; *e; ++e)
    if (strncmp(*e, "OARLOCK_BACKENDS=", 17) != 0) settings.push_back(*e);
  settings.push_back("OARLOCK_BACKENDS=");
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kChildEnd);
  if (::posix_spawn(&child.pid, program.c_str(), &actions, nullptr, argv.data(), environment.data()) != 0)
    child.pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  child.descriptor = ends[0];
  return child;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
  return fmt::format("the process exited with {}", WEXITSTATUS(status));
}

class Run {
 public:
  Run(const Options& options, const std::string& program, const std::function<void(const Row&)>& on_row)
      : options_(options), program_(program), on_row_(on_row) {}

  Report run() {
    report_.plugin = options_.plugin == "host" ? "host" : std::filesystem::path(options_.plugin).stem().string();
    if (report_.plugin.starts_with("liboarlock_")) report_.plugin.erase(0, 11);
    int from = 0;
    while (follow(from)) {}
    return std::move(report_);
  }

 private:
  void row(int index, Outcome outcome, std::string reason, double seconds, std::map<std::string, double> numbers = {},
           std::string note = {}) {
    Row row{"L0", "start", outcome, std::move(reason), seconds, std::move(numbers), std::move(note)};
    if (index >= 0 && index < int(list_.size())) {
      row.level = list_[size_t(index)].level;
      row.name = list_[size_t(index)].name;
    }
    report_.rows.push_back(row);
    if (on_row_) on_row_(row);
  }
  void skip_rest(int next, const std::string& reason) {
    for (int i = next; i < int(list_.size()); ++i) row(i, Outcome::skipped, reason, 0);
  }

  // One child, from test `from` on. Sets from to where the next one goes on; false when there is nothing left.
  bool follow(int& from) {
    Child child = spawn(options_, program_, from);
    if (child.pid < 0) {
      row(from, Outcome::failed, "the kit could not start a process of its own", 0);
      return false;
    }
    running_ = -1;
    finished_ = false;
    gate_failed_ = false;
    next_ = from;
    bool hung = false;
    std::string buffer;
    auto since = std::chrono::steady_clock::now();
    while (!finished_) {
      auto waited =
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - since).count();
      struct pollfd p {
        child.descriptor, POLLIN, 0
      };
      int ready = ::poll(&p, 1, std::max(0, options_.timeout_ms - int(waited)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) {
        hung = true;
        ::kill(child.pid, SIGKILL);
        break;
      }
      char bytes[65536];
      ssize_t n = ::read(child.descriptor, bytes, sizeof(bytes));
      if (n <= 0) break;
      since = std::chrono::steady_clock::now();
      buffer.append(bytes, size_t(n));
      for (size_t end; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1))
        heard(buffer.substr(0, end));
    }
    ::close(child.descriptor);
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {}
    if (finished_) {
      if (gate_failed_) skip_rest(next_, "not run: " + gate_reason_);
      return false;
    }
    std::string reason = hung ? fmt::format("hung: no answer within {} ms", options_.timeout_ms) : how_it_ended(status);
    if (running_ < 0) {  // between two tests, or before the first
      row(next_, Outcome::failed, (list_.empty() ? "before the first test: " : "on the way into this test: ") + reason,
          0);
      if (list_.empty()) return false;
      from = next_ + 1;
    } else {
      row(running_, Outcome::failed, reason, double(hung ? options_.timeout_ms : 0) / 1000);
      if (list_[size_t(running_)].gate) {
        skip_rest(running_ + 1, "not run: " + list_[size_t(running_)].name + " " + reason);
        return false;
      }
      from = running_ + 1;
      if (hung && ++hangs_ == kHangs) {
        skip_rest(from, fmt::format("not run: {} tests hung", kHangs));
        return false;
      }
    }
    return from < int(list_.size());
  }

  void heard(const std::string& line) {
    nlohmann::json m = nlohmann::json::parse(line, nullptr, false);
    if (!m.is_object()) return;
    if (m.contains("list")) {
      list_.clear();
      for (auto& t : m["list"]) list_.push_back({t[0], t[1], t[2]});
    } else if (m.contains("begin")) {
      running_ = m["begin"];
    } else if (m.contains("end")) {
      int i = m["end"];
      std::string outcome = m["outcome"], reason = m["reason"];
      row(i,
          outcome == "passed"   ? Outcome::passed
          : outcome == "failed" ? Outcome::failed
                                : Outcome::skipped,
          reason, m["seconds"], m["numbers"].get<std::map<std::string, double>>(), m["note"]);
      running_ = -1;
      next_ = i + 1;
      if (outcome == "failed" && size_t(i) < list_.size() && list_[size_t(i)].gate) {
        gate_failed_ = true;
        gate_reason_ = list_[size_t(i)].name + ": " + reason;
      }
    } else if (m.contains("done")) {
      finished_ = true;
    }
  }

  struct Listed {
    std::string level, name;
    bool gate;
  };
  const Options& options_;
  const std::string& program_;
  const std::function<void(const Row&)>& on_row_;
  Report report_;
  std::vector<Listed> list_;
  static constexpr int kHangs = 3;  // what hangs that often hangs everywhere
  int running_ = -1, next_ = 0, hangs_ = 0;
  bool finished_ = false, gate_failed_ = false;
  std::string gate_reason_;
};

}  // namespace

Report run(const Options& options, const std::string& program, const std::function<void(const Row&)>& on_row) {
  return Run(options, program, on_row).run();
}

}  // namespace oarlock::cts
