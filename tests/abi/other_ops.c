/* Defines toy.swish with another signature than own_ops. */
#include "base_ops.h"

static const oar_op_schema_t other = {sizeof(oar_op_schema_t),
                                      1,
                                      OAR_STR("toy.swish"),
                                      OAR_STR("(x: T [...]) -> (y: T [...])"),
                                      {NULL, 0},
                                      {NULL, 0},
                                      NULL};
OAR_KIT_PACK_OPS("cpu", &other);
OAR_KIT_PLUGIN("other_ops", "Oarlock tests", "1.0", OAR_KIT_PACK_TABLES)
