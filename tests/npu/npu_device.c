/* The npu: entry, device, pack and graph table. No kernels: what is not claimed as a graph runs elsewhere. */
#include "npu.h"

static const oar_space_info_t dram = {sizeof(oar_space_info_t), 0, OAR_STR("dram"), 0, 64};
static const oar_space_info_t* const spaces[] = {&dram};
static const oar_device_info_t info = {
    .struct_size = sizeof(oar_device_info_t),
    .dlpack_kind = 12,
    .kind = OAR_STR("npu"),
    .name = OAR_STR("Oarlock npu"),
    .uuid = OAR_STR("npu-0"),
    .n_spaces = 1,
    .n_queues = 1,
    .spaces = spaces,
    .storage_dtypes = 0x7f1ffffe, /* it only moves bytes */
    .compute_dtypes = OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_I8) | OAR_BIT(OAR_DTYPE_I32)};
static const oar_device_info_t* const infos[] = {&info};

static oar_status_t OAR_CALL device_enumerate(const oar_host_t* host, uint32_t* out_n,
                                              const oar_device_info_t* const** out_infos) {
  (void)host;
  *out_n = 1;
  *out_infos = infos;
  return OAR_OK;
}

static oar_status_t OAR_CALL device_open(const oar_host_t* host, uint32_t index, const oar_options_t* options,
                                         oar_device_t** out_device) {
  char text[16];
  uint64_t revision = NPU_REVISION;
  if (index != 0) return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "there is no npu:%u, only npu:0", index);
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  if (oar_kit_option(options, "revision", text, sizeof(text))) {
    char* end = NULL;
    revision = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || revision == 0 || revision > 1000)
      return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "npu: '%s' is no revision. Give 1 to 1000.", text);
  }
  oar_device_t* device = calloc(1, sizeof(*device));
  if (device == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory for the device");
  device->host = host;
  device->revision = revision;
  pthread_mutex_init(&device->lock, NULL);
  *out_device = device;
  return OAR_OK;
}

static void OAR_CALL device_close(oar_device_t* device) {
  for (uint32_t i = 0; i < device->n_buffers; ++i) free(device->buffers[i].bytes);
  free(device->buffers);
  pthread_mutex_destroy(&device->lock);
  free(device);
}

static const oar_device_table_t device_table = {.struct_size = sizeof(device_table),
                                                .version = OAR_DEVICE_VERSION,
                                                .enumerate = device_enumerate,
                                                .open = device_open,
                                                .close = device_close};

/* ---------------------------------------------------------------- Pack */
static oar_status_t OAR_CALL pack_open(const oar_host_t* host, const oar_device_ref_t* ref,
                                       const oar_options_t* options, oar_pack_t** out_pack) {
  if (ref->device == NULL || !oar_kit_str_is(ref->info->kind, "npu")) return OAR_REFUSED;
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  oar_pack_t* pack = malloc(sizeof(*pack));
  if (pack == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory for a pack");
  *pack = (oar_pack_t){host, ref->device};
  *out_pack = pack;
  return OAR_OK;
}

static void OAR_CALL pack_close(oar_pack_t* pack) { free(pack); }

static const oar_pack_table_t pack_table = {
    .struct_size = sizeof(pack_table), .version = OAR_PACK_VERSION, .open = pack_open, .close = pack_close};

static const oar_graph_table_t graph_table = {.struct_size = sizeof(graph_table),
                                              .version = OAR_GRAPH_VERSION,
                                              .n_ops = NPU_OPS,
                                              .ops = npu_ranges,
                                              .claim = npu_claim,
                                              .compile = npu_compile,
                                              .launch = npu_launch,
                                              .release = npu_release,
                                              .save = npu_save,
                                              .load = npu_load,
                                              .check_blob = npu_check_blob};

OAR_KIT_PLUGIN("npu", "Oarlock", "0.1.0", {OAR_TABLE_DEVICE, &device_table}, {OAR_TABLE_MEMORY, &npu_memory_table},
               {OAR_TABLE_STREAM, &npu_stream_table}, {OAR_TABLE_PACK, &pack_table}, {OAR_TABLE_GRAPH, &graph_table})
