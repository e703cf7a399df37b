// What the fuzz targets share: a reader must answer any bytes with a value or an oarlock::Error, and nothing else.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock::fuzz {

// A file in memory that holds the bytes; readers open it by its path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* bytes, size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || (size && write(fd_, bytes, size) != ssize_t(size))) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Reads every element, so that a tensor that reaches past its memory is found.
inline void touch(const Tensor& x) {
  std::vector<uint8_t> bytes(size_bytes(x.dtype(), uint64_t(x.element_count())));
  x.copy_to_host(bytes.data());
}

template <class F>
int run(F&& read) {
  try {
    read();
  } catch (const Error&) {}
  return 0;
}

}  // namespace oarlock::fuzz
