// Kernels compiled when they are first wanted, and kept: in memory for the device, on disk for later processes. A file of
// the cache is named by everything that its contents depend on (source, options, device, driver); one that is damaged is
// ignored and replaced. Files appear whole, by renaming, so any number of processes may share a folder.
#ifndef OARLOCK_OPENCL_PROGRAM_H_
#define OARLOCK_OPENCL_PROGRAM_H_
#include <kit.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "api.h"

namespace oarlock::opencl {

struct SourceFile {
  const char* name;  // of kernels/NAME.cl
  const char* text;
};
extern const SourceFile kSources[];
extern const size_t kSourceCount;

// Arguments are set and the kernel enqueued under the lock: a cl_kernel holds the arguments itself.
struct Kernel {
  cl_kernel handle = nullptr;
  std::mutex lock;
};

// $XDG_CACHE_HOME/oarlock/opencl, or ~/.cache/oarlock/opencl; empty: none.
std::string default_cache_folder();

class Programs {
 public:
  // folder "off" or empty: nothing on disk. compiler_options: for all programs, behind their own.
  Programs(const oar_host_t* host, cl_context context, cl_device_id device, std::string driver, bool has_f64,
           std::string folder, std::string compiler_options);
  ~Programs();
  // Kernel `name` of kernels/FILE.cl built with these options. Throws kit::Error with the compiler's log. Any thread.
  Kernel& get(const char* file, const std::string& options, const char* name);
  uint64_t compiled() const { return compiled_; }  // from source, in this process
  uint64_t restored() const { return restored_; }  // from disk

 private:
  cl_program build(const char* file, const std::string& options);
  cl_program restore(const std::string& path, const std::string& key);
  void keep(cl_program program, const std::string& path, const std::string& key);

  const oar_host_t* host_;
  cl_context context_;
  cl_device_id device_;
  std::string driver_, folder_, compiler_options_;
  bool has_f64_;
  std::mutex lock_;
  std::unordered_map<std::string, cl_program> programs_;
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels_;
  uint64_t compiled_ = 0, restored_ = 0;
};

}  // namespace oarlock::opencl
#endif
