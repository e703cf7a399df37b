// Whole files in memory, and inflating what zlib compressed, with bounds that hostile files can't move.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <oarlock/base/status.h>

struct z_stream_s;

namespace oarlock::data {

using Bytes = std::span<const std::byte>;

// Throws Error naming `who`, the path and the system's reason.
std::string read_file(const char* who, const std::string& path);
// Written beside the target, synced, renamed over it: a reader sees the old file or the new one.
void write_file(const char* who, const std::string& path, std::string_view bytes);

inline Bytes bytes_of(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }
inline bool is_gzip(Bytes b) { return b.size() >= 2 && b[0] == std::byte(0x1f) && b[1] == std::byte(0x8b); }

// Deflate makes at most 1032 bytes of one: what a header claims beyond that is not worth allocating for.
inline uint64_t most_inflated(uint64_t compressed) {
  return compressed > (uint64_t(1) << 50) ? UINT64_MAX : compressed * 1032 + 1024;
}

class Inflate {
 public:
  enum class Form { gzip, raw };  // gzip: also several members in a row
  Inflate(Bytes compressed, Form form);
  ~Inflate();
  Inflate(const Inflate&) = delete;
  // Fills `to` as far as there is; returns how many bytes. Damaged: Error(bad_data), its text is the reason alone.
  uint64_t read(void* to, uint64_t bytes);

 private:
  std::unique_ptr<z_stream_s> z_;
  Bytes left_;
  Form form_;
  bool end_ = false;
};

}  // namespace oarlock::data
