/* Compiles against oarlock::plugin alone: the headers are found, the kit as well. */
#include <oarlock/plugin.h>

#include "kit.h"

OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin) {
  (void)host;
  *out_plugin = NULL;
  return OAR_UNSUPPORTED;
}
