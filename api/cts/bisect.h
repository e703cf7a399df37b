// The first call of a program whose kernel gives something else than the host's reference, made small.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/cts/program.h"

namespace oarlock::cts {

struct BisectOptions {
  Program program;               // run with the setting `capture`; or:
  std::string capture;           // a file that it wrote before
  std::string plugin;            // absolute path: calls of its kernels count
  std::vector<std::string> ops;  // only calls of these; empty: all
  int calls = 4;                 // of one signature; 0: all. Each is computed again on the host
  double shrink_seconds = 60;
};

struct Found {
  int number = 0;           // of the calls looked at, from 1
  std::string call, wrong;  // as it was, and what is wrong with it
  std::string small, small_wrong;
  bool alone = true;   // it happens in a process of its own too; else nothing could be shrunk
  std::string note;    // why not
  int tried = 0;       // calls that the shrinking made
  std::string c_file;  // the C program's text
};

struct Bisected {
  std::string plugin;
  int looked_at = 0;
  std::vector<std::string> unjudged;  // calls that the host could not judge, and why
  std::optional<Found> found;
  std::string ended;  // how the program ended, if not well
};

// program: this very program, see trial.h. on_call: told of each call as it is looked at. Only for a process that has loaded
// no plugin: what is right must be the core's own. Throws std::runtime_error.
Bisected bisect(const BisectOptions& options, const std::string& program,
                const std::function<void(int number, const std::string& call)>& on_call = {});

}  // namespace oarlock::cts
