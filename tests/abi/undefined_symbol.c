/* Needs a function that no library has. Loaded lazily it would die at its first kernel, loaded eagerly it is refused. */
#include "base_pack.h"

extern int oar_test_nobody_defines_this(void);

static oar_status_t OAR_CALL undefined_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  return oar_test_nobody_defines_this() != 0 ? OAR_INTERNAL : base_run(pack, decl, frame);
}

BASE_PACK(undefined_run);
OAR_KIT_PLUGIN("undefined_symbol", "Oarlock tests", "1.0", BASE_PACK_TABLES)
