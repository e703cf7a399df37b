// Outputs whose size only the running kernel knows.
#pragma once
#include <oarlock/plugin.h>

namespace oarlock {

// oar_host_t.output_alloc. frame->host_frame points to the call that launched it.
oar_status_t allocate_dynamic_output(const oar_frame_t* frame, uint32_t output, uint32_t n_dims, const int64_t* shape,
                                     const oar_view_t** out_view);

}  // namespace oarlock
