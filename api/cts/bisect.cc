#include "api/cts/bisect.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include <fmt/format.h>

#include <oarlock/base/plugin.h>

#include "api/cts/emit.h"
#include "api/cts/shrink.h"
#include "api/cts/trial.h"

namespace oarlock::cts {

namespace {

std::string real_path(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  std::string s = real ? real : path;
  ::free(real);
  return s;
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Shrinks a call that is known to be wrong, and writes it down.
Found make_small(const Recorded& call, const std::string& wrong, const Judged& judged, int number,
                 const BisectOptions& options, const std::string& program) {
  Schema schema(op_info(call.op));
  Found found;
  found.number = number;
  found.call = found.small = call.draw.to_string(schema);
  found.wrong = found.small_wrong = wrong;
  Trial trial(program, options.plugin);
  std::string last_wrong;
  auto holds = [&](const Recorded& c) {
    try {
      Answer answer = trial.run(c);
      if (!answer.failure.empty()) return false;
      Judged j = judge(schema, c.draw, answer.results);
      if (j.wrong) last_wrong = *j.wrong;
      return j.wrong.has_value();
    } catch (const std::exception&) {
    } catch (const RefusedCall&) {}
    return false;
  };
  Recorded small = call;
  if (holds(call)) {
    Shrunk shrunk = shrink(call, holds, options.shrink_seconds);
    found.tried = shrunk.tried;
    small = std::move(shrunk.call);
    holds(small);
    found.small_wrong = last_wrong;
    found.small = small.draw.to_string(schema);
  } else {
    found.alone = false;
    Answer answer = trial.run(call);
    found.note = !answer.failure.empty()
                     ? "alone, it failed: " + answer.failure
                     : "alone in a process of its own the call is right: memory of other calls, their "
                       "order or several threads have a part in it";
  }
  Draw bound = small.draw;
  bind_names(schema, bound);
  for (Operand& o : bound.inputs) o.strides.clear();
  found.c_file = c_program(small, found.alone ? oracle_of(schema, bound) : judged.oracle, found.small_wrong);
  return found;
}

}  // namespace

Bisected bisect(const BisectOptions& options, const std::string& program,
                const std::function<void(int, const std::string&)>& on_call) {
  Bisected result;
  PluginInfo info = probe_plugin(options.plugin);
  if (info.state != PluginState::loaded) throw std::runtime_error(fmt::format("{}: {}", options.plugin, info.reason));
  result.plugin = info.name;

  PrivateFolder folder;
  std::optional<Running> running;
  std::string path = options.capture;
  if (path.empty()) {
    path = folder.path() + "/calls";
    if (::mkfifo(path.c_str(), 0600) != 0)
      throw std::runtime_error(fmt::format("{} can't be made: {}.", path, strerror(errno)));
  }
  File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) throw std::runtime_error(fmt::format("{} can't be read: {}.", path, strerror(errno)));
  if (options.capture.empty())
    running.emplace(options.program, folder,
                    std::vector<std::pair<std::string, std::string>>{
                        {"OARLOCK_CAPTURE", path}, {"OARLOCK_CAPTURE_CALLS", std::to_string(options.calls)}});
  Reader reader(file.get(), running ? std::function<bool()>([&] { return !running->ended(); }) : nullptr);
  while (auto call = reader.next()) {
    if (call->plugin != result.plugin) continue;
    if (!options.ops.empty() && std::find(options.ops.begin(), options.ops.end(), call->op) == options.ops.end())
      continue;
    Schema schema(op_info(call->op));
    std::string text = call->draw.to_string(schema);
    ++result.looked_at;
    if (on_call) on_call(result.looked_at, text);
    call->path = real_path(options.plugin);
    try {
      Judged judged = judge(schema, call->draw, call->results);
      if (!judged.wrong) continue;
      if (running) running->kill();
      result.found = make_small(*call, *judged.wrong, judged, result.looked_at, options, program);
      return result;
    } catch (const RefusedCall& refused) {
      result.unjudged.push_back(text + ": " + refused.reason);
    } catch (const Error& e) { result.unjudged.push_back(text + ": " + e.what()); }
  }
  if (running) result.ended = Running::how_it_ended(running->wait());
  return result;
}

}  // namespace oarlock::cts
