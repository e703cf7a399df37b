// Ops along one axis: scans, searching.
#include <cstring>

#include "pack.h"

namespace oarlock::opencl {
namespace {

// An operand without its axis.
struct Lanes {
  int64_t shape[64], strides[64];
  uint32_t rank;
  Axes axes() const { return {rank, shape, strides}; }
  Lanes(const Axes& a, int64_t axis) : rank(a.rank - 1) {
    for (uint32_t d = 0, k = 0; d < a.rank; ++d) {
      if (d == axis) continue;
      shape[k] = a.shape[d];
      strides[k++] = a.strides[d];
    }
  }
};

int64_t axis_of(const oar_call_t& call, uint32_t attr, int64_t rank) {
  const int64_t axis = kit::attr_int(call, attr, -1);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

oar_status_t check_lanes(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                         oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  const uint32_t rank = call->inputs[0]->n_dims;
  if (rank >= 1 && rank <= kMaxAxes + 1) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "1 to %d dimensions, not %u", kMaxAxes + 1, rank);
}

Geometry lanes_of(std::initializer_list<const oar_view_t*> views, int64_t axis) {
  std::vector<Lanes> lanes;
  for (const oar_view_t* v : views) lanes.emplace_back(axes_of(*v), axis);
  Geometry g;
  if (!make_geometry(lanes[0].rank, lanes[0].shape,
                     {lanes[0].axes(), lanes[1].axes(), lanes[2].axes(), lanes[3].axes()}, true, &g))
    throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: a launch of other strides than were checked");
  return g;
}

namespace {

struct Scan {
  int op;
  bool two;    // decay and x
  bool flags;  // exclusive before reverse
};

oar_status_t run_scan(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const auto& s = *static_cast<const Scan*>(decl->user);
    const oar_view_t &decay = *frame->inputs[0], &x = *frame->inputs[s.two ? 1 : 0], &out = *frame->outputs[0];
    const oar_view_t* places = s.op == 2 ? frame->outputs[1] : nullptr;
    const oar_view_t& last = places != nullptr ? *places : out;
    const int64_t axis = axis_of(*frame->call, 0, x.n_dims);
    const Geometry g = lanes_of({&decay, &x, &out, &last}, axis);
    const bool exclusive = s.flags && kit::attr_bool(*frame->call, 1);
    const bool reverse = s.op != 2 && kit::attr_bool(*frame->call, s.flags ? 2 : 1);
    Launch(frame->stream, "scan", "", "scan")
        .view(&decay)
        .view(&x)
        .view(&out)
        .view(places)
        .value(g)
        .value<cl_long>(x.shape[axis])
        .value<cl_long>(decay.strides[axis])
        .value<cl_long>(x.strides[axis])
        .value<cl_long>(out.strides[axis])
        .value<cl_long>(last.strides[axis])
        .value<cl_int>(s.op)
        .value<cl_int>(static_cast<cl_int>(x.dtype))
        .value<cl_int>(exclusive)
        .value<cl_int>(reverse)
        .items(g.n);
  });
}

oar_status_t run_search_sorted(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t &sorted = *frame->inputs[0], &values = *frame->inputs[1], &out = *frame->outputs[0];
    const Geometry g = walk_of(out, {axes_of(values), axes_of(values), axes_of(out)});
    Launch(frame->stream, "scan", "", "search")
        .view(&sorted)
        .view(&values)
        .view(&out)
        .value(g)
        .value<cl_long>(sorted.shape[0])
        .value<cl_long>(sorted.strides[0])
        .value<cl_int>(static_cast<cl_int>(sorted.dtype))
        .value<cl_int>(kit::attr_string(*frame->call, 0) == "right")
        .items(g.n);
  });
}

oar_status_t check_search(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  if (call->inputs[1]->n_dims <= kMaxAxes) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 1, "at most %d dimensions", kMaxAxes);
}

constexpr uint64_t kNumbersMask[] = {kNumeric};
constexpr uint64_t kFloatsMask[] = {kFloats};
constexpr uint64_t kPlacesMask[] = {kNumeric, kNumeric, kI64};
constexpr Scan kSum = {0, false, true}, kProduct = {1, false, true}, kMaximum = {2, false, false},
               kLinear = {3, true, false};

const oar_kernel_decl_t kDecls[] = {declare("cumsum", kNumbersMask, run_scan, &kSum, check_lanes),
                                    declare("cumulative_product", kNumbersMask, run_scan, &kProduct, check_lanes),
                                    declare("cumulative_max", kPlacesMask, run_scan, &kMaximum, check_lanes),
                                    declare("linear_scan", kFloatsMask, run_scan, &kLinear, check_lanes),
                                    declare("search_sorted", kPlacesMask, run_search_sorted, nullptr, check_search)};

}  // namespace

Declarations scan_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
