#include <oarlock/data/idx.h>

#include <cstring>
#include <functional>

#include "api/src/data/element_bytes.h"
#include "api/src/data/file.h"

namespace oarlock::data {
namespace {

DType dtype_of(unsigned code) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0B: return DType::i16;
    case 0x0C: return DType::i32;
    case 0x0D: return DType::f32;
    case 0x0E: return DType::f64;
    default: return DType::none;
  }
}

// read(to, n): fills as far as there is. most: bytes that the file can hold at all.
Tensor parse(const std::string& name, uint64_t most, const std::function<uint64_t(void*, uint64_t)>& read) {
  auto fail = [&](const std::string& text) { throw Error(Code::bad_data, "read_idx: " + name + " " + text); };
  unsigned char magic[4];
  if (read(magic, 4) != 4) fail("is cut short: an IDX file begins with 4 bytes of type and rank.");
  DType dtype = dtype_of(magic[2]);
  if (magic[0] || magic[1]) fail("is no IDX file: it does not begin with two zero bytes.");
  if (dtype == DType::none)
    fail("has elements of type " + std::to_string(magic[2]) + "; IDX knows 8, 9, 11, 12, 13 and 14.");
  int rank = magic[3];
  if (rank > kMaxRank)
    fail("has rank " + std::to_string(rank) + "; at most " + std::to_string(kMaxRank) + " are supported.");
  Shape shape;
  unsigned __int128 bytes = info(dtype).bits / 8;
  bool empty = false;
  for (int i = 0; i < rank; ++i) {
    unsigned char s[4];
    if (read(s, 4) != 4) fail("is cut short within its " + std::to_string(rank) + " sizes.");
    uint32_t size = uint32_t(s[0]) << 24 | uint32_t(s[1]) << 16 | uint32_t(s[2]) << 8 | s[3];
    shape.push(int64_t(size));
    empty |= size == 0;
    if (bytes <= most) bytes *= size;  // above, it only stays too large
  }
  if (empty) bytes = 0;
  if (bytes > most)
    fail("claims " + to_string(shape) + " elements of " + std::string(to_string(dtype)) +
         ", more than the file holds.");
  Tensor out = Tensor::empty(shape, dtype);
  uint64_t want = uint64_t(bytes);
  if (want) {
    uint64_t got = read(out.data(), want);
    if (got != want)
      fail("is cut short: " + to_string(shape) + " of " + std::string(to_string(dtype)) + " are " +
           std::to_string(want) + " bytes, it has " + std::to_string(got) + ".");
    swap_bytes(out.data(), want / (info(dtype).bits / 8), info(dtype).bits / 8);
  }
  char extra;
  if (read(&extra, 1)) fail("has bytes behind its " + to_string(shape) + " elements.");
  return out;
}

}  // namespace

Tensor parse_idx(std::span<const std::byte> bytes, const std::string& name) {
  if (!is_gzip(bytes)) {
    uint64_t at = 0;
    return parse(name, bytes.size(), [&](void* to, uint64_t n) {
      uint64_t take = std::min<uint64_t>(n, bytes.size() - at);
      if (take) std::memcpy(to, bytes.data() + at, take);
      at += take;
      return take;
    });
  }
  Inflate inflate(bytes, Inflate::Form::gzip);
  return parse(name, most_inflated(bytes.size()), [&](void* to, uint64_t n) {
    try {
      return inflate.read(to, n);
    } catch (const Error& e) { throw Error(e.code(), "read_idx: " + name + ": " + e.what() + "."); }
  });
}

Tensor read_idx(const std::string& path) {
  std::string all = read_file("read_idx", path);
  return parse_idx(bytes_of(all), path);
}

}  // namespace oarlock::data
