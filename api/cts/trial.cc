#include "api/cts/trial.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include <fmt/format.h>

#include <oarlock/base/plugin.h>
#include <oarlock/base/settings.h>

#include "api/cts/program.h"

extern char** environ;

namespace oarlock::cts {

namespace {
constexpr int kIn = 8, kOut = 9;
}

bool Trial::start() {
  if (pid_ > 0) return true;
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) return false;
  if (::pipe2(out, O_CLOEXEC) != 0) {
    ::close(in[0]), ::close(in[1]);
    return false;
  }
  // Away from the numbers that the child is to have.
  for (int* end : {&in[0], &in[1], &out[0], &out[1]}) {
    int high = ::fcntl(*end, F_DUPFD_CLOEXEC, 16);
    if (high < 0) continue;
    ::close(*end);
    *end = high;
  }
  std::vector<std::string> words = {program_, "bisect", "--serve", plugin_};
  std::vector<char*> argv, env;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string none = "OARLOCK_BACKENDS=";
  for (char** e = environ; *e; ++e)
    if (strncmp(*e, none.c_str(), none.size()) != 0) env.push_back(*e);
  env.push_back(none.data());
  env.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], kIn);
  posix_spawn_file_actions_adddup2(&actions, out[1], kOut);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  if (::posix_spawn(&pid_, program_.c_str(), &actions, nullptr, argv.data(), env.data()) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]), ::close(out[1]);
  to_ = in[1], from_ = out[0];
  if (pid_ < 0) stop();
  return pid_ > 0;
}

std::string Trial::stop() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  to_ = from_ = -1;
  int status = 0;
  if (pid_ > 0) {
    // A child that is well ends when its input does.
    auto since = std::chrono::steady_clock::now();
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() - since > std::chrono::seconds(2)) ::kill(pid_, SIGKILL);
      ::usleep(2000);
    }
  }
  pid_ = -1;
  return Running::how_it_ended(status);
}

Answer Trial::run(const Recorded& call) {
  ++calls_;
  if (!start()) return {{}, "no process could be started"};
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);  // it may die while we write
  bool sent = write_record(to_, call);
  ::sigaction(SIGPIPE, &before, nullptr);
  ::fcntl(from_, F_SETFL, O_NONBLOCK);
  auto since = std::chrono::steady_clock::now();
  bool late = false;
  Reader reader(from_, [&] {
    late = std::chrono::steady_clock::now() - since > std::chrono::milliseconds(timeout_ms_);
    siginfo_t info{};
    bool alive = ::waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
    return !late && alive;
  });
  std::optional<Recorded> answer;
  try {
    if (sent) answer = reader.next();
  } catch (const std::exception&) {}
  if (answer) return {std::move(answer->results), answer->failure, answer->refused};
  if (late) ::kill(pid_, SIGKILL);
  std::string how = stop();
  return {{},
          late          ? fmt::format("no answer within {} ms", timeout_ms_)
          : how.empty() ? "it ended without an answer"
                        : how};
}

int serve_calls(const std::string& plugin) {
  ::fcntl(kOut, F_SETFD, FD_CLOEXEC);
  Reader reader(kIn);
  const Target* target = nullptr;
  while (auto call = reader.next()) {
    Recorded answer;
    try {
      if (!target) target = &target_of(plugin);
      Schema schema(op_info(call->op));
      CallOptions how;
      if (call->route == "kernel") how.route = Route::kernel, how.plugin = target->plugin;
      Device device = target->own_device && call->device != "cpu" ? Device(call->device) : target->device;
      answer.results = run_call(schema, call->draw, device, how, nullptr);
    } catch (const RefusedCall& refused) {
      answer.failure = refused.reason;
      answer.refused = true;
    } catch (const std::exception& e) { answer.failure = e.what(); }
    if (!write_record(kOut, answer)) break;
  }
  ::_exit(0);  // as the kit's other children: no plugin expects to be torn down
}

Judged judge(const Schema& schema, Draw draw, const std::vector<HostTensor>& got) {
  bind_names(schema, draw);
  Judged j;
  for (Operand& o : draw.inputs) o.strides.clear();
  j.oracle = oracle_of(schema, draw);
  j.wrong = compare_all(j.oracle, got);
  return j;
}

}  // namespace oarlock::cts
