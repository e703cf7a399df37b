#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/device/loader.h"

namespace oarlock {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t kMachine = EM_RISCV;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

const char* machine_name(uint16_t m) {
  switch (m) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i386";
    case EM_ARM: return "arm";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    default: return "another architecture";
  }
}

struct Mapping {
  const unsigned char* data = nullptr;
  size_t size = 0;
  ~Mapping() {
    if (data) munmap(const_cast<unsigned char*>(data), size);
  }
  // n objects of T at an offset, or null if they don't lie inside.
  template <class T>
  bool read(uint64_t at, T* out) const {
    if (at > size || size - at < sizeof(T)) return false;
    std::memcpy(out, data + at, sizeof(T));
    return true;
  }
};

struct Image {
  const Mapping& file;
  std::vector<Elf64_Phdr> segments;
  // Place in the file of a virtual address; UINT64_MAX: in none.
  uint64_t place(uint64_t address) const {
    for (const auto& p : segments)
      if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
        return p.p_offset + (address - p.p_vaddr);
    return UINT64_MAX;
  }
  std::string text(uint64_t at) const {
    std::string s;
    for (; at < file.size && file.data[at] && s.size() < 4096; ++at) s += char(file.data[at]);
    return s;
  }
};

void read_note(const Mapping& file, const Elf64_Phdr& p, PluginFile& out) {
  struct {
    uint32_t name_size, desc_size, type;
    char name[8];
    uint32_t abi_min, abi_max;
  } note;
  uint64_t at = p.p_offset, end = p.p_offset + p.p_filesz;
  for (int i = 0; i < 64 && at < end; ++i) {
    Elf64_Nhdr head;
    if (!file.read(at, &head)) return;
    if (head.n_namesz == 8 && head.n_descsz == 8 && head.n_type == 1 && file.read(at, &note) &&
        !std::memcmp(note.name, "Oarlock", 8)) {
      out.has_note = true;
      out.abi_min = note.abi_min;
      out.abi_max = note.abi_max;
      return;
    }
    at += sizeof head + ((uint64_t(head.n_namesz) + 3) & ~uint64_t(3)) + ((uint64_t(head.n_descsz) + 3) & ~uint64_t(3));
  }
}

// Symbols are counted from the hash table: the dynamic section has no count of them.
uint64_t symbol_count(const Image& image, uint64_t hash, uint64_t gnu_hash) {
  uint32_t head[4];
  if (hash != UINT64_MAX && image.file.read(hash, &head)) return head[1];
  if (gnu_hash == UINT64_MAX || !image.file.read(gnu_hash, &head)) return 0;
  uint64_t buckets = gnu_hash + 16 + uint64_t(head[2]) * 8, last = 0;
  for (uint32_t i = 0; i < head[0] && i < 1u << 20; ++i) {
    uint32_t b = 0;
    if (!image.file.read(buckets + i * 4, &b)) return 0;
    last = std::max<uint64_t>(last, b);
  }
  if (last < head[1]) return head[1];
  uint64_t chain = buckets + uint64_t(head[0]) * 4;
  for (uint32_t link = 0; image.file.read(chain + (last - head[1]) * 4, &link); ++last)
    if (link & 1) return last + 1;
  return 0;
}

void read_dynamic(const Image& image, const Elf64_Phdr& p, PluginFile& out) {
  uint64_t strings = UINT64_MAX, symbols = UINT64_MAX, hash = UINT64_MAX, gnu_hash = UINT64_MAX;
  std::vector<uint64_t> needed;
  Elf64_Dyn d;
  for (uint64_t at = p.p_offset; at < p.p_offset + p.p_filesz && image.file.read(at, &d) && d.d_tag != DT_NULL;
       at += sizeof d) {
    if (d.d_tag == DT_STRTAB) strings = image.place(d.d_un.d_ptr);
    if (d.d_tag == DT_SYMTAB) symbols = image.place(d.d_un.d_ptr);
    if (d.d_tag == DT_HASH) hash = image.place(d.d_un.d_ptr);
    if (d.d_tag == DT_GNU_HASH) gnu_hash = image.place(d.d_un.d_ptr);
    if (d.d_tag == DT_NEEDED) needed.push_back(d.d_un.d_val);
  }
  if (strings == UINT64_MAX) return;
  for (uint64_t n : needed) out.needed.push_back(image.text(strings + n));
  if (symbols == UINT64_MAX) return;
  uint64_t n = std::min<uint64_t>(symbol_count(image, hash, gnu_hash), 1u << 20);
  Elf64_Sym s;
  for (uint64_t i = 1; i < n && image.file.read(symbols + i * sizeof s, &s); ++i) {
    int bind = ELF64_ST_BIND(s.st_info), visibility = ELF64_ST_VISIBILITY(s.st_other);
    if (s.st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK) && visibility != STV_HIDDEN)
      out.exports.push_back(image.text(strings + s.st_name));
  }
}

}  // namespace

Result<PluginFile> inspect_plugin_file(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status(Code::bad_data, "the file can't be opened: " + std::string(std::strerror(errno)));
  struct stat st {};
  Mapping file;
  if (fstat(fd, &st) == 0 && st.st_size > 0) {
    void* p = mmap(nullptr, size_t(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (p != MAP_FAILED) file.data = static_cast<unsigned char*>(p), file.size = size_t(st.st_size);
  }
  close(fd);
  Elf64_Ehdr head;
  if (!file.data || !file.read(0, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return Status(Code::bad_data, "it is not a shared library (no ELF header).");
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_machine != kMachine)
    return Status(Code::bad_data, std::string("it is built for ") + machine_name(head.e_machine) +
                                      ", this process is " + machine_name(kMachine) +
                                      ". Get the vendor's build for this machine.");
  if (head.e_type != ET_DYN) return Status(Code::bad_data, "it is not a shared library (its ELF type is another).");
  Image image{file, {}};
  for (uint32_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr p;
    if (!file.read(head.e_phoff + uint64_t(i) * sizeof p, &p))
      return Status(Code::bad_data, "the file is cut short (its program headers are not in it). Copy it again.");
    if (p.p_type == PT_LOAD && (p.p_offset > file.size || p.p_filesz > file.size - p.p_offset))
      return Status(Code::bad_data, "the file is cut short: it has " + std::to_string(file.size) +
                                        " bytes, a segment ends at " + std::to_string(p.p_offset + p.p_filesz) +
                                        ". Copy it again.");
    image.segments.push_back(p);
  }
  PluginFile out;
  out.machine = machine_name(head.e_machine);
  for (const auto& p : image.segments) {
    if (p.p_type == PT_NOTE && !out.has_note && p.p_offset <= file.size && p.p_filesz <= file.size - p.p_offset)
      read_note(file, p, out);
    if (p.p_type == PT_DYNAMIC && p.p_offset <= file.size && p.p_filesz <= file.size - p.p_offset)
      read_dynamic(image, p, out);
  }
  return out;
}

}  // namespace oarlock
