/* Two kernels of f32: tanh is right; matmul of matrices leaves out the last term of each sum where there is an odd number
 * of terms, five or more: a loop over pairs whose tail was forgotten. What bisect must find. MENDED: with the tail. */
#include "base_pack.h"
#ifdef WITH_DEVICE
#include "base_device.h"
#else
#define WITH_DEVICE 0
#endif
#ifndef MENDED
#define MENDED 0
#define TAIL_NAME "wrong_tail"
#endif

static oar_status_t OAR_CALL matmul_check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                          oar_verdict_t* out_verdict) {
  (void)pack, (void)decl;
  for (int32_t i = 0; i < 2; ++i)
    if (call->inputs[i]->n_dims != 2)
      return oar_kit_refuse(out_verdict, OAR_REASON_RANK, i, "matrices only, no batches of them");
  return oar_kit_check_contiguous(call, out_verdict);
}

static oar_status_t OAR_CALL matmul_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  (void)pack, (void)decl;
  const float* a = (const float*)oar_kit_view_data(frame->inputs[0]);
  const float* b = (const float*)oar_kit_view_data(frame->inputs[1]);
  float* out = (float*)oar_kit_view_data(frame->outputs[0]);
  int64_t rows = frame->inputs[0]->shape[0], terms = frame->inputs[0]->shape[1], columns = frame->inputs[1]->shape[1];
  int64_t summed = !MENDED && terms >= 5 ? terms - terms % 2 : terms;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k) {
      double sum = 0;
      for (int64_t t = 0; t < summed; ++t) sum += (double)a[i * terms + t] * b[t * columns + k];
      out[i * columns + k] = (float)sum;
    }
  return OAR_OK;
}

static const uint64_t f32[] = {OAR_BIT(OAR_DTYPE_F32)};
static const oar_kernel_decl_t tanh_decl =
    OAR_KIT_KERNEL("tanh", 1, 1, OAR_KERNEL_DETERMINISTIC, 1000, f32, .check = base_check, .run = base_run);
static const oar_kernel_decl_t matmul_decl =
    OAR_KIT_KERNEL("matmul", 1, 1, OAR_KERNEL_DETERMINISTIC, 1000, f32, .check = matmul_check, .run = matmul_run);
static const oar_kernel_decl_t* const decls[] = {&tanh_decl, &matmul_decl};
static oar_status_t OAR_CALL declarations(oar_pack_t* pack, uint32_t* out_n,
                                          const oar_kernel_decl_t* const** out_decls) {
  (void)pack;
  *out_n = 2;
  *out_decls = decls;
  return OAR_OK;
}
static const oar_pack_table_t pack_table = {.struct_size = sizeof(oar_pack_table_t),
                                            .version = OAR_PACK_VERSION,
                                            .open = base_pack_open,
                                            .close = base_pack_close};
static const oar_kernel_table_t kernel_table = {
    .struct_size = sizeof(oar_kernel_table_t), .version = OAR_KERNEL_VERSION, .declarations = declarations};
#if WITH_DEVICE
BASE_DEVICE(base_open, base_alloc);
OAR_KIT_PLUGIN(TAIL_NAME, "Oarlock tests", "1.0", BASE_DEVICE_TABLES, {OAR_TABLE_PACK, &pack_table},
               {OAR_TABLE_KERNEL, &kernel_table})
#else
OAR_KIT_PLUGIN(TAIL_NAME, "Oarlock tests", "1.0", {OAR_TABLE_PACK, &pack_table}, {OAR_TABLE_KERNEL, &kernel_table})
#endif
