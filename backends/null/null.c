/* null - the plugin to copy when you begin one for your own hardware. It has a device, "null", whose memory is the
 * host's, whose streams are done before they return, and which offers not a single kernel. What it does is complete,
 * though: it loads, is listed, holds tensors and copies them, and passes levels L0 and L1 of the kit as it stands.
 *
 * To make it yours: `oarlock new-plugin NAME` writes this very file under your name; then replace what the comments
 * marked "Yours:" point at, one table after the other, and run `oarlock cts` on it after each. A plugin is built from
 * api/abi and backends/kit alone. The contract is plugin.h; read it beside this file. C11 and C++20 both compile it.
 */
#include <stdlib.h>

#include "kit.h"
#include "kit_list.h"

/* The handles are yours to define. The host only passes them around. */
struct oar_device {
  const oar_host_t* host; /* for error_set; valid for ever, so keep it wherever you may fail */
};

struct oar_stream {
  oar_device_t* device;
};

struct oar_event {
  oar_device_t* device;
};

struct oar_pack {
  oar_device_t* device;
};

/* ---------------------------------------------------------------- Device
 * What there is, as constant data. The host reads it without opening anything, so that devices can be listed fast.
 * Yours: ask the driver in enumerate, not earlier, and answer 0 devices where there is no such hardware. */
static const oar_space_info_t null_space = {
    .struct_size = sizeof(null_space),
    /* Pointers may be offset, and the host may read through them. Device memory proper lacks the second flag; memory
     * behind handles that are no pointers lacks both. */
    .flags = OAR_SPACE_ADDRESSABLE | OAR_SPACE_HOST_ACCESS,
    .name = OAR_STR("host"),
    .alignment = 64};
static const oar_space_info_t* const null_spaces[] = {&null_space};

static const oar_device_info_t null_info = {
    .struct_size = sizeof(null_info),
    .dlpack_kind = 12, /* kDLExtDev */
    .kind = OAR_STR("null"),
    .name = OAR_STR("Oarlock null device"),
    .uuid = OAR_STR("null-0"),
    .n_spaces = 1,
    .n_queues = 1,
    .spaces = null_spaces,
    .storage_dtypes = 0x7f1ffffe,              /* every type there is: it only moves bytes */
    .compute_dtypes = OAR_BIT(OAR_DTYPE_F32)}; /* Yours: what the hardware calculates in */
static const oar_device_info_t* const null_infos[] = {&null_info};

static oar_status_t OAR_CALL device_enumerate(const oar_host_t* host, uint32_t* out_n,
                                              const oar_device_info_t* const** out_infos) {
  (void)host;
  *out_n = 1;
  *out_infos = null_infos;
  return OAR_OK;
}

/* Yours: this is the place for contexts, threads and clocks; it may take its time. Options are text, and unknown ones
 * are ignored; extensions that must be understood are not. */
static oar_status_t OAR_CALL device_open(const oar_host_t* host, uint32_t index, const oar_options_t* options,
                                         oar_device_t** out_device) {
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  /* A failure notes its text on this thread and returns, in one line. Say what was asked for and what there is. */
  if (index != 0) return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "there is no null:%u, only null:0", index);
  oar_device_t* device = (oar_device_t*)malloc(sizeof(*device));
  if (device == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "null: no memory for the device");
  device->host = host;
  *out_device = device;
  return OAR_OK;
}

/* Streams, events and packs are gone when this is called; memory may not be. */
static void OAR_CALL device_close(oar_device_t* device) { free(device); }

/* Optional functions are left NULL: link, stats, self_check. health answers for `oarlock doctor`. */
static oar_status_t OAR_CALL device_health(oar_device_t* device) {
  (void)device;
  return OAR_OK;
}

static const oar_device_table_t device_table = {.struct_size = sizeof(device_table),
                                                .version = OAR_DEVICE_VERSION,
                                                .enumerate = device_enumerate,
                                                .open = device_open,
                                                .close = device_close,
                                                .health = device_health};

/* ---------------------------------------------------------------- Memory
 * The host takes large chunks and pools them itself. Yours: if your allocator is fast and ordered by streams already,
 * say OAR_SPACE_SELF_POOLED and look at the stream argument. */
static oar_status_t OAR_CALL memory_alloc(oar_device_t* device, uint32_t space, uint64_t size_bytes, uint64_t alignment,
                                          oar_stream_t* stream, void** out_data) {
  void* data = NULL;
  (void)stream;
  if (space != 0) return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "null has one memory space, 0");
  if ((alignment & (alignment - 1)) != 0)
    return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "alignment %llu is no power of two",
                         (unsigned long long)alignment);
  if (alignment < 64) alignment = 64;
  /* 0 bytes yield a handle too. Sizes that cannot be rounded up are refused, not wrapped. */
  if (size_bytes <= (uint64_t)PTRDIFF_MAX - alignment)
    data = aligned_alloc((size_t)alignment, (size_t)((size_bytes / alignment + 1) * alignment));
  if (data == NULL)
    return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "null: malloc has no %llu bytes",
                         (unsigned long long)size_bytes);
  *out_data = data;
  return OAR_OK;
}

static void OAR_CALL memory_free(oar_device_t* device, uint32_t space, void* data, oar_stream_t* stream) {
  (void)device, (void)space, (void)stream;
  free(data);
}

/* A region is a run of bytes, repeated over n_dims outer dimensions. Yours: a one- to three-dimensional copy is mostly
 * a call of the vendor's; whatever has more dimensions is a loop around it. */
static oar_status_t OAR_CALL memory_copy(oar_stream_t* stream, uint32_t n, const oar_region_t* const* regions) {
  (void)stream;
  oar_kit_copy(n, regions); /* dst_on_host and src_on_host make no difference to this device */
  return OAR_OK;
}

static oar_status_t OAR_CALL memory_fill(oar_stream_t* stream, const oar_span_t* span, uint64_t pattern,
                                         uint32_t pattern_bytes) {
  if (oar_kit_fill(span, pattern, pattern_bytes)) return OAR_OK;
  return oar_kit_error(stream->device->host, OAR_INVALID_ARGUMENT, 0, "fill: %llu bytes by a pattern of %u",
                       (unsigned long long)span->size_bytes, pattern_bytes);
}

static const oar_memory_table_t memory_table = {.struct_size = sizeof(memory_table),
                                                .version = OAR_MEMORY_VERSION,
                                                .alloc = memory_alloc,
                                                .free = memory_free,
                                                .copy = memory_copy,
                                                .fill = memory_fill};

/* ---------------------------------------------------------------- Stream
 * A stream runs what it is given in order. Here everything has run before the call returns, so every event has passed.
 * Yours: enqueue and return; a failure on the queue is remembered and told by event_query and event_sync. */
static oar_status_t OAR_CALL stream_create(oar_device_t* device, uint32_t queue, int32_t priority,
                                           oar_stream_t** out_stream) {
  (void)priority;
  if (queue != 0) return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "null has one queue, 0, not %u", queue);
  oar_stream_t* stream = (oar_stream_t*)malloc(sizeof(*stream));
  if (stream == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "null: no memory for a stream");
  stream->device = device;
  *out_stream = stream;
  return OAR_OK;
}

static void OAR_CALL stream_destroy(oar_stream_t* stream) { free(stream); }

static oar_status_t OAR_CALL event_create(oar_device_t* device, oar_event_t** out_event) {
  oar_event_t* event = (oar_event_t*)malloc(sizeof(*event));
  if (event == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "null: no memory for an event");
  event->device = device;
  *out_event = event;
  return OAR_OK;
}

static void OAR_CALL event_destroy(oar_event_t* event) { free(event); }

static oar_status_t OAR_CALL event_record(oar_stream_t* stream, oar_event_t* event) {
  (void)stream, (void)event;
  return OAR_OK;
}

static oar_status_t OAR_CALL event_wait(oar_stream_t* stream, oar_event_t* event) {
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

/* Optional, and cheap here. event_arm and event_signal are left out: a stream that never waits can't honour them. */
static oar_status_t OAR_CALL stream_host_call(oar_stream_t* stream, void(OAR_CALL* body)(void* context),
                                              void* context) {
  (void)stream;
  body(context);
  return OAR_OK;
}

static const oar_stream_table_t stream_table = {.struct_size = sizeof(stream_table),
                                                .version = OAR_STREAM_VERSION,
                                                .create = stream_create,
                                                .destroy = stream_destroy,
                                                .event_create = event_create,
                                                .event_destroy = event_destroy,
                                                .event_record = event_record,
                                                .event_wait = event_wait,
                                                .event_query = event_query,
                                                .event_sync = event_sync,
                                                .host_call = stream_host_call};

/* ---------------------------------------------------------------- Pack
 * Asked once for every open device of the process, also those of other plugins: answer OAR_REFUSED for what isn't
 * yours. Yours: a library for somebody else's device has no tables above, and compares info->kind here. */
static oar_status_t OAR_CALL pack_open(const oar_host_t* host, const oar_device_ref_t* ref,
                                       const oar_options_t* options, oar_pack_t** out_pack) {
  if (ref->device == NULL || !oar_kit_str_is(ref->info->kind, "null")) return OAR_REFUSED;
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  oar_pack_t* pack = (oar_pack_t*)malloc(sizeof(*pack));
  if (pack == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "null: no memory for a pack");
  pack->device = ref->device;
  *out_pack = pack;
  return OAR_OK;
}

static void OAR_CALL pack_close(oar_pack_t* pack) { free(pack); }

static const oar_pack_table_t pack_table = {
    .struct_size = sizeof(pack_table), .version = OAR_PACK_VERSION, .open = pack_open, .close = pack_close};

/* ---------------------------------------------------------------- Kernel
 * Constant data: the host lists it without a device (pack NULL). Each kernel lists itself with OAR_KIT_LISTED, in a file
 * of its own:
 *
 *   static oar_status_t OAR_CALL exp_check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
 *                                          oar_verdict_t* out_verdict) {
 *     return oar_kit_check_contiguous(call, out_verdict);
 *   }
 *   static oar_status_t OAR_CALL exp_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
 *     const float* x = (const float*)oar_kit_view_data(frame->inputs[0]);
 *     float* out = (float*)oar_kit_view_data(frame->outputs[0]);
 *     for (int64_t i = 0, n = oar_kit_view_count(frame->outputs[0]); i < n; ++i) out[i] = expf(x[i]);
 *     return OAR_OK;
 *   }
 *   static const uint64_t f32[] = {OAR_BIT(OAR_DTYPE_F32)};
 *   static const oar_kernel_decl_t exp_decl =
 *       OAR_KIT_KERNEL("exp", 1, 1, OAR_KERNEL_DETERMINISTIC, 0, f32, .check = exp_check, .run = exp_run);
 *   OAR_KIT_LISTED(exp_decl);
 */
static oar_status_t OAR_CALL kernel_declarations(oar_pack_t* pack, uint32_t* out_n,
                                                 const oar_kernel_decl_t* const** out_decls) {
  (void)pack;
  *out_decls = oar_kit_listed(out_n);
  return OAR_OK;
}

static const oar_kernel_table_t kernel_table = {
    .struct_size = sizeof(kernel_table), .version = OAR_KERNEL_VERSION, .declarations = kernel_declarations};

/* ---------------------------------------------------------------- Entry
 * Writes oar_plugin_query, the one exported symbol, and the note that lets the host refuse a plugin of another age
 * before any of its code runs. */
OAR_KIT_PLUGIN("null", "Oarlock", "0.1.0", {OAR_TABLE_DEVICE, &device_table}, {OAR_TABLE_MEMORY, &memory_table},
               {OAR_TABLE_STREAM, &stream_table}, {OAR_TABLE_PACK, &pack_table}, {OAR_TABLE_KERNEL, &kernel_table})
