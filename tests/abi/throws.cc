// C++ inside: the kernel throws where x is negative, check where it is asked for more than two axes; kit.hpp's guard
// keeps both from crossing the border.
#include "kit.hpp"

#include "base_pack.h"

namespace kit = oarlock::kit;

static oar_status_t OAR_CALL throwing_check(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                                            oar_verdict_t* out_verdict) {
  return kit::guard(pack->host, out_verdict, [&] {
    if (call->inputs[0]->n_dims > 2) throw kit::Refusal(OAR_REASON_RANK, 0, "throws takes at most two axes");
  });
}

static oar_status_t OAR_CALL throwing_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const float* x = kit::data<const float>(*frame->inputs[0]);
    for (int64_t i = 0; i < oar_kit_view_count(frame->inputs[0]); ++i) {
      if (x[i] == -1) throw kit::Error(OAR_BAD_DATA, "minus one at " + std::to_string(i), 31);
      if (x[i] == -2) throw std::out_of_range("minus two");
      if (x[i] == -3) throw 3;
      if (x[i] == -4) throw std::bad_alloc();
    }
    return base_run(pack, decl, frame);
  });
}

static const uint64_t f32[] = {OAR_BIT(OAR_DTYPE_F32)};
static const oar_kernel_decl_t decl =
    OAR_KIT_KERNEL("tanh", 1, 1, OAR_KERNEL_DETERMINISTIC, 1000, f32, .check = throwing_check, .run = throwing_run);
static const oar_kernel_decl_t* const decls[] = {&decl};

static oar_status_t OAR_CALL declarations(oar_pack_t*, uint32_t* out_n, const oar_kernel_decl_t* const** out_decls) {
  *out_n = 1;
  *out_decls = decls;
  return OAR_OK;
}

static const oar_pack_table_t pack_table = {
    .struct_size = sizeof(pack_table), .version = OAR_PACK_VERSION, .open = base_pack_open, .close = base_pack_close};
static const oar_kernel_table_t kernel_table = {
    .struct_size = sizeof(kernel_table), .version = OAR_KERNEL_VERSION, .declarations = declarations};

OAR_KIT_PLUGIN("throws", "Oarlock tests", "1.0", {OAR_TABLE_PACK, &pack_table}, {OAR_TABLE_KERNEL, &kernel_table})
