// Lists as parameters: of a braced list, a vector or a span, never copied. Only for parameters: a list lives as long as
// what it was made from.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace oarlock {

template <class T>
class ListOf {
 public:
  ListOf() = default;  // not given: where it may be left out, the default
  ListOf(std::initializer_list<T> l) : size_(l.size()), given_(true) { data_ = l.begin(); }
  ListOf(const std::vector<T>& v) : data_(v.data()), size_(v.size()), given_(true) {}
  ListOf(std::span<const T> v) : data_(v.data()), size_(v.size()), given_(true) {}
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool given() const { return given_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
  bool given_ = false;
};

class Tensor;
using Integers = ListOf<int64_t>;
using Reals = ListOf<double>;
using Tensors = ListOf<Tensor>;

}  // namespace oarlock
