/* A device whose memory is malloc's and whose streams run at once, for the tests of record and replay. Its multiply has
 * a bug: it fails in the middle of a launch if the first operand has a negative element. Built with FIXED it has none,
 * adds one too much at the end of add and has another token for its own layout. */
#include <stdlib.h>
#include <string.h>

#include <oarlock/plugin.h>

static const oar_host_t* g_host;

static oar_status_t fail(oar_status_t status, const char* text) {
  oar_str_t t = {text, strlen(text)};
  return g_host->error_set(g_host, status, 77, t);
}

struct oar_device {
  int open;
};
struct oar_stream {
  int used;
};
struct oar_event {
  int recorded;
};
struct oar_pack {
  int on_host;
};

/* ---- device */
static const oar_space_info_t space = {sizeof space, OAR_SPACE_ADDRESSABLE, OAR_STR("heap"), 0, 64};
static const oar_space_info_t* const spaces[] = {&space};
static const oar_device_info_t info = {
    sizeof info, 12,     OAR_STR("heapdev"),     OAR_STR("Heap device"), OAR_STR("heap-0"), OAR_STR(""), 1,
    1,           spaces, OAR_BIT(OAR_DTYPE_F32), OAR_BIT(OAR_DTYPE_F32)};
static const oar_device_info_t* const infos[] = {&info};
static oar_device_t the_device;

static oar_status_t enumerate(const oar_host_t* host, uint32_t* out_n, const oar_device_info_t* const** out_infos) {
  (void)host;
  *out_n = 1;
  *out_infos = infos;
  return OAR_OK;
}
static oar_status_t device_open(const oar_host_t* host, uint32_t index, const oar_options_t* options,
                                oar_device_t** out_device) {
  (void)host, (void)options;
  if (index != 0) return fail(OAR_INVALID_ARGUMENT, "no such device");
  *out_device = &the_device;
  return OAR_OK;
}
static void device_close(oar_device_t* device) { (void)device; }
static const oar_device_table_t device_table = {.struct_size = sizeof device_table,
                                                .version = OAR_DEVICE_VERSION,
                                                .enumerate = enumerate,
                                                .open = device_open,
                                                .close = device_close};

/* ---- memory */
static oar_status_t mem_alloc(oar_device_t* device, uint32_t space_index, uint64_t size, uint64_t alignment,
                              oar_stream_t* stream, void** out_data) {
  (void)device, (void)space_index, (void)alignment, (void)stream;
  if (size > (1u << 30)) return fail(OAR_OUT_OF_MEMORY, "more than this device has");
  *out_data = calloc(1, size + 64);
  return *out_data ? OAR_OK : fail(OAR_OUT_OF_MEMORY, "calloc");
}
static void mem_free(oar_device_t* device, uint32_t space_index, void* data, oar_stream_t* stream) {
  (void)device, (void)space_index, (void)stream;
  free(data);
}
static void copy_box(const oar_region_t* r, uint32_t dim, char* dst, const char* src) {
  if (dim == r->n_dims) {
    memcpy(dst, src, r->size_bytes);
    return;
  }
  for (int64_t i = 0; i < r->counts[dim]; ++i)
    copy_box(r, dim + 1, dst + i * r->dst_strides[dim], src + i * r->src_strides[dim]);
}
static oar_status_t mem_copy(oar_stream_t* stream, uint32_t n, const oar_region_t* const* regions) {
  (void)stream;
  for (uint32_t i = 0; i < n; ++i)
    copy_box(regions[i], 0, (char*)regions[i]->dst + regions[i]->dst_offset,
             (const char*)regions[i]->src + regions[i]->src_offset);
  return OAR_OK;
}
static oar_status_t mem_fill(oar_stream_t* stream, const oar_span_t* span, uint64_t pattern, uint32_t pattern_bytes) {
  (void)stream;
  if (pattern_bytes == 0 || pattern_bytes > 8) return fail(OAR_INVALID_ARGUMENT, "pattern");
  for (uint64_t i = 0; i < span->size_bytes; ++i)
    ((char*)span->data)[span->byte_offset + i] = ((const char*)&pattern)[i % pattern_bytes];
  return OAR_OK;
}
static const oar_memory_table_t memory_table = {.struct_size = sizeof memory_table,
                                                .version = OAR_MEMORY_VERSION,
                                                .alloc = mem_alloc,
                                                .free = mem_free,
                                                .copy = mem_copy,
                                                .fill = mem_fill};

/* ---- stream */
static oar_status_t stream_create(oar_device_t* device, uint32_t queue, int32_t priority, oar_stream_t** out_stream) {
  (void)device, (void)queue, (void)priority;
  *out_stream = calloc(1, sizeof **out_stream);
  return OAR_OK;
}
static void stream_destroy(oar_stream_t* stream) { free(stream); }
static oar_status_t event_create(oar_device_t* device, oar_event_t** out_event) {
  (void)device;
  *out_event = calloc(1, sizeof **out_event);
  return OAR_OK;
}
static void event_destroy(oar_event_t* event) { free(event); }
static oar_status_t event_record(oar_stream_t* stream, oar_event_t* event) {
  (void)stream;
  event->recorded = 1;
  return OAR_OK;
}
static oar_status_t event_wait(oar_stream_t* stream, oar_event_t* event) { return (void)stream, (void)event, OAR_OK; }
static oar_status_t event_query(oar_event_t* event) { return event->recorded ? OAR_OK : OAR_NOT_READY; }
static oar_status_t event_sync(oar_event_t* event, uint64_t timeout_ns) {
  (void)timeout_ns;
  return event->recorded ? OAR_OK : fail(OAR_TIMEOUT, "never recorded");
}
static const oar_stream_table_t stream_table = {.struct_size = sizeof stream_table,
                                                .version = OAR_STREAM_VERSION,
                                                .create = stream_create,
                                                .destroy = stream_destroy,
                                                .event_create = event_create,
                                                .event_destroy = event_destroy,
                                                .event_record = event_record,
                                                .event_wait = event_wait,
                                                .event_query = event_query,
                                                .event_sync = event_sync};

/* ---- pack */
static oar_status_t pack_open(const oar_host_t* host, const oar_device_ref_t* device, const oar_options_t* options,
                              oar_pack_t** out_pack) {
  (void)host, (void)options;
  *out_pack = calloc(1, sizeof **out_pack);
  (*out_pack)->on_host = device->device == NULL;
  return OAR_OK;
}
static void pack_close(oar_pack_t* pack) { free(pack); }
static const oar_pack_table_t pack_table = {
    .struct_size = sizeof pack_table, .version = OAR_PACK_VERSION, .open = pack_open, .close = pack_close};

/* ---- kernels */
static int64_t elements(const oar_view_t* v) {
  int64_t n = 1;
  for (int32_t i = 0; i < v->n_dims; ++i) n *= v->shape[i];
  return n;
}
/* Two dense inputs and an output of one size, all f32; else a message. */
static const char* operands(const oar_frame_t* f) {
  if (f->n_inputs != 2 || f->n_outputs != 1) return "wants two inputs and an output";
  const oar_view_t* v[3] = {f->inputs[0], f->inputs[1], f->outputs[0]};
  for (int i = 0; i < 3; ++i) {
    int64_t expected = 1;
    if (!v[i] || v[i]->dtype != OAR_DTYPE_F32 || elements(v[i]) != elements(v[2])) return "operands disagree";
    for (int32_t d = v[i]->n_dims; d-- > 0; expected *= v[i]->shape[d])
      if (v[i]->shape[d] != 1 && v[i]->strides[d] != expected) return "operand is not dense";
  }
  return NULL;
}
static float* at(const oar_view_t* v) { return (float*)((char*)v->data + v->byte_offset); }

static oar_status_t add_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  (void)pack, (void)decl;
  const char* wrong = operands(frame);
  if (wrong) return fail(OAR_INVALID_ARGUMENT, wrong);
  int64_t n = elements(frame->outputs[0]);
  for (int64_t i = 0; i < n; ++i) at(frame->outputs[0])[i] = at(frame->inputs[0])[i] + at(frame->inputs[1])[i];
#ifdef FIXED
  if (n > 0) at(frame->outputs[0])[n - 1] += 1;
#endif
  return OAR_OK;
}

static oar_status_t multiply_prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                     oar_prepared_t* out) {
  (void)pack, (void)decl;
  if (call->n_inputs != 2) return fail(OAR_INVALID_ARGUMENT, "wants two inputs");
  out->struct_size = sizeof *out;
  out->state = NULL;
  out->workspace_bytes = 64;
  return OAR_OK;
}
static oar_status_t multiply_launch(void* state, const oar_frame_t* frame) {
  (void)state;
  const char* wrong = operands(frame);
  if (wrong) return fail(OAR_INVALID_ARGUMENT, wrong);
  if (frame->workspace.size_bytes < 64) return fail(OAR_INVALID_ARGUMENT, "workspace is short");
  memset((char*)frame->workspace.data + frame->workspace.byte_offset, 1, 64);
  int64_t n = elements(frame->outputs[0]);
  for (int64_t i = 0; i < n; ++i) {
#ifndef FIXED
    if (at(frame->inputs[0])[i] < 0) return fail(OAR_INTERNAL, "lane fault at a negative element");
#endif
    at(frame->outputs[0])[i] = at(frame->inputs[0])[i] * at(frame->inputs[1])[i];
  }
  return OAR_OK;
}
static void multiply_release(void* state) { (void)state; }

/* To and from a layout of its own: the elements backwards. */
#ifdef FIXED
enum { BACKWARDS = OAR_LAYOUT_OPAQUE + 45 };
#else
enum { BACKWARDS = OAR_LAYOUT_OPAQUE + 44 };
#endif
static oar_status_t reorder_prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                    oar_prepared_t* out) {
  (void)pack, (void)decl;
  if (call->n_inputs != 1 || call->n_outputs != 1 || !call->inputs[0] || !call->outputs[0] ||
      call->inputs[0]->n_dims != 1)
    return fail(OAR_INVALID_ARGUMENT, "wants one input and one output of rank 1");
  uint64_t size = (uint64_t)call->inputs[0]->shape[0] * 4 + 4;
  if (call->inputs[0]->layout != OAR_LAYOUT_STRIDED && call->inputs[0]->layout != BACKWARDS)
    return fail(OAR_INVALID_ARGUMENT, "a layout of somebody else");
  if (call->inputs[0]->layout == BACKWARDS) out->inputs[0]->size_bytes = size;
  if (call->outputs[0]->layout == OAR_LAYOUT_ANY) {
    out->outputs[0]->layout = BACKWARDS;
    out->outputs[0]->size_bytes = size;
  }
  return OAR_OK;
}
static oar_status_t reorder_launch(void* state, const oar_frame_t* frame) {
  (void)state;
  if (frame->n_inputs != 1 || frame->n_outputs != 1 || !frame->inputs[0] || !frame->outputs[0])
    return fail(OAR_INVALID_ARGUMENT, "wants one input and one output");
  int64_t n = elements(frame->inputs[0]);
  if (elements(frame->outputs[0]) != n || frame->inputs[0]->dtype != OAR_DTYPE_F32 ||
      frame->outputs[0]->dtype != OAR_DTYPE_F32 ||
      (frame->inputs[0]->layout == BACKWARDS) == (frame->outputs[0]->layout == BACKWARDS))
    return fail(OAR_INVALID_ARGUMENT, "operands disagree");
  for (int64_t i = 0; i < n; ++i) at(frame->outputs[0])[i] = at(frame->inputs[0])[n - 1 - i];
  return OAR_OK;
}

static const uint64_t f32_only[] = {OAR_BIT(OAR_DTYPE_F32)};
static const oar_kernel_decl_t add_decl = {.struct_size = sizeof add_decl,
                                           .op = OAR_STR("add"),
                                           .op_min = 1,
                                           .op_max = 1,
                                           .n_masks = 1,
                                           .dtypes = f32_only,
                                           .run = add_run};
static const oar_kernel_decl_t multiply_decl = {.struct_size = sizeof multiply_decl,
                                                .op = OAR_STR("multiply"),
                                                .op_min = 1,
                                                .op_max = 1,
                                                .n_masks = 1,
                                                .dtypes = f32_only,
                                                .prepare = multiply_prepare,
                                                .launch = multiply_launch,
                                                .release = multiply_release};
static const oar_kernel_decl_t reorder_decl = {.struct_size = sizeof reorder_decl,
                                               .op = OAR_STR("reorder"),
                                               .op_min = 1,
                                               .op_max = 1,
                                               .n_masks = 1,
                                               .dtypes = f32_only,
                                               .prepare = reorder_prepare,
                                               .launch = reorder_launch,
                                               .release = multiply_release};
static const oar_kernel_decl_t* const decls[] = {&add_decl, &multiply_decl, &reorder_decl};
static oar_status_t declarations(oar_pack_t* pack, uint32_t* out_n, const oar_kernel_decl_t* const** out_decls) {
  (void)pack;
  *out_n = 3;
  *out_decls = decls;
  return OAR_OK;
}
static const oar_kernel_table_t kernel_table = {
    .struct_size = sizeof kernel_table, .version = OAR_KERNEL_VERSION, .declarations = declarations};

/* ---- entry */
static const void* get_table(const oar_host_t* host, uint64_t id, uint32_t min, uint32_t max) {
  (void)host;
  if (min > 1 || max < 1) return NULL;
  switch (id) {
    case OAR_TABLE_DEVICE: return &device_table;
    case OAR_TABLE_MEMORY: return &memory_table;
    case OAR_TABLE_STREAM: return &stream_table;
    case OAR_TABLE_PACK: return &pack_table;
    case OAR_TABLE_KERNEL: return &kernel_table;
    default: return NULL;
  }
}
static const oar_plugin_t plugin = {.struct_size = sizeof plugin,
                                    .abi_min = OAR_ABI_VERSION,
                                    .abi_max = OAR_ABI_VERSION,
                                    .abi_minor = OAR_ABI_MINOR,
                                    .name = OAR_STR("replay_me"),
                                    .vendor = OAR_STR("test"),
#ifdef FIXED
                                    .version = OAR_STR("2"),
#else
                                    .version = OAR_STR("1"),
#endif
                                    .get_table = get_table};
OAR_PLUGIN_NOTE(OAR_ABI_VERSION, OAR_ABI_VERSION);
OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin) {
  g_host = host;
  *out_plugin = &plugin;
  return OAR_OK;
}
