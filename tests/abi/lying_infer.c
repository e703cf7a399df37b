/* Its shape rule answers by the attribute lie: 0 the truth, 1 a negative size, 2 rank 17, 3 a rank that the signature does
 * not allow, 4 a size that it does not allow, 5 nothing written, 6 a failure without a text. Its gradient op gives what no
 * input's shape is. */
#include "base_ops.h"

static oar_status_t OAR_CALL lie(const oar_host_t* host, const oar_call_t* call, uint32_t output, uint32_t* out_n_dims,
                                 int64_t* out_shape) {
  int64_t how = 0;
  (void)host, (void)output;
  oar_kit_attr_int(call, 0, &how);
  if (how == 5) return OAR_OK;
  if (how == 6) return OAR_INTERNAL;
  *out_n_dims = how == 2 ? 17 : how == 3 ? 3 : 2;
  for (uint32_t i = 0; i < 16 && i < *out_n_dims; ++i) out_shape[i] = 2;
  out_shape[0] = how == 1 ? -2 : call->inputs[0]->shape[0];
  out_shape[1] = how == 4 ? 3 : 2;
  return OAR_OK;
}
BASE_SCHEMA(wrong_gradient, "toy.lie_gradient", "(dy: T [N, 2]) -> (dx: T [N, 2]) where T: f32", "", NULL);
BASE_SCHEMA(op, "toy.lie", "(x: T [N], lie: integer = 0) -> (y: T [P, 2]) where T: f32",
            "toy.lie_gradient(grad y) -> (grad x)", lie);

static oar_status_t OAR_CALL zeros(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* f) {
  (void)pack, (void)decl;
  memset(oar_kit_view_data(f->outputs[0]), 0, (size_t)oar_kit_view_count(f->outputs[0]) * 4);
  return OAR_OK;
}
BASE_KERNEL(kernel, "toy.lie", base_floats, zeros);
BASE_KERNEL(gradient_kernel, "toy.lie_gradient", base_floats, zeros);
OAR_KIT_PACK_OPS("cpu", &wrong_gradient, &op);
OAR_KIT_PLUGIN("lying_infer", "Oarlock tests", "1.0", OAR_KIT_PACK_TABLES)
