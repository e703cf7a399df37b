// One command of `oarlock` each: adds itself to the program and, if chosen, runs.
#pragma once
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <oarlock/base/plugin.h>

namespace oarlock::cli {

// Keys stay in the order they were written.
using Json = nlohmann::ordered_json;

// Each adds a subcommand whose callback sets out_exit: 0 all is well, 1 it isn't. Errors are thrown; main prints them.
void add_doctor(CLI::App& app, int& out_exit);
void add_devices(CLI::App& app, int& out_exit);
void add_probe(CLI::App& app, int& out_exit);
void add_ops(CLI::App& app, int& out_exit);
void add_explain(CLI::App& app, int& out_exit);
void add_settings(CLI::App& app, int& out_exit);
void add_replay(CLI::App& app, int& out_exit);
void add_new_plugin(CLI::App& app, int& out_exit);
void add_cts(CLI::App& app, int& out_exit);
void add_advise(CLI::App& app, int& out_exit);
void add_bisect(CLI::App& app, int& out_exit);
void add_inspect(CLI::App& app, int& out_exit);
void add_run(CLI::App& app, int& out_exit);
void add_bench(CLI::App& app, int& out_exit);

// What is known of a plugin, for doctor and probe. state: in the words of the command.
Json plugin_json(const PluginInfo& plugin, const char* state);

// Prints with an indent of two; text that is no UTF-8 is replaced.
void print_json(const Json& json);

// A table for people: columns as wide as they must be, two spaces between, no line at the end of a cell.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() < 2; }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The file that a user means by a plugin: a path, or a name ("onednn") that the search path has. Throws
// std::runtime_error with the folders looked into.
std::string plugin_file(const std::string& path_or_name);

}  // namespace oarlock::cli
