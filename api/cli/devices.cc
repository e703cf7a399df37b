// `oarlock devices`: where tensors can live, the host first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <oarlock/base/device.h>
#include <oarlock/base/plugin.h>

#include "api/cli/command.h"

namespace oarlock::cli {

void add_devices(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("devices", "The devices of this machine and whose kernels serve each");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For machines");
  command->callback([=] {
    std::vector<Device> all = devices();
    Json list = Json::array();
    Table table({"device", "kernels of", "description"});
    for (const Device& d : all) {
      std::vector<std::string> packs;
      std::string owner = "core";
      for (const PluginInfo& p : plugins()) {
        for (const std::string& name : p.packs)
          if (name == d.name()) packs.push_back(p.name);
        for (const std::string& name : p.devices)
          if (name == d.name()) owner = p.name;
      }
      table.add({d.name(), fmt::format("{}", fmt::join(packs, " ")), d.description()});
      MemoryStats memory = memory_stats(d);
      list.push_back({{"name", d.name()},
                      {"index", d.index()},
                      {"description", d.description()},
                      {"plugin", owner},
                      {"kernels_of", packs},
                      {"memory", {{"in_use", memory.in_use}, {"peak", memory.peak}, {"reserved", memory.reserved}}}});
    }
    if (*json) print_json(list);
    else table.print();
  });
}

}  // namespace oarlock::cli
