// Ops that move, make and convert elements.
#include "pack.h"

namespace oarlock::opencl {
namespace {

oar_status_t run_cast(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t &x = *frame->inputs[0], &out = *frame->outputs[0];
    const Geometry g = walk_of(out, {axes_of(out), axes_of(x)});
    Launch(frame->stream, "move", "", "cast")
        .view(&x)
        .view(&out)
        .value(g)
        .value<cl_int>(static_cast<cl_int>(x.dtype))
        .value<cl_int>(static_cast<cl_int>(out.dtype))
        .items(g.n);
  });
}

oar_status_t run_where(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t &c = *frame->inputs[0], &a = *frame->inputs[1], &b = *frame->inputs[2], &out = *frame->outputs[0];
    const Geometry g = walk_of(out, {axes_of(c), axes_of(a), axes_of(b), axes_of(out)});
    Launch(frame->stream, "move", "", "choose")
        .view(&c)
        .view(&a)
        .view(&b)
        .view(&out)
        .value(g)
        .value<cl_int>(width_of(out.dtype))
        .items(g.n);
  });
}

void fill_view(oar_stream_t* stream, const oar_view_t& out, double value) {
  unsigned char pattern[16] = {};
  oar_kit_store(pattern, out.dtype, 0, value);
  fill_bytes(stream, {out.data, out.byte_offset, static_cast<uint64_t>(bytes_of(out))}, pattern,
             oar_kit_dtype_bytes(out.dtype));
}

oar_status_t run_full(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host,
                    [&] { fill_view(frame->stream, *frame->outputs[0], kit::attr_float(*frame->call, 1)); });
}

oar_status_t run_dim_value(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t& out = *frame->outputs[0];
    const int64_t value = frame->call->attrs[0].value.i;
    unsigned char pattern[16] = {};
    oar_kit_convert(pattern, out.dtype, 0, &value, OAR_DTYPE_I64, 0);
    fill_bytes(frame->stream, {out.data, out.byte_offset, static_cast<uint64_t>(bytes_of(out))}, pattern,
               oar_kit_dtype_bytes(out.dtype));
  });
}

oar_status_t run_arange(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t& out = *frame->outputs[0];
    Launch(frame->stream, "move", "", "count")
        .view(&out)
        .value<cl_long>(count_of(out))
        .value<cl_int>(static_cast<cl_int>(out.dtype))
        .items(count_of(out));
  });
}

oar_status_t run_random_uniform(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t &seed = *frame->inputs[0], &out = *frame->outputs[0];
    const auto* words = kit::data<int64_t>(seed);
    Launch(frame->stream, "move", "", "uniform")
        .view(&out)
        .value<cl_long>(count_of(out))
        .value<cl_int>(static_cast<cl_int>(out.dtype))
        .value<cl_ulong>(static_cast<cl_ulong>(words[0]))
        .value<cl_ulong>(static_cast<cl_ulong>(words[seed.strides != nullptr ? seed.strides[0] : 1]))
        .items(count_of(out));
  });
}

// x into a part of out: out's strides times steps, from `at` elements on.
void copy_into(oar_stream_t* stream, const oar_view_t& x, const oar_view_t& out, int64_t at, const int64_t* strides) {
  if (count_of(x) == 0) return;
  const auto rank = static_cast<uint32_t>(x.n_dims);
  const Geometry g = walk_of(x, {{rank, x.shape, strides}, axes_of(x)});
  const int width = width_of(x.dtype);
  copy_places(stream, {out.data, out.byte_offset + static_cast<uint64_t>(at * width), 0}, span_of(x), g, width);
}

oar_status_t run_concat(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t& out = *frame->outputs[0];
    int64_t axis = kit::attr_int(*frame->call, 0), at = 0;
    if (axis < 0) axis += out.n_dims;
    for (uint32_t i = 0; i < frame->n_inputs; ++i) {
      const oar_view_t& x = *frame->inputs[i];
      copy_into(frame->stream, x, out, at * out.strides[axis], out.strides);
      at += x.shape[axis];
    }
  });
}

oar_status_t run_pad(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t &x = *frame->inputs[0], &out = *frame->outputs[0];
    const auto before = kit::attr_ints(*frame->call, 0), between = kit::attr_ints(*frame->call, 2);
    fill_view(frame->stream, out, kit::attr_float(*frame->call, 3));
    int64_t at = 0;
    std::vector<int64_t> strides(static_cast<size_t>(x.n_dims));
    for (size_t d = 0; d < strides.size(); ++d) {
      at += before[d] * out.strides[d];
      strides[d] = out.strides[d] * (1 + (between.empty() ? 0 : between[between.size() == 1 ? 0 : d]));
    }
    copy_into(frame->stream, x, out, at, strides.data());
  });
}

// Each operand has to be walked into its part of the result.
oar_status_t check_parts(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                         oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  for (uint32_t i = 0; i < call->n_inputs; ++i)
    if (call->inputs[i]->n_dims > kMaxAxes)
      return oar_kit_refuse(out_verdict, OAR_REASON_RANK, static_cast<int>(i), "at most %d dimensions", kMaxAxes);
  return OAR_OK;
}

constexpr uint64_t kAllMask[] = {kAll};
constexpr uint64_t kWholeMask[] = {kWhole};
constexpr uint64_t kWhereMask[] = {kBool, kWhole};
constexpr uint64_t kSeedMask[] = {kI64, kFloats};

const oar_kernel_decl_t kDecls[] = {declare("cast", kAllMask, run_cast, nullptr, check_walk),
                                    declare("where", kWhereMask, run_where, nullptr, check_walk),
                                    declare("full", kAllMask, run_full, nullptr, check_plain),
                                    declare("dim_value", kAllMask, run_dim_value, nullptr, check_plain),
                                    declare("arange", kAllMask, run_arange, nullptr, check_plain),
                                    declare("random_uniform", kSeedMask, run_random_uniform, nullptr, check_plain, 1),
                                    declare("concat", kWholeMask, run_concat, nullptr, check_parts),
                                    declare("pad", kAllMask, run_pad, nullptr, check_parts)};

}  // namespace

Declarations move_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
