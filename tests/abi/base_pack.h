/* base_pack.h - what the test plugins share: one kernel, tanh of contiguous f32, for the host CPU and for "toy". */
#ifndef OARLOCK_TESTS_ABI_BASE_PACK_H
#define OARLOCK_TESTS_ABI_BASE_PACK_H
#include <math.h>
#include <stdlib.h>

#include "kit.h"

struct oar_pack {
  const oar_host_t* host;
};

static inline oar_status_t OAR_CALL base_pack_open(const oar_host_t* host, const oar_device_ref_t* ref,
                                                   const oar_options_t* options, oar_pack_t** out_pack) {
  (void)options;
  if (!oar_kit_str_is(ref->info->kind, "cpu") && !oar_kit_str_is(ref->info->kind, "toy")) return OAR_REFUSED;
  oar_pack_t* pack = (oar_pack_t*)malloc(sizeof(*pack));
  if (pack == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "no memory for a pack");
  pack->host = host;
  *out_pack = pack;
  return OAR_OK;
}

static inline void OAR_CALL base_pack_close(oar_pack_t* pack) { free(pack); }

static inline oar_status_t OAR_CALL base_check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                               oar_verdict_t* out_verdict) {
  (void)pack, (void)decl;
  return oar_kit_check_contiguous(call, out_verdict);
}

/* out = factor * tanh(x), of the first n elements. */
static inline void base_tanh(const oar_frame_t* frame, float factor, int64_t n) {
  const float* x = (const float*)oar_kit_view_data(frame->inputs[0]);
  float* out = (float*)oar_kit_view_data(frame->outputs[0]);
  for (int64_t i = 0; i < n; ++i) out[i] = factor * tanhf(x[i]);
}

static inline oar_status_t OAR_CALL base_run(oar_pack_t* pack, const oar_kernel_decl_t* decl,
                                             const oar_frame_t* frame) {
  (void)pack, (void)decl;
  base_tanh(frame, 1, oar_kit_view_count(frame->outputs[0]));
  return OAR_OK;
}

#ifndef BASE_FLAGS
#define BASE_FLAGS OAR_KERNEL_DETERMINISTIC
#endif

/* The two tables of a pack whose one kernel is run_function. */
#define BASE_PACK(run_function)                                                                                     \
  static const uint64_t base_f32[] = {OAR_BIT(OAR_DTYPE_F32)};                                                      \
  static const oar_kernel_decl_t base_decl = OAR_KIT_KERNEL("tanh", 1, 1, BASE_FLAGS, 1000, base_f32,               \
                                                            .check = base_check, .run = run_function);              \
  static const oar_kernel_decl_t* const base_decls[] = {&base_decl};                                                \
  static oar_status_t OAR_CALL base_declarations(oar_pack_t* pack, uint32_t* out_n,                                 \
                                                 const oar_kernel_decl_t* const** out_decls) {                      \
    (void)pack;                                                                                                     \
    *out_n = 1;                                                                                                     \
    *out_decls = base_decls;                                                                                        \
    return OAR_OK;                                                                                                  \
  }                                                                                                                 \
  static const oar_pack_table_t base_pack_table = {.struct_size = sizeof(oar_pack_table_t),                         \
                                                   .version = OAR_PACK_VERSION,                                     \
                                                   .open = base_pack_open,                                          \
                                                   .close = base_pack_close};                                       \
  static const oar_kernel_table_t base_kernel_table = {                                                             \
      .struct_size = sizeof(oar_kernel_table_t), .version = OAR_KERNEL_VERSION, .declarations = base_declarations}
#define BASE_PACK_TABLES \
  {OAR_TABLE_PACK, &base_pack_table}, { OAR_TABLE_KERNEL, &base_kernel_table }

#endif
