/* Memory behind handles that are no addresses, and streams whose work is done before they return. */
#include "npu.h"

/* A handle is odd, so that nobody mistakes it for a pointer: generation, place in the table, 1. */
static void* handle_of(uint32_t index, uint32_t generation) {
  return (void*)(uintptr_t)((uint64_t)generation << 32 | (uint64_t)index << 1 | 1);
}

/* Locked. */
static npu_buffer_t* buffer_of(oar_device_t* device, const void* handle) {
  uint64_t word = (uint64_t)(uintptr_t)handle;
  uint32_t index = (uint32_t)word >> 1;
  if ((word & 1) == 0 || index >= device->n_buffers) return NULL;
  npu_buffer_t* buffer = &device->buffers[index];
  return buffer->bytes != NULL && buffer->generation == (uint32_t)(word >> 32) ? buffer : NULL;
}

char* npu_locate(oar_device_t* device, const void* handle, uint64_t offset, uint64_t size_bytes) {
  char* found = NULL;
  pthread_mutex_lock(&device->lock);
  const npu_buffer_t* buffer = buffer_of(device, handle);
  if (buffer != NULL && offset <= buffer->size_bytes && size_bytes <= buffer->size_bytes - offset)
    found = buffer->bytes + offset;
  pthread_mutex_unlock(&device->lock);
  return found;
}

/* ---------------------------------------------------------------- Memory */
static oar_status_t OAR_CALL memory_alloc(oar_device_t* device, uint32_t space, uint64_t size_bytes, uint64_t alignment,
                                          oar_stream_t* stream, void** out_data) {
  (void)stream;
  if ((alignment & (alignment - 1)) != 0)
    return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "npu: an alignment of %llu bytes is no power of two",
                         (unsigned long long)alignment);
  if (space != 0) return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "npu has space 0 only, not %u", space);
  char* bytes = size_bytes <= (uint64_t)1 << 40 ? malloc(size_bytes > 0 ? (size_t)size_bytes : 1) : NULL;
  if (bytes == NULL)
    return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "npu: no memory for %llu bytes",
                         (unsigned long long)size_bytes);
  pthread_mutex_lock(&device->lock);
  uint32_t index = 0;
  while (index < device->n_buffers && device->buffers[index].bytes != NULL) ++index;
  if (index == device->n_buffers) {
    uint32_t more = index > 0 ? 2 * index : 16;
    npu_buffer_t* grown = realloc(device->buffers, more * sizeof(*grown));
    if (grown != NULL) {
      memset(grown + index, 0, (more - index) * sizeof(*grown));
      device->buffers = grown;
      device->n_buffers = more;
    }
  }
  bool room = index < device->n_buffers;
  if (room) {
    npu_buffer_t* buffer = &device->buffers[index];
    *buffer = (npu_buffer_t){bytes, size_bytes, buffer->generation + 1};
    *out_data = handle_of(index, buffer->generation);
  }
  pthread_mutex_unlock(&device->lock);
  if (room) return OAR_OK;
  free(bytes);
  return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory for a handle");
}

static void OAR_CALL memory_free(oar_device_t* device, uint32_t space, void* data, oar_stream_t* stream) {
  (void)space, (void)stream;
  pthread_mutex_lock(&device->lock);
  npu_buffer_t* buffer = buffer_of(device, data);
  if (buffer != NULL) {
    free(buffer->bytes);
    buffer->bytes = NULL;
  }
  pthread_mutex_unlock(&device->lock);
}

/* One side of a region as memory: what its offset and strides reach must lie inside. NULL if it does not. */
static char* side_of(oar_device_t* device, const oar_region_t* region, void* data, bool on_host, uint64_t offset,
                     const int64_t* strides) {
  uint64_t reach = region->size_bytes;
  if (on_host) return (char*)data + offset;
  for (uint32_t i = 0; i < region->n_dims; ++i) reach += (uint64_t)((region->counts[i] - 1) * strides[i]);
  return npu_locate(device, data, offset, reach);
}

static oar_status_t OAR_CALL memory_copy(oar_stream_t* stream, uint32_t n, const oar_region_t* const* regions) {
  oar_device_t* device = stream->device;
  for (uint32_t i = 0; i < n; ++i) {
    const oar_region_t* region = regions[i];
    bool nothing = region->size_bytes == 0;
    for (uint32_t k = 0; k < region->n_dims; ++k) nothing |= region->counts[k] == 0;
    if (nothing) continue;
    oar_region_t plain = *region;
    plain.dst = side_of(device, region, region->dst, region->dst_on_host, region->dst_offset, region->dst_strides);
    plain.src = side_of(device, region, region->src, region->src_on_host, region->src_offset, region->src_strides);
    if (plain.dst == NULL || plain.src == NULL)
      return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "npu: region %u lies outside of what is allocated",
                           i);
    plain.dst_offset = plain.src_offset = 0;
    oar_kit_copy_region(&plain, 0, 0, 0);
  }
  return OAR_OK;
}

static oar_status_t OAR_CALL memory_fill(oar_stream_t* stream, const oar_span_t* span, uint64_t pattern,
                                         uint32_t pattern_bytes) {
  oar_device_t* device = stream->device;
  char* bytes = npu_locate(device, span->data, span->byte_offset, span->size_bytes);
  oar_span_t plain = {bytes, 0, span->size_bytes};
  if (bytes != NULL && oar_kit_fill(&plain, pattern, pattern_bytes)) return OAR_OK;
  return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "npu: fill of %llu bytes by a pattern of %u",
                       (unsigned long long)span->size_bytes, pattern_bytes);
}

const oar_memory_table_t npu_memory_table = {.struct_size = sizeof(npu_memory_table),
                                             .version = OAR_MEMORY_VERSION,
                                             .alloc = memory_alloc,
                                             .free = memory_free,
                                             .copy = memory_copy,
                                             .fill = memory_fill};

/* ---------------------------------------------------------------- Stream */
static oar_status_t OAR_CALL stream_create(oar_device_t* device, uint32_t queue, int32_t priority,
                                           oar_stream_t** out_stream) {
  (void)priority;
  if (queue != 0) return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "npu has queue 0 only, not %u", queue);
  oar_stream_t* stream = malloc(sizeof(*stream));
  if (stream == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory for a stream");
  stream->device = device;
  *out_stream = stream;
  return OAR_OK;
}
static void OAR_CALL stream_destroy(oar_stream_t* stream) { free(stream); }

static oar_status_t OAR_CALL event_create(oar_device_t* device, oar_event_t** out_event) {
  oar_event_t* event = malloc(sizeof(*event));
  if (event == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory for an event");
  event->device = device;
  *out_event = event;
  return OAR_OK;
}
static void OAR_CALL event_destroy(oar_event_t* event) { free(event); }
static oar_status_t OAR_CALL event_mark(oar_stream_t* stream, oar_event_t* event) {
  (void)stream, (void)event;
  return OAR_OK;
}
static oar_status_t OAR_CALL event_query(oar_event_t* event) {
  (void)event;
  return OAR_OK;
}
static oar_status_t OAR_CALL event_sync(oar_event_t* event, uint64_t timeout_ns) {
  (void)event, (void)timeout_ns;
  return OAR_OK;
}

const oar_stream_table_t npu_stream_table = {.struct_size = sizeof(npu_stream_table),
                                             .version = OAR_STREAM_VERSION,
                                             .create = stream_create,
                                             .destroy = stream_destroy,
                                             .event_create = event_create,
                                             .event_destroy = event_destroy,
                                             .event_record = event_mark,
                                             .event_wait = event_mark,
                                             .event_query = event_query,
                                             .event_sync = event_sync};
