// What is read of a plugin before any of its code runs: the ELF file, and the manifest beside it.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/device/loader.h"
#include "tests/fuzz/fuzz.h"

using namespace oarlock;

// The first byte says where the manifest begins: its value, in eighths of the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (!size) return 0;
  static const struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("oarlock_fuzz_" + std::to_string(getpid()));
    Folder() { std::filesystem::create_directory(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  } folder;
  size_t elf = (size - 1) * std::min<size_t>(bytes[0] % 9, 8) / 8;
  auto write = [](const std::string& path, const uint8_t* from, size_t n) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(from), std::streamsize(n));
  };
  std::string plugin = folder.path / "plugin.so";
  write(plugin, bytes + 1, elf);
  write(folder.path / "plugin.json", bytes + 1 + elf, size - 1 - elf);
  auto file = inspect_plugin_file(plugin);
  (void)check_manifest(plugin, file.ok() ? *file : PluginFile{}).ok();
  return 0;
}
