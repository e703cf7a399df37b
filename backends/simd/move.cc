// copy, assign (any strides on either side), full and pad.
#include <algorithm>

#include "loop.h"

namespace oarlock::simd {
namespace {

struct Bytes {
  char* out;
  const char* x;
};
void bytes_body(void* context, int64_t begin, int64_t end) {
  const Bytes& bytes = *static_cast<const Bytes*>(context);
  std::memcpy(bytes.out + begin, bytes.x + begin, end - begin);
}

template <int Size>
void move_tile(const void* x, const void*, const void*, void* out, int64_t n) {
  if (x != out) std::memcpy(out, x, n * Size);
}

constexpr int64_t kBlock = 32;  // a square of 8-byte elements stays in L1, read and written

// Dimension along of the input lies dense there while the output runs along the last: copied in squares, so that
// both use whole cache lines.
struct Transpose {
  const Space* space;
  int along, size;
  const char* x;
  char* out;
  int64_t rows, cols;  // number of squares
};
template <class T>
void square(const char* x, int64_t x_row, int64_t x_col, char* out, int64_t out_row, int64_t out_col, int64_t rows,
            int64_t cols) {
  const T* from = reinterpret_cast<const T*>(x);
  T* to = reinterpret_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) to[r * out_row + c * out_col] = from[r * x_row + c * x_col];
}
void transpose_body(void* context, int64_t begin, int64_t end) {
  const Transpose& t = *static_cast<const Transpose*>(context);
  const Space& s = *t.space;
  const int last = s.n_dims - 1;
  for (int64_t i = begin; i < end; ++i) {
    int64_t rest = i;
    const int64_t col = rest % t.cols * kBlock;
    rest /= t.cols;
    const int64_t row = rest % t.rows * kBlock;
    rest /= t.rows;
    int64_t from = row * s.strides[1][t.along] + col * s.strides[1][last];
    int64_t to = row * s.strides[0][t.along] + col * s.strides[0][last];
    for (int d = last - 1; d >= 0; --d) {
      if (d == t.along) continue;
      from += rest % s.shape[d] * s.strides[1][d];
      to += rest % s.shape[d] * s.strides[0][d];
      rest /= s.shape[d];
    }
    const int64_t rows = std::min(kBlock, s.shape[t.along] - row);
    const int64_t cols = std::min(kBlock, s.shape[last] - col);
    auto* body = t.size == 1   ? square<uint8_t>
                 : t.size == 2 ? square<uint16_t>
                 : t.size == 4 ? square<uint32_t>
                               : square<uint64_t>;
    body(t.x + from * t.size, s.strides[1][t.along], s.strides[1][last], t.out + to * t.size, s.strides[0][t.along],
         s.strides[0][last], rows, cols);
  }
}

oar_status_t copy(oar_pack_t* pack, const oar_view_t* const* input, const oar_view_t& out) {
  const oar_view_t& x = *input[0];
  const int size = size_of(out.dtype);
  Space space;
  if (!space_make(out, input, 1, &space))
    return fail(pack, OAR_INVALID_ARGUMENT, "what is copied and where to differ in shape");
  if (space.count == 0) return OAR_OK;
  const int last = space.n_dims - 1;
  if (space.shape[last] == space.count && space.strides[0][last] == 1 && space.strides[1][last] == 1) {
    Bytes bytes = {static_cast<char*>(out.data), static_cast<const char*>(x.data)};
    if (bytes.out == bytes.x) return OAR_OK;
    parallel(pack, space.count * size, kParallelElements * 4, bytes_body, &bytes);
    return OAR_OK;
  }
  int along = last;
  for (int d = 0; d < last; ++d)
    if (space.strides[1][d] == 1 && space.shape[d] >= 8) along = d;
  if (along != last && space.strides[1][last] > 1 && space.shape[last] >= 8) {
    Transpose t = {&space,
                   along,
                   size,
                   static_cast<const char*>(x.data),
                   static_cast<char*>(out.data),
                   (space.shape[along] + kBlock - 1) / kBlock,
                   (space.shape[last] + kBlock - 1) / kBlock};
    const int64_t squares = space.count / (space.shape[along] * space.shape[last]) * t.rows * t.cols;
    parallel(pack, squares, kParallelElements / (kBlock * kBlock), transpose_body, &t);
    return OAR_OK;
  }
  const Tile tile = size == 1 ? move_tile<1> : size == 2 ? move_tile<2> : size == 4 ? move_tile<4> : move_tile<8>;
  return loop_run(pack, tile, out, input, 1, Halves::as_bits);
}

oar_status_t run_copy(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return copy(pack, frame->inputs, *frame->outputs[0]);
}
// Inputs: target (overwritten), value.
oar_status_t run_assign(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return copy(pack, frame->inputs + 1, *frame->inputs[0]);
}

template <class T>
void fill_as(void* out, const void* value, int64_t begin, int64_t end) {
  T bits;
  std::memcpy(&bits, value, sizeof(T));
  std::fill(static_cast<T*>(out) + begin, static_cast<T*>(out) + end, bits);
}
struct Fill {
  void* out;
  int size;
  uint64_t value;
};
void fill_body(void* context, int64_t begin, int64_t end) {
  const Fill& f = *static_cast<const Fill*>(context);
  switch (f.size) {
    case 1: return fill_as<uint8_t>(f.out, &f.value, begin, end);
    case 2: return fill_as<uint16_t>(f.out, &f.value, begin, end);
    case 4: return fill_as<uint32_t>(f.out, &f.value, begin, end);
    default: return fill_as<uint64_t>(f.out, &f.value, begin, end);
  }
}

// value: the bits of one element.
oar_status_t fill(oar_pack_t* pack, const oar_view_t& out, uint64_t value) {
  Fill f = {out.data, size_of(out.dtype), value};
  if (is_dense(out)) {
    parallel(pack, count_of(out), kParallelElements, fill_body, &f);
    return OAR_OK;
  }
  oar_view_t scalar = out;
  scalar.data = &f.value;
  scalar.n_dims = 0;
  const oar_view_t* inputs[] = {&scalar};
  const Tile tile = f.size == 1 ? move_tile<1> : f.size == 2 ? move_tile<2> : f.size == 4 ? move_tile<4> : move_tile<8>;
  return loop_run(pack, tile, out, inputs, 1, Halves::as_bits);
}

// Attributes: shape (dims), value (real), dtype.
oar_status_t run_full(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const oar_view_t& out = *frame->outputs[0];
  uint64_t value = 0;
  oar_kit_store(&value, out.dtype, 0, kit::attr_float(*frame->call, 1));
  return fill(pack, out, value);
}

// Attributes: before, after, between (one for all axes, or one each), value.
oar_status_t run_pad(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const oar_view_t &x = *frame->inputs[0], &out = *frame->outputs[0];
  const auto before = kit::attr_ints(*frame->call, 0), between = kit::attr_ints(*frame->call, 2);
  uint64_t value = 0;
  oar_kit_store(&value, out.dtype, 0, kit::attr_float(*frame->call, 3));
  const oar_status_t status = fill(pack, out, value);
  if (status != OAR_OK) return status;
  int64_t strides[kMaxRank], at = 0;
  oar_view_t inner = out;
  inner.shape = x.shape;
  inner.strides = strides;
  for (int d = 0; d < x.n_dims; ++d) {
    if (x.shape[d] == 0) return OAR_OK;
    const size_t i = static_cast<size_t>(d);
    at += before[i] * out.strides[d];
    strides[d] = out.strides[d] * (1 + (between.empty() ? 0 : between[between.size() == 1 ? 0 : i]));
  }
  inner.data = static_cast<char*>(out.data) + at * size_of(out.dtype);
  return copy(pack, frame->inputs, inner);
}

constexpr uint64_t kBits[] = {kAll | OAR_BIT(OAR_DTYPE_C64) | OAR_BIT(OAR_DTYPE_F8_E4M3) | OAR_BIT(OAR_DTYPE_F8_E5M2) |
                              OAR_BIT(OAR_DTYPE_F8_E4M3_UZ) | OAR_BIT(OAR_DTYPE_F8_E5M2_UZ) |
                              OAR_BIT(OAR_DTYPE_F8_E8M0)};
constexpr uint64_t kTypes[] = {kAll};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("copy", kBits, run_copy, nullptr),
    declare("assign", kBits, run_assign, nullptr),
    declare("full", kTypes, run_full, nullptr),
    declare("pad", kTypes, run_pad, nullptr),
};

}  // namespace

Declarations move_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
