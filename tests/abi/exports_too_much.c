/* Exports two symbols beside the one that it should. */
#include "base_pack.h"

OAR_EXPORT int oar_extra_number = 42;
OAR_EXPORT int oar_extra_function(void);
OAR_EXPORT int oar_extra_function(void) { return oar_extra_number; }

BASE_PACK(base_run);
OAR_KIT_PLUGIN("exports_too_much", "Oarlock tests", "1.0", BASE_PACK_TABLES)
