/* Says OAR_OK and hands out nothing. */
#include "kit.h"

OAR_PLUGIN_NOTE(OAR_ABI_VERSION, OAR_ABI_VERSION);
OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin) {
  (void)host, (void)out_plugin;
  return OAR_OK;
}
