// A size for each axis, or one for all of them.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <oarlock/types.h>

namespace oarlock::nn {

// 3, {3, 5} or a vector.
class OAR_EXPORT Sizes {
 public:
  Sizes(int64_t all) : list_{all} {}
  Sizes(int all) : list_{all} {}
  Sizes(std::initializer_list<int64_t> each) : list_(each) {}
  Sizes(std::vector<int64_t> each) : list_(std::move(each)) {}
  const std::vector<int64_t>& list() const { return list_; }
  // n of them. Throws Error, named after who and what, unless there is 1 or n, each at least `least`.
  std::vector<int64_t> of(int n, const std::string& who, const char* what, int64_t least) const;

 private:
  std::vector<int64_t> list_;
};

// Zeros around each axis: one size for all, one for each axis (both ends), two for each axis ({top, bottom, left, right}),
// or "same" (stride 1: as many elements come out as go in; the odd one at the end) or "valid" (none).
class OAR_EXPORT Padding {
 public:
  Padding(int64_t all) : sizes_(all) {}
  Padding(int all) : sizes_(all) {}
  Padding(std::initializer_list<int64_t> each) : sizes_(each) {}
  Padding(std::vector<int64_t> each) : sizes_(std::move(each)) {}
  Padding(const char* mode) : sizes_(0), mode_(mode) {}
  Padding(std::string mode) : sizes_(0), mode_(std::move(mode)) {}
  struct Ends {
    std::vector<int64_t> begin, end;
    bool any() const;
    bool even() const { return begin == end; }
    std::vector<int64_t> all() const;  // beginnings, then ends
  };
  // For a window of that kernel; throws Error.
  Ends ends(const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
            const std::vector<int64_t>& dilation, const std::string& who) const;
  const std::string& mode() const { return mode_; }

 private:
  Sizes sizes_;
  std::string mode_;
};

}  // namespace oarlock::nn
