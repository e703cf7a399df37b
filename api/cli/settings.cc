// `oarlock settings`: what can be set, how, and what it is now.
#include <fmt/format.h>

#include <oarlock/base/settings.h>

#include "api/cli/command.h"

namespace oarlock::cli {

namespace {
void run(bool json, int& out_exit) {
  std::vector<SettingInfo> all = settings();
  Json list = Json::array();
  Table table({"setting", "type", "value", "from", "environment", "about"});
  std::vector<std::string> problems;
  for (const SettingInfo& s : all) {
    list.push_back({{"name", s.name},
                    {"type", s.type},
                    {"value", s.value_text},
                    {"default", s.default_text},
                    {"origin", s.origin},
                    {"environment", s.environment},
                    {"about", s.about},
                    {"problem", s.problem}});
    table.add({s.name, s.type, s.value_text.empty() ? "\"\"" : s.value_text, s.origin, s.environment, s.about});
    if (!s.problem.empty()) problems.push_back(s.environment + ": " + s.problem);
  }
  out_exit = problems.empty() ? 0 : 1;
  if (json) return print_json(list);
  table.print();
  for (const std::string& p : problems) fmt::print("problem: {}\n", p);
}
}  // namespace

void add_settings(CLI::App& app, int& out_exit) {
  CLI::App* command = app.add_subcommand(
      "settings", "All settings, their values and where those come from; exit code 1 if one was not taken");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For machines");
  command->callback([=, &out_exit] { run(*json, out_exit); });
}

}  // namespace oarlock::cli
