// Memory of a device: what the driver or the system gives in chunks, kept for reuse: small blocks in size classes; large
// ones of an addressable host cut to measure from arenas, where neighbours that are free become one again, so that what a
// forward pass leaves serves the gradients of other sizes.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
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
  // Bytes of an arena that blocks above kCut are cut from; 0: they are chunks of their own, in classes.
  virtual uint64_t arena_bytes() const { return 0; }
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
  // A stretch of an arena that nobody uses, and the stream after which it is free.
  struct Range {
    uint64_t size_bytes;
    Stream* stream;
  };
  struct Arena {
    Block chunk;
    std::map<uint64_t, Range> free;  // by where they begin; neighbours of one stream are one
  };
  struct Place {
    Arena* arena;
    uint64_t at;
  };
  using Fit = std::tuple<Stream*, uint64_t, Arena*, uint64_t>;  // size and place of a free range
  bool is_large(uint64_t size_bytes) const { return size_bytes > kCut && arena_bytes() != 0; }
  Status arena_open(uint64_t size_bytes, Stream* stream);
  Status arena_take(uint64_t size_bytes, Stream* stream, Block* out);
  void arena_give(const Block& block, Stream* stream);
  Status refill(const Key& key, uint64_t size_bytes, Block* out);
  void trim_locked();

  std::mutex lock_;
  std::unordered_map<Key, std::vector<Block>, Hash> free_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::set<Fit> fits_;
  std::unordered_map<void*, Place> large_;  // the arenas' blocks in use, by data
  uint64_t cached_ = 0, in_use_ = 0, peak_ = 0, reserved_ = 0, allocations_ = 0, system_allocations_ = 0;
};

}  // namespace oarlock
