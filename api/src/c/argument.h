// What C functions are given, checked: each throws Error naming the function.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/app.h>
#include <oarlock/base/device.h>
#include <oarlock/base/tensor.h>

#include "api/src/c/handle.h"
#include "core/device/device.h"

namespace oarlock::c {

inline std::string_view view(oar_str_t s) { return s.data ? std::string_view(s.data, s.size) : std::string_view(); }

inline Tensor tensor(oar_tensor_t* handle, const char* function) {
  TensorImpl* t = handle ? find(handle) : nullptr;
  if (!t)
    throw Error(
        Code::invalid_argument,
        std::string(function) + (handle ? ": the tensor's handle is not alive; it was released, or never given out."
                                        : ": the tensor is NULL."));
  oarlock::detail::retain(t);
  return Tensor::adopt(t);
}
inline void need(const void* p, const char* function, const char* name) {
  if (!p) throw Error(Code::invalid_argument, std::string(function) + ": " + name + " is NULL.");
}
inline Device device(int32_t index, const char* function) {
  if (index < 0 || index >= device_count())
    throw Error(Code::invalid_argument, std::string(function) + ": there is no device " + std::to_string(index) +
                                            "; there are " + device_list() + ".");
  return Device(index);
}
inline Shape shape_of(int32_t rank, const int64_t* sizes, const char* function) {
  if (rank < 0 || rank > kMaxRank)
    throw Error(Code::invalid_argument, std::string(function) + ": rank " + std::to_string(rank) + " is not in 0.." +
                                            std::to_string(kMaxRank) + ".");
  if (rank) need(sizes, function, "shape");
  Shape s;
  for (int32_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0)
      throw Error(Code::invalid_argument, std::string(function) + ": size " + std::to_string(sizes[i]) + " of axis " +
                                              std::to_string(i) + " is negative; sizes are 0 or more.");
    s.push(sizes[i]);
  }
  return s;
}
inline DType dtype_of(uint32_t number, const char* function) {
  if (number == 0 || number >= 63 || info(DType(number)).bits == 0)
    throw Error(Code::invalid_argument,
                std::string(function) + ": dtype " + std::to_string(number) + " is none of OAR_DTYPE_.");
  return DType(number);
}
inline std::vector<Tensor> tensors(oar_tensor_t* const* handles, size_t n, const char* function, const char* name) {
  if (n) need(handles, function, name);
  std::vector<Tensor> all;
  for (size_t i = 0; i < n; ++i) all.push_back(handles[i] ? tensor(handles[i], function) : Tensor());
  return all;
}
// At most capacity bytes, ended by zero.
inline void write_text(std::string_view text, const char* function, char* buffer, size_t capacity, size_t* out_size) {
  if (capacity) {
    need(buffer, function, "buffer");
    size_t n = std::min(capacity - 1, text.size());
    std::memcpy(buffer, text.data(), n);
    buffer[n] = 0;
  }
  if (out_size) *out_size = text.size();
}

}  // namespace oarlock::c
