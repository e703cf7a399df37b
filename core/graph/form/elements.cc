// Elements of constants: as bytes, as decimals, and back.
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/graph/form/parts.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

constexpr int64_t kMaxDecimals = 16;

template <class T>
bool append_decimals(std::string& out, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T v;
    std::memcpy(&v, bytes.data() + at, sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
      T plain = std::copysign(std::numeric_limits<T>::quiet_NaN(), v);
      if (std::isnan(v) && std::memcmp(&plain, &v, sizeof(T)) != 0) return false;  // it carries a message
    }
    char text[64];
    char* end = std::to_chars(text, text + sizeof text, v).ptr;
    out += (at ? ", " : "") + std::string(text, end);
  }
  return true;
}

bool decimals(DType dtype, const std::string& bytes, std::string& out) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return append_decimals<uint8_t>(out, bytes);
    case DType::i8: return append_decimals<int8_t>(out, bytes);
    case DType::u16: return append_decimals<uint16_t>(out, bytes);
    case DType::i16: return append_decimals<int16_t>(out, bytes);
    case DType::u32: return append_decimals<uint32_t>(out, bytes);
    case DType::i32: return append_decimals<int32_t>(out, bytes);
    case DType::u64: return append_decimals<uint64_t>(out, bytes);
    case DType::i64: return append_decimals<int64_t>(out, bytes);
    case DType::f32: return append_decimals<float>(out, bytes);
    case DType::f64: return append_decimals<double>(out, bytes);
    default: return false;
  }
}

}  // namespace

Result<std::string> bytes_of(const Tensor& t) {
  try {
    Tensor host = t.detach().to(Device()).contiguous();
    uint64_t n = size_bytes(host.dtype(), uint64_t(count(host.shape())));
    return std::string(static_cast<const char*>(host.data()), n);
  } catch (const Error& e) { return Status(e.code(), e.what()); }
}

Result<Tensor> constant_of(std::string_view bytes, DType dtype, const Shape& shape) {
  for (Dim d : shape)
    if (!d.known()) return invalid("a constant of shape " + to_string(shape) + ". Constants have sizes in numbers");
  uint64_t n = uint64_t(count(shape));
  if (n > uint64_t(INT64_MAX) / 16 || size_bytes(dtype, n) != bytes.size())
    return invalid("a constant of " + std::string(to_string(dtype)) + to_string(shape) + " with " +
                   std::to_string(bytes.size()) + " bytes of elements");
  std::string clean(bytes);
  if (dtype == DType::boolean)
    for (char& c : clean) c = c != 0;
  try {
    return Tensor::from_host(clean.data(), shape, dtype);
  } catch (const Error& e) { return Status(e.code(), e.what()); }
}

Result<std::string> elements_text(const Tensor& t) {
  Result<std::string> bytes = bytes_of(t);
  if (!bytes) return bytes;
  std::string out;
  if (count(t.shape()) <= kMaxDecimals && decimals(t.dtype(), *bytes, out)) return "[" + out + "]";
  out = "x\"";
  for (char c : *bytes)
    for (int shift : {4, 0}) out += "0123456789abcdef"[static_cast<unsigned char>(c) >> shift & 15];
  return out + "\"";
}

}  // namespace oarlock::graph
