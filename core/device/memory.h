// Memory of a device: what the driver or the system gives in chunks, kept in size classes for reuse.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <oarlock/base/device.h>
#include <oarlock/base/status.h>

namespace oarlock {

struct Stream;

// A stretch of device memory. In an addressable space data already includes the offset and byte_offset is 0.
struct Block {
  void* data = nullptr;
  uint64_t byte_offset = 0;
  uint64_t size_bytes = 0;  // what it really holds
};

// Sizes are rounded up to a class: multiples of 64 bytes, four between one power of two and the next; from 320 bytes on at
// most a fifth is lost.
struct SizeClass {
  uint32_t index;
  uint64_t size_bytes;
};
SizeClass size_class(uint64_t bytes);

// Blocks that nobody uses, by class and by the stream after which they are free. Any thread.
class BlockCache {
 public:
  virtual ~BlockCache() = default;
  // size_bytes 0 gives an empty block. stream: whose work will use it first (null on the host).
  Result<Block> allocate(uint64_t size_bytes, Stream* stream);
  void free(const Block& block, Stream* stream);
  void trim();  // gives back what can be given back
  MemoryStats stats();
  void reset_peak();

 protected:
  // Below this, blocks are cut from chunks of kChunk bytes.
  static constexpr uint64_t kChunk = 2u << 20, kCut = 512u << 10;
  virtual Status system_allocate(uint64_t size_bytes, Block* out) = 0;
  virtual void system_free(const Block& block) = 0;
  virtual Block cut(const Block& chunk, uint64_t at, uint64_t size_bytes) const = 0;
  // Host only: readable by a sanitizer.
  virtual void mark_free(const Block&) {}
  virtual void mark_used(const Block&, uint64_t) {}

 private:
  struct Key {
    Stream* stream;
    uint32_t size_class;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return (size_t(k.stream) >> 4) * 31 + k.size_class; }
  };
  Status refill(const Key& key, uint64_t size_bytes, Block* out);
  void trim_locked();

  std::mutex lock_;
  std::unordered_map<Key, std::vector<Block>, Hash> free_;
  uint64_t cached_ = 0, in_use_ = 0, peak_ = 0, reserved_ = 0, allocations_ = 0, system_allocations_ = 0;
};

}  // namespace oarlock
