/* Built after the structs have grown: every struct is longer than the host knows and ends in fields that are set, out_
 * structs are assigned whole, up to the room that the host must give them, and abi_minor and abi_max are ahead. */
#include "base_device.h"
#include "base_pack.h"

/* A struct of this header and what a later one added to it. */
#define GROWN(type, words) \
  struct {                 \
    type now;              \
    uint64_t added[words]; \
  }

static const GROWN(oar_space_info_t, 4) new_space = {
    {sizeof(new_space), OAR_SPACE_ADDRESSABLE | OAR_SPACE_HOST_ACCESS | 1u << 20, OAR_STR("host"), 0, 64},
    {~(uint64_t)0, 1, 2, 3}};
static const oar_space_info_t* const new_spaces[] = {&new_space.now};
static const GROWN(oar_device_info_t, 4) new_info = {{sizeof(new_info),
                                                      12,
                                                      OAR_STR("toy"),
                                                      OAR_STR("new toy"),
                                                      OAR_STR("toy-new"),
                                                      {"", 0},
                                                      1,
                                                      1,
                                                      new_spaces,
                                                      OAR_KIT_NUMBERS | OAR_KIT_BOOL | OAR_BIT(60),
                                                      OAR_BIT(OAR_DTYPE_F32)},
                                                     {~(uint64_t)0, 1, 2, 3}};
static const oar_device_info_t* const new_infos[] = {&new_info.now};

static oar_status_t OAR_CALL new_enumerate(const oar_host_t* host, uint32_t* out_n,
                                           const oar_device_info_t* const** out_infos) {
  (void)host;
  *out_n = 1;
  *out_infos = new_infos;
  return OAR_OK;
}

typedef GROWN(oar_device_stats_t, (OAR_OUT_ROOM - sizeof(oar_device_stats_t)) / 8) new_stats_t;
typedef GROWN(oar_verdict_t, (OAR_OUT_ROOM - sizeof(oar_verdict_t)) / 8) new_verdict_t;
typedef GROWN(oar_prepared_t, (OAR_OUT_ROOM - sizeof(oar_prepared_t)) / 8) new_prepared_t;

static oar_status_t OAR_CALL new_stats(oar_device_t* device, oar_device_stats_t* out_stats) {
  new_stats_t stats;
  (void)device;
  memset(&stats, 0xee, sizeof(stats));
  stats.now = (oar_device_stats_t){.struct_size = sizeof(stats), .utilisation_percent = 7, .memory_used_bytes = 1};
  memcpy(out_stats, &stats, sizeof(stats));
  return OAR_OK;
}

static oar_status_t OAR_CALL new_check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                       oar_verdict_t* out_verdict) {
  new_verdict_t verdict;
  memset(&verdict, 0xee, sizeof(verdict));
  verdict.now = *out_verdict;
  verdict.now.struct_size = sizeof(verdict);
  memcpy(out_verdict, &verdict, sizeof(verdict));
  return base_check(pack, decl, call, out_verdict);
}

static oar_status_t OAR_CALL new_prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                         oar_prepared_t* out_prepared) {
  new_prepared_t prepared;
  (void)decl, (void)call;
  memset(&prepared, 0xee, sizeof(prepared));
  prepared.now = *out_prepared;
  prepared.now.struct_size = sizeof(prepared);
  prepared.now.state = pack;
  memcpy(out_prepared, &prepared, sizeof(prepared));
  return OAR_OK;
}
static oar_status_t OAR_CALL new_launch(void* state, const oar_frame_t* frame) {
  return base_run((oar_pack_t*)state, NULL, frame);
}
static void OAR_CALL new_release(void* state) { (void)state; }

static const uint64_t f32[] = {OAR_BIT(OAR_DTYPE_F32)};
static const GROWN(oar_kernel_decl_t, 4) new_decl = {{.struct_size = sizeof(new_decl),
                                                      .flags = OAR_KERNEL_DETERMINISTIC | 1u << 20,
                                                      .op = OAR_STR("tanh"),
                                                      .op_min = 1,
                                                      .op_max = 1,
                                                      .priority = 1000,
                                                      .n_masks = 1,
                                                      .dtypes = f32,
                                                      .check = new_check,
                                                      .prepare = new_prepare,
                                                      .launch = new_launch,
                                                      .release = new_release},
                                                     {~(uint64_t)0, 1, 2, 3}};
static const oar_kernel_decl_t* const new_decls[] = {&new_decl.now};
static oar_status_t OAR_CALL new_declarations(oar_pack_t* pack, uint32_t* out_n,
                                              const oar_kernel_decl_t* const** out_decls) {
  (void)pack;
  *out_n = 1;
  *out_decls = new_decls;
  return OAR_OK;
}

static const GROWN(oar_device_table_t, 4) device_table = {{.struct_size = sizeof(device_table),
                                                           .version = OAR_DEVICE_VERSION,
                                                           .enumerate = new_enumerate,
                                                           .open = base_open,
                                                           .close = base_close,
                                                           .stats = new_stats},
                                                          {~(uint64_t)0, 1, 2, 3}};
static const GROWN(oar_memory_table_t, 4) memory_table = {
    {.struct_size = sizeof(memory_table), BASE_MEMORY_FIELDS(base_alloc)}, {~(uint64_t)0, 1, 2, 3}};
static const GROWN(oar_stream_table_t, 4) stream_table = {{.struct_size = sizeof(stream_table), BASE_STREAM_FIELDS},
                                                          {~(uint64_t)0, 1, 2, 3}};
static const GROWN(oar_pack_table_t, 4) pack_table = {
    {.struct_size = sizeof(pack_table), .version = OAR_PACK_VERSION, .open = base_pack_open, .close = base_pack_close},
    {~(uint64_t)0, 1, 2, 3}};
static const GROWN(oar_kernel_table_t, 4) kernel_table = {
    {.struct_size = sizeof(kernel_table), .version = OAR_KERNEL_VERSION, .declarations = new_declarations},
    {~(uint64_t)0, 1, 2, 3}};
/* A break of the device table that this host can't know; it asks for version 1 and gets the one above. */
static const GROWN(oar_device_table_t, 4) device_table_2 = {
    {.struct_size = sizeof(device_table_2), .version = OAR_DEVICE_VERSION + 1}, {0}};

static const oar_kit_table_t tables[] = {{OAR_TABLE_DEVICE, &device_table}, {OAR_TABLE_DEVICE, &device_table_2},
                                         {OAR_TABLE_MEMORY, &memory_table}, {OAR_TABLE_STREAM, &stream_table},
                                         {OAR_TABLE_PACK, &pack_table},     {OAR_TABLE_KERNEL, &kernel_table}};
static const void* OAR_CALL get_table(const oar_host_t* host, uint64_t id, uint32_t min, uint32_t max) {
  (void)host;
  return oar_kit_table_find(tables, sizeof(tables) / sizeof(tables[0]), id, min, max);
}

static const GROWN(oar_plugin_t, 4) plugin = {
    {sizeof(plugin), OAR_ABI_VERSION, OAR_ABI_VERSION + 1, OAR_ABI_MINOR + 1, OAR_STR("newer"),
     OAR_STR("Oarlock tests"), OAR_STR("9.0"), OAR_STR(OAR_KIT_TARGET), get_table},
    {~(uint64_t)0, 1, 2, 3}};
OAR_PLUGIN_NOTE(OAR_ABI_VERSION, OAR_ABI_VERSION + 1);
OAR_KIT_ENTRY(plugin.now)
