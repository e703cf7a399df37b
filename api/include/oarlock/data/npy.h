// NumPy's .npy and .npz files (numpy/lib/format: versions 1.0, 2.0 and 3.0).
//
// Read: bool, i8-i64, u8-u64, f16, f32, f64, c64, c128 of either byte order, C or Fortran order; the tensor is native and
// row-major. Refused with a reason: objects (they are pickled programs), structures, text, dates. Nothing is allocated
// that the file's own length doesn't vouch for.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock::data {

// Throw Error (bad data): no such file, truncation, bytes beyond the data, a header that disagrees with itself.
OAR_EXPORT Tensor read_npy(const std::string& path);
OAR_EXPORT Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name = "npy");
// Version 1.0, little-endian, C order; from any device. Written beside the target, then renamed over it. Throws Error:
// bf16 and other dtypes that NumPy lacks, a disk that is full.
OAR_EXPORT void write_npy(const std::string& path, const Tensor& x);
OAR_EXPORT std::string format_npy(const Tensor& x);  // the file's bytes

// Members in the archive's order, without their ".npy". Stored or deflated; zip64. Encrypted members, several disks and
// duplicate names are errors, and so is a member whose CRC-32 is wrong.
OAR_EXPORT std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path);
OAR_EXPORT std::vector<std::pair<std::string, Tensor>> parse_npz(std::span<const std::byte> bytes,
                                                                 const std::string& name = "npz");
// Stored, not compressed. At most 65535 members and 4 GiB in all.
OAR_EXPORT void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& members);

}  // namespace oarlock::data
