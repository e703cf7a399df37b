// matmul of f32 and f64: [..., M, K] x [..., K, N] by cblas_sgemm and cblas_dgemm. Transposed operands are read as they
// lie. The host's pool runs the products of a batch and pieces of large ones, each on one thread: the library's own
// threads wait for each other, and take ten times as long where another process has one of the cores.
#include <cblas.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "pack.h"

namespace oarlock::openblas {
namespace {

// Below this many multiply-adds for each matrix loops without packing are as fast.
constexpr int64_t kSmall = 4096;
// A piece of a product has this many at least: 30 to 70 us, against which starting it and packing its operands is little.
constexpr int64_t kPiece = 1 << 21;
constexpr uint32_t kMaxDims = 16;

// How the last two dimensions lie: row-major, or column-major, which BLAS calls transposed.
struct Matrix {
  bool transposed = false;
  int64_t leading = 1;
};
// False if neither of both is dense.
bool matrix_of(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride, Matrix* out_matrix) {
  if (cols == 1) col_stride = 1;
  if (rows == 1) row_stride = col_stride == 1 ? cols : 1;
  if (col_stride == 1 && row_stride >= cols) *out_matrix = {false, std::max<int64_t>(row_stride, 1)};
  else if (row_stride == 1 && col_stride >= rows) *out_matrix = {true, std::max<int64_t>(col_stride, 1)};
  else return false;
  return true;
}

struct Job {
  const oar_view_t *a, *b, *out;
  Matrix matrix[3];
  int64_t m, n, k;
  int64_t pieces = 1, extent = 0;  // of each product; rows of one, or columns
  bool by_rows = true;
};

// Rows or columns [first, first + job.extent) of one product.
template <class T>
void multiply(const Job& job, const int64_t* at, int64_t first) {
  const T *a = static_cast<const T*>(job.a->data) + at[0], *b = static_cast<const T*>(job.b->data) + at[1];
  T* out = static_cast<T*>(job.out->data) + at[2];
  const Matrix *of_a = job.matrix, *of_b = job.matrix + 1, *of_out = job.matrix + 2;
  int64_t m = job.m, n = job.n;
  if (job.by_rows) {
    m = std::min(m - first, job.extent);
    a += first * (of_a->transposed ? 1 : of_a->leading);
    out += first * of_out->leading;
  } else {
    n = std::min(n - first, job.extent);
    b += first * (of_b->transposed ? of_b->leading : 1);
    out += first;
  }
  const auto trans = [](const Matrix* matrix) { return matrix->transposed ? CblasTrans : CblasNoTrans; };
  const auto size = [](int64_t i) { return static_cast<blasint>(i); };
  if constexpr (sizeof(T) == 4)
    cblas_sgemm(CblasRowMajor, trans(of_a), trans(of_b), size(m), size(n), size(job.k), 1, a, size(of_a->leading), b,
                size(of_b->leading), 0, out, size(of_out->leading));
  else
    cblas_dgemm(CblasRowMajor, trans(of_a), trans(of_b), size(m), size(n), size(job.k), 1, a, size(of_a->leading), b,
                size(of_b->leading), 0, out, size(of_out->leading));
}

// Pieces [begin, end) of all products.
void job_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const ThreadLimit limit(1);
  const oar_view_t* operands[] = {job.a, job.b, job.out};
  for (int64_t i = begin; i < end; ++i) {
    int64_t at[3] = {}, rest = i / job.pieces;
    for (int d = job.out->n_dims - 3; d >= 0; --d) {
      const int64_t index = rest % job.out->shape[d];
      rest /= job.out->shape[d];
      for (int k = 0; k < 3; ++k) {
        const int own = d - (job.out->n_dims - operands[k]->n_dims);
        if (own >= 0 && operands[k]->shape[own] != 1) at[k] += index * operands[k]->strides[own];
      }
    }
    if (job.out->dtype == OAR_DTYPE_F64) multiply<double>(job, at, i % job.pieces * job.extent);
    else multiply<float>(job, at, i % job.pieces * job.extent);
  }
}

// One matrix b for all of a dense batch: the batch becomes rows of a.
bool rows_only(const Job& job, int64_t batch) {
  const oar_view_t &a = *job.a, &b = *job.b, &out = *job.out;
  if (batch == 1 || a.n_dims != out.n_dims || job.matrix[0].transposed || batch * job.m > INT_MAX) return false;
  for (int d = 0; d < b.n_dims - 2; ++d)
    if (b.shape[d] != 1) return false;
  int64_t from = job.matrix[0].leading * job.m, to = job.matrix[2].leading * job.m;
  for (int d = out.n_dims - 3; d >= 0; --d) {
    if (a.shape[d] != out.shape[d]) return false;
    if (out.shape[d] != 1 && (a.strides[d] != from || out.strides[d] != to)) return false;
    from *= out.shape[d];
    to *= out.shape[d];
  }
  return true;
}

oar_status_t run(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  Job job;
  job.a = frame->inputs[0];
  job.b = frame->inputs[1];
  job.out = frame->outputs[0];
  const oar_view_t& out = *job.out;
  const oar_view_t* operands[] = {job.a, job.b, job.out};
  for (int i = 0; i < 3; ++i) {
    const oar_view_t& x = *operands[i];
    if (!matrix_of(x.shape[x.n_dims - 2], x.shape[x.n_dims - 1], x.strides[x.n_dims - 2], x.strides[x.n_dims - 1],
                   &job.matrix[i]))
      return oar_kit_error(pack->host, OAR_INVALID_ARGUMENT, 0, "matmul: operand %d has no dense dimension", i);
  }
  job.m = out.shape[out.n_dims - 2];
  job.n = out.shape[out.n_dims - 1];
  job.k = job.a->shape[job.a->n_dims - 1];
  int64_t batch = 1;
  for (int d = 0; d + 2 < out.n_dims; ++d) batch *= out.shape[d];
  if (rows_only(job, batch)) {
    job.m *= batch;
    batch = 1;
  }
  const int64_t work = job.m * job.n * job.k;
  const auto threads = static_cast<int64_t>(pack->host->thread_count(pack->host));
  job.by_rows = job.m >= job.n;
  const int64_t length = job.by_rows ? job.m : job.n;
  const int64_t most = batch >= threads ? 1 : std::min(threads, work / kPiece);
  // Sixteen rows or columns fill the registers of every kernel.
  job.extent = most < 2 ? length : ((length + most - 1) / most + 15) / 16 * 16;
  job.pieces = (length + job.extent - 1) / job.extent;
  const int64_t units = batch * job.pieces;
  if (units == 1 || batch * work < kPiece) job_body(&job, 0, units);
  else
    pack->host->parallel_for(pack->host, units, std::max<int64_t>(1, kPiece / 2 * job.pieces / work), job_body, &job);
  return OAR_OK;
}

oar_status_t check(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict) {
  if (call->n_epilogue != 0) return oar_kit_refuse(out_verdict, OAR_REASON_EPILOGUE, -1, "BLAS fuses nothing");
  const oar_value_t* values[] = {call->inputs[0], call->inputs[1], call->outputs[0]};
  for (int i = 0; i < 3; ++i) {
    const oar_value_t& x = *values[i];
    if (x.layout >= OAR_LAYOUT_OPAQUE) return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, i, "it is not strided");
    if (x.n_dims < 2 || x.n_dims > kMaxDims)
      return oar_kit_refuse(out_verdict, OAR_REASON_RANK, i, "2 to 16 dimensions");
    int64_t strides[kMaxDims];
    if (x.layout == OAR_LAYOUT_STRIDED && x.strides != nullptr) std::copy_n(x.strides, x.n_dims, strides);
    else oar_kit_strides(x.n_dims, x.shape, strides);
    const int64_t rows = x.shape[x.n_dims - 2], cols = x.shape[x.n_dims - 1];
    if (oar_kit_count(x.n_dims, x.shape) == 0) return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, i, "it is empty");
    Matrix matrix;
    if (!matrix_of(rows, cols, strides[x.n_dims - 2], strides[x.n_dims - 1], &matrix) || (i == 2 && matrix.transposed))
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, i, "one of the last two dimensions must be dense");
    if (rows > INT_MAX || cols > INT_MAX || matrix.leading > INT_MAX)
      return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, i, "BLAS counts in 32 bits");
  }
  const oar_value_t &a = *values[0], &out = *values[2];
  const int64_t work = out.shape[out.n_dims - 2] * out.shape[out.n_dims - 1] * a.shape[a.n_dims - 1];
  if (work < kSmall)
    return oar_kit_refuse(out_verdict, OAR_REASON_SLOWER, -1, "%lld multiply-adds are too few for a library call",
                          static_cast<long long>(work));
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64)};

// After oneDNN, which has no f64, and before loops.
constexpr oar_kernel_decl_t kMatmul =
    OAR_KIT_KERNEL("matmul", 1, 1, OAR_KERNEL_DETERMINISTIC | OAR_KERNEL_REENTRANT | OAR_KERNEL_ANY_SHAPE, 75, kTypes,
                   .check = check, .run = run);
OAR_KIT_LISTED(kMatmul);

}  // namespace
}  // namespace oarlock::openblas
