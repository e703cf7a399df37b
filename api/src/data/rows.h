// Rows of host tensors, copied as bytes: gathering a batch and stacking samples take no op.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <oarlock/base/tensor.h>
#include <oarlock/data/random.h>

namespace oarlock::data {

// Bytes from one index of the first axis to the next; t is row-major, of rank 1 or more.
uint64_t row_bytes(const Tensor& t);
// Rows `indices` of a row-major host tensor. The indices are in range.
Tensor gather_rows(const Tensor& t, std::span<const int64_t> indices);
// 0..n-1 in random order (Fisher-Yates).
std::vector<int64_t> permutation(int64_t n, Random random);

}  // namespace oarlock::data
