/* Forgot the version of one table, and hands it out whatever range was asked for. */
#include "base_pack.h"

BASE_PACK(base_run);
static const oar_kernel_table_t forgotten = {.struct_size = sizeof(forgotten), .declarations = base_declarations};
static const void* OAR_CALL get_table(const oar_host_t* host, uint64_t id, uint32_t min, uint32_t max) {
  (void)host, (void)min, (void)max, (void)base_kernel_table;
  return id == OAR_TABLE_PACK ? (const void*)&base_pack_table : id == OAR_TABLE_KERNEL ? (const void*)&forgotten : NULL;
}
static const oar_plugin_t plugin = {sizeof(plugin), OAR_ABI_VERSION,         OAR_ABI_VERSION,
                                    OAR_ABI_MINOR,  OAR_STR("table_zero"),   OAR_STR("Oarlock tests"),
                                    OAR_STR("1.0"), OAR_STR(OAR_KIT_TARGET), get_table};
OAR_PLUGIN_NOTE(OAR_ABI_VERSION, OAR_ABI_VERSION);
OAR_KIT_ENTRY(plugin)
