/* Accepts, writes half of the output, then fails with a text and a code of its own. */
#include "base_pack.h"

static oar_status_t OAR_CALL failing_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  int64_t n = oar_kit_view_count(frame->outputs[0]);
  (void)decl;
  base_tanh(frame, 1, n / 2);
  return oar_kit_error(pack->host, OAR_INTERNAL, 77, "the toy card stopped after %lld of %lld elements",
                       (long long)(n / 2), (long long)n);
}

BASE_PACK(failing_run);
OAR_KIT_PLUGIN("fails_in_launch", "Oarlock tests", "1.0", BASE_PACK_TABLES)
