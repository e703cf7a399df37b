// The manifest beside a plugin: what the vendor says of the file, held against the file itself before any of its code runs.
#include <dlfcn.h>
#include <sha2.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/device/loader.h"

namespace oarlock {
namespace {

// Lower-case hexadecimal; empty when the file can't be read.
std::string sha256_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return "";
  SHA2_CTX state;
  SHA256Init(&state);
  char block[1 << 16];
  while (in.read(block, sizeof block), in.gcount() > 0)
    SHA256Update(&state, reinterpret_cast<const uint8_t*>(block), size_t(in.gcount()));
  if (in.bad()) return "";
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256Final(digest, &state);
  std::string hex;
  for (uint8_t byte : digest) hex += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return hex;
}

// x86_64, amd64 and x86-64 are one machine.
std::string plain_machine(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return c == '_' ? '-' : tolower(c); });
  return name == "amd64" ? "x86-64" : name == "arm64" ? "aarch64" : name;
}

}  // namespace

Status check_manifest(const std::string& path, const PluginFile& file) {
  std::string name = path.substr(0, path.size() - 3) + ".json";
  std::ifstream in(name);
  if (!in) return {};
  auto wrong = [&](const std::string& what) { return Status(Code::bad_data, "its manifest " + name + " " + what); };
  auto json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return wrong("is not a JSON object.");
  if (auto abi = json.find("abi"); abi != json.end()) {
    if (!abi->is_array() || abi->size() != 2 || !(*abi)[0].is_number_unsigned() || !(*abi)[1].is_number_unsigned())
      return wrong("says no range: \"abi\" has to be [lowest, highest].");
    uint32_t low = (*abi)[0], high = (*abi)[1];
    if (file.has_note && (low != file.abi_min || high != file.abi_max))
      return wrong("says ABI " + std::to_string(low) + "-" + std::to_string(high) + ", the file says " +
                   std::to_string(file.abi_min) + "-" + std::to_string(file.abi_max) + ".");
  }
  if (auto machine = json.find("architecture"); machine != json.end()) {
    if (!machine->is_string()) return wrong("names an architecture that is not a text.");
    std::string said = *machine;
    if (plain_machine(said) != file.machine)
      return wrong("says architecture " + said + ", the file is built for " + file.machine +
                   ". Put the manifest of this build beside it.");
  }
  if (auto hash = json.find("sha256"); hash != json.end()) {
    if (!hash->is_string()) return wrong("holds a \"sha256\" that is not a text.");
    std::string said = *hash, found = sha256_of(path);
    std::transform(said.begin(), said.end(), said.begin(), [](unsigned char c) { return tolower(c); });
    if (said != found)
      return wrong("says sha256 " + said + ", the file has " + (found.empty() ? "not been readable" : found) +
                   ": it was changed or damaged. Install it again.");
  }
  if (auto depends = json.find("depends"); depends != json.end()) {
    if (!depends->is_array()) return wrong("says no list: \"depends\" has to be an array of library names.");
    for (const auto& library : *depends) {
      if (!library.is_string()) return wrong("names a dependency that is not a text.");
      void* handle = dlopen(library.get<std::string>().c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (!handle) return wrong("needs " + library.get<std::string>() + ", which is not installed.");
    }
  }
  return {};
}

}  // namespace oarlock
