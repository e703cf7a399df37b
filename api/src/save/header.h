// The header of a safetensors file, read from bytes that nobody vouches for.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <oarlock/save.h>

namespace oarlock::safetensors {

inline constexpr uint64_t kMaxHeader = 100'000'000;

// The format's name of a dtype; null where it has none.
const char* dtype_name(DType t);

struct Header {
  std::vector<TensorFile::Entry> entries;  // in the order of their data
  Metadata metadata;
  uint64_t data_begin = 0;  // in the file
};
// file_bytes: of the whole file; head: at least its first 8 + length bytes, or all of a shorter file. Checks everything that
// the format says, so that every entry lies within the file.
Result<Header> read_header(std::span<const std::byte> head, uint64_t file_bytes);
// The eight bytes of the length, the JSON, and spaces up to a multiple of 64. Sets begin and end of the entries.
Result<std::string> write_header(std::vector<TensorFile::Entry>& entries, const Metadata& metadata);

}  // namespace oarlock::safetensors
