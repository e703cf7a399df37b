// A reader of 64-bit little-endian ELF that believes no offset.
#include "api/cts/elf.h"

#include <elf.h>
#include <string.h>

#include <fstream>
#include <iterator>

namespace oarlock::cts {

namespace {

class Bytes {
 public:
  explicit Bytes(std::string data) : data_(std::move(data)) {}
  template <class T>
  bool read(uint64_t at, T& out_value) const {
    if (at > data_.size() || data_.size() - at < sizeof(T)) return false;
    memcpy(&out_value, data_.data() + at, sizeof(T));
    return true;
  }
  std::string text(uint64_t at) const {
    if (at >= data_.size()) return {};
    return std::string(data_.data() + at, strnlen(data_.data() + at, data_.size() - at));
  }
  uint64_t size() const { return data_.size(); }

 private:
  std::string data_;
};

void read_note(const Bytes& file, uint64_t at, uint64_t size, ElfFile& out_elf) {
  for (uint64_t end = at + size; at + sizeof(Elf64_Nhdr) <= end;) {
    Elf64_Nhdr head;
    if (!file.read(at, head)) return;
    uint64_t name = at + sizeof(head), body = name + ((uint64_t(head.n_namesz) + 3) & ~3ull);
    uint32_t range[2];
    if (head.n_namesz == 8 && file.text(name) == "Oarlock" && head.n_type == 1 && head.n_descsz >= 8 &&
        file.read(body, range)) {
      out_elf.has_note = true;
      out_elf.abi_min = range[0];
      out_elf.abi_max = range[1];
    }
    at = body + ((uint64_t(head.n_descsz) + 3) & ~3ull);
  }
}

}  // namespace

uint16_t own_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#elif defined(__riscv)
  return EM_RISCV;
#else
  return EM_NONE;
#endif
}

ElfFile read_elf(const std::string& path) {
  ElfFile elf;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return elf.problem = "can't be opened", elf;
  Bytes file(std::string(std::istreambuf_iterator<char>(stream), {}));
  Elf64_Ehdr head;
  if (!file.read(0, head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return elf.problem = "is no ELF file", elf;
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
    return elf.problem = "is not 64-bit little-endian", elf;
  if (head.e_type != ET_DYN) return elf.problem = "is no shared library", elf;
  elf.machine = head.e_machine;

  std::vector<Elf64_Phdr> segments;
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr p;
    if (!file.read(head.e_phoff + uint64_t(i) * head.e_phentsize, p)) return elf.problem = "is cut off", elf;
    if (p.p_type == PT_LOAD && (p.p_offset > file.size() || p.p_filesz > file.size() - p.p_offset))
      return elf.problem = "is shorter than its segments", elf;
    if (p.p_type == PT_NOTE) read_note(file, p.p_offset, p.p_filesz, elf);
    segments.push_back(p);
  }
  for (int i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr s, names;
    if (!file.read(head.e_shoff + uint64_t(i) * head.e_shentsize, s)) break;  // stripped of sections: no fault
    if (s.sh_type != SHT_DYNSYM && s.sh_type != SHT_DYNAMIC) continue;
    if (!file.read(head.e_shoff + uint64_t(s.sh_link) * head.e_shentsize, names)) continue;
    uint64_t entry = s.sh_type == SHT_DYNSYM ? sizeof(Elf64_Sym) : sizeof(Elf64_Dyn);
    for (uint64_t at = s.sh_offset; at + entry <= s.sh_offset + s.sh_size; at += entry) {
      if (s.sh_type == SHT_DYNAMIC) {
        Elf64_Dyn d;
        if (!file.read(at, d)) break;
        if (d.d_tag == DT_NEEDED) elf.needed.push_back(file.text(names.sh_offset + d.d_un.d_val));
        continue;
      }
      Elf64_Sym symbol;
      if (!file.read(at, symbol)) break;
      std::string name = file.text(names.sh_offset + symbol.st_name);
      int bind = ELF64_ST_BIND(symbol.st_info), seen = ELF64_ST_VISIBILITY(symbol.st_other);
      if (name.empty() || bind == STB_LOCAL) continue;
      if (symbol.st_shndx == SHN_UNDEF) elf.undefined.push_back(name);
      else if ((seen == STV_DEFAULT || seen == STV_PROTECTED) && symbol.st_shndx != SHN_ABS)
        elf.exported.push_back(name);
    }
  }
  return elf;
}

}  // namespace oarlock::cts
