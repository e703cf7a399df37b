/* base_device.h - what the test plugins with a device share: "toy", host memory, streams that are done at once. */
#ifndef OARLOCK_TESTS_ABI_BASE_DEVICE_H
#define OARLOCK_TESTS_ABI_BASE_DEVICE_H
#include <stdlib.h>

#include "kit.h"

struct oar_device {
  const oar_host_t* host;
};
struct oar_stream {
  oar_device_t* device;
};
struct oar_event {
  oar_device_t* device;
};

static const oar_space_info_t base_space = {sizeof(oar_space_info_t), OAR_SPACE_ADDRESSABLE | OAR_SPACE_HOST_ACCESS,
                                            OAR_STR("host"), 0, 64};
static const oar_space_info_t* const base_spaces[] = {&base_space};
static const oar_device_info_t base_info = {sizeof(oar_device_info_t),
                                            12,
                                            OAR_STR("toy"),
                                            OAR_STR("toy"),
                                            OAR_STR("toy-0"),
                                            {"", 0},
                                            1,
                                            1,
                                            base_spaces,
                                            OAR_KIT_NUMBERS | OAR_KIT_BOOL,
                                            OAR_BIT(OAR_DTYPE_F32)};
static const oar_device_info_t* const base_infos[] = {&base_info};

static inline oar_status_t OAR_CALL base_enumerate(const oar_host_t* host, uint32_t* out_n,
                                                   const oar_device_info_t* const** out_infos) {
  (void)host;
  *out_n = 1;
  *out_infos = base_infos;
  return OAR_OK;
}

static inline oar_status_t OAR_CALL base_open(const oar_host_t* host, uint32_t index, const oar_options_t* options,
                                              oar_device_t** out_device) {
  (void)index, (void)options;
  oar_device_t* device = (oar_device_t*)malloc(sizeof(*device));
  if (device == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "no memory for a device");
  device->host = host;
  *out_device = device;
  return OAR_OK;
}
static inline void OAR_CALL base_close(oar_device_t* device) { free(device); }

static inline oar_status_t OAR_CALL base_alloc(oar_device_t* device, uint32_t space, uint64_t size_bytes,
                                               uint64_t alignment, oar_stream_t* stream, void** out_data) {
  (void)space, (void)stream;
  if (alignment < 64) alignment = 64;
  *out_data = size_bytes < (uint64_t)PTRDIFF_MAX - alignment
                  ? aligned_alloc((size_t)alignment, (size_t)((size_bytes / alignment + 1) * alignment))
                  : NULL;
  return *out_data != NULL ? OAR_OK : oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "toy: malloc failed");
}
static inline void OAR_CALL base_free(oar_device_t* device, uint32_t space, void* data, oar_stream_t* stream) {
  (void)device, (void)space, (void)stream;
  free(data);
}

static inline oar_status_t OAR_CALL base_copy(oar_stream_t* stream, uint32_t n, const oar_region_t* const* regions) {
  (void)stream;
  oar_kit_copy(n, regions);
  return OAR_OK;
}
static inline oar_status_t OAR_CALL base_fill(oar_stream_t* stream, const oar_span_t* span, uint64_t pattern,
                                              uint32_t pattern_bytes) {
  (void)stream;
  return oar_kit_fill(span, pattern, pattern_bytes) ? OAR_OK : OAR_INVALID_ARGUMENT;
}

static inline oar_status_t OAR_CALL base_stream_create(oar_device_t* device, uint32_t queue, int32_t priority,
                                                       oar_stream_t** out_stream) {
  (void)queue, (void)priority;
  *out_stream = (oar_stream_t*)malloc(sizeof(**out_stream));
  if (*out_stream == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "no memory for a stream");
  (*out_stream)->device = device;
  return OAR_OK;
}
static inline void OAR_CALL base_stream_destroy(oar_stream_t* stream) { free(stream); }
static inline oar_status_t OAR_CALL base_event_create(oar_device_t* device, oar_event_t** out_event) {
  *out_event = (oar_event_t*)malloc(sizeof(**out_event));
  if (*out_event == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "no memory for an event");
  (*out_event)->device = device;
  return OAR_OK;
}
static inline void OAR_CALL base_event_destroy(oar_event_t* event) { free(event); }
static inline oar_status_t OAR_CALL base_event_mark(oar_stream_t* stream, oar_event_t* event) {
  (void)stream, (void)event;
  return OAR_OK;
}
static inline oar_status_t OAR_CALL base_event_query(oar_event_t* event) {
  (void)event;
  return OAR_OK;
}
static inline oar_status_t OAR_CALL base_event_sync(oar_event_t* event, uint64_t timeout_ns) {
  (void)event, (void)timeout_ns;
  return OAR_OK;
}

/* The fields of the three tables, for tables of the plugin's own. */
#define BASE_DEVICE_FIELDS(open_function) \
  .version = OAR_DEVICE_VERSION, .enumerate = base_enumerate, .open = open_function, .close = base_close
#define BASE_MEMORY_FIELDS(alloc_function) \
  .version = OAR_MEMORY_VERSION, .alloc = alloc_function, .free = base_free, .copy = base_copy, .fill = base_fill
#define BASE_STREAM_FIELDS                                                                                 \
  .version = OAR_STREAM_VERSION, .create = base_stream_create, .destroy = base_stream_destroy,             \
  .event_create = base_event_create, .event_destroy = base_event_destroy, .event_record = base_event_mark, \
  .event_wait = base_event_mark, .event_query = base_event_query, .event_sync = base_event_sync

#define BASE_DEVICE(open_function, alloc_function)                                                \
  static const oar_device_table_t base_device_table = {.struct_size = sizeof(oar_device_table_t), \
                                                       BASE_DEVICE_FIELDS(open_function)};        \
  static const oar_memory_table_t base_memory_table = {.struct_size = sizeof(oar_memory_table_t), \
                                                       BASE_MEMORY_FIELDS(alloc_function)};       \
  static const oar_stream_table_t base_stream_table = {.struct_size = sizeof(oar_stream_table_t), BASE_STREAM_FIELDS}
#define BASE_DEVICE_TABLES                                                          \
  {OAR_TABLE_DEVICE, &base_device_table}, {OAR_TABLE_MEMORY, &base_memory_table}, { \
    OAR_TABLE_STREAM, &base_stream_table                                            \
  }

#endif
