// Where tensors live and run. The host CPU is always there and is device 0; plugins bring the others.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock {

// A name for a device: the host's index. Small, copyable, never dangles: devices are not closed before exit.
// Any function here may be called from any thread.
class OAR_EXPORT Device {
 public:
  Device() = default;  // the host CPU
  explicit Device(int index) : index_(index) {}
  // "cpu", "sim", "sim:1", "opencl:0". Loads plugins on first use. Throws Error if there is none of that name; the text
  // lists those that exist.
  explicit Device(std::string_view name);
  static Result<Device> find(std::string_view name);

  int index() const { return index_; }
  bool is_host() const { return index_ == 0; }
  std::string name() const;         // "sim:0"
  std::string description() const;  // as on the box
  bool operator==(const Device&) const = default;
  // Waits until everything enqueued on the device's default stream so far has run; a failure met on the way is thrown.
  void synchronize() const;

 private:
  int index_ = 0;
};

// All devices, the host first. Loads plugins on first use.
OAR_EXPORT std::vector<Device> devices();

// Where the calling thread makes what no operand places: the results of full, arange and random_uniform, and so of zeros,
// ones and the initial parameters of layers. The host at first; every thread has its own. Data handed over by the program
// (Tensor::of, from_host, empty, borrow) goes where its own argument says.
OAR_EXPORT Device current_device();
OAR_EXPORT void set_device(Device device);
// set_device for the life of a block. Nests; not to be moved to another thread.
class OAR_EXPORT DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_;
};

// What the caching allocator of a device holds, in bytes.
struct MemoryStats {
  uint64_t in_use = 0, peak = 0, reserved = 0;
  uint64_t allocations = 0, system_allocations = 0;  // counts since the start
};
OAR_EXPORT MemoryStats memory_stats(Device device);
OAR_EXPORT void reset_peak_memory(Device device);
// Gives cached but unused memory back to the system or the driver.
OAR_EXPORT void release_cached_memory(Device device);

}  // namespace oarlock
