// What the files with kernels' declarations share.
#ifndef OARLOCK_OPENCL_PACK_H_
#define OARLOCK_OPENCL_PACK_H_
#include <kit.hpp>

#include <deque>
#include <vector>

#include "launch.h"

namespace oarlock::opencl {

constexpr uint64_t kF64 = OAR_BIT(OAR_DTYPE_F64);
constexpr uint64_t kFloats = OAR_KIT_FLOATS;
constexpr uint64_t kInts = OAR_KIT_INTEGERS;
constexpr uint64_t kBool = OAR_KIT_BOOL;
constexpr uint64_t kNumeric = kFloats | kInts;
constexpr uint64_t kAll = kNumeric | kBool;
constexpr uint64_t kI64 = OAR_BIT(OAR_DTYPE_I64);
constexpr uint64_t kWhole = 0x1ffffe;  // every dtype of whole bytes, for kernels that only move elements

using Run = oar_status_t (*)(oar_pack_t*, const oar_kernel_decl_t*, const oar_frame_t*);
using Check = oar_status_t (*)(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t*, oar_verdict_t*);

struct Declarations {
  const oar_kernel_decl_t* decls;
  size_t count;
};
Declarations element_declarations();
Declarations move_declarations();
Declarations reduce_declarations();
Declarations scan_declarations();
Declarations sort_declarations();
Declarations resize_declarations();
Declarations index_declarations();
Declarations matmul_declarations();
Declarations conv_declarations();
Declarations norm_declarations();
Declarations softmax_declarations();
Declarations pool_declarations();
Declarations optimise_declarations();

// Refuses an epilogue, an opaque layout, an output with gaps.
oar_status_t check_plain(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict);
// And any operand with gaps.
oar_status_t check_dense(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict);
// And more axes than a kernel walks, after merging, over output 0 and inputs that broadcast to it.
oar_status_t check_walk(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict);

// And an x of less than 1 or more than kMaxAxes + 1 dimensions: between them its lanes along an axis can be walked.
oar_status_t check_lanes(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict);
// All lanes along an axis of four views.
Geometry lanes_of(std::initializer_list<const oar_view_t*> views, int64_t axis);

template <size_t N>
constexpr oar_kernel_decl_t declare(const char* op, const uint64_t (&masks)[N], Run run, const void* user, Check check,
                                    uint64_t host_inputs = 0, const char* file = __builtin_FILE(),
                                    uint32_t line = __builtin_LINE()) {
  oar_kernel_decl_t decl = {};
  decl.struct_size = sizeof(decl);
  decl.flags = OAR_KERNEL_DETERMINISTIC | OAR_KERNEL_REENTRANT | OAR_KERNEL_ANY_SHAPE;
  decl.op = {op, std::char_traits<char>::length(op)};
  decl.op_min = decl.op_max = 1;
  decl.priority = 50;
  decl.n_masks = N;
  decl.dtypes = masks;
  decl.host_inputs = host_inputs;
  decl.user = user;
  decl.check = check;
  decl.run = run;
  decl.source_file = {file, std::char_traits<char>::length(file)};
  decl.source_line = line;
  return decl;
}

// What prepare made for calls of one signature.
struct Prepared {
  oar_pack_t* pack;
  explicit Prepared(oar_pack_t* p) : pack(p) {}
  virtual ~Prepared() = default;
  virtual void launch(const oar_frame_t& frame) const = 0;
};
using Prepare = oar_status_t (*)(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t*, oar_prepared_t*);
oar_status_t launch_prepared(void* state, const oar_frame_t* frame);
void release_prepared(void* state);
void finish(oar_prepared_t* out_prepared, std::unique_ptr<Prepared> state, uint64_t workspace_bytes = 0);
// Asks for input i row-major without gaps; the host copies it where it lies otherwise.
void want_dense(oar_prepared_t* out_prepared, const oar_call_t* call, uint32_t i);

template <size_t N>
constexpr oar_kernel_decl_t declare_prepared(const char* op, const uint64_t (&masks)[N], Prepare prepare,
                                             const void* user, Check check, uint64_t host_inputs = 0,
                                             const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
  oar_kernel_decl_t decl = declare(op, masks, nullptr, user, check, host_inputs, file, line);
  decl.flags &= ~static_cast<uint32_t>(OAR_KERNEL_ANY_SHAPE);
  decl.prepare = prepare;
  decl.launch = launch_prepared;
  decl.release = release_prepared;
  return decl;
}

inline int64_t count_of(const oar_view_t& view) { return oar_kit_view_count(&view); }
inline int width_of(uint32_t dtype) { return static_cast<int>(oar_kit_dtype_bytes(dtype)); }
inline int64_t bytes_of(const oar_view_t& view) { return count_of(view) * width_of(view.dtype); }
// As make_geometry, for what a check has let through.
Geometry walk_of(const oar_view_t& shape, std::initializer_list<Axes> operands, bool merge = true);

}  // namespace oarlock::opencl

struct oar_pack {
  const oar_host_t* host;
  oar_device_t* device;
};

#endif
