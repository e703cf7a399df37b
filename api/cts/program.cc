#include "api/cts/program.h"

#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

extern char** environ;

namespace oarlock::cts {

namespace fs = std::filesystem;

PrivateFolder::PrivateFolder() {
  const char* where = std::getenv("TMPDIR");
  path_ = std::string(where && *where == '/' ? where : "/tmp") + "/oarlock-XXXXXX";
  if (!::mkdtemp(path_.data()))
    throw std::runtime_error(fmt::format("no folder {} can be made: {}. Set TMPDIR.", path_, strerror(errno)));
}
PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Running::Running(const Program& program, const PrivateFolder& folder,
                 const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string backends = folder.path() + "/plugins";
  fs::create_directory(backends);
  for (const std::string& plugin : program.plugins) {
    fs::path file = fs::absolute(plugin);
    fs::create_symlink(file, backends + "/" + file.filename().string());
    fs::path manifest = file;
    if (manifest.replace_extension(".json"); fs::exists(manifest))
      fs::create_symlink(manifest, backends + "/" + manifest.filename().string());
  }
  std::vector<std::string> words = {program.file};
  if (program.file.ends_with(".py")) words.insert(words.begin(), program.python);
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  std::vector<std::pair<std::string, std::string>> own = environment;
  own.emplace_back("OARLOCK_BACKENDS", backends);
  std::vector<std::string> settings;
  for (char** e = environ; *e; ++e) {
    std::string_view line = *e;
    bool replaced = false;
    for (auto& [name, value] : own) replaced |= line.starts_with(name + "=");
    if (!replaced) settings.emplace_back(line);
  }
  for (auto& [name, value] : own) settings.push_back(name + "=" + value);
  std::vector<char*> env;
  for (std::string& setting : settings) env.push_back(setting.data());
  env.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  int error = ::posix_spawnp(&pid_, words[0].c_str(), &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    pid_ = -1;
    throw std::runtime_error(fmt::format("{} can't be run: {}.", words[0], strerror(error)));
  }
}

Running::~Running() { kill(); }

bool Running::ended() {
  if (pid_ < 0) return true;
  pid_t got = ::waitpid(pid_, &status_, WNOHANG);
  if (got == pid_) pid_ = -1;
  return pid_ < 0;
}

int Running::wait() {
  while (pid_ > 0) {
    pid_t got = ::waitpid(pid_, &status_, 0);
    if (got == pid_ || (got < 0 && errno != EINTR)) pid_ = -1;
  }
  return status_;
}

void Running::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

std::string Running::how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("it was killed: {}", strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) ? fmt::format("it exited with {}", WEXITSTATUS(status)) : "";
}

}  // namespace oarlock::cts
