#include "core/device/layer/replay_memory.h"

#include <algorithm>
#include <cstring>

#include <oarlock/base/dtype.h>

namespace oarlock::layer {

std::shared_ptr<char> Budget::take(uint64_t size) {
  if (size > limit_ - *used_) return nullptr;
  uint64_t room = (size + 64 + 63) / 64 * 64;
  char* p = static_cast<char*>(std::aligned_alloc(64, room));
  if (!p) return nullptr;
  std::memset(p, 0, room);
  *used_ += size;
  return std::shared_ptr<char>(p, [used = used_, size](char* q) {
    *used -= size;
    std::free(q);
  });
}

void Ranges::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second >= begin) --it;
  while (it != ranges_.end() && it->first <= end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->second);
    it = ranges_.erase(it);
  }
  ranges_[begin] = end;
}

void Ranges::remove(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second > begin) --it;
  while (it != ranges_.end() && it->first < end) {
    auto [b, e] = *it;
    it = ranges_.erase(it);
    if (b < begin) ranges_[b] = begin;
    if (e > end) ranges_[end] = e;
  }
}

bool Ranges::touches(uint64_t begin, uint64_t end) const {
  if (begin >= end) return false;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second > begin) return true;
  return it != ranges_.end() && it->first < end;
}

void ContentCache::put(uint64_t hash, std::string bytes) {
  if (bytes.size() > limit_ || bytes_.count(hash)) return;
  while (used_ + bytes.size() > limit_ && !order_.empty()) {
    used_ -= bytes_[order_.front()].size();
    bytes_.erase(order_.front());
    order_.pop_front();
  }
  used_ += bytes.size();
  order_.push_back(hash);
  bytes_.emplace(hash, std::move(bytes));
}

const std::string* ContentCache::get(uint64_t hash, uint64_t size) const {
  auto it = bytes_.find(hash);
  return it != bytes_.end() && it->second.size() == size ? &it->second : nullptr;
}

void make_up(uint64_t seed, uint32_t dtype, void* bytes, uint64_t size) {
  uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;
  auto next = [&] {  // splitmix64
    uint64_t z = (x += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  auto fill = [&](auto sample) {
    using T = decltype(sample(uint64_t()));
    auto to = static_cast<char*>(bytes);
    for (uint64_t i = 0; i + sizeof(T) <= size; i += sizeof(T)) {
      T v = sample(next());
      std::memcpy(to + i, &v, sizeof v);
    }
  };
  switch (DType(dtype)) {
    case DType::f32:
    case DType::c64: return fill([](uint64_t r) { return float(int64_t(r >> 40)) * 0x1p-23f - 1.0f; });
    case DType::f64:
    case DType::c128: return fill([](uint64_t r) { return double(r >> 11) * 0x1p-52 - 1.0; });
    case DType::f16: return fill([](uint64_t r) { return uint16_t((r & 0x83ff) | 0x3800); });   // 0.5 to 1, either sign
    case DType::bf16: return fill([](uint64_t r) { return uint16_t((r & 0x807f) | 0x3f00); });  // the same
    case DType::boolean: return fill([](uint64_t r) { return uint8_t(r & 1); });
    case DType::i16:
    case DType::u16: return fill([](uint64_t r) { return uint16_t(r & 1); });
    case DType::i32:
    case DType::u32: return fill([](uint64_t r) { return uint32_t(r & 1); });
    case DType::i64:
    case DType::u64: return fill([](uint64_t r) { return uint64_t(r & 1); });
    default: return fill([](uint64_t r) { return uint8_t(r & 1); });
  }
}

}  // namespace oarlock::layer
