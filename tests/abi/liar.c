/* Its note says one range of versions, its oar_plugin_query another. */
#include "base_pack.h"

BASE_PACK(base_run);
static const oar_kit_table_t tables[] = {BASE_PACK_TABLES};
static const void* OAR_CALL get_table(const oar_host_t* host, uint64_t id, uint32_t min, uint32_t max) {
  (void)host;
  return oar_kit_table_find(tables, 2, id, min, max);
}
static const oar_plugin_t plugin = {sizeof(plugin), OAR_ABI_VERSION,         OAR_ABI_VERSION + 2,
                                    OAR_ABI_MINOR,  OAR_STR("liar"),         OAR_STR("Oarlock tests"),
                                    OAR_STR("1.0"), OAR_STR(OAR_KIT_TARGET), get_table};
OAR_PLUGIN_NOTE(OAR_ABI_VERSION, OAR_ABI_VERSION);
OAR_KIT_ENTRY(plugin)
