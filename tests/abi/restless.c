/* Well behaved, but its kernel does not promise the same bits every time. */
#define BASE_FLAGS 0
#include "base_pack.h"

BASE_PACK(base_run);
OAR_KIT_PLUGIN("restless", "Oarlock tests", "1.0", BASE_PACK_TABLES)
