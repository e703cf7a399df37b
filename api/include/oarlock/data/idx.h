// IDX files, the format of MNIST and its relatives: 00 00 type rank, rank big-endian u32 sizes, then big-endian elements.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include <oarlock/base/tensor.h>

namespace oarlock::data {

// Reads a plain or gzip-compressed IDX file of u8, i8, i16, i32, f32 or f64 into host memory. Throws Error (bad data):
// a wrong magic, an unknown type, more than kMaxRank sizes, fewer or more bytes than the header says; nothing is allocated
// that the file's own length doesn't vouch for.
OAR_EXPORT Tensor read_idx(const std::string& path);
// The same from memory; `name` is for messages.
OAR_EXPORT Tensor parse_idx(std::span<const std::byte> bytes, const std::string& name = "IDX");

}  // namespace oarlock::data
