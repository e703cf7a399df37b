/* Defines the very ops of own_ops, spaced otherwise, which is fine. */
#include "base_ops.h"

static const oar_op_schema_t spaced = {
    sizeof(oar_op_schema_t),
    1,
    OAR_STR("toy.swish"),
    OAR_STR("(x: T [...],  beta: real = 1 >= 0)\n  -> (y: T [...]) where T: f32 f64"),
    OAR_STR("toy.swish_gradient(x, grad y) -> (grad x)"),
    OAR_STR("In other words."),
    NULL};
OAR_KIT_PACK_OPS("cpu", BASE_OPS, &spaced);
OAR_KIT_PLUGIN("same_ops", "Oarlock tests", "1.0", OAR_KIT_PACK_TABLES)
