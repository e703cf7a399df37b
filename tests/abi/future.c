/* Speaks only versions that this host has never heard of. Its code must not run: it would stop the process. */
#include <stdlib.h>

#include "kit.h"

__attribute__((constructor)) static void started(void) { abort(); }

OAR_PLUGIN_NOTE(101, 101);
OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin) {
  (void)host, (void)out_plugin;
  abort();
}
