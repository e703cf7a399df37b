#include <oarlock/save.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/src/save/atomic_file.h"
#include "api/src/save/header.h"

namespace oarlock {
namespace {

// What a file is made of; tensors are kept while their bytes are.
struct Content {
  std::string header;
  std::vector<Tensor> tensors;
  std::vector<std::span<const std::byte>> pieces;
};
Content content_of(const NamedTensors& named, const Metadata& metadata) {
  std::vector<size_t> order(named.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (auto& [name, tensor] : named)
    if (!tensor.defined()) throw Error(Code::invalid_argument, "save: \"" + name + "\" has no value. Leave it out.");
  // Wide dtypes first, so that every tensor lies at a multiple of its element and can be mapped.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return info(named[a].second.dtype()).bits > info(named[b].second.dtype()).bits;
  });
  Content c;
  std::vector<TensorFile::Entry> entries;
  for (size_t i : order) entries.push_back({named[i].first, named[i].second.dtype(), named[i].second.shape(), 0, 0});
  c.header = safetensors::write_header(entries, metadata).take();
  c.pieces.push_back(std::as_bytes(std::span(c.header)));
  for (size_t k = 0; k < order.size(); ++k) {
    Tensor t = named[order[k]].second.detach().to(Device()).contiguous();
    uint64_t bytes = entries[k].end - entries[k].begin;
    if (bytes) c.pieces.push_back({static_cast<const std::byte*>(t.data()), size_t(bytes)});
    c.tensors.push_back(std::move(t));
  }
  return c;
}

// Copies from a file's bytes; a bool there may be any byte.
Tensor copied(const std::byte* at, const TensorFile::Entry& e, Device device) {
  if (e.dtype != DType::boolean) return Tensor::from_host(at, e.shape, e.dtype, device);
  std::vector<std::byte> bytes(at, at + (e.end - e.begin));
  for (std::byte& b : bytes) b = b == std::byte(0) ? b : std::byte(1);
  return Tensor::from_host(bytes.data(), e.shape, e.dtype, device);
}

Error at_path(const std::string& path, const Status& s) {
  return Error(s.code(), "load " + path + ": " + std::string(s.text()));
}

}  // namespace

struct TensorFile::File {
  std::string path;
  std::byte* data = nullptr;
  uint64_t size = 0;
  safetensors::Header header;
  ~File() {
    if (data) munmap(data, size);
  }
  const Entry& entry(std::string_view name) const {
    for (const Entry& e : header.entries)
      if (e.name == name) return e;
    std::string text = "load " + path + ": there is no tensor \"" + std::string(name) + "\"";
    for (size_t i = 0; i < header.entries.size() && i < 20; ++i)
      text += (i ? ", " : "; there are ") + header.entries[i].name;
    throw Error(Code::invalid_argument, text + (header.entries.size() > 20 ? " and more." : "."));
  }
};

void save(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  Content c = content_of(tensors, metadata);
  throw_if(replace_file(path, c.pieces));
}
std::vector<std::byte> save_to_memory(const NamedTensors& tensors, const Metadata& metadata) {
  Content c = content_of(tensors, metadata);
  std::vector<std::byte> out;
  for (auto piece : c.pieces) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

TensorFile::TensorFile(const std::string& path) : file_(std::make_shared<File>()) {
  auto failed = [&](const char* what) {
    return Error(Code::invalid_argument, "load " + path + ": " + what + ": " + std::strerror(errno) + ".");
  };
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw failed("can't open it");
  struct Close {
    int fd;
    ~Close() { close(fd); }
  } closing{fd};
  struct stat about {};
  if (fstat(fd, &about) != 0) throw failed("can't ask its size");
  if (!S_ISREG(about.st_mode)) throw Error(Code::invalid_argument, "load " + path + ": it is not a file.");
  file_->path = path;
  file_->size = uint64_t(about.st_size);
  if (file_->size) {
    // Private and writable: tensors may be written to, and the file stays as it is.
    void* p = mmap(nullptr, file_->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) throw failed("can't map it");
    file_->data = static_cast<std::byte*>(p);
  }
  Result<safetensors::Header> h = safetensors::read_header({file_->data, size_t(file_->size)}, file_->size);
  if (!h) throw at_path(path, h.status());
  file_->header = std::move(*h);
}
TensorFile::~TensorFile() = default;
TensorFile::TensorFile(TensorFile&&) noexcept = default;
const std::vector<TensorFile::Entry>& TensorFile::entries() const { return file_->header.entries; }
const Metadata& TensorFile::metadata() const { return file_->header.metadata; }

Tensor TensorFile::read(std::string_view name, Device device, bool map) const {
  const Entry& e = file_->entry(name);
  std::byte* at = file_->data + file_->header.data_begin + e.begin;
  bool aligned = reinterpret_cast<uintptr_t>(at) % std::max<size_t>(1, info(e.dtype).bits / 8) == 0;
  if (!map || !aligned || !device.is_host() || e.begin == e.end || e.dtype == DType::boolean)
    return copied(at, e, device);
  auto* keep = new std::shared_ptr<File>(file_);
  return Tensor::borrow(
      at, e.shape, e.dtype, nullptr, [](void* p) { delete static_cast<std::shared_ptr<File>*>(p); }, keep);
}

NamedTensors load(const std::string& path, const LoadOptions& options, Metadata* out_metadata) {
  TensorFile file(path);
  NamedTensors out;
  for (auto& e : file.entries()) out.emplace_back(e.name, file.read(e.name, options.device, options.map));
  if (out_metadata) *out_metadata = file.metadata();
  return out;
}
NamedTensors load_from_memory(std::span<const std::byte> bytes, Metadata* out_metadata) {
  safetensors::Header h = safetensors::read_header(bytes, bytes.size()).take();
  NamedTensors out;
  for (auto& e : h.entries) out.emplace_back(e.name, copied(bytes.data() + h.data_begin + e.begin, e, Device()));
  if (out_metadata) *out_metadata = std::move(h.metadata);
  return out;
}

}  // namespace oarlock
