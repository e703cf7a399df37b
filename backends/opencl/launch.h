// Enqueuing kernels and copies on a stream.
#ifndef OARLOCK_OPENCL_LAUNCH_H_
#define OARLOCK_OPENCL_LAUNCH_H_
#include <type_traits>

#include "device.h"
#include "operand.h"

namespace oarlock::opencl {

constexpr int64_t kItems = 256;  // of a work group, as in kernels/operand.cl

// Arguments in the kernel's order, then items() or groups(). Holds the kernel meanwhile.
class Launch {
 public:
  Launch(oar_stream_t* stream, const char* file, const std::string& options, const char* name);
  Launch& view(const oar_view_t* view);  // buffer and byte offset; null: an operand that is not read
  Launch& span(const oar_span_t& span, uint64_t more_bytes = 0);
  Launch& memory(cl_mem memory);
  Launch& fault();  // of the stream, to be looked at by the next event
  template <class T>
  Launch& value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return argument(sizeof(value), &value);
  }
  void items(int64_t n);
  void groups(std::initializer_list<size_t> global, std::initializer_list<size_t> local);

 private:
  Launch& argument(size_t size, const void* value);
  oar_stream_t* stream_;
  Kernel& kernel_;
  std::unique_lock<std::mutex> hold_;
  cl_uint next_ = 0;
  const char* name_;
};

// A region of n_dims > 0 inside the device.
void copy_boxes(oar_stream_t* stream, const oar_region_t& region);
// Moves n places of g, operand 0 the output's and operand 1 the input's strides, in elements of `width` bytes.
void copy_places(oar_stream_t* stream, const oar_span_t& to, const oar_span_t& from, const Geometry& g, int width);
void fill_bytes(oar_stream_t* stream, const oar_span_t& span, const void* pattern, size_t pattern_bytes);
inline oar_span_t span_of(const oar_view_t& view) { return {view.data, view.byte_offset, 0}; }

}  // namespace oarlock::opencl
#endif
