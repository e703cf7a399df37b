#include "program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "device.h"

namespace oarlock::opencl {
namespace {

constexpr char kMagic[] = "oarlock opencl 1\n";

uint64_t hash(std::string_view text, uint64_t seed) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3u;
  return h ^ h >> 29;
}

const char* source_text(const char* name) {
  for (size_t i = 0; i < kSourceCount; ++i)
    if (std::strcmp(kSources[i].name, name) == 0) return kSources[i].text;
  throw kit::Error(OAR_INTERNAL, std::string("opencl: there is no kernels/") + name + ".cl");
}

bool make_folders(const std::string& path) {
  for (size_t at = 1; at <= path.size(); ++at)
    if (at == path.size() || path[at] == '/')
      if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
  return true;
}

bool read_file(const std::string& path, std::string* out) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char block[65536];
  ssize_t n;
  while ((n = read(file, block, sizeof(block))) > 0) out->append(block, static_cast<size_t>(n));
  close(file);
  return n == 0;
}

// What lies in the file: magic, sizes of key and binary, checksum of both, then they themselves.
struct Head {
  char magic[sizeof(kMagic) - 1];
  uint64_t key_size, binary_size, checksum;
};

}  // namespace

std::string default_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/oarlock/opencl";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/oarlock/opencl";
  return "";
}

Programs::Programs(const oar_host_t* host, cl_context context, cl_device_id device, std::string driver, bool has_f64,
                   std::string folder, std::string compiler_options)
    : host_(host),
      context_(context),
      device_(device),
      driver_(std::move(driver)),
      folder_(folder == "off" ? "" : std::move(folder)),
      compiler_options_(compiler_options.empty() ? "" : " " + compiler_options),
      has_f64_(has_f64) {}

Programs::~Programs() {
  for (auto& [name, kernel] : kernels_) cl().ReleaseKernel(kernel->handle);
  for (auto& [name, program] : programs_) cl().ReleaseProgram(program);
}

Kernel& Programs::get(const char* file, const std::string& options, const char* name) {
  const std::string program_key = std::string(file) + "\n" + options;
  std::string kernel_key = program_key + "\n" + name;
  std::lock_guard hold(lock_);
  auto found = kernels_.find(kernel_key);
  if (found != kernels_.end()) return *found->second;
  cl_program& program = programs_[program_key];
  if (program == nullptr) program = build(file, options);
  auto kernel = std::make_unique<Kernel>();
  cl_int code = CL_SUCCESS;
  kernel->handle = cl().CreateKernel(program, name, &code);
  if (code != CL_SUCCESS) fail(code, std::string("kernel ") + name + " of " + file + ".cl");
  return *kernels_.emplace(std::move(kernel_key), std::move(kernel)).first->second;
}

cl_program Programs::build(const char* file, const std::string& options) {
  std::string all = options + (has_f64_ ? " -D HAS_F64" : "") + compiler_options_;
  const std::string source = std::string(source_text("operand")) + source_text(file);
  const std::string key = all + "\n" + driver_ + "\n" + source;
  std::string path;
  if (!folder_.empty()) {
    char name[64];
    std::snprintf(name, sizeof(name), "/%016llx%016llx.bin", static_cast<unsigned long long>(hash(key, 1)),
                  static_cast<unsigned long long>(hash(key, 2)));
    path = folder_ + name;
    if (cl_program program = restore(path, key)) {
      ++restored_;
      return program;
    }
  }
  cl_int code = CL_SUCCESS;
  const char* text = source.c_str();
  cl_program program = cl().CreateProgramWithSource(context_, 1, &text, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  code = cl().BuildProgram(program, 1, &device_, all.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    size_t size = 0;
    cl().GetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    if (size != 0) cl().GetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    log.resize(std::strlen(log.c_str()));
    cl().ReleaseProgram(program);
    for (size_t at = 0; at < log.size(); at += 400)  // whole, in pieces that a message takes
      oar_kit_log(host_, OAR_LOG_ERROR, "opencl: %s.cl: %s", file, log.substr(at, 400).c_str());
    fail(code, std::string(file) + ".cl with \"" + all + "\" is refused by the device's compiler: " + log);
  }
  ++compiled_;
  if (!path.empty()) keep(program, path, key);
  return program;
}

cl_program Programs::restore(const std::string& path, const std::string& key) {
  std::string bytes;
  Head head;
  if (!read_file(path, &bytes) || bytes.size() < sizeof(head)) return nullptr;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const std::string_view rest = std::string_view(bytes).substr(sizeof(head));
  if (std::memcmp(head.magic, kMagic, sizeof(head.magic)) != 0 || head.key_size != key.size() ||
      head.binary_size != rest.size() - std::min(rest.size(), key.size()) || head.checksum != hash(rest, 3) ||
      rest.substr(0, key.size()) != key)
    return nullptr;
  const size_t size = head.binary_size;
  const auto* binary = reinterpret_cast<const unsigned char*>(rest.data() + key.size());
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  cl_program program = cl().CreateProgramWithBinary(context_, 1, &device_, &size, &binary, &status, &code);
  if (code == CL_SUCCESS && status == CL_SUCCESS &&
      cl().BuildProgram(program, 1, &device_, "", nullptr, nullptr) == CL_SUCCESS)
    return program;
  if (program != nullptr) cl().ReleaseProgram(program);
  return nullptr;  // of another driver after all: it is compiled and replaced
}

void Programs::keep(cl_program program, const std::string& path, const std::string& key) {
  size_t size = 0;
  if (cl().GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) != CL_SUCCESS || size == 0)
    return;
  std::vector<unsigned char> binary(size);
  unsigned char* where = binary.data();
  if (cl().GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(where), &where, nullptr) != CL_SUCCESS) return;
  std::string rest = key;
  rest.append(reinterpret_cast<const char*>(binary.data()), size);
  Head head;
  std::memcpy(head.magic, kMagic, sizeof(head.magic));
  head.key_size = key.size();
  head.binary_size = size;
  head.checksum = hash(rest, 3);
  if (!make_folders(folder_)) return;
  std::string partial = path + ".XXXXXX";
  const int file = mkstemp(partial.data());
  if (file < 0) return;  // read-only or full: the next process compiles again
  const bool written = write(file, &head, sizeof(head)) == static_cast<ssize_t>(sizeof(head)) &&
                       write(file, rest.data(), rest.size()) == static_cast<ssize_t>(rest.size());
  close(file);
  if (!written || rename(partial.c_str(), path.c_str()) != 0) unlink(partial.c_str());
}

}  // namespace oarlock::opencl
