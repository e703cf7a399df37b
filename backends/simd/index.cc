// gather and scatter_add of whole rows, which is an embedding's way forth and back. Rows that meet are added in the order
// of their indices by one thread, so results are the same bits for any number of threads.
#include <algorithm>
#include <string>
#include <vector>

#include "loop.h"

namespace oarlock::simd {
namespace {

// Rows by their numbers, all within 0..rows-1.
struct Rows {
  std::vector<int64_t> at;
  oar_status_t status = OAR_OK;
};

Rows rows_of(oar_pack_t* pack, const char* op, const oar_view_t& index, int64_t rows) {
  Rows out;
  const int64_t n = count_of(index);
  out.at.resize(static_cast<size_t>(n));
  int64_t position[kMaxRank] = {};
  for (int64_t j = 0; j < n; ++j) {
    int64_t rest = j, offset = 0;
    for (int d = index.n_dims - 1; d >= 0; --d) {
      position[d] = rest % index.shape[d];
      offset += position[d] * index.strides[d];
      rest /= index.shape[d];
    }
    const auto i = static_cast<int64_t>(oar_kit_load_int(index.data, index.dtype, offset));
    if (i >= rows || i < -rows) {
      std::string where;
      for (int d = 0; d < index.n_dims; ++d) where += (d > 0 ? ", " : "") + std::to_string(position[d]);
      const std::string give =
          rows > 0 ? ". Give " + std::to_string(-rows) + " to " + std::to_string(rows - 1) : std::string();
      out.status =
          oar_kit_error(pack->host, OAR_INVALID_ARGUMENT, 0,
                        "%s: index %lld at position [%s] is out of range: axis 0 of x has %lld elements%s.", op,
                        static_cast<long long>(i), where.c_str(), static_cast<long long>(rows), give.c_str());
      return out;
    }
    out.at[static_cast<size_t>(j)] = i < 0 ? i + rows : i;
  }
  return out;
}

int64_t row_elements(const oar_view_t& x) {
  int64_t n = 1;
  for (int d = 1; d < x.n_dims; ++d) n *= x.shape[d];
  return n;
}

struct Gather {
  const char* x;
  char* out;
  const int64_t* at;
  int64_t bytes;
};
void gather_body(void* context, int64_t begin, int64_t end) {
  const Gather& g = *static_cast<const Gather*>(context);
  for (int64_t j = begin; j < end; ++j) std::memcpy(g.out + j * g.bytes, g.x + g.at[j] * g.bytes, g.bytes);
}
oar_status_t run_gather(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  oar_status_t status = OAR_OK;
  const oar_status_t guarded = kit::guard(pack->host, [&] {
    const oar_view_t& x = *frame->inputs[0];
    const Rows rows = rows_of(pack, "gather", *frame->inputs[1], x.shape[0]);
    status = rows.status;
    const int64_t n = row_elements(x);
    if (status != OAR_OK || rows.at.empty() || n == 0) return;
    Gather g = {static_cast<const char*>(x.data), static_cast<char*>(frame->outputs[0]->data), rows.at.data(),
                n * size_of(x.dtype)};
    parallel(pack, static_cast<int64_t>(rows.at.size()), std::max<int64_t>(1, kParallelElements / n), gather_body, &g);
  });
  return guarded != OAR_OK ? guarded : status;
}

struct Scatter {
  const Kernels* kernels;
  uint32_t dtype;
  const char *x, *updates;
  char* out;
  const int64_t *first, *next;  // of each row the first update, of each update the next to the same row; -1: none
  int64_t width;
};
void scatter_body(void* context, int64_t begin, int64_t end) {
  const Scatter& s = *static_cast<const Scatter*>(context);
  const int64_t size = size_of(s.dtype), bytes = s.width * size;
  constexpr int64_t kBlock = 512;
  alignas(64) float total[kBlock], more[kBlock];
  const Tile add = s.kernels->element[kAdd][is_half(s.dtype) ? uint32_t{OAR_DTYPE_F32} : s.dtype];
  for (int64_t row = begin; row < end; ++row) {
    const char* x = s.x + row * bytes;
    char* out = s.out + row * bytes;
    if (!is_half(s.dtype) || s.first[row] < 0) {
      if (out != x) std::memcpy(out, x, bytes);
      for (int64_t j = s.first[row]; j >= 0; j = s.next[j]) add(out, s.updates + j * bytes, nullptr, out, s.width);
      continue;
    }
    const Tile widen = s.kernels->cast[s.dtype][OAR_DTYPE_F32];
    for (int64_t c = 0; c < s.width; c += kBlock) {  // rounded once, however many rows meet
      const int64_t n = std::min(kBlock, s.width - c);
      widen(x + c * size, nullptr, nullptr, total, n);
      for (int64_t j = s.first[row]; j >= 0; j = s.next[j]) {
        widen(s.updates + j * bytes + c * size, nullptr, nullptr, more, n);
        add(total, more, nullptr, total, n);
      }
      s.kernels->cast[OAR_DTYPE_F32][s.dtype](total, nullptr, nullptr, out + c * size, n);
    }
  }
}
oar_status_t run_scatter(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  oar_status_t status = OAR_OK;
  const oar_status_t guarded = kit::guard(pack->host, [&] {
    const oar_view_t& x = *frame->inputs[0];
    const Rows rows = rows_of(pack, "scatter_add", *frame->inputs[1], x.shape[0]);
    status = rows.status;
    const int64_t n = row_elements(x);
    if (status != OAR_OK || x.shape[0] == 0 || n == 0) return;
    std::vector<int64_t> first(static_cast<size_t>(x.shape[0]), -1), next(rows.at.size(), -1);
    for (size_t j = rows.at.size(); j-- > 0;) {
      next[j] = first[static_cast<size_t>(rows.at[j])];
      first[static_cast<size_t>(rows.at[j])] = static_cast<int64_t>(j);
    }
    Scatter s = {&pack->kernels,
                 x.dtype,
                 static_cast<const char*>(x.data),
                 static_cast<const char*>(frame->inputs[2]->data),
                 static_cast<char*>(frame->outputs[0]->data),
                 first.data(),
                 next.data(),
                 n};
    parallel(pack, x.shape[0], std::max<int64_t>(1, kParallelElements / n), scatter_body, &s);
  });
  return guarded != OAR_OK ? guarded : status;
}

oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  for (uint32_t i = 0; i < call->n_inputs + 1; ++i) {
    if (i == 1) continue;  // the index may lie in any way
    if (!oar_kit_value_contiguous(oar_kit_operand(call, i)))
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "rows must lie dense");
  }
  return OAR_OK;
}

constexpr uint64_t kIndex = OAR_BIT(OAR_DTYPE_I32) | OAR_BIT(OAR_DTYPE_I64);
constexpr uint64_t kGatherTypes[] = {kAll, kIndex, kAll};
constexpr uint64_t kScatterTypes[] = {kReal, kIndex, kReal, kReal};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("gather", kGatherTypes, run_gather, nullptr, nullptr, check),
    declare("scatter_add", kScatterTypes, run_scatter, nullptr, kInplace0, check),
};

}  // namespace

Declarations index_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
