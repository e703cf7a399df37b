#include "core/device/memory.h"

#include <algorithm>
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
  if (is_large(c.size_bytes)) {
    OAR_TRY(arena_take((size_bytes + 4095) & ~uint64_t(4095), stream, &block));
  } else if (auto it = free_.find(key); it != free_.end() && !it->second.empty()) {
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

Status BlockCache::arena_open(uint64_t size_bytes, Stream* stream) {
  // What is short of an arena may do, and what is cached may be enough.
  Block chunk;
  Status s = system_allocate(std::max(size_bytes, arena_bytes()), &chunk);
  if (!s.ok()) s = system_allocate(size_bytes, &chunk);
  if (!s.ok()) {
    trim_locked();
    s = system_allocate(size_bytes, &chunk);
  }
  if (!s.ok()) {
    if (s.code() != Code::out_of_memory) return s;
    return {Code::out_of_memory, std::string(s.text()) + " In use are " + std::to_string(in_use_) + " bytes."};
  }
  ++system_allocations_;
  reserved_ += chunk.size_bytes;
  cached_ += chunk.size_bytes;
  mark_free(chunk);
  Arena* arena = arenas_.emplace_back(std::make_unique<Arena>()).get();
  arena->chunk = chunk;
  arena->free[0] = {chunk.size_bytes, stream};
  fits_.insert({stream, chunk.size_bytes, arena, 0});
  return {};
}

// The smallest free range that holds it.
Status BlockCache::arena_take(uint64_t size_bytes, Stream* stream, Block* out) {
  auto fit = fits_.lower_bound({stream, size_bytes, nullptr, 0});
  if (fit == fits_.end() || std::get<0>(*fit) != stream) {
    OAR_TRY(arena_open(size_bytes, stream));
    fit = fits_.lower_bound({stream, size_bytes, nullptr, 0});
  }
  auto [owner, room, arena, at] = *fit;
  fits_.erase(fit);
  arena->free.erase(at);
  if (room > size_bytes) {
    arena->free[at + size_bytes] = {room - size_bytes, stream};
    fits_.insert({stream, room - size_bytes, arena, at + size_bytes});
  }
  *out = cut(arena->chunk, at, size_bytes);
  large_[out->data] = {arena, at};
  cached_ -= size_bytes;
  return {};
}

void BlockCache::arena_give(const Block& block, Stream* stream) {
  auto place = large_.find(block.data);
  Arena* arena = place->second.arena;
  uint64_t at = place->second.at;
  large_.erase(place);
  uint64_t size = block.size_bytes;
  auto join = [&](std::map<uint64_t, Range>::iterator other) {
    fits_.erase({stream, other->second.size_bytes, arena, other->first});
    size += other->second.size_bytes;
    return arena->free.erase(other);
  };
  auto next = arena->free.lower_bound(at);
  if (next != arena->free.end() && next->first == at + size && next->second.stream == stream) next = join(next);
  if (next != arena->free.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second.size_bytes == at && before->second.stream == stream) {
      at = before->first;
      join(before);
    }
  }
  arena->free[at] = {size, stream};
  fits_.insert({stream, size, arena, at});
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
  if (is_large(block.size_bytes)) arena_give(block, stream);
  else free_[{stream, size_class(block.size_bytes).index}].push_back(block);
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
  std::erase_if(arenas_, [&](std::unique_ptr<Arena>& arena) {
    uint64_t unused = 0;
    for (auto& [at, range] : arena->free) unused += range.size_bytes;
    if (unused != arena->chunk.size_bytes) return false;
    for (auto& [at, range] : arena->free) fits_.erase({range.stream, range.size_bytes, arena.get(), at});
    cached_ -= unused;
    reserved_ -= unused;
    system_free(arena->chunk);
    return true;
  });
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
