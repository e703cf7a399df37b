// TensorBoard's event files: TFRecord frames (u64 length, masked CRC-32C of it, data, masked CRC-32C of the data; all
// little-endian) of tensorflow.Event messages.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <oarlock/types.h>

namespace oarlock {

// Castagnoli's CRC-32 (RFC 3720, section 12.1).
OAR_EXPORT uint32_t crc32c(std::string_view bytes);

// Appends to a new file "events.out.tfevents..." in a folder, which is made if it isn't there. One thread.
class OAR_EXPORT EventWriter {
 public:
  // Throws Error where the file can't be made.
  explicit EventWriter(const std::string& folder);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  // tag: "train/loss"; what stands before the slash groups charts. wall_time: seconds since 1970; negative: now.
  void add_scalar(std::string_view tag, int64_t step, double value, double wall_time = -1);
  // Hands what was added to the system; throws Error on a full disk.
  void flush();
  const std::string& path() const { return path_; }

 private:
  void record(const std::string& event);
  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace oarlock
