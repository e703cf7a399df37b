// Memory table: buffers, copies, fills.
#include <algorithm>
#include <numeric>

#include "device.h"
#include "launch.h"

namespace oarlock::opencl {

constexpr unsigned char kMark = 0xa5;

Guard::Guard(cl_context context, cl_device_id device) {
  cl_int code = CL_SUCCESS;
  queue_ = cl().CreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
}

Guard::~Guard() { cl().ReleaseCommandQueue(queue_); }

void Guard::mark(const Buffer& buffer) {
  check(cl().EnqueueFillBuffer(queue_, buffer.memory, &kMark, 1, buffer.size_bytes, kBytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
}

void Guard::add(Buffer* buffer) {
  std::lock_guard hold(lock_);
  mark(*buffer);
  check(cl().Finish(queue_), "clFinish");
  live_.insert(buffer);
}

void Guard::remove(Buffer* buffer) {
  std::lock_guard hold(lock_);
  live_.erase(buffer);
}

void Guard::look() {
  std::lock_guard hold(lock_);
  std::string found;
  for (Buffer* buffer : live_) {
    unsigned char bytes[kBytes];
    check(
        cl().EnqueueReadBuffer(queue_, buffer->memory, CL_TRUE, buffer->size_bytes, kBytes, bytes, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
    const auto* first = std::find_if(bytes, bytes + kBytes, [](unsigned char b) { return b != kMark; });
    if (first == bytes + kBytes) continue;
    mark(*buffer);
    if (found.empty())
      found = "byte " + std::to_string(buffer->size_bytes + static_cast<uint64_t>(first - bytes)) + " of a buffer of " +
              std::to_string(buffer->size_bytes);
  }
  if (found.empty()) return;
  check(cl().Finish(queue_), "clFinish");
  throw kit::Error(OAR_INTERNAL, "opencl: a kernel wrote past the end of its memory, " + found +
                                     ". The setting trace names the kernels that ran.");
}

namespace {

oar_status_t memory_alloc(oar_device_t* device, uint32_t space, uint64_t size_bytes, uint64_t alignment, oar_stream_t*,
                          void** out_data) {
  return kit::guard(device->host, [&] {
    if (space != 0) throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: there is one memory space, 0");
    if ((alignment & (alignment - 1)) != 0)
      throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: alignment " + std::to_string(alignment) + " is no power of two");
    const uint64_t used = device->used_bytes.load();
    // OpenCL has no buffer of nothing.
    const uint64_t bytes = std::max<uint64_t>(size_bytes + (device->guard != nullptr ? Guard::kBytes : 0), 64);
    if (size_bytes > device->listed->largest_bytes || size_bytes > device->limit_bytes ||
        used > device->limit_bytes - size_bytes)
      throw kit::Error(OAR_OUT_OF_MEMORY, "opencl: " + std::to_string(size_bytes) + " bytes wanted, " +
                                              std::to_string(used) + " of " + std::to_string(device->limit_bytes) +
                                              " in use, " + std::to_string(device->listed->largest_bytes) +
                                              " at most in one piece.");
    cl_int code = CL_SUCCESS;
    auto buffer = std::make_unique<Buffer>();
    buffer->memory = cl().CreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
    if (code != CL_SUCCESS) fail(code, std::to_string(size_bytes) + " bytes");
    buffer->size_bytes = size_bytes;
    if (device->guard != nullptr) device->guard->add(buffer.get());
    device->used_bytes += size_bytes;
    *out_data = buffer.release();
  });
}

void memory_free(oar_device_t* device, uint32_t, void* data, oar_stream_t*) {
  if (data == nullptr) return;
  auto* buffer = static_cast<Buffer*>(data);
  device->used_bytes -= buffer->size_bytes;
  if (device->guard != nullptr) device->guard->remove(buffer);
  cl().ReleaseMemObject(buffer->memory);  // commands in flight hold it
  delete buffer;
}

// The bytes from the first to the last that one side of a region touches must lie in its buffer.
void check_side(const oar_region_t& r, const void* data, uint64_t offset, const int64_t* strides, const char* side) {
  uint64_t last = offset + r.size_bytes;
  for (uint32_t i = 0; i < r.n_dims; ++i) {
    if (strides[i] < 0) throw kit::Error(OAR_UNSUPPORTED, "opencl: copy: strides of device memory are not negative");
    last += static_cast<uint64_t>(r.counts[i] - 1) * static_cast<uint64_t>(strides[i]);
  }
  const auto* buffer = static_cast<const Buffer*>(data);
  if (buffer == nullptr || last > buffer->size_bytes)
    throw kit::Error(OAR_INVALID_ARGUMENT, std::string("opencl: copy: the ") + side + " ends at byte " +
                                               std::to_string(last) + " of a buffer of " +
                                               std::to_string(buffer != nullptr ? buffer->size_bytes : 0));
}

void copy_run(oar_stream_t* stream, const oar_region_t& r, int64_t to, int64_t from) {
  const size_t dst = r.dst_offset + static_cast<uint64_t>(to), src = r.src_offset + static_cast<uint64_t>(from);
  if (r.dst_on_host != 0) {
    check(cl().EnqueueReadBuffer(stream->queue, static_cast<Buffer*>(r.src)->memory, CL_FALSE, src, r.size_bytes,
                                 static_cast<char*>(r.dst) + dst, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  } else if (r.src_on_host != 0) {
    check(cl().EnqueueWriteBuffer(stream->queue, static_cast<Buffer*>(r.dst)->memory, CL_FALSE, dst, r.size_bytes,
                                  static_cast<const char*>(r.src) + src, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  } else {
    check(cl().EnqueueCopyBuffer(stream->queue, static_cast<Buffer*>(r.src)->memory,
                                 static_cast<Buffer*>(r.dst)->memory, src, dst, r.size_bytes, 0, nullptr, nullptr),
          "clEnqueueCopyBuffer");
  }
}

void copy_region(oar_stream_t* stream, const oar_region_t& r) {
  if (r.size_bytes == 0) return;
  for (uint32_t i = 0; i < r.n_dims; ++i)
    if (r.counts[i] <= 0) return;
  if (r.dst_on_host == 0) check_side(r, r.dst, r.dst_offset, r.dst_strides, "destination");
  if (r.src_on_host == 0) check_side(r, r.src, r.src_offset, r.src_strides, "source");
  const bool inside = r.dst_on_host == 0 && r.src_on_host == 0;
  if (inside && r.n_dims > 0) return copy_boxes(stream, r);
  std::vector<int64_t> index(r.n_dims, 0);
  int64_t to = 0, from = 0;
  for (bool more = true; more;) {
    copy_run(stream, r, to, from);
    more = false;
    for (uint32_t d = r.n_dims; d-- > 0;) {
      to += r.dst_strides[d];
      from += r.src_strides[d];
      if (++index[d] < r.counts[d]) {
        more = true;
        break;
      }
      to -= r.dst_strides[d] * r.counts[d];
      from -= r.src_strides[d] * r.counts[d];
      index[d] = 0;
    }
  }
}

oar_status_t memory_copy(oar_stream_t* stream, uint32_t n, const oar_region_t* const* regions) {
  return kit::guard(stream->device->host, [&] {
    for (uint32_t i = 0; i < n; ++i) copy_region(stream, *regions[i]);
  });
}

oar_status_t memory_fill(oar_stream_t* stream, const oar_span_t* span, uint64_t pattern, uint32_t pattern_bytes) {
  return kit::guard(stream->device->host, [&] {
    if (pattern_bytes == 0 || pattern_bytes > 8 || (pattern_bytes & (pattern_bytes - 1)) != 0 ||
        span->size_bytes % pattern_bytes != 0)
      throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: fill: " + std::to_string(span->size_bytes) +
                                                 " bytes by a pattern of " + std::to_string(pattern_bytes));
    if (span->size_bytes == 0) return;
    const auto* buffer = static_cast<const Buffer*>(span->data);
    if (buffer == nullptr || span->byte_offset > buffer->size_bytes ||
        span->size_bytes > buffer->size_bytes - span->byte_offset)
      throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: fill: it leaves the buffer");
    fill_bytes(stream, *span, &pattern, pattern_bytes);
  });
}

}  // namespace

const oar_memory_table_t kMemoryTable = {.struct_size = sizeof(oar_memory_table_t),
                                         .version = OAR_MEMORY_VERSION,
                                         .alloc = memory_alloc,
                                         .free = memory_free,
                                         .copy = memory_copy,
                                         .fill = memory_fill,
                                         .pin = nullptr,
                                         .unpin = nullptr,
                                         .export_handle = nullptr,
                                         .import_handle = nullptr,
                                         .import_release = nullptr};

}  // namespace oarlock::opencl
