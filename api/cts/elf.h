// What a plugin's file says about itself, read without running any of it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace oarlock::cts {

struct ElfFile {
  std::string problem;                // why it can't be read; everything else is empty then
  uint16_t machine = 0;               // EM_X86_64, EM_AARCH64 ..
  std::vector<std::string> exported;  // defined, global or weak, default visibility
  std::vector<std::string> undefined;
  std::vector<std::string> needed;  // DT_NEEDED
  bool has_note = false;
  uint32_t abi_min = 0, abi_max = 0;  // of the note "Oarlock"
};
ElfFile read_elf(const std::string& path);
// The machine that this program runs on, as in ElfFile::machine.
uint16_t own_machine();

}  // namespace oarlock::cts
