/* Well behaved: one kernel for the host, tanh of f32. The measure of all others here. */
#include "base_pack.h"

BASE_PACK(base_run);
OAR_KIT_PLUGIN("good_pack", "Oarlock tests", "1.0", BASE_PACK_TABLES)
