#include "loop.h"

#include <algorithm>

namespace oarlock::simd {
namespace {

constexpr int64_t kGathered = 512;  // elements per block if something is gathered: the buffers stay in L1
constexpr int64_t kDirect = 8192;   // elements per block if all operands lie dense along the block

struct Job {
  Space space;
  Tile tile;
  const Kernels* kernels;
  int n_inputs;
  char* base[kOperands];
  uint32_t dtype[kOperands];
  bool half[kOperands];  // goes through f32
  int size[kOperands];
  int64_t rows, cols;              // of a block
  int64_t row_blocks, col_blocks;  // of the last two dimensions
};

template <class T>
void gather_as(const char* from, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, char* to) {
  T* out = reinterpret_cast<T*>(to);
  for (int64_t r = 0; r < rows; ++r, out += cols) {
    const T* x = reinterpret_cast<const T*>(from) + r * row_stride;
    if (col_stride == 0) {
      std::fill_n(out, cols, *x);
    } else if (col_stride == 1) {
      if (cols >= 32) std::memcpy(out, x, cols * sizeof(T));
      else
        for (int64_t c = 0; c < cols; ++c) out[c] = x[c];
    } else {
      for (int64_t c = 0; c < cols; ++c) out[c] = x[c * col_stride];
    }
  }
}

template <class T>
void scatter_as(const char* from, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, char* to) {
  const T* x = reinterpret_cast<const T*>(from);
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    T* out = reinterpret_cast<T*>(to) + r * row_stride;
    for (int64_t c = 0; c < cols; ++c) out[c * col_stride] = x[c];
  }
}

// What an operand left in its buffer, so that a bias row or a scalar is gathered once.
struct Held {
  const char* from = nullptr;
  int64_t count = 0;
};

void job_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const Space& space = job.space;
  const int rd = space.n_dims - 2, cd = space.n_dims - 1;
  alignas(64) char native[kOperands][kGathered * 8];
  alignas(64) float wide[kOperands][kGathered];
  Held held[kOperands];
  for (int64_t block = begin; block < end; ++block) {
    // Rows run fastest: strided inputs find the cache lines of the row before.
    int64_t rest = block;
    const int64_t row = rest % job.row_blocks * job.rows;
    rest /= job.row_blocks;
    const int64_t col = rest % job.col_blocks * job.cols;
    rest /= job.col_blocks;
    const int64_t rows = std::min(job.rows, space.shape[rd] - row);
    const int64_t cols = std::min(job.cols, space.shape[cd] - col);
    const int64_t n = rows * cols;
    int64_t at[kOperands];
    for (int k = 0; k <= job.n_inputs; ++k) at[k] = row * space.strides[k][rd] + col * space.strides[k][cd];
    for (int d = rd - 1; d >= 0 && rest != 0; --d) {
      const int64_t i = rest % space.shape[d];
      rest /= space.shape[d];
      for (int k = 0; k <= job.n_inputs; ++k) at[k] += i * space.strides[k][d];
    }
    const void* in[kOperands] = {};
    for (int k = 1; k <= job.n_inputs; ++k) {
      const char* from = job.base[k] + at[k] * job.size[k];
      const int64_t rs = space.strides[k][rd], cs = space.strides[k][cd];
      const bool dense = cs == 1 && (rows == 1 || rs == cols);
      const bool half = job.half[k];
      if (dense && !half) {
        in[k] = from;
        continue;
      }
      in[k] = half ? static_cast<const void*>(wide[k]) : native[k];
      if (held[k].from == from && held[k].count == n && (rows == 1 || rs == 0)) continue;
      held[k] = {from, (rows == 1 || rs == 0) ? n : 0};
      const char* source = from;
      if (!dense) {
        gather(from, rs, cs, rows, cols, job.size[k], native[k]);
        source = native[k];
      }
      if (half) job.kernels->cast[job.dtype[k]][OAR_DTYPE_F32](source, nullptr, nullptr, wide[k], n);
    }
    char* to = job.base[0] + at[0] * job.size[0];
    const int64_t rs = space.strides[0][rd], cs = space.strides[0][cd];
    const bool dense = cs == 1 && (rows == 1 || rs == cols);
    const bool half = job.half[0];
    char* result = half ? reinterpret_cast<char*>(wide[0]) : dense ? to : native[0];
    job.tile(in[1], in[2], in[3], result, n);
    if (half) {
      char* narrow = dense ? to : native[0];
      job.kernels->cast[OAR_DTYPE_F32][job.dtype[0]](result, nullptr, nullptr, narrow, n);
    }
    if (!dense) scatter(native[0], rs, cs, rows, cols, job.size[0], to);
  }
}

}  // namespace

void gather(const char* from, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, int size, char* to) {
  switch (size) {
    case 1: return gather_as<uint8_t>(from, row_stride, col_stride, rows, cols, to);
    case 2: return gather_as<uint16_t>(from, row_stride, col_stride, rows, cols, to);
    case 4: return gather_as<uint32_t>(from, row_stride, col_stride, rows, cols, to);
    default: return gather_as<uint64_t>(from, row_stride, col_stride, rows, cols, to);
  }
}

void scatter(const char* from, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, int size, char* to) {
  switch (size) {
    case 1: return scatter_as<uint8_t>(from, row_stride, col_stride, rows, cols, to);
    case 2: return scatter_as<uint16_t>(from, row_stride, col_stride, rows, cols, to);
    case 4: return scatter_as<uint32_t>(from, row_stride, col_stride, rows, cols, to);
    default: return scatter_as<uint64_t>(from, row_stride, col_stride, rows, cols, to);
  }
}

bool space_make(const oar_view_t& out, const oar_view_t* const* inputs, int n_inputs, Space* out_space) {
  Space& space = *out_space;
  if (out.n_dims > kMaxRank) return false;
  space.n_dims = 0;
  space.count = 1;
  // In the order in which the output lies: images with channels innermost merge like row-major ones.
  int order[kMaxRank];
  for (int d = 0; d < out.n_dims; ++d) {
    space.count *= out.shape[d];
    int at = d;
    for (; at > 0 && out.strides[order[at - 1]] < out.strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  for (int i = 0; i < out.n_dims; ++i) {
    const int d = order[i];
    const int64_t extent = out.shape[d];
    int64_t strides[kOperands] = {extent == 1 ? 0 : out.strides[d]};
    for (int k = 0; k < n_inputs; ++k) {
      const oar_view_t& x = *inputs[k];
      const int at = d - (out.n_dims - x.n_dims);
      if (x.n_dims > out.n_dims) return false;
      if (at >= 0 && x.shape[at] != 1) {
        if (x.shape[at] != extent) return false;
        strides[k + 1] = x.strides[at];
      }
    }
    if (extent == 1) continue;
    bool merges = space.n_dims > 0;
    const int last = space.n_dims - 1;
    for (int k = 0; merges && k <= n_inputs; ++k) merges = space.strides[k][last] == strides[k] * extent;
    if (!merges) space.shape[space.n_dims++] = 1;
    const int to = space.n_dims - 1;
    space.shape[to] *= extent;
    for (int k = 0; k <= n_inputs; ++k) space.strides[k][to] = strides[k];
  }
  while (space.n_dims < 2) {  // put a dimension of 1 in front
    space.shape[space.n_dims] = 1;
    for (int k = 0; k <= n_inputs; ++k) space.strides[k][space.n_dims] = 0;
    if (space.n_dims == 1) {
      std::swap(space.shape[0], space.shape[1]);
      for (int k = 0; k <= n_inputs; ++k) std::swap(space.strides[k][0], space.strides[k][1]);
    }
    ++space.n_dims;
  }
  return true;
}

oar_status_t loop_run(oar_pack_t* pack, Tile tile, const oar_view_t& out, const oar_view_t* const* inputs, int n_inputs,
                      Halves halves) {
  Job job;
  if (!space_make(out, inputs, n_inputs, &job.space))
    return fail(pack, OAR_INVALID_ARGUMENT, "an input does not broadcast to the output");
  if (job.space.count == 0) return OAR_OK;
  job.tile = tile;
  job.kernels = &pack->kernels;
  job.n_inputs = n_inputs;
  const Space& space = job.space;
  const int rd = space.n_dims - 2, cd = space.n_dims - 1;
  bool direct = true, transposed = false;
  for (int k = 0; k <= n_inputs; ++k) {
    const oar_view_t& view = k == 0 ? out : *inputs[k - 1];
    job.base[k] = static_cast<char*>(view.data);
    job.dtype[k] = view.dtype;
    job.half[k] = halves == Halves::as_f32 && is_half(view.dtype);
    job.size[k] = size_of(view.dtype);
    direct = direct && space.strides[k][cd] == 1 && !job.half[k];
    transposed = transposed || space.strides[k][cd] > 1;
  }
  const int64_t width = space.shape[cd];
  const int64_t most = direct && width >= kGathered ? kDirect : transposed ? kGathered / 2 : kGathered;
  job.cols = std::min(width, most);
  job.rows = most == kDirect ? 1 : std::clamp<int64_t>(most / width, 1, space.shape[rd]);
  job.row_blocks = (space.shape[rd] + job.rows - 1) / job.rows;
  job.col_blocks = (width + job.cols - 1) / job.cols;
  int64_t blocks = job.row_blocks * job.col_blocks;
  for (int d = 0; d < rd; ++d) blocks *= space.shape[d];
  if (space.count < kParallelElements) job_body(&job, 0, blocks);
  else parallel(pack, blocks, std::max<int64_t>(1, kParallelElements / 2 / (job.rows * job.cols)), job_body, &job);
  return OAR_OK;
}

}  // namespace oarlock::simd
