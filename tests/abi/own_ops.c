/* Well behaved: defines ops and has their kernels. */
#include "base_ops.h"

OAR_KIT_PACK_OPS("cpu", BASE_OPS);
OAR_KIT_PLUGIN("own_ops", "Oarlock tests", "1.0", OAR_KIT_PACK_TABLES)
