// conv and its two gradients, f32 and bf16, one to three axes, groups. Images lie channels last: results always do, and an
// operand that lies otherwise is reordered on the way. Weights are reordered to what oneDNN likes best at each launch (they
// change at each training step), constant ones once.
#include <memory>

#include "staged.h"
#include "window.h"

namespace oarlock::onednn {
namespace {

using dnnl::memory;

// [O, C/groups, *K] as oneDNN wants it: with the groups as a dimension of their own if there are several.
memory::dims weight_dims(const oar_value_t& w, int64_t groups) {
  memory::dims dims(w.shape, w.shape + w.n_dims);
  if (groups == 1) return dims;
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return dims;
}
memory::desc weight_plain(const oar_value_t& w, int64_t groups, int operand) {
  const std::vector<int64_t> strides = strides_of(w, operand);
  if (!oar_kit_contiguous(w.n_dims, w.shape, strides.data()))
    throw kit::Refusal(OAR_REASON_LAYOUT, operand, "weights must be row-major without gaps");
  const memory::dims dims = weight_dims(w, groups);
  memory::dims dense(dims.size());
  oar_kit_strides(static_cast<uint32_t>(dims.size()), dims.data(), dense.data());
  return {dims, type_of(w.dtype), dense};
}
memory::desc weight_any(const oar_value_t& w, int64_t groups) {
  return {weight_dims(w, groups), type_of(w.dtype), memory::format_tag::any};
}

// What the three ops have in common: image and result of the convolution, its weights, and where they stand.
struct Convolution {
  const oar_value_t *x, *w, *y;
  int x_at, w_at, y_at;
  int64_t groups, work;
  Window window;
  dnnl::primitive_attr attr;

  Convolution(const oar_call_t* call, const oar_value_t* x_, const oar_value_t* w_, const oar_value_t* y_, int x_at_,
              int w_at_, int y_at_, uint32_t first)
      : x(x_), w(w_), y(y_), x_at(x_at_), w_at(w_at_), y_at(y_at_) {
    if (call->n_epilogue != 0) throw kit::Refusal(OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
    check_image(*x, x_at);
    check_image(*w, w_at);
    check_image(*y, y_at);
    window = window_of(*call, first, first + 1, first + 2, x->n_dims - 2);
    groups = kit::attr_int(*call, first + 3, 1);
    work = y->shape[0] * w->shape[1];
    for (uint32_t d = 1; d < y->n_dims; ++d) work *= y->shape[d];
    for (uint32_t d = 2; d < w->n_dims; ++d) work *= w->shape[d];
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  }
  memory::desc x_desc() const { return channels_last(*x); }
  memory::desc y_desc() const { return channels_last(*y); }
  uint64_t cost() const { return 500 + static_cast<uint64_t>(work) / 50; }
};

// Turns "oneDNN has none" into a refusal.
template <class Make>
auto described_by(Make make) {
  try {
    auto desc = make();
    if (std::string_view(desc.impl_info_str()).substr(0, 3) == "ref")
      throw kit::Refusal(OAR_REASON_SLOWER, -1, "oneDNN has only its reference convolution for this");
    return desc;
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
    throw kit::Refusal(OAR_REASON_DEVICE, -1, "oneDNN has no such convolution on this CPU");
  }
}

oar_status_t prepare_forward(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                             oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t* bias = call->n_inputs > 2 ? call->inputs[2] : nullptr;
    const Convolution c(call, call->inputs[0], call->inputs[1], call->outputs[0], 0, 1,
                        static_cast<int>(call->n_inputs), 0);
    const memory::desc w_plain = weight_plain(*c.w, c.groups, 1);
    memory::desc bias_desc;
    if (bias != nullptr) {
      if (strides_of(*bias, 2)[0] != 1 && bias->shape[0] != 1)
        throw kit::Refusal(OAR_REASON_LAYOUT, 2, "the bias must be dense");
      bias_desc = memory::desc({bias->shape[0]}, type_of(bias->dtype), memory::format_tag::x);
    }
    const ThreadLimit limit(pack->host);
    const auto desc = described_by([&] {
      return conv_desc(pack->engine, c.x_desc(), weight_any(*c.w, c.groups), bias ? &bias_desc : nullptr, c.y_desc(),
                       c.window.stride, c.window.dilation, c.window.begin, c.window.end, c.attr);
    });
    auto state = std::make_unique<Staged>(pack, dnnl::convolution_forward(desc));
    state->input(DNNL_ARG_SRC, 0, described(*c.x, 0), c.x_desc());
    if (memory packed = packed_constant(pack, *c.w, w_plain, desc.weights_desc())) {
      state->hold(DNNL_ARG_WEIGHTS, packed);
      out_prepared->unread_inputs |= OAR_BIT(1);
    } else {
      state->input(DNNL_ARG_WEIGHTS, 1, w_plain, desc.weights_desc());
    }
    if (bias != nullptr) state->input(DNNL_ARG_BIAS, 2, bias_desc, bias_desc);
    state->output(DNNL_ARG_DST, c.y_at, c.y_desc(), c.y_desc());
    state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    choose_channels_last(out_prepared, 0, *c.y);
    finish(out_prepared, std::move(state), c.cost());
  });
}

// (dy, w) -> dx
oar_status_t prepare_input(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                           oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const Convolution c(call, call->outputs[0], call->inputs[1], call->inputs[0], 2, 1, 0, 1);
    const memory::desc w_plain = weight_plain(*c.w, c.groups, 1);
    const ThreadLimit limit(pack->host);
    const auto desc = described_by([&] {
      return conv_input_gradient_desc(pack->engine, c.x_desc(), weight_any(*c.w, c.groups), c.y_desc(), c.window.stride,
                                      c.window.dilation, c.window.begin, c.window.end, c.attr);
    });
    auto state = std::make_unique<Staged>(pack, dnnl::convolution_backward_data(desc));
    state->input(DNNL_ARG_DIFF_DST, 0, described(*c.y, 0), c.y_desc());
    if (memory packed = packed_constant(pack, *c.w, w_plain, desc.weights_desc())) {
      state->hold(DNNL_ARG_WEIGHTS, packed);
      out_prepared->unread_inputs |= OAR_BIT(1);
    } else {
      state->input(DNNL_ARG_WEIGHTS, 1, w_plain, desc.weights_desc());
    }
    state->output(DNNL_ARG_DIFF_SRC, 2, c.x_desc(), c.x_desc());
    state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    choose_channels_last(out_prepared, 0, *c.x);
    finish(out_prepared, std::move(state), c.cost());
  });
}

// (dy, x) -> dw
oar_status_t prepare_weight(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                            oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const Convolution c(call, call->inputs[1], call->outputs[0], call->inputs[0], 1, 2, 0, 1);
    const ThreadLimit limit(pack->host);
    const auto desc = described_by([&] {
      return conv_weight_gradient_desc(pack->engine, c.x_desc(), weight_any(*c.w, c.groups), c.y_desc(),
                                       c.window.stride, c.window.dilation, c.window.begin, c.window.end, c.attr);
    });
    auto state = std::make_unique<Staged>(pack, dnnl::convolution_backward_weights(desc));
    state->input(DNNL_ARG_DIFF_DST, 0, described(*c.y, 0), c.y_desc());
    state->input(DNNL_ARG_SRC, 1, described(*c.x, 1), c.x_desc());
    state->output(DNNL_ARG_DIFF_WEIGHTS, 2, weight_plain(*c.w, c.groups, 2), desc.diff_weights_desc());
    state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    finish(out_prepared, std::move(state), c.cost());
  });
}

constexpr uint64_t kTypes[] = {kF32 | kBf16};

constexpr oar_kernel_decl_t kConv =
    OAR_KIT_KERNEL("conv", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kTypes, .prepare = prepare_forward,
                   .launch = staged_launch, .release = staged_release);
OAR_KIT_LISTED(kConv);
constexpr oar_kernel_decl_t kConvInput =
    OAR_KIT_KERNEL("conv_input_gradient", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kTypes, .prepare = prepare_input,
                   .launch = staged_launch, .release = staged_release);
OAR_KIT_LISTED(kConvInput);
constexpr oar_kernel_decl_t kConvWeight =
    OAR_KIT_KERNEL("conv_weight_gradient", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kTypes, .prepare = prepare_weight,
                   .launch = staged_launch, .release = staged_release);
OAR_KIT_LISTED(kConvWeight);

}  // namespace
}  // namespace oarlock::onednn
