/* Built when the structs were shorter: every struct_size ends before the optional fields, and what lies behind, which
 * a real old plugin doesn't have, is a trap. Works in full for a host that asks OAR_HAS. */
#include <stddef.h>

#include "base_device.h"
#include "base_pack.h"

/* Whoever gets here has read past struct_size. */
static void trap(void) { abort(); }
#define TRAP(type) ((type)(void (*)(void))trap)

static const oar_space_info_t old_space = {.struct_size = offsetof(oar_space_info_t, size_bytes),
                                           .flags = OAR_SPACE_ADDRESSABLE | OAR_SPACE_HOST_ACCESS,
                                           .name = OAR_STR("host"),
                                           .size_bytes = 1,
                                           .alignment = 3};
static const oar_space_info_t* const old_spaces[] = {&old_space};
static const oar_device_info_t old_info = {.struct_size = offsetof(oar_device_info_t, storage_dtypes),
                                           .dlpack_kind = 12,
                                           .kind = OAR_STR("toy"),
                                           .name = OAR_STR("old toy"),
                                           .uuid = OAR_STR("toy-old"),
                                           .n_spaces = 1,
                                           .n_queues = 1,
                                           .spaces = old_spaces,
                                           .storage_dtypes = OAR_BIT(63),
                                           .compute_dtypes = OAR_BIT(63)};
static const oar_device_info_t* const old_infos[] = {&old_info};

static oar_status_t OAR_CALL old_enumerate(const oar_host_t* host, uint32_t* out_n,
                                           const oar_device_info_t* const** out_infos) {
  (void)host;
  *out_n = 1;
  *out_infos = old_infos;
  return OAR_OK;
}

static oar_status_t OAR_CALL old_prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                         oar_prepared_t* out_prepared) {
  (void)decl, (void)call;
  out_prepared->struct_size = offsetof(oar_prepared_t, workspace_bytes);
  out_prepared->state = pack;
  return OAR_OK;
}
static oar_status_t OAR_CALL old_launch(void* state, const oar_frame_t* frame) {
  return base_run((oar_pack_t*)state, NULL, frame);
}
static void OAR_CALL old_release(void* state) { (void)state; }

static oar_status_t OAR_CALL trap_native(oar_device_t* device) {
  (void)device;
  abort();
}

static const uint64_t f32[] = {OAR_BIT(OAR_DTYPE_F32)};
static const oar_kernel_decl_t old_decl = {
    .struct_size = offsetof(oar_kernel_decl_t, run),
    .flags = OAR_KERNEL_DETERMINISTIC,
    .op = OAR_STR("tanh"),
    .op_min = 1,
    .op_max = 1,
    .priority = 1000,
    .n_masks = 1,
    .dtypes = f32,
    .check = base_check,
    .prepare = old_prepare,
    .launch = old_launch,
    .release = old_release,
    .run = TRAP(oar_status_t(*)(oar_pack_t*, const oar_kernel_decl_t*, const oar_frame_t*))};
static const oar_kernel_decl_t* const old_decls[] = {&old_decl};
static oar_status_t OAR_CALL old_declarations(oar_pack_t* pack, uint32_t* out_n,
                                              const oar_kernel_decl_t* const** out_decls) {
  (void)pack;
  *out_n = 1;
  *out_decls = old_decls;
  return OAR_OK;
}

static const oar_device_table_t device_table = {.struct_size = offsetof(oar_device_table_t, native),
                                                .version = OAR_DEVICE_VERSION,
                                                .enumerate = old_enumerate,
                                                .open = base_open,
                                                .close = base_close,
                                                .native = TRAP(void* (*)(oar_device_t*)),
                                                .link = TRAP(uint64_t(*)(oar_device_t*, oar_device_t*)),
                                                .stats = TRAP(oar_status_t(*)(oar_device_t*, oar_device_stats_t*)),
                                                .health = trap_native,
                                                .self_check = trap_native};
static const oar_memory_table_t memory_table = {.struct_size = offsetof(oar_memory_table_t, pin),
                                                BASE_MEMORY_FIELDS(base_alloc),
                                                .pin = TRAP(oar_status_t(*)(oar_device_t*, void*, uint64_t)),
                                                .unpin = TRAP(void (*)(oar_device_t*, void*))};
static const oar_stream_table_t stream_table = {
    .struct_size = offsetof(oar_stream_table_t, wrap_native),
    BASE_STREAM_FIELDS,
    .native = TRAP(void* (*)(oar_stream_t*)),
    .host_call = TRAP(oar_status_t(*)(oar_stream_t*, void (*)(void*), void*)),
    .event_arm = TRAP(oar_status_t(*)(oar_event_t*)),
    .event_signal = TRAP(oar_status_t(*)(oar_event_t*))};
static const oar_pack_table_t pack_table = {.struct_size = offsetof(oar_pack_table_t, stream_open),
                                            .version = OAR_PACK_VERSION,
                                            .open = base_pack_open,
                                            .close = base_pack_close,
                                            .stream_open = TRAP(oar_status_t(*)(oar_pack_t*, void*, oar_stream_t**)),
                                            .stream_close = TRAP(void (*)(oar_pack_t*, oar_stream_t*))};
static const oar_kernel_table_t kernel_table = {
    .struct_size = offsetof(oar_kernel_table_t, launch_many),
    .version = OAR_KERNEL_VERSION,
    .declarations = old_declarations,
    .launch_many = TRAP(oar_status_t(*)(oar_stream_t*, uint32_t, const oar_kernel_decl_t* const*, void* const*,
                                        const oar_frame_t* const*, uint32_t*))};

OAR_KIT_PLUGIN("older", "Oarlock tests", "0.1", {OAR_TABLE_DEVICE, &device_table}, {OAR_TABLE_MEMORY, &memory_table},
               {OAR_TABLE_STREAM, &stream_table}, {OAR_TABLE_PACK, &pack_table}, {OAR_TABLE_KERNEL, &kernel_table})
