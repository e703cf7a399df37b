#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include <oarlock/base/plugin.h>

#include "api/cli/command.h"

namespace oarlock::cli {

void print_json(const Json& json) { fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace)); }

void Table::print() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += i + 1 < row.size() ? fmt::format("{:{}}  ", row[i], widths[i]) : row[i];
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

std::string plugin_file(const std::string& given) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (given.find('/') != std::string::npos || fs::is_regular_file(given, error)) {
    fs::path path = fs::absolute(given);
    if (!fs::exists(path, error)) throw std::runtime_error(given + ": there is no such file.");
    return path.lexically_normal().string();
  }
  std::string folders;
  for (const SearchFolder& folder : plugin_search_path()) {
    fs::path path = fs::path(folder.path) / ("liboarlock_" + given + ".so");
    if (fs::is_regular_file(path, error)) return path.string();
    folders += "\n  " + folder.path;
  }
  throw std::runtime_error(given + ": no plugin of that name" +
                           (folders.empty() ? "; the search path is empty." : " in" + folders) +
                           "\nGive the path of the file, or add its folder to OARLOCK_BACKENDS.");
}

Json plugin_json(const PluginInfo& p, const char* state) {
  return {{"path", p.path},
          {"state", state},
          {"reason", p.reason},
          {"origin", p.origin},
          {"name", p.name},
          {"vendor", p.vendor},
          {"version", p.version},
          {"build_target", p.build_target},
          {"abi", {p.abi_min, p.abi_max}},
          {"abi_minor", p.abi_minor},
          {"tables", p.tables},
          {"devices", p.devices},
          {"packs", p.packs},
          {"ops", p.ops},
          {"kernels", p.kernel_count},
          {"warnings", p.warnings},
          {"load_ms", p.load_ms}};
}

}  // namespace oarlock::cli
