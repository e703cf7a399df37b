// Streams: queues of a device that run side by side. Each device has a default one, and most programs need no other.
//
// The library keeps order by itself: an op on one stream waits for what another stream still does to its operands, by an
// event, without blocking the caller. On the host there is only the caller's thread; a stream of it does nothing.
#pragma once
#include <oarlock/base/device.h>

namespace oarlock {

struct Stream;

class OAR_EXPORT StreamHandle {
 public:
  // The device's default stream.
  explicit StreamHandle(Device device = Device());
  // A further stream of the device; it lives until the process ends. Throws Error.
  static StreamHandle make(Device device);
  Device device() const { return device_; }
  // What is enqueued here from now on runs after what `earlier` holds now.
  void wait_for(const StreamHandle& earlier) const;
  // Waits until everything here has run; a failure met on the way is thrown.
  void synchronize() const;
  Stream* impl() const { return stream_; }

 private:
  Device device_;
  Stream* stream_ = nullptr;  // null: the host
};

// While one lives on a thread, what that thread launches on the stream's device goes to the stream. Nests.
class OAR_EXPORT StreamScope {
 public:
  explicit StreamScope(const StreamHandle& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  int device_;
  Stream* before_;
};

}  // namespace oarlock
