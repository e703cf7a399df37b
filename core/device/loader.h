// Finding plugins, judging their files before any of their code runs, and taking their tables.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <oarlock/base/plugin.h>

namespace oarlock {

// Everything on the search path. Problems become reasons, never failures.
void load_search_path();

// What the file alone says. elf.cc
struct PluginFile {
  std::string machine;  // "x86-64", "aarch64", ...
  bool has_note = false;
  uint32_t abi_min = 0, abi_max = 0;
  std::vector<std::string> exports;  // defined dynamic symbols
  std::vector<std::string> needed;   // libraries it links
};
// Reads the ELF headers, the note and the dynamic symbols; bounds-checked, runs nothing. The text says what is wrong: not
// ELF, another architecture, shorter than its segments.
Result<PluginFile> inspect_plugin_file(const std::string& path);

// Refuses files and folders that others than root and this user could have written. search.cc
Status check_owner(const std::string& path);
std::vector<std::string> plugin_files(const std::string& folder);  // *.so, sorted
// The JSON manifest beside a plugin (its path with .json for .so), if there is one: "abi" [lowest, highest],
// "architecture", "sha256" of the file in hexadecimal, "depends" (library names); each optional. Ok when there is none.
// manifest.cc
Status check_manifest(const std::string& path, const PluginFile& file);

}  // namespace oarlock
