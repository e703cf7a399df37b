/* base_ops.h - ops that the test plugins define: toy.swish with gradients of first and second order, toy.scale with a
 * broadcast operand and a vector's gradient, toy.pairs with a shape rule, toy.largest with a hidden output. Their kernels
 * serve the host, in f32 and f64. */
#ifndef OARLOCK_TESTS_ABI_BASE_OPS_H
#define OARLOCK_TESTS_ABI_BASE_OPS_H
#include <math.h>

#include "kit_pack.h"

#define BASE_SWISH "(x: T [...], beta: real = 1 >= 0) -> (y: T [...]) where T: f32 f64"
#define BASE_SCHEMA(variable, name_text, signature_text, gradient_text, infer_function)                 \
  static const oar_op_schema_t variable = {sizeof(oar_op_schema_t), 1,                                  \
                                           OAR_STR(name_text),      OAR_STR(signature_text),            \
                                           OAR_STR(gradient_text),  OAR_STR("A test's " name_text "."), \
                                           infer_function}

/* x * sigmoid(beta * x), after Ramachandran, Zoph, Le (2017); its derivative; that one's. */
BASE_SCHEMA(base_swish2, "toy.swish_second",
            "(x: T [...], dy: T [...], ddx: T [...], beta: real = 1) -> (gx: T [...], gdy: T [...]) where T: f32 f64",
            "", NULL);
BASE_SCHEMA(base_swish1, "toy.swish_gradient",
            "(x: T [...], dy: T [...], beta: real = 1) -> (dx: T [...]) where T: f32 f64",
            "toy.swish_second(x, dy, grad dx) -> (grad x, grad dy)", NULL);
BASE_SCHEMA(base_swish, "toy.swish", BASE_SWISH, "toy.swish_gradient(x, grad y) -> (grad x)", NULL);
/* Rows times a vector; the gradient of both at once. */
BASE_SCHEMA(base_scale1, "toy.scale_gradient",
            "(x: T [R, N], w: T [N], dy: T [R, N]) -> (dx: T [R, N], dw: T [N]) where T: f32 f64", "", NULL);
BASE_SCHEMA(base_scale, "toy.scale", "(x: T [R, N], w: T [N]) -> (y: T [R, N]) where T: f32 f64",
            "toy.scale_gradient(x, w, grad y) -> (grad x, grad w)", NULL);
/* Its own gradient. */
BASE_SCHEMA(base_flip, "toy.opposite", "(x: T [*S]) -> (y: T [*S]) where T: f32 f64",
            "toy.opposite(grad y) -> (grad x)", NULL);
/* The greatest element, and where it was for the gradient alone. */
BASE_SCHEMA(base_largest1, "toy.largest_gradient",
            "(x: T [N], place: i64 [], dy: T []) -> (dx: T [N]) where T: f32 f64", "", NULL);
BASE_SCHEMA(base_largest, "toy.largest", "(x: T [N]) -> (y: T [], hidden place: i64 []) where T: f32 f64",
            "toy.largest_gradient(x, place, grad y) -> (grad x)", NULL);

/* A shape that no string says: P is half of N. */
static oar_status_t OAR_CALL base_pairs_infer(const oar_host_t* host, const oar_call_t* call, uint32_t output,
                                              uint32_t* out_n_dims, int64_t* out_shape) {
  int64_t n = call->inputs[0]->shape[0];
  (void)output;
  if (n % 2 != 0) return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "%lld elements make no pairs", (long long)n);
  *out_n_dims = 2;
  out_shape[0] = n / 2;
  out_shape[1] = 2;
  return OAR_OK;
}
BASE_SCHEMA(base_pairs, "toy.pairs", "(x: T [N]) -> (y: T [P, 2]) where T: f32 f64", "", base_pairs_infer);

static inline oar_status_t OAR_CALL base_dense(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                               oar_verdict_t* out_verdict) {
  (void)pack, (void)decl;
  for (uint32_t i = 1; i < call->n_inputs; ++i) /* operands of "..." come as they are, not expanded */
    if (oar_kit_str_is(call->op, "toy.swish_gradient") || oar_kit_str_is(call->op, "toy.swish_second"))
      if (oar_kit_count(call->inputs[i]->n_dims, call->inputs[i]->shape) !=
          oar_kit_count(call->inputs[0]->n_dims, call->inputs[0]->shape))
        return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, (int32_t)i, "the operands must have one shape");
  return oar_kit_check_contiguous(call, out_verdict);
}

#define BASE_OF(type)                                                                                                \
  static inline void base_swish_##type(const oar_frame_t* f, int order, double beta) {                               \
    const type* x = (const type*)oar_kit_view_data(f->inputs[0]);                                                    \
    const type* dy = order > 0 ? (const type*)oar_kit_view_data(f->inputs[1]) : NULL;                                \
    const type* ddx = order > 1 ? (const type*)oar_kit_view_data(f->inputs[2]) : NULL;                               \
    type* out = (type*)oar_kit_view_data(f->outputs[0]);                                                             \
    type* out1 = order > 1 ? (type*)oar_kit_view_data(f->outputs[1]) : NULL;                                         \
    for (int64_t i = 0, n = oar_kit_view_count(f->outputs[0]); i < n; ++i) {                                         \
      double v = x[i], s = 1 / (1 + exp(-beta * v)), t = s * (1 - s), d = s + v * beta * t;                          \
      double dd = 2 * beta * t + v * beta * beta * t * (1 - 2 * s);                                                  \
      out[i] = (type)(order == 0 ? v * s : order == 1 ? dy[i] * d : ddx[i] * dy[i] * dd);                            \
      if (order > 1) out1[i] = (type)(ddx[i] * d);                                                                   \
    }                                                                                                                \
  }                                                                                                                  \
  static inline void base_scale_##type(const oar_frame_t* f, int order) {                                            \
    int64_t rows = f->inputs[0]->shape[0], n = f->inputs[0]->shape[1];                                               \
    const type *x = (const type*)oar_kit_view_data(f->inputs[0]), *w = (const type*)oar_kit_view_data(f->inputs[1]); \
    const type* dy = order > 0 ? (const type*)oar_kit_view_data(f->inputs[2]) : NULL;                                \
    type* out = (type*)oar_kit_view_data(f->outputs[0]);                                                             \
    for (int64_t i = 0; i < rows * n; ++i) out[i] = (order ? dy[i] : x[i]) * w[i % n];                               \
    for (int64_t k = 0; order > 0 && k < n; ++k) {                                                                   \
      double sum = 0;                                                                                                \
      for (int64_t i = 0; i < rows; ++i) sum += (double)dy[i * n + k] * x[i * n + k];                                \
      ((type*)oar_kit_view_data(f->outputs[1]))[k] = (type)sum;                                                      \
    }                                                                                                                \
  }                                                                                                                  \
  static inline void base_largest_##type(const oar_frame_t* f, int order) {                                          \
    int64_t at = 0, n = f->inputs[0]->shape[0];                                                                      \
    const type* x = (const type*)oar_kit_view_data(f->inputs[0]);                                                    \
    type* out = (type*)oar_kit_view_data(f->outputs[0]);                                                             \
    if (order > 0) {                                                                                                 \
      for (int64_t i = 0; i < n; ++i) out[i] = 0;                                                                    \
      out[*(const int64_t*)oar_kit_view_data(f->inputs[1])] = *(const type*)oar_kit_view_data(f->inputs[2]);         \
      return;                                                                                                        \
    }                                                                                                                \
    for (int64_t i = 1; i < n; ++i)                                                                                  \
      if (x[i] > x[at]) at = i;                                                                                      \
    out[0] = n > 0 ? x[at] : 0;                                                                                      \
    if (f->outputs[1] != NULL) *(int64_t*)oar_kit_view_data(f->outputs[1]) = at;                                     \
  }                                                                                                                  \
  static inline void base_copy_##type(const oar_frame_t* f, type sign) {                                             \
    const type* x = (const type*)oar_kit_view_data(f->inputs[0]);                                                    \
    for (int64_t i = 0, n = oar_kit_view_count(f->inputs[0]); i < n; ++i)                                            \
      ((type*)oar_kit_view_data(f->outputs[0]))[i] = sign * x[i];                                                    \
  }
BASE_OF(float)
BASE_OF(double)

#define BASE_RUN(function, call32, call64)                                                      \
  static inline oar_status_t OAR_CALL function(oar_pack_t* pack, const oar_kernel_decl_t* decl, \
                                               const oar_frame_t* f) {                          \
    double beta = 1;                                                                            \
    (void)pack, (void)decl;                                                                     \
    oar_kit_attr_float(f->call, 0, &beta);                                                      \
    if (f->inputs[0]->dtype == OAR_DTYPE_F32) call32;                                           \
    else call64;                                                                                \
    return OAR_OK;                                                                              \
  }
BASE_RUN(base_run_swish, base_swish_float(f, 0, beta), base_swish_double(f, 0, beta))
BASE_RUN(base_run_swish1, base_swish_float(f, 1, beta), base_swish_double(f, 1, beta))
BASE_RUN(base_run_swish2, base_swish_float(f, 2, beta), base_swish_double(f, 2, beta))
BASE_RUN(base_run_scale, base_scale_float(f, 0), base_scale_double(f, 0))
BASE_RUN(base_run_scale1, base_scale_float(f, 1), base_scale_double(f, 1))
BASE_RUN(base_run_largest, base_largest_float(f, 0), base_largest_double(f, 0))
BASE_RUN(base_run_largest1, base_largest_float(f, 1), base_largest_double(f, 1))
BASE_RUN(base_run_opposite, base_copy_float(f, -1), base_copy_double(f, -1))
BASE_RUN(base_run_pairs, base_copy_float(f, 1), base_copy_double(f, 1))

static const uint64_t base_floats[] = {OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64)};
static const uint64_t base_place_out[] = {OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64),
                                          OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64), OAR_BIT(OAR_DTYPE_I64)};
static const uint64_t base_place_in[] = {OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64), OAR_BIT(OAR_DTYPE_I64),
                                         OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64)};
#define BASE_KERNEL(variable, name_text, masks, function)                                                        \
  static const oar_kernel_decl_t variable =                                                                      \
      OAR_KIT_KERNEL(name_text, 1, 1, OAR_KERNEL_DETERMINISTIC, 0, masks, .check = base_dense, .run = function); \
  OAR_KIT_LISTED(variable)
BASE_KERNEL(base_k_swish, "toy.swish", base_floats, base_run_swish);
BASE_KERNEL(base_k_swish1, "toy.swish_gradient", base_floats, base_run_swish1);
BASE_KERNEL(base_k_swish2, "toy.swish_second", base_floats, base_run_swish2);
BASE_KERNEL(base_k_scale, "toy.scale", base_floats, base_run_scale);
BASE_KERNEL(base_k_scale1, "toy.scale_gradient", base_floats, base_run_scale1);
BASE_KERNEL(base_k_largest, "toy.largest", base_place_out, base_run_largest);
BASE_KERNEL(base_k_largest1, "toy.largest_gradient", base_place_in, base_run_largest1);
BASE_KERNEL(base_k_opposite, "toy.opposite", base_floats, base_run_opposite);
BASE_KERNEL(base_k_pairs, "toy.pairs", base_floats, base_run_pairs);

#define BASE_OPS                                                                                                 \
  &base_swish2, &base_swish1, &base_swish, &base_scale1, &base_scale, &base_flip, &base_largest1, &base_largest, \
      &base_pairs
#endif
