// Level 0, first part: the file, the one symbol, the query.
#include <oarlock/plugin.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "api/cts/elf.h"
#include "api/cts/level0.h"
#include "api/cts/raw.h"

namespace oarlock::cts {

namespace {

ElfFile need_elf(Check& check, const std::string& path) {
  ElfFile elf = read_elf(path);
  check.need(elf.problem.empty(), "{} {}", path, elf.problem);
  return elf;
}

void file(Check& check, const std::string& path) {
  check.need(!path.empty() && path[0] == '/', "{} is not an absolute path", path);
  struct stat s;
  check.need(::stat(path.c_str(), &s) == 0, "{} does not exist", path);
  check.need(S_ISREG(s.st_mode), "{} is not a regular file", path);
  check.expect((s.st_mode & (S_IWOTH | S_IWGRP)) == 0,
               "{} can be written by others (mode {:o}): take the right away with chmod go-w", path, s.st_mode & 0777);
  check.expect(s.st_uid == 0 || s.st_uid == ::geteuid(), "{} belongs to user {}, neither root nor you", path, s.st_uid);
  ElfFile elf = need_elf(check, path);
  check.expect(elf.machine == own_machine(), "{} is for ELF machine {}, this one is {}", path, elf.machine,
               own_machine());
}

void note(Check& check, const std::string& path) {
  ElfFile elf = need_elf(check, path);
  check.need(elf.has_note, "no ELF note \"Oarlock\": write OAR_PLUGIN_NOTE(min, max) once at file scope");
  check.expect(elf.abi_min >= 1 && elf.abi_min <= elf.abi_max, "the note's range {} to {} is none", elf.abi_min,
               elf.abi_max);
  check.expect(elf.abi_min <= OAR_ABI_VERSION && OAR_ABI_VERSION <= elf.abi_max,
               "the note says ABI {} to {}; this host speaks {}", elf.abi_min, elf.abi_max, OAR_ABI_VERSION);
}

void symbols(Check& check, const std::string& path) {
  ElfFile elf = need_elf(check, path);
  bool found = std::count(elf.exported.begin(), elf.exported.end(), "oar_plugin_query") == 1;
  check.expect(found, "oar_plugin_query is not exported");
  for (const std::string& name : elf.exported)
    check.expect(name == "oar_plugin_query", "exports {}; link with a version script that hides it", name);
}

void dependencies(Check& check, const std::string& path) {
  ElfFile elf = need_elf(check, path);
  for (const std::string& name : elf.needed)
    check.expect(name.find("liboarlock") == std::string::npos, "needs {}; a plugin links nothing of Oarlock", name);
  for (const std::string& name : elf.undefined)
    check.expect(!name.starts_with("oar_") && name.find("7oarlock") == std::string::npos,
                 "expects {} from the host; a plugin links nothing of Oarlock", name);
}

void loads(Check& check, const std::string& path) {
  std::string reason;
  check.need(open_library(path, reason) != nullptr, "{}", reason);
}

void query(Check& check, const std::string& path) {
  std::string reason;
  QueryFunction ask = open_library(path, reason);
  check.need(ask != nullptr, "{}", reason);
  const oar_plugin_t* plugin = nullptr;
  oar_status_t status = ask(&kit_host(), &plugin);
  check.need(status == OAR_OK, "oar_plugin_query gave {}{}", status, because());
  check.need(plugin != nullptr, "oar_plugin_query gave OAR_OK and no oar_plugin_t");
  check.need(OAR_HAS(plugin, get_table), "oar_plugin_t.struct_size is {}, too small to have get_table",
             plugin->struct_size);
  check.expect(plugin->get_table != nullptr, "get_table is NULL");
  check.expect(plugin->name.size > 0 && plugin->name.size < 64, "the name has {} bytes", plugin->name.size);
  for (char c : view(plugin->name))
    check.expect((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-',
                 "the name {} has other than lower-case letters, digits, _ and -", view(plugin->name));
  check.expect(plugin->vendor.size > 0, "the vendor is empty");
  check.expect(plugin->version.size > 0, "the version is empty");
  ElfFile elf = need_elf(check, path);
  if (elf.has_note)
    check.expect(elf.abi_min == plugin->abi_min && elf.abi_max == plugin->abi_max,
                 "the note says ABI {} to {}, the query {} to {}", elf.abi_min, elf.abi_max, plugin->abi_min,
                 plugin->abi_max);
  check.expect(plugin->abi_min <= OAR_ABI_VERSION && OAR_ABI_VERSION <= plugin->abi_max,
               "the query says ABI {} to {}; this host speaks {}", plugin->abi_min, plugin->abi_max, OAR_ABI_VERSION);
}

void query_again(Check& check, const std::string& path) {
  std::string reason;
  QueryFunction ask = open_library(path, reason);
  check.need(ask != nullptr, "{}", reason);
  const oar_plugin_t* first = nullptr;
  check.need(ask(&kit_host(), &first) == OAR_OK, "oar_plugin_query failed{}", because());
  std::vector<double> us;
  for (int i = 0; i < 21; ++i) {
    const oar_plugin_t* again = nullptr;
    auto start = std::chrono::steady_clock::now();
    oar_status_t status = ask(&kit_host(), &again);
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    check.need(status == OAR_OK, "call {} gave {}{}", i + 2, status, because());
    check.expect(again == first, "a later query hands out another oar_plugin_t; it is meant to be constant");
  }
  std::nth_element(us.begin(), us.begin() + 10, us.end());
  check.expect(us[10] < 1000, "the query takes {:.0f} us; it must touch no driver", us[10]);
  static const oar_host_t other = kit_host();  // every plugin gets a host of its own: two copies, two hosts
  const oar_plugin_t* second = nullptr;
  check.expect(ask(&other, &second) == OAR_OK && second, "the query fails for a second host{}", because());
}

void query_refuses(Check& check, const std::string& path) {
  std::string reason;
  QueryFunction ask = open_library(path, reason);
  check.need(ask != nullptr, "{}", reason);
  const oar_plugin_t* plugin = nullptr;
  check.need(ask(&kit_host(), &plugin) == OAR_OK && plugin, "oar_plugin_query failed{}", because());
  static oar_host_t newer = kit_host();
  newer.abi_min = newer.abi_max = plugin->abi_max + 7;
  const oar_plugin_t* none = nullptr;
  last_error();
  oar_status_t status = ask(&newer, &none);
  check.expect(status < 0 || !none || none->abi_max < newer.abi_min,
               "a host that speaks only ABI {} is told that the plugin ({} to {}) fits", newer.abi_min, plugin->abi_min,
               plugin->abi_max);
  if (status < 0) check.expect(!last_error().empty(), "the failure comes without error_set");
}

// A host struct that has grown, and one from before some of its functions.
void host_sizes(Check& check, const std::string& path) {
  std::string reason;
  QueryFunction ask = open_library(path, reason);
  check.need(ask != nullptr, "{}", reason);
  struct Grown {
    oar_host_t host;
    unsigned char more[256];
  };
  static Grown grown{kit_host(), {}};
  grown.host.struct_size = sizeof(Grown);
  memset(grown.more, 0xCD, sizeof(grown.more));
  const oar_plugin_t* plugin = nullptr;
  oar_status_t status = ask(&grown.host, &plugin);
  check.expect(status == OAR_OK && plugin, "a host struct that has grown to {} bytes is refused with {}{}",
               sizeof(Grown), status, because());
  if (status == OAR_OK && plugin && plugin->get_table)
    for (uint64_t id = 1; id <= 8; ++id) plugin->get_table(&grown.host, id, 1, UINT32_MAX);

  // Whoever reads past struct_size meets a pointer that is none.
  static oar_host_t small = kit_host();
  size_t known = offsetof(oar_host_t, output_alloc);
  memset(reinterpret_cast<char*>(&small) + known, 0xCD, sizeof(small) - known);
  small.struct_size = uint32_t(known);
  plugin = nullptr;
  status = ask(&small, &plugin);
  check.expect(status == OAR_OK || (status < 0 && !last_error().empty()),
               "a host struct of {} bytes is refused with {} and no text", known, status);
  if (status == OAR_OK && plugin && plugin->get_table)
    for (uint64_t id = 1; id <= 8; ++id) plugin->get_table(&small, id, 1, UINT32_MAX);
}

}  // namespace

void level0_file(const Options& options, std::vector<Test>& tests) {
  auto add = [&](const char* name, void (*body)(Check&, const std::string&), bool gate = false) {
    tests.push_back({"L0", name, [body, path = options.plugin](Check& c) { body(c, path); }, gate});
  };
  add("file", file, true);
  add("note", note);
  add("one exported symbol", symbols);
  add("links nothing of Oarlock", dependencies);
  add("loads", loads, true);
  add("query", query, true);
  add("query again", query_again);
  add("query of another age", query_refuses);
  add("host struct of other sizes", host_sizes);
}

}  // namespace oarlock::cts
