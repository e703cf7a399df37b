/* Forgot its versions: 0 in the note, 0 in oar_plugin_t. Versions count from 1. */
#include "base_pack.h"

BASE_PACK(base_run);
static const oar_kit_table_t tables[] = {BASE_PACK_TABLES};
static const void* OAR_CALL get_table(const oar_host_t* host, uint64_t id, uint32_t min, uint32_t max) {
  (void)host;
  return oar_kit_table_find(tables, 2, id, min, max);
}
static const oar_plugin_t plugin = {.struct_size = sizeof(plugin),
                                    .name = OAR_STR("abi_zero"),
                                    .vendor = OAR_STR("Oarlock tests"),
                                    .version = OAR_STR("1.0"),
                                    .get_table = get_table};
OAR_PLUGIN_NOTE(0, 0);
OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin) {
  (void)host;
  *out_plugin = &plugin;
  return OAR_OK;
}
