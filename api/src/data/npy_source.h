// The bytes of one npy file, plain or a member of an archive.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>

#include <oarlock/base/tensor.h>

#include "api/src/data/file.h"

namespace oarlock::data {

struct NpySource {
  Bytes bytes;
  uint64_t left = 0;  // what a header claims is held against it
  // Fills `to` as far as there is.
  uint64_t read(void* to, uint64_t n) {
    n = std::min(n, left);
    if (n) std::memcpy(to, bytes.data(), n);
    bytes = bytes.subspan(n);
    left -= n;
    return n;
  }
};
// Reads all of it.
Tensor parse_npy(NpySource& in, const std::string& name);

}  // namespace oarlock::data
