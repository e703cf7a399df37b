// Somebody's program as a child of ours, with chosen plugins and settings, without a shell.
#pragma once
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace oarlock::cts {

// A folder of its own, only for this user, gone with the object.
class PrivateFolder {
 public:
  PrivateFolder();  // throws std::runtime_error
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What is to be run. The program finds exactly these plugins.
struct Program {
  std::string file;  // a program, or a script: *.py is run by `python`
  std::vector<std::string> arguments;
  std::vector<std::string> plugins;  // absolute paths
  std::string python = "python3";
};

class Running {
 public:
  // Standard output goes to standard error: what we print must stay readable. Throws std::runtime_error.
  Running(const Program& program, const PrivateFolder& folder,
          const std::vector<std::pair<std::string, std::string>>& environment);
  ~Running();  // kills what still runs
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  bool ended();  // looks, does not wait
  int wait();    // the status of waitpid
  void kill();
  // "it exited with 1", "it was killed: Segmentation fault"; empty if it ended well.
  static std::string how_it_ended(int status);

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace oarlock::cts
