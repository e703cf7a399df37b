// Weights and checkpoints in files of the safetensors format: a JSON header and raw row-major little-endian data, nothing
// that could run. Files of other frameworks read here and the other way round.
//
// Writing is atomic: into a new file in the same folder, flushed to the disk, then renamed over the old one. Whoever reads,
// and whoever is killed or finds the disk full meanwhile, has the old file or the new one, never a part. Reading believes
// nothing: sizes, places, names and text are checked first, and a file that is damaged gives an Error that says where.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <oarlock/named_tensors.h>

namespace oarlock {

// The header's "__metadata__": texts of your own.
using Metadata = std::map<std::string, std::string>;

// Any thread. Names are unique, not empty, UTF-8, and not "__metadata__". Dtypes: those that the format has: bool, integers
// of 8 to 64 bits, f16, bf16, f32, f64, c64, f8_e4m3, f8_e5m2, f8_e8m0. Tensors on a device are copied to the host. Throws
// Error: an unfit name or dtype, a folder that is not there, a full disk.
OAR_EXPORT void save(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});
// The same as bytes.
OAR_EXPORT std::vector<std::byte> save_to_memory(const NamedTensors& tensors, const Metadata& metadata = {});

struct LoadOptions {
  Device device{};
  // true: tensors on the host use the file's pages in place; what is written to them does not reach the file. The file
  // must not be cut or written in place while they live (a save over it is fine: that is another file). false: copies.
  bool map = true;
};
// All tensors, in the order of their data, which is how they were saved. Throws Error: no such file, or a damaged one.
OAR_EXPORT NamedTensors load(const std::string& path, const LoadOptions& options = {},
                             Metadata* out_metadata = nullptr);
OAR_EXPORT NamedTensors load_from_memory(std::span<const std::byte> bytes, Metadata* out_metadata = nullptr);

// A file opened for reading tensors one at a time. Any thread.
class OAR_EXPORT TensorFile {
 public:
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    uint64_t begin, end;  // bytes, from the start of the data
  };
  explicit TensorFile(const std::string& path);
  ~TensorFile();
  TensorFile(TensorFile&&) noexcept;
  const std::vector<Entry>& entries() const;
  const Metadata& metadata() const;
  // Throws Error naming what there is. See LoadOptions for map.
  Tensor read(std::string_view name, Device device = Device(), bool map = true) const;

 private:
  struct File;
  std::shared_ptr<File> file_;
};

// A training run in one file: named parts, each the state of something ("model", "optimizer", "sampler"), random states,
// and texts.
struct Checkpoint {
  std::vector<std::pair<std::string, NamedTensors>> parts;
  Metadata metadata;
  // The part of that name; throws Error naming those there are.
  const NamedTensors& part(std::string_view name) const;
};
// A part's tensor is saved as "part/name"; part names have no '/'. The state of default_generator() goes along and load_checkpoint sets
// it again unless restore_random is false.
OAR_EXPORT void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
OAR_EXPORT Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options = {.map = false},
                                      bool restore_random = true);

}  // namespace oarlock
