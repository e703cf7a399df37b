/* Kernels of @NAME@. One file may hold one or all of them: each lists itself with OAR_KIT_LISTED.
 *
 * `oarlock ops --json exp` shows an op's operands and attributes; `oarlock explain` says why a kernel was refused. */
#include <math.h>

#include "kit.h"
#include "kit_list.h"

/* Says no, with a reason, to what run can't do. Here: gaps and turned axes. The host then tries again with operands that
 * lie row-major, and asks the next plugin if that is refused too. */
static oar_status_t OAR_CALL exp_check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                       oar_verdict_t* out_verdict) {
  (void)pack, (void)decl;
  return oar_kit_check_contiguous(call, out_verdict);
}

/* Outputs are allocated; frame->stream is the stream to enqueue on, where the device has streams. */
static oar_status_t OAR_CALL exp_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  const float* x = (const float*)oar_kit_view_data(frame->inputs[0]);
  float* out = (float*)oar_kit_view_data(frame->outputs[0]);
  int64_t n = oar_kit_view_count(frame->outputs[0]);
  (void)pack, (void)decl;
  for (int64_t i = 0; i < n; ++i) out[i] = expf(x[i]);
  return OAR_OK;
}

static const uint64_t f32[] = {OAR_BIT(OAR_DTYPE_F32)}; /* of every operand */
static const oar_kernel_decl_t exp_decl =
    OAR_KIT_KERNEL("exp", 1, 1, OAR_KERNEL_DETERMINISTIC, 0, f32, .check = exp_check, .run = exp_run);
OAR_KIT_LISTED(exp_decl);
