// sum, max and mean over any set of axes and any strides. Dimensions are sorted by stride, so a transposed input is
// read in the order it lies; the rest is either rows (the densest dimension is reduced) or columns (it is kept). How
// the work is cut never depends on the number of threads: results are the same bits every time.
#include <algorithm>

#include "loop.h"

namespace oarlock::simd {
namespace {

constexpr int64_t kWidth = kColumns;  // of one unit of work
constexpr int kChunks = 16;           // pieces of one unit, if there are few units
constexpr int64_t kBuffer = 512;      // elements gathered at a time

struct Axes {
  int n = 0;
  int64_t shape[kMaxRank + 1], in[kMaxRank + 1], out[kMaxRank + 1];
  int64_t count() const {
    int64_t product = 1;
    for (int i = 0; i < n; ++i) product *= shape[i];
    return product;
  }
  // By stride, widest first.
  void insert(int64_t extent, int64_t in_stride, int64_t out_stride) {
    if (extent == 1) return;
    int at = n++;
    for (; at > 0 && in[at - 1] < in_stride; --at) {
      shape[at] = shape[at - 1];
      in[at] = in[at - 1];
      out[at] = out[at - 1];
    }
    shape[at] = extent;
    in[at] = in_stride;
    out[at] = out_stride;
  }
  void merge() {
    int last = 0;
    for (int i = 1; i < n; ++i) {
      if (in[last] == in[i] * shape[i] && out[last] == out[i] * shape[i]) {
        shape[last] *= shape[i];
      } else {
        ++last;
        shape[last] = shape[i];
      }
      in[last] = in[i];
      out[last] = out[i];
    }
    n = n == 0 ? 0 : last + 1;
  }
};

struct Job {
  Axes kept, reduced;  // reduced has at least one dimension
  const Reducer* reducer;
  Tile widen;  // f16 or bf16 to f32, or NULL
  const char* x;
  char* out;
  int x_size, out_size;
  double scale;
  int64_t column_extent, column_blocks;  // of the last kept dimension; rows: 1 and 1
  bool columns;
  int64_t unit;  // being cut into chunks
  Acc* parts;    // kChunks x kWidth
};

// The elements [first, last) of the outermost reduced dimension of one unit of work, into acc.
void unit_reduce(const Job& job, const char* x, int64_t width, int64_t first, int64_t last, Acc* acc) {
  const Axes& r = job.reduced;
  const int inner = r.n - 1;
  alignas(64) char native[kBuffer * 8];
  alignas(64) float wide[kBuffer];
  int64_t outer = 1;
  for (int i = 0; i < inner; ++i) outer *= i == 0 ? last - first : r.shape[i];
  const int64_t length = inner == 0 ? last - first : r.shape[inner];
  for (int64_t o = 0; o < outer; ++o) {
    const char* from = x + (inner == 0 ? first * r.in[0] * job.x_size : 0);
    int64_t rest = o;
    for (int i = inner - 1; i >= 0; --i) {
      const int64_t extent = i == 0 ? last - first : r.shape[i];
      from += ((i == 0 ? first : 0) + rest % extent) * r.in[i] * job.x_size;
      rest /= extent;
    }
    if (job.columns && job.widen == nullptr) {
      job.reducer->columns(from, r.in[inner], length, width, acc);
    } else if (!job.columns && job.widen == nullptr && r.in[inner] == 1) {
      job.reducer->row(from, length, acc);
    } else {
      const int64_t step = kBuffer / width;
      for (int64_t i = 0; i < length; i += step) {
        const int64_t n = std::min(step, length - i);
        gather(from + i * r.in[inner] * job.x_size, r.in[inner], 1, n, width, job.x_size, native);
        const void* dense = native;
        if (job.widen != nullptr) {
          job.widen(native, nullptr, nullptr, wide, n * width);
          dense = wide;
        }
        if (job.columns) job.reducer->columns(dense, width, n, width, acc);
        else job.reducer->row(dense, n, acc);
      }
    }
  }
}

// Where a unit begins, and how many columns it has.
int64_t unit_find(const Job& job, int64_t unit, const char** out_x, char** out_out) {
  int64_t rest = unit, x = 0, out = 0, width = 1;
  int d = job.kept.n - 1;
  if (job.columns) {
    const int64_t column = rest % job.column_blocks * kWidth;
    rest /= job.column_blocks;
    width = std::min(kWidth, job.column_extent - column);
    x = column * job.kept.in[d];
    out = column * job.kept.out[d];
    --d;
  }
  for (; d >= 0; --d) {
    const int64_t i = rest % job.kept.shape[d];
    rest /= job.kept.shape[d];
    x += i * job.kept.in[d];
    out += i * job.kept.out[d];
  }
  *out_x = job.x + x * job.x_size;
  *out_out = job.out + out * job.out_size;
  return width;
}

void units_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  Acc acc[kWidth];
  for (int64_t unit = begin; unit < end; ++unit) {
    const char* x;
    char* out;
    const int64_t width = unit_find(job, unit, &x, &out);
    job.reducer->start(acc, width);
    unit_reduce(job, x, width, 0, job.reduced.shape[0], acc);
    job.reducer->finish(acc, job.scale, out, job.columns ? job.kept.out[job.kept.n - 1] : 1, width);
  }
}

void chunks_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const char* x;
  char* out;
  const int64_t width = unit_find(job, job.unit, &x, &out);
  const int64_t extent = job.reduced.shape[0];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    Acc* acc = job.parts + chunk * kWidth;
    job.reducer->start(acc, width);
    unit_reduce(job, x, width, extent * chunk / kChunks, extent * (chunk + 1) / kChunks, acc);
  }
}

// Attributes: axes (none: all), keepdims.
oar_status_t reduce(oar_pack_t* pack, const oar_frame_t* frame, ReduceOp op, bool mean) {
  const oar_view_t& x = *frame->inputs[0];
  const oar_view_t& out = *frame->outputs[0];
  bool is_reduced[kMaxRank] = {};
  const bool all = frame->call->n_attrs == 0 || frame->call->attrs[0].is_set == 0;
  for (int d = 0; all && d < x.n_dims; ++d) is_reduced[d] = true;
  for (int64_t axis : kit::attr_ints(*frame->call, 0))
    if (axis >= 0 && axis < x.n_dims) is_reduced[axis] = true;
  const bool keepdims = out.n_dims == x.n_dims;
  Job job;
  int64_t reduced_count = 1;
  for (int d = 0, o = 0; d < x.n_dims; ++d) {
    if (is_reduced[d]) {
      job.reduced.insert(x.shape[d], x.strides[d], 0);
      reduced_count *= x.shape[d];
      o += keepdims;
    } else {
      job.kept.insert(x.shape[d], x.strides[d], out.strides[o++]);
    }
  }
  const int64_t out_count = count_of(out);
  if (out_count == 0) return OAR_OK;
  job.kept.merge();
  job.reduced.merge();
  if (job.reduced.n == 0) {
    job.reduced.n = 1;
    job.reduced.shape[0] = 1;
    job.reduced.in[0] = 1;
  }
  const uint32_t dtype = x.dtype % kDtypes;
  job.reducer = &pack->kernels.reduce[op][dtype];
  job.widen = is_half(dtype) ? pack->kernels.cast[dtype][OAR_DTYPE_F32] : nullptr;
  job.x = static_cast<const char*>(x.data);
  job.out = static_cast<char*>(out.data);
  job.x_size = size_of(x.dtype);
  job.out_size = size_of(out.dtype);
  job.scale = mean ? 1.0 / static_cast<double>(reduced_count) : 1.0;
  job.columns = job.kept.n > 0 && job.kept.in[job.kept.n - 1] == 1 && job.reduced.in[job.reduced.n - 1] != 1;
  job.column_extent = job.columns ? job.kept.shape[job.kept.n - 1] : 1;
  job.column_blocks = (job.column_extent + kWidth - 1) / kWidth;
  const int64_t units = out_count / job.column_extent * job.column_blocks;
  if (out_count * reduced_count < kParallelElements) {
    units_body(&job, 0, units);
  } else if (units >= kChunks || job.reduced.shape[0] < kChunks) {
    parallel(pack, units, std::max<int64_t>(1, units * kParallelElements / 2 / (out_count * reduced_count)), units_body,
             &job);
  } else {
    Acc parts[kChunks * kWidth];
    job.parts = parts;
    for (job.unit = 0; job.unit < units; ++job.unit) {
      parallel(pack, kChunks, 1, chunks_body, &job);
      const char* from;
      char* to;
      const int64_t width = unit_find(job, job.unit, &from, &to);
      for (int step = 1; step < kChunks; step *= 2)
        for (int chunk = 0; chunk + step < kChunks; chunk += 2 * step)
          job.reducer->merge(parts + chunk * kWidth, parts + (chunk + step) * kWidth, width);
      job.reducer->finish(parts, job.scale, to, job.columns ? job.kept.out[job.kept.n - 1] : 1, width);
    }
  }
  return OAR_OK;
}

oar_status_t run_sum(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return reduce(pack, frame, kSum, false);
}
oar_status_t run_max(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return reduce(pack, frame, kMax, false);
}
oar_status_t run_mean(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return reduce(pack, frame, kSum, true);
}

constexpr uint64_t kTypes[] = {kReal | OAR_BIT(OAR_DTYPE_I8) | OAR_BIT(OAR_DTYPE_U8) | OAR_BIT(OAR_DTYPE_I32) |
                               OAR_BIT(OAR_DTYPE_I64) | OAR_BIT(OAR_DTYPE_U64)};
constexpr uint64_t kMeanTypes[] = {kReal};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("sum", kTypes, run_sum, nullptr),
    declare("max", kTypes, run_max, nullptr),
    declare("mean", kMeanTypes, run_mean, nullptr),
};

}  // namespace

Declarations reduce_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
