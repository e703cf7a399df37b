// Elements at places that an index operand names. An index out of range is told by the stream's Fault: the failure shows
// at the next synchronisation.
#include <algorithm>

#include "pack.h"
#include "sort.h"

namespace oarlock::opencl {
namespace {

// out [*J, *R] = rows of x [V, *R]: g walks out; x has no axes along J, index none along R.
Geometry gather_walk(const Axes& x, const Axes& index, const Axes& out, bool* out_fits) {
  int64_t shape[64], x_strides[64], index_strides[64];
  *out_fits = out.rank <= 64;
  Geometry g;
  if (!*out_fits) return g;
  for (uint32_t d = 0; d < out.rank; ++d) {
    shape[d] = out.shape[d];
    x_strides[d] = d < index.rank ? 0 : x.strides[1 + d - index.rank];
    index_strides[d] = d < index.rank ? index.strides[d] : 0;
  }
  *out_fits =
      make_geometry(out.rank, shape, {{out.rank, shape, x_strides}, {out.rank, shape, index_strides}, out}, true, &g);
  return g;
}

oar_status_t check_gather(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  bool fits = false;
  gather_walk(axes_of(*call->inputs[0]), axes_of(*call->inputs[1]), axes_of(*call->outputs[0]), &fits);
  if (fits) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "its operands lie in more than %d stretches of axes",
                        kMaxAxes);
}

void launch_gather(const oar_frame_t* frame, const Geometry& g, int64_t rows, int64_t step, const char* kernel,
                   FaultOp op) {
  const oar_view_t &x = *frame->inputs[0], &index = *frame->inputs[1];
  Launch(frame->stream, "index", "", kernel)
      .view(&x)
      .view(&index)
      .view(frame->outputs[0])
      .value(g)
      .value<cl_long>(rows)
      .value<cl_long>(step)
      .value<cl_int>(static_cast<cl_int>(index.dtype))
      .value<cl_int>(width_of(x.dtype))
      .fault()
      .value<cl_int>(op)
      .items(g.n);
}

oar_status_t run_gather(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t& x = *frame->inputs[0];
    bool fits = false;
    const Geometry g = gather_walk(axes_of(x), axes_of(*frame->inputs[1]), axes_of(*frame->outputs[0]), &fits);
    launch_gather(frame, g, x.shape[0], x.strides[0], "gather", kFaultGather);
  });
}

int64_t axis_of(const oar_call_t& call, uint32_t rank) {
  const int64_t axis = kit::attr_int(call, 0, -1);
  return axis < 0 ? axis + rank : axis;
}

oar_status_t check_rank(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                        oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  for (uint32_t i = 0; i < call->n_inputs; ++i)
    if (call->inputs[i]->n_dims > kMaxAxes)
      return oar_kit_refuse(out_verdict, OAR_REASON_RANK, static_cast<int>(i), "at most %d dimensions", kMaxAxes);
  return OAR_OK;
}

oar_status_t run_take_along_axis(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t &x = *frame->inputs[0], &index = *frame->inputs[1], &out = *frame->outputs[0];
    const auto rank = static_cast<uint32_t>(x.n_dims);
    const int64_t axis = axis_of(*frame->call, rank);
    int64_t strides[kMaxAxes];
    std::copy_n(x.strides, rank, strides);
    strides[axis] = 0;
    const Geometry g = walk_of(out, {{rank, out.shape, strides}, axes_of(index), axes_of(out)});
    launch_gather(frame, g, x.shape[axis], x.strides[axis], "take_along", kFaultTakeAlongAxis);
  });
}

// `along` of kernels/index.cl.
struct Along {
  int64_t n, x_n, step_index, step_updates;
  int32_t axis, rank;
  int64_t limit[kMaxAxes], lane[kMaxAxes];
};

int how_of(std::string_view reduction) {
  return reduction == "add"        ? 1
         : reduction == "multiply" ? 2
         : reduction == "maximum"  ? 3
         : reduction == "minimum"  ? 4
                                   : 0;
}

// Longer indices are sorted first, so that each element of the result finds its updates; shorter ones it looks through.
struct Scatter : Prepared {
  bool sorted;
  int64_t lanes, n;
  Scatter(oar_pack_t* p, int64_t lanes_, int64_t n_) : Prepared(p), sorted(n_ > kSortRun), lanes(lanes_), n(n_) {}
  uint64_t order_at() const { return (static_cast<uint64_t>(lanes * n) * 8 + 63) / 64 * 64; }
  uint64_t workspace() const { return sorted ? order_at() + order_bytes(lanes, n) : 0; }
  // After the keys are written; where the order begins.
  uint64_t sort(const oar_frame_t& f) const {
    Geometry g;
    g.n = lanes;
    g.rank = 1;
    g.shape[0] = lanes;
    g.stride[1][0] = n;
    return order_at() + sort_order(f.stream, f.workspace, g, {lanes, n, 1, OAR_DTYPE_I64, 0}, f.workspace, order_at());
  }
};

// put_along_axis, and scatter_add: that is put_along_axis of a matrix, x [V, R], index [J, 1 repeated], updates [J, R],
// along axis 0.
struct PutAlong final : Scatter {
  int64_t axis;  // -1: scatter_add
  int how;
  PutAlong(oar_pack_t* p, int64_t lanes_, int64_t n_, int64_t axis_, int how_)
      : Scatter(p, lanes_, n_), axis(axis_), how(how_) {}

  void launch(const oar_frame_t& f) const override {
    const oar_view_t &x = *f.inputs[0], &index = *f.inputs[1], &updates = *f.inputs[2], &out = *f.outputs[0];
    Along along = {};
    Geometry g, keys;
    keys.n = 1;
    if (axis < 0) {
      const int64_t rows = x.shape[0], row = rows == 0 ? 0 : count_of(x) / rows;
      if (rows == 0) return;
      const int64_t shape[] = {rows, row}, dense[] = {row, 1}, along_index[] = {1, 0};
      make_geometry(2, shape, {{2, shape, dense}, {2, shape, along_index}, {2, shape, dense}, {2, shape, dense}}, false,
                    &g);
      along = {n, rows, 1, row, 0, 2, {n, row}, {}};
    } else {
      const auto rank = static_cast<uint32_t>(x.n_dims);
      along.n = n;
      along.x_n = x.shape[axis];
      along.step_index = index.strides[axis];
      along.step_updates = updates.strides[axis];
      along.axis = static_cast<int32_t>(axis);
      along.rank = x.n_dims;
      std::copy_n(index.shape, rank, along.limit);
      for (int64_t d = x.n_dims - 1, step = 1; d >= 0; --d) {
        if (d == axis) continue;
        along.lane[d] = step;
        step *= index.shape[d];
      }
      const Axes as_x = {rank, x.shape, index.strides}, updates_as_x = {rank, x.shape, updates.strides};
      g = walk_of(x, {axes_of(x), as_x, axes_of(out), updates_as_x}, false);
      keys = lanes_of({&index, &index, &index, &index}, axis);
    }
    const FaultOp op = axis < 0 ? kFaultScatterAdd : kFaultPutAlongAxis;
    const auto index_dtype = static_cast<cl_int>(index.dtype);
    uint64_t order = 0;
    if (sorted) {
      Launch(f.stream, "index", "", "place_keys")
          .view(&index)
          .span(f.workspace)
          .value(keys)
          .value<cl_long>(n)
          .value<cl_long>(along.step_index)
          .value<cl_long>(along.x_n)
          .value(index_dtype)
          .fault()
          .value<cl_int>(op)
          .items(keys.n * n);
      order = sort(f);
    }
    Launch(f.stream, "index", "", "put_along")
        .view(&x)
        .view(&index)
        .view(&updates)
        .view(&out)
        .span(f.workspace)
        .span(f.workspace, order)
        .value(g)
        .value(along)
        .value<cl_int>(static_cast<cl_int>(x.dtype))
        .value(index_dtype)
        .value<cl_int>(how)
        .value<cl_int>(sorted)
        .fault()
        .value<cl_int>(op)
        .items(g.n);
  }
};

template <class State>
void finish_scatter(oar_prepared_t* out_prepared, std::unique_ptr<State> state) {
  const uint64_t bytes = state->workspace();
  finish(out_prepared, std::move(state), bytes);
}

oar_status_t prepare_put_along_axis(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                                    oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& index = *call->inputs[1];
    const int64_t axis = axis_of(*call, index.n_dims), n = index.shape[axis];
    const int64_t lanes = n > 0 ? oar_kit_count(index.n_dims, index.shape) / n : 0;
    finish_scatter(out_prepared, std::make_unique<PutAlong>(pack, lanes, n, axis, how_of(kit::attr_string(*call, 1))));
  });
}

oar_status_t prepare_scatter_add(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                                 oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& index = *call->inputs[1];
    const int64_t n = oar_kit_count(index.n_dims, index.shape);
    finish_scatter(out_prepared, std::make_unique<PutAlong>(pack, 1, n, -1, 1));
  });
}

// `rows_of_places` of kernels/index.cl.
struct Places {
  int64_t n, inner;
  int32_t depth, reserved;
  int64_t shape[16];
};

Places places_of(const oar_view_t& x, const oar_view_t& index) {
  Places p = {};
  p.depth = static_cast<int32_t>(index.shape[index.n_dims - 1]);
  p.n = 1;
  for (int d = 0; d + 1 < index.n_dims; ++d) p.n *= index.shape[d];
  p.inner = 1;
  for (int d = 0; d < x.n_dims; ++d)
    if (d < p.depth) p.shape[d] = x.shape[d];
    else p.inner *= x.shape[d];
  return p;
}

oar_status_t run_gather_nd(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t &x = *frame->inputs[0], &index = *frame->inputs[1];
    const Places p = places_of(x, index);
    Launch(frame->stream, "index", "", "gather_places")
        .view(&x)
        .view(&index)
        .view(frame->outputs[0])
        .value(p)
        .value<cl_int>(static_cast<cl_int>(index.dtype))
        .value<cl_int>(width_of(x.dtype))
        .fault()
        .value<cl_int>(kFaultGatherNd)
        .items(p.n * p.inner);
  });
}

struct ScatterNd final : Scatter {
  int how;
  ScatterNd(oar_pack_t* p, int64_t n_, int h) : Scatter(p, 1, n_), how(h) {}
  void launch(const oar_frame_t& f) const override {
    const oar_view_t &x = *f.inputs[0], &index = *f.inputs[1];
    const Places p = places_of(x, index);
    const auto index_dtype = static_cast<cl_int>(index.dtype);
    uint64_t order = 0;
    if (sorted) {
      Launch(f.stream, "index", "", "row_keys")
          .view(&index)
          .span(f.workspace)
          .value(p)
          .value(index_dtype)
          .fault()
          .value<cl_int>(kFaultScatterNd)
          .items(n);
      order = sort(f);
    }
    Launch(f.stream, "index", "", "scatter_places")
        .view(&x)
        .view(&index)
        .view(f.inputs[2])
        .view(f.outputs[0])
        .span(f.workspace)
        .span(f.workspace, order)
        .value(p)
        .value<cl_long>(count_of(x))
        .value<cl_int>(static_cast<cl_int>(x.dtype))
        .value(index_dtype)
        .value<cl_int>(how)
        .value<cl_int>(sorted)
        .fault()
        .value<cl_int>(kFaultScatterNd)
        .items(count_of(x));
  }
};

oar_status_t prepare_scatter_nd(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                                oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& index = *call->inputs[1];
    const int64_t n = oar_kit_count(index.n_dims - 1, index.shape);
    finish_scatter(out_prepared, std::make_unique<ScatterNd>(pack, n, how_of(kit::attr_string(*call, 0))));
  });
}

oar_status_t check_places(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_verdict_t* out_verdict) {
  if (const oar_status_t dense = check_dense(pack, decl, call, out_verdict); dense != OAR_OK) return dense;
  if (call->inputs[0]->n_dims <= 16) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "at most 16 dimensions");
}

constexpr uint64_t kGatherMask[] = {kWhole, kInts, kWhole};
constexpr uint64_t kPutMask[] = {kAll, kInts, kAll};
constexpr uint64_t kAddMask[] = {kNumeric, kInts, kNumeric};

const oar_kernel_decl_t kDecls[] = {
    declare("gather", kGatherMask, run_gather, nullptr, check_gather),
    declare("take_along_axis", kGatherMask, run_take_along_axis, nullptr, check_rank),
    declare_prepared("put_along_axis", kPutMask, prepare_put_along_axis, nullptr, check_rank),
    declare_prepared("scatter_add", kAddMask, prepare_scatter_add, nullptr, check_dense),
    declare("gather_nd", kGatherMask, run_gather_nd, nullptr, check_places),
    declare_prepared("scatter_nd", kPutMask, prepare_scatter_nd, nullptr, check_places)};

}  // namespace

Declarations index_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
