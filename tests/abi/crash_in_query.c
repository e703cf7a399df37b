/* Loads, then dies in oar_plugin_query. */
#include "kit.h"

OAR_PLUGIN_NOTE(OAR_ABI_VERSION, OAR_ABI_VERSION);
__attribute__((no_sanitize("undefined"))) OAR_EXPORT oar_status_t OAR_CALL
oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin) {
  volatile int* volatile nowhere = NULL;
  (void)host, (void)out_plugin;
  *nowhere = 1;
  return OAR_OK;
}
