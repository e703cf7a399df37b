/* Computes tanh a thousandth too large. The kit's L2 must notice. */
#include "base_pack.h"

static oar_status_t OAR_CALL wrong_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  (void)pack, (void)decl;
  base_tanh(frame, 1.001f, oar_kit_view_count(frame->outputs[0]));
  return OAR_OK;
}

BASE_PACK(wrong_run);
OAR_KIT_PLUGIN("wrong_answer", "Oarlock tests", "1.0", BASE_PACK_TABLES)
