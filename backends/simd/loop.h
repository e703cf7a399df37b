// Elementwise loops over operands of any shape and strides. The inputs are broadcast right-aligned; blocks of a few
// hundred elements that do not lie dense are gathered into buffers on the stack, so that every op needs one kernel
// only, for dense operands. f16 and bf16 pass through the same buffers as f32.
#ifndef OARLOCK_SIMD_LOOP_H_
#define OARLOCK_SIMD_LOOP_H_

#include "pack.h"

namespace oarlock::simd {

constexpr int kOperands = 4;  // the output and up to three inputs

// Broadcast iteration space: dimensions of size 1 dropped, the others sorted by the output's strides, neighbours merged where all operands allow it, and at
// least two dimensions left. Strides in elements; operand 0 is the output.
struct Space {
  int n_dims;
  int64_t count;
  int64_t shape[kMaxRank + 2];
  int64_t strides[kOperands][kMaxRank + 2];
};
// False if an input does not broadcast to the output, or one has too many dimensions.
bool space_make(const oar_view_t& out, const oar_view_t* const* inputs, int n_inputs, Space* out_space);

// Copies a block of rows x cols elements of size bytes into dense memory, or back.
void gather(const char* from, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, int size, char* to);
void scatter(const char* from, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, int size, char* to);

// What the tile sees of f16 and bf16 operands.
enum class Halves { as_f32, as_bits };
// Runs tile over the whole of out.
oar_status_t loop_run(oar_pack_t* pack, Tile tile, const oar_view_t& out, const oar_view_t* const* inputs, int n_inputs,
                      Halves halves = Halves::as_f32);

}  // namespace oarlock::simd
#endif
