/* Its op's gradient is an op that nobody has. */
#include "base_ops.h"

static const oar_op_schema_t op = {sizeof(oar_op_schema_t),
                                   1,
                                   OAR_STR("toy.orphan"),
                                   OAR_STR("(x: T [...]) -> (y: T [...])"),
                                   OAR_STR("toy.nobody(grad y) -> (grad x)"),
                                   {NULL, 0},
                                   NULL};
OAR_KIT_PACK_OPS("cpu", &op);
OAR_KIT_PLUGIN("unknown_gradient", "Oarlock tests", "1.0", OAR_KIT_PACK_TABLES)
