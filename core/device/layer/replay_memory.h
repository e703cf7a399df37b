// What replay knows of memory: buffers that stand in for the host's, allocations of the plugin, and which stretches of
// either hold made-up contents.
#pragma once
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock::layer {

// Host memory with a limit over all of it. Zeroed, 64-byte aligned, with spare bytes for kernels that read whole vectors.
class Budget {
 public:
  explicit Budget(uint64_t limit) : limit_(limit) {}
  std::shared_ptr<char> take(uint64_t size);  // null: over the limit

 private:
  uint64_t limit_;
  std::shared_ptr<uint64_t> used_ = std::make_shared<uint64_t>(0);
};

// Byte ranges; the union of what was added.
class Ranges {
 public:
  void add(uint64_t begin, uint64_t end);
  void remove(uint64_t begin, uint64_t end);
  bool touches(uint64_t begin, uint64_t end) const;

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin to end
};

// Memory of the plugin, by the address that the recording has for it.
struct Allocation {
  void* data = nullptr;  // now
  uint64_t size = 0;
  bool addressable = false;  // addresses inside it are meaningful
  Ranges made_up;
};

// Contents of large outputs, so that later calls that read them need no made-up ones. The oldest go first.
class ContentCache {
 public:
  explicit ContentCache(uint64_t limit) : limit_(limit) {}
  void put(uint64_t hash, std::string bytes);
  const std::string* get(uint64_t hash, uint64_t size) const;

 private:
  uint64_t limit_, used_ = 0;
  std::deque<uint64_t> order_;
  std::unordered_map<uint64_t, std::string> bytes_;
};

// Repeatable contents for a payload that isn't there: small numbers in floating dtypes, zeros and ones in others, which are
// valid indices almost everywhere.
void make_up(uint64_t seed, uint32_t dtype, void* bytes, uint64_t size);

}  // namespace oarlock::layer
