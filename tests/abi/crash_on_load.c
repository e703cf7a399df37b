/* Dies in a constructor, before anything of it was called. Only a child process can try such a plugin. */
#include "base_pack.h"

__attribute__((constructor, no_sanitize("undefined"))) static void started(void) {
  volatile int* volatile nowhere = NULL;
  *nowhere = 1;
}

BASE_PACK(base_run);
OAR_KIT_PLUGIN("crash_on_load", "Oarlock tests", "1.0", BASE_PACK_TABLES)
