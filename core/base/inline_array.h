// A row of plain values whose length is set once; up to N of them need no allocation.
#pragma once
#include <cstddef>
#include <type_traits>

namespace oarlock {

template <class T, int N>
class InlineArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  InlineArray() = default;
  InlineArray(const InlineArray&) = delete;
  InlineArray& operator=(const InlineArray&) = delete;
  ~InlineArray() {
    if (data_ != few_) delete[] data_;
  }
  // Once, while empty.
  void resize(size_t n) {
    if (n > size_t(N)) data_ = new T[n]{};
    size_ = n;
  }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T few_[N]{};
  T* data_ = few_;
  size_t size_ = 0;
};

}  // namespace oarlock
