// What the plugin holds: devices, memory, streams, events. Everything a command touches is retained by OpenCL itself
// until the command has run, so memory may be given back at once.
#ifndef OARLOCK_OPENCL_DEVICE_H_
#define OARLOCK_OPENCL_DEVICE_H_
#include <kit.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api.h"
#include "program.h"

namespace oarlock::opencl {

// A device as it is listed, from the first enumerate to the end of the process.
struct Listed {
  oar_device_info_t info;
  std::string name, uuid, driver;
  cl_platform_id platform;
  cl_device_id id;
  bool is_cpu, has_f64;
  uint32_t units;
  uint64_t memory_bytes, largest_bytes;
};

// Memory as the host holds it: what oar_view_t.data points to. Views add byte offsets.
struct Buffer {
  cl_mem memory;
  uint64_t size_bytes;
};

// With the option `guard`: bytes behind every buffer that nobody may write, looked at whenever the host has waited.
class Guard {
 public:
  Guard(cl_context context, cl_device_id device);
  ~Guard();
  static constexpr uint64_t kBytes = 256;
  void add(Buffer* buffer);
  void remove(Buffer* buffer);
  // Throws kit::Error for the first buffer whose guard was written, after mending all of them.
  void look();

 private:
  void mark(const Buffer& buffer);
  cl_command_queue queue_ = nullptr;
  std::mutex lock_;
  std::set<Buffer*> live_;
};

// A word of the device that kernels write when an operand is wrong (an index out of range), one for each stream. It
// outlives the stream while an event may still tell of it.
struct Fault {
  enum { kOp, kIndex, kSize, kPlace, kWords };
  cl_mem memory = nullptr;
  cl_command_queue queue = nullptr;
  std::atomic<bool> watched{false};  // a kernel that may write it was launched since it was read last
  ~Fault();
};

// One recording of an event.
struct Recording {
  cl_event event = nullptr;
  std::shared_ptr<Fault> fault;  // set if words are read
  int64_t words[Fault::kWords] = {};
  ~Recording();
};

[[noreturn]] void fail(cl_int code, const std::string& what);
inline void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) fail(code, what);
}

const oar_device_info_t* const* list_devices(const oar_host_t* host, uint32_t* out_n);
const Listed* listed_device(const oar_host_t* host, uint32_t index);

extern const oar_device_table_t kDeviceTable;
extern const oar_memory_table_t kMemoryTable;
extern const oar_stream_table_t kStreamTable;

}  // namespace oarlock::opencl

struct oar_device {
  const oar_host_t* host;
  const oarlock::opencl::Listed* listed;
  cl_context context;
  uint64_t limit_bytes;  // of all memory together
  std::atomic<uint64_t> used_bytes{0};
  bool cpu_shaped;  // kernels of wide vectors and large blocks; else of work groups and local memory
  bool has_f64;
  int64_t special_elements;  // from so many on an elementwise kernel of its own is compiled
  int64_t special_work;      // from so many multiply-adds on products and convolutions pack their operands
  std::unique_ptr<oarlock::opencl::Programs> programs;
  std::unique_ptr<oarlock::opencl::Guard> guard;  // null: none
};

struct oar_stream {
  oar_device_t* device;
  cl_command_queue queue;
  std::shared_ptr<oarlock::opencl::Fault> fault;
};

struct oar_event {
  oar_device_t* device;
  std::mutex lock;
  std::shared_ptr<oarlock::opencl::Recording> last;
  bool armed = false;
};

#endif
