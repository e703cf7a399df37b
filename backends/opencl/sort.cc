// sort, topk, unique and nonzero.
#include "sort.h"

#include <algorithm>

#include "pack.h"

namespace oarlock::opencl {

uint64_t order_bytes(int64_t lanes, int64_t n) { return 2 * ((static_cast<uint64_t>(lanes * n) * 4 + 63) / 64 * 64); }

uint64_t sort_order(oar_stream_t* stream, const oar_span_t& keys, const Geometry& g, const Keys& s,
                    const oar_span_t& room, uint64_t room_at) {
  const uint64_t half = order_bytes(s.lanes, s.n) / 2;
  uint64_t from = 0, to = half;
  Launch(stream, "sort", "", "first_runs").span(keys).span(room, room_at).value(g).value(s).items(s.lanes * s.n);
  for (int64_t run = kSortRun; run < s.n; run *= 2) {
    Launch(stream, "sort", "", "merge_runs")
        .span(keys)
        .span(room, room_at + from)
        .span(room, room_at + to)
        .value(g)
        .value(s)
        .value<cl_long>(run)
        .items(s.lanes * ((s.n + kSortRun - 1) / kSortRun));
    std::swap(from, to);
  }
  return from;
}

namespace {

constexpr int64_t kPart = 256;  // as PART in kernels/sort.cl

struct Sort final : Prepared {
  int64_t axis, kept, n, lanes;
  bool descending;
  Sort(oar_pack_t* p, const oar_call_t& call, bool top) : Prepared(p) {
    const oar_value_t &x = *call.inputs[0], &values = *call.outputs[call.outputs[0] != nullptr ? 0 : 1];
    axis = top ? -1 : kit::attr_int(call, 0, -1);
    if (axis < 0) axis += x.n_dims;
    n = x.shape[axis];
    kept = values.shape[axis];
    lanes = n > 0 ? oar_kit_count(x.n_dims, x.shape) / n : 0;
    descending = kit::attr_bool(call, 1, top);
  }
  void launch(const oar_frame_t& f) const override {
    const oar_view_t &x = *f.inputs[0], &values = *f.outputs[0], &places = *f.outputs[1];
    const Geometry g = lanes_of({&x, &x, &values, &places}, axis);
    const Keys s = {lanes, n, x.strides[axis], static_cast<int32_t>(x.dtype), descending};
    const uint64_t at = sort_order(f.stream, span_of(x), g, s, f.workspace, 0);
    Launch(f.stream, "sort", "", "ordered")
        .view(&x)
        .span(f.workspace, at)
        .view(&values)
        .view(&places)
        .value(g)
        .value(s)
        .value<cl_long>(kept)
        .value<cl_long>(values.strides[axis])
        .value<cl_long>(places.strides[axis])
        .items(lanes * kept);
  }
};

template <bool kTop>
oar_status_t prepare_sort(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                          oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    auto state = std::make_unique<Sort>(pack, *call, kTop);
    const uint64_t bytes = order_bytes(state->lanes, state->n);
    finish(out_prepared, std::move(state), bytes);
  });
}

oar_status_t check_sort(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                        oar_verdict_t* out_verdict) {
  if (const oar_status_t lanes = check_lanes(pack, decl, call, out_verdict); lanes != OAR_OK) return lanes;
  for (uint32_t i = 0; i < 2; ++i)
    if (i >= call->n_outputs || call->outputs[i] == nullptr)
      return oar_kit_refuse(out_verdict, OAR_REASON_OTHER, -1, "values and places come together");
  const oar_value_t& x = *call->inputs[0];
  if (oar_kit_count(x.n_dims, x.shape) <= kMostSorted) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, 0, "at most 2^31 - 1 elements");
}

// The count behind so many parts; waits for it.
int64_t total_of(const oar_frame_t& f, uint64_t at, int64_t parts) {
  int64_t total = 0;
  Launch(f.stream, "sort", "", "sum_counts").span(f.workspace, at).value<cl_long>(parts).groups({1}, {1});
  check(cl().EnqueueReadBuffer(f.stream->queue, static_cast<const Buffer*>(f.workspace.data)->memory, CL_TRUE,
                               f.workspace.byte_offset + at + static_cast<uint64_t>(parts) * 8, sizeof(total), &total,
                               0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  return total;
}

oar_view_t output(const Prepared& p, const oar_frame_t& f, uint32_t i, std::initializer_list<int64_t> shape) {
  const oar_view_t* view = nullptr;
  const auto rank = static_cast<uint32_t>(shape.size());
  const oar_status_t status = p.pack->host->output_alloc(p.pack->host, &f, i, rank, shape.begin(), &view);
  if (status != OAR_OK) throw kit::Error(status, "output " + std::to_string(i) + " got no memory");
  return *view;
}

int64_t parts_of(int64_t n) { return (n + kPart - 1) / kPart; }

struct Nonzero final : Prepared {
  using Prepared::Prepared;
  void launch(const oar_frame_t& f) const override {
    const oar_view_t& x = *f.inputs[0];
    const Geometry g = walk_of(x, {axes_of(x), axes_of(x)}, false);
    const auto dtype = static_cast<cl_int>(x.dtype);
    int64_t n = 0;
    if (g.n > 0) {
      Launch(f.stream, "sort", "", "count_parts")
          .view(&x)
          .view(nullptr)
          .span(f.workspace)
          .value(g)
          .value(dtype)
          .value<cl_int>(0)
          .items(parts_of(g.n));
      n = total_of(f, 0, parts_of(g.n));
    }
    const oar_view_t out = output(*this, f, 0, {n, x.n_dims});
    if (n == 0 || x.n_dims == 0) return;
    Launch(f.stream, "sort", "", "write_places")
        .view(&x)
        .span(f.workspace)
        .view(&out)
        .value(g)
        .value(dtype)
        .items(parts_of(g.n));
  }
};

struct Unique final : Prepared {
  int64_t n;
  Unique(oar_pack_t* p, int64_t count) : Prepared(p), n(count) {}
  uint64_t counts_at() const { return order_bytes(1, n); }
  uint64_t starts_at() const { return counts_at() + static_cast<uint64_t>(parts_of(n) + 1) * 8; }
  uint64_t workspace() const { return starts_at() + static_cast<uint64_t>(n) * 8; }
  void launch(const oar_frame_t& f) const override {
    const oar_view_t &x = *f.inputs[0], *inverse = f.outputs[2];
    const auto dtype = static_cast<cl_int>(x.dtype);
    int64_t different = 0;
    uint64_t order = 0;
    if (n > 0) {
      Geometry lane;
      const Keys s = {1, n, 1, dtype, 0};
      order = sort_order(f.stream, span_of(x), lane, s, f.workspace, 0);
      lane.n = n;
      Launch(f.stream, "sort", "", "count_parts")
          .view(&x)
          .span(f.workspace, order)
          .span(f.workspace, counts_at())
          .value(lane)
          .value(dtype)
          .value<cl_int>(1)
          .items(parts_of(n));
      different = total_of(f, counts_at(), parts_of(n));
    }
    const oar_view_t values = output(*this, f, 0, {different}), indices = output(*this, f, 1, {different}),
                     counts = output(*this, f, 3, {different});
    if (n == 0) return;
    Launch(f.stream, "sort", "", "write_unique")
        .view(&x)
        .span(f.workspace, order)
        .span(f.workspace, counts_at())
        .view(&values)
        .view(&indices)
        .view(inverse)
        .span(f.workspace, starts_at())
        .value<cl_long>(n)
        .value(dtype)
        .items(parts_of(n));
    Launch(f.stream, "sort", "", "write_counts")
        .span(f.workspace, starts_at())
        .view(&counts)
        .value<cl_long>(different)
        .value<cl_long>(n)
        .items(different);
  }
};

oar_status_t prepare_nonzero(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                             oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& x = *call->inputs[0];
    const int64_t parts = parts_of(oar_kit_count(x.n_dims, x.shape));
    finish(out_prepared, std::make_unique<Nonzero>(pack), static_cast<uint64_t>(parts + 1) * 8);
  });
}

oar_status_t prepare_unique(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                            oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& x = *call->inputs[0];
    want_dense(out_prepared, call, 0);
    auto state = std::make_unique<Unique>(pack, oar_kit_count(x.n_dims, x.shape));
    const uint64_t bytes = state->workspace();
    finish(out_prepared, std::move(state), bytes);
  });
}

oar_status_t check_counted(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict) {
  const oar_value_t& x = *call->inputs[0];
  if (call->n_epilogue != 0) return oar_kit_refuse(out_verdict, OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
  if (call->n_outputs > 2 && call->outputs[2] == nullptr)
    return oar_kit_refuse(out_verdict, OAR_REASON_OTHER, -1, "the inverse is always written");
  if (x.layout >= OAR_LAYOUT_OPAQUE) return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "it must be strided");
  if (x.n_dims > kMaxAxes) return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "at most %d dimensions", kMaxAxes);
  if (oar_kit_count(x.n_dims, x.shape) > kMostSorted)
    return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, 0, "at most 2^31 - 1 elements");
  return OAR_OK;
}

constexpr uint64_t kSortMask[] = {kAll, kAll, kI64};
constexpr uint64_t kTopMask[] = {kNumeric, kNumeric, kI64};
constexpr uint64_t kPlacesMask[] = {kAll, kI64};
constexpr uint64_t kUniqueMask[] = {kAll, kAll, kI64};

constexpr oar_kernel_decl_t dynamic(oar_kernel_decl_t decl) {
  decl.flags |= OAR_KERNEL_DYNAMIC_OUTPUT;
  return decl;
}
const oar_kernel_decl_t kDecls[] = {
    declare_prepared("sort", kSortMask, prepare_sort<false>, nullptr, check_sort),
    declare_prepared("topk", kTopMask, prepare_sort<true>, nullptr, check_sort),
    dynamic(declare_prepared("nonzero", kPlacesMask, prepare_nonzero, nullptr, check_counted)),
    dynamic(declare_prepared("unique", kUniqueMask, prepare_unique, nullptr, check_counted))};

}  // namespace

Declarations sort_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
