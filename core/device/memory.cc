#include "core/device/memory.h"

#include <bit>
#include <string>

#include "core/base/settings.h"

namespace oarlock {

SizeClass size_class(uint64_t bytes) {
  if (bytes <= 64) return {0, 64};
  uint64_t step = std::bit_floor(bytes - 1) / 4;
  if (step < 64) step = 64;  // every block begins on 64 bytes
  uint64_t size = (bytes + step - 1) / step * step;
  uint32_t power = uint32_t(std::bit_width(size - 1));  // 2^(power-1) < size <= 2^power
  uint64_t base = uint64_t(1) << (power - 1);
  return {(power - 7) * 4 + uint32_t((size - base) / (base / 4)), size};
}

Result<Block> BlockCache::allocate(uint64_t size_bytes, Stream* stream) {
  if (size_bytes == 0) return Block{};
  if (size_bytes > (uint64_t(1) << 60))
    return Status(Code::out_of_memory,
                  "memory: " + std::to_string(size_bytes) + " bytes are more than any device has.");
  SizeClass c = size_class(size_bytes);
  std::lock_guard hold(lock_);
  Key key{stream, c.index};
  Block block;
  if (auto it = free_.find(key); it != free_.end() && !it->second.empty()) {
    block = it->second.back();
    it->second.pop_back();
    cached_ -= block.size_bytes;
  } else {
    OAR_TRY(refill(key, c.size_bytes, &block));
  }
  ++allocations_;
  in_use_ += block.size_bytes;
  if (in_use_ > peak_) peak_ = in_use_;
  mark_used(block, size_bytes);
  return block;
}

Status BlockCache::refill(const Key& key, uint64_t size_bytes, Block* out) {
  bool small = size_bytes <= kCut;
  uint64_t want = small ? kChunk : size_bytes;
  Block chunk;
  Status s = system_allocate(want, &chunk);
  if (!s.ok()) {  // what is cached may be enough
    trim_locked();
    s = system_allocate(want, &chunk);
    if (!s.ok()) {
      if (s.code() == Code::out_of_memory)
        return {Code::out_of_memory, std::string(s.text()) + " In use are " + std::to_string(in_use_) + " bytes."};
      return s;
    }
  }
  ++system_allocations_;
  reserved_ += want;
  if (!small) {
    *out = chunk;
    out->size_bytes = size_bytes;
    return {};
  }
  auto& list = free_[key];
  uint64_t n = kChunk / size_bytes;
  for (uint64_t i = n; i-- > 0;) {
    Block b = cut(chunk, i * size_bytes, size_bytes);
    mark_free(b);
    if (i == 0) {
      *out = b;
    } else {
      list.push_back(b);
      cached_ += size_bytes;
    }
  }
  return {};
}

void BlockCache::free(const Block& block, Stream* stream) {
  if (block.size_bytes == 0) return;
  std::lock_guard hold(lock_);
  in_use_ -= block.size_bytes;
  mark_free(block);
  free_[{stream, size_class(block.size_bytes).index}].push_back(block);
  cached_ += block.size_bytes;
  if (cached_ > uint64_t(setting::cache_limit.load(std::memory_order_relaxed)) && block.size_bytes > kCut)
    trim_locked();
}

void BlockCache::trim_locked() {
  for (auto& [key, list] : free_) {
    if (list.empty() || list.front().size_bytes <= kCut) continue;  // pieces of chunks stay
    for (const Block& b : list) {
      cached_ -= b.size_bytes;
      reserved_ -= b.size_bytes;
      system_free(b);
    }
    list.clear();
  }
}
void BlockCache::trim() {
  std::lock_guard hold(lock_);
  trim_locked();
}

MemoryStats BlockCache::stats() {
  std::lock_guard hold(lock_);
  return {in_use_, peak_, reserved_, allocations_, system_allocations_};
}
void BlockCache::reset_peak() {
  std::lock_guard hold(lock_);
  peak_ = in_use_;
}

}  // namespace oarlock
