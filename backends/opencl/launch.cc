#include "launch.h"

#include <numeric>

namespace oarlock::opencl {

Launch::Launch(oar_stream_t* stream, const char* file, const std::string& options, const char* name)
    : stream_(stream), kernel_(stream->device->programs->get(file, options, name)), hold_(kernel_.lock), name_(name) {}

Launch& Launch::argument(size_t size, const void* value) {
  const cl_int code = cl().SetKernelArg(kernel_.handle, next_, size, value);
  if (code != CL_SUCCESS) fail(code, "argument " + std::to_string(next_) + " of " + name_);
  ++next_;
  return *this;
}

Launch& Launch::memory(cl_mem memory) { return argument(sizeof(memory), &memory); }

Launch& Launch::span(const oar_span_t& span, uint64_t more_bytes) {
  memory(span.data != nullptr ? static_cast<const Buffer*>(span.data)->memory : stream_->fault->memory);
  return value<cl_ulong>(span.data != nullptr ? span.byte_offset + more_bytes : 0);
}

Launch& Launch::view(const oar_view_t* view) {
  return span(view != nullptr ? span_of(*view) : oar_span_t{nullptr, 0, 0});
}

Launch& Launch::fault() {
  stream_->fault->watched.store(true);
  return memory(stream_->fault->memory);
}

void Launch::items(int64_t n) {
  if (n <= 0) return;
  groups({static_cast<size_t>((n + kItems - 1) / kItems * kItems)}, {static_cast<size_t>(kItems)});
}

void Launch::groups(std::initializer_list<size_t> global, std::initializer_list<size_t> local) {
  const cl_int code = cl().EnqueueNDRangeKernel(stream_->queue, kernel_.handle, static_cast<cl_uint>(global.size()),
                                                nullptr, global.begin(), local.begin(), 0, nullptr, nullptr);
  if (code != CL_SUCCESS) fail(code, std::string("kernel ") + name_);
}

void copy_places(oar_stream_t* stream, const oar_span_t& to, const oar_span_t& from, const Geometry& g, int width) {
  Launch(stream, "move", "", "copy").span(from).span(to).value(g).value<cl_int>(width).items(g.n);
}

void copy_boxes(oar_stream_t* stream, const oar_region_t& r) {
  uint64_t unit = 16 | r.size_bytes | r.dst_offset | r.src_offset;
  for (uint32_t d = 0; d < r.n_dims; ++d)
    unit |= static_cast<uint64_t>(r.dst_strides[d]) | static_cast<uint64_t>(r.src_strides[d]);
  unit &= ~unit + 1;  // the largest power of two that divides them all
  const auto width = static_cast<int64_t>(unit);
  std::vector<int64_t> shape(r.counts, r.counts + r.n_dims), to, from;
  for (uint32_t d = 0; d < r.n_dims; ++d) {
    to.push_back(r.dst_strides[d] / width);
    from.push_back(r.src_strides[d] / width);
  }
  shape.push_back(static_cast<int64_t>(r.size_bytes) / width);
  to.push_back(1);
  from.push_back(1);
  // What is too much for one kernel's axes is left to loops here.
  uint32_t looped = 0;
  Geometry g;
  const auto rank = static_cast<uint32_t>(shape.size());
  auto make = [&] {
    const uint32_t left = rank - looped;
    return make_geometry(left, &shape[looped],
                         {{left, &shape[looped], &to[looped]}, {left, &shape[looped], &from[looped]}}, true, &g);
  };
  while (!make()) ++looped;
  std::vector<int64_t> index(looped, 0);
  for (bool more = true; more;) {
    int64_t at_to = 0, at_from = 0;
    for (uint32_t d = 0; d < looped; ++d) at_to += index[d] * r.dst_strides[d], at_from += index[d] * r.src_strides[d];
    copy_places(stream, {r.dst, r.dst_offset + static_cast<uint64_t>(at_to), 0},
                {r.src, r.src_offset + static_cast<uint64_t>(at_from), 0}, g, static_cast<int>(width));
    more = false;
    for (uint32_t d = looped; d-- > 0 && !more;) {
      if (++index[d] < shape[d]) more = true;
      else index[d] = 0;
    }
  }
}

void fill_bytes(oar_stream_t* stream, const oar_span_t& span, const void* pattern, size_t pattern_bytes) {
  if (span.size_bytes == 0) return;
  check(cl().EnqueueFillBuffer(stream->queue, static_cast<const Buffer*>(span.data)->memory, pattern, pattern_bytes,
                               span.byte_offset, span.size_bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
}

}  // namespace oarlock::opencl
