// conv and its two gradients, f32 and bf16, one to three axes, groups. Images lie channels last: results always do, and an
// operand that lies otherwise is reordered on the way. Weights are reordered to what oneDNN likes best at each launch (they
// change at each training step), constant ones once. 1 x 1 convolutions that this would slow down are matrix products.
// What follows elementwise is fused: epilogue.cc.
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>

#include "epilogue.h"
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
  return {weight_dims(w, groups), computed_in(w.dtype), memory::format_tag::any};
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
  // How the primitive takes the images. blocked: in whatever order oneDNN likes best, reordered on the way in and out.
  bool blocked = false;
  memory::desc x_desc() const { return blocked ? any(*x) : channels_last(*x, computed_in(x->dtype)); }
  memory::desc y_desc() const { return blocked ? any(*y) : channels_last(*y, computed_in(y->dtype)); }
  static memory::desc any(const oar_value_t& value) {
    return {memory::dims(value.shape, value.shape + value.n_dims), computed_in(value.dtype), memory::format_tag::any};
  }
  int64_t in() const { return w->shape[1]; }
  int64_t out() const { return w->shape[0]; }
  // Pixels of all images; of a 1 x 1 convolution the rows of a product.
  int64_t pixels() const { return oar_kit_count(y->n_dims, y->shape) / y->shape[1]; }
  bool moves() const {
    return std::any_of(window.stride.begin(), window.stride.end(), [](int64_t s) { return s != 1; });
  }

  // One tap on every pixel of images that lie channels last, given so or made so: [pixels, in] times [in, out].
  bool is_product(std::initializer_list<std::pair<const oar_value_t*, int>> given) const {
    for (uint32_t d = 2; d < w->n_dims; ++d)
      if (w->shape[d] != 1 || window.begin[d - 2] != 0 || window.end[d - 2] != 0) return false;
    if (moves() || groups != 1 || x->dtype != OAR_DTYPE_F32) return false;
    return std::all_of(given.begin(), given.end(),
                       [](auto& v) { return described(*v.first, v.second) == channels_last(*v.first); });
  }
  memory::desc rows(int64_t columns) const {
    return {{pixels(), columns}, memory::data_type::f32, memory::format_tag::ab};
  }

  uint64_t cost() const { return 500 + static_cast<uint64_t>(work) / 50; }
};

// A product in place of a 1 x 1 convolution: operands as they lie, none packed.
std::unique_ptr<Staged> product(oar_pack_t* pack, const memory::desc& a, const memory::desc& b,
                                const memory::desc* bias, const memory::desc& out, const int (&operands)[3],
                                const Convolution& c) {
  const auto desc = described_by("matrix product", [&] { return matmul_desc(pack->engine, a, b, bias, out, c.attr); });
  auto state = std::make_unique<Staged>(pack, dnnl::matmul(desc));
  state->input(DNNL_ARG_SRC, operands[0], a, a);
  state->input(DNNL_ARG_WEIGHTS, operands[1], b, b);
  if (bias != nullptr) state->input(DNNL_ARG_BIAS, 2, *bias, *bias);
  state->output(DNNL_ARG_DST, operands[2], out, out);
  state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
  return state;
}

// Operands behind a convolution: as the image that it gives, one a channel, or one.
class BehindImage : public Describe {
 public:
  explicit BehindImage(const Convolution& c) : c_(c) {}
  Extra::Kind kind(const oar_value_t& x, int operand) const override {
    const oar_value_t& y = *c_.y;
    const uint32_t lead = y.n_dims - std::min(x.n_dims, y.n_dims);
    bool whole = x.n_dims == y.n_dims, channel = true, one = true;
    for (uint32_t d = 0; d < x.n_dims; ++d) {
      whole = whole && x.shape[d] == y.shape[d];
      channel = channel && x.shape[d] == (d + lead == 1 ? y.shape[1] : 1);
      one = one && x.shape[d] == 1;
    }
    if (x.n_dims > y.n_dims || (!whole && !channel && !one))
      throw kit::Refusal(OAR_REASON_EPILOGUE, operand, "the operand must be an image, one a channel, or one number");
    if (one) return Extra::one;
    const std::vector<int64_t> strides = strides_of(x, operand);
    if (whole && !channel) {
      if (described(x, operand) != channels_last(x))
        throw kit::Refusal(OAR_REASON_EPILOGUE, operand, "the image must lie channels last");
      return Extra::whole;
    }
    if (strides[1 - lead] != 1) throw kit::Refusal(OAR_REASON_EPILOGUE, operand, "the channels must be dense");
    return Extra::channel;
  }
  memory::desc desc(const Extra& e) const override { return desc(e, computed_in(c_.y->dtype)); }
  memory::desc desc(const Extra& e, memory::data_type type) const {
    if (e.kind == Extra::whole) return channels_last(*c_.y, type);
    memory::dims dims(c_.y->n_dims, 1), dense(c_.y->n_dims, 1);
    if (e.kind == Extra::channel) {
      dims[1] = c_.y->shape[1];
      dense[0] = dims[1];
    }
    return {dims, type, dense};
  }

 private:
  const Convolution& c_;
};
void check_plain(const oar_call_t* call) {
  if (call->n_epilogue != 0) throw kit::Refusal(OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
}

// Packing the weights is worth it where they meet many pixels. On 2 cores, 392 pixels: 2048 to 512 channels 3.4 ms packed
// and 2.8 as a product, input gradient 5.0 and 2.9; on 1568 pixels the convolution is as fast forward.
constexpr int64_t kFewPixels = 1024;
// Weight gradients come blocked and are put back into rows: 6.5 ms and 2.9 as a product for 2048 x 512, 3.6 and 2.9 for
// 256 x 1024, 4.0 and 3.7 for 512 x 128, 4.2 and 4.5 for 64 x 256.
constexpr int64_t kManyWeights = 1 << 15;
// Images as narrow as this cost oneDNN's channels-last kernels their speed: 64 of 256 x 8 x 8 to 512 channels by 2 take
// 12.6 ms, blocked 7.1 and 0.3 for the reorders; the input gradient of 512 x 4 x 4 24.0 and 14.6.
constexpr int64_t kNarrow = 5;
constexpr int64_t kManyChannels = 256;

oar_status_t prepare_forward(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                             oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const uint32_t own = own_inputs(*call);
    const oar_value_t* bias = own > 2 ? call->inputs[2] : nullptr;
    int bias_at = 2;
    Convolution c(call, call->inputs[0], call->inputs[1], call->outputs[0], 0, 1, static_cast<int>(call->n_inputs), 0);
    const memory::desc w_plain = weight_plain(*c.w, c.groups, 1);
    if (bias != nullptr && strides_of(*bias, 2)[0] != 1 && bias->shape[0] != 1)
      throw kit::Refusal(OAR_REASON_LAYOUT, 2, "the bias must be dense");
    const BehindImage behind(c);
    const Epilogue epilogue = epilogue_of(*call, bias == nullptr, behind);
    if (epilogue.bias >= 0) {
      bias_at = epilogue.bias;
      bias = call->inputs[bias_at];
    }
    c.attr.set_post_ops(epilogue.steps);
    memory::desc bias_given, bias_desc;
    if (bias != nullptr) {
      bias_given = memory::desc({c.out()}, type_of(bias->dtype), memory::format_tag::x);
      bias_desc = memory::desc({c.out()}, computed_in(bias->dtype), memory::format_tag::x);
    }
    const ThreadLimit limit(pack->host);
    const bool packed = (c.w->flags & OAR_VALUE_CONSTANT) != 0;
    if (!packed && c.pixels() < kFewPixels && c.is_product({{c.x, 0}})) {
      check_plain(call);
      const memory::desc w({c.in(), c.out()}, memory::data_type::f32, memory::format_tag::ba);
      const memory::desc row({1, c.out()}, memory::data_type::f32, memory::format_tag::ab);
      choose_channels_last(out_prepared, 0, *c.y);
      finish(out_prepared, product(pack, c.rows(c.in()), w, bias ? &row : nullptr, c.rows(c.out()), {0, 1, c.y_at}, c),
             c.cost());
      return;
    }
    c.blocked = c.y->shape[c.y->n_dims - 1] <= kNarrow && c.groups == 1 && std::min(c.in(), c.out()) >= kManyChannels &&
                !epilogue.any_whole();
    const auto desc = described_by("convolution", [&] {
      return conv_desc(pack->engine, c.x_desc(), weight_any(*c.w, c.groups), bias ? &bias_desc : nullptr, c.y_desc(),
                       c.window.stride, c.window.dilation, c.window.begin, c.window.end, c.attr);
    });
    auto state = std::make_unique<Staged>(pack, dnnl::convolution_forward(desc));
    state->input(DNNL_ARG_SRC, 0, described(*c.x, 0), desc.src_desc());
    if (auto packed = packed_constant(pack, *c.w, w_plain, desc.weights_desc())) {
      state->hold(DNNL_ARG_WEIGHTS, std::move(packed));
      out_prepared->unread_inputs |= OAR_BIT(1);
    } else {
      state->input(DNNL_ARG_WEIGHTS, 1, w_plain, desc.weights_desc());
    }
    if (bias != nullptr) state->input(DNNL_ARG_BIAS, bias_at, bias_given, bias_desc);
    for (const Extra& e : epilogue.extras)
      state->input(e.argument, e.operand, behind.desc(e, type_of(c.y->dtype)), behind.desc(e));
    state->output(DNNL_ARG_DST, c.y_at, channels_last(*c.y), desc.dst_desc());
    state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    choose_channels_last(out_prepared, 0, *c.y);
    finish(out_prepared, std::move(state), c.cost());
  });
}

// (dy, w) -> dx
oar_status_t prepare_input(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                           oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    check_plain(call);
    Convolution c(call, call->outputs[0], call->inputs[1], call->inputs[0], 2, 1, 0, 1);
    const memory::desc w_plain = weight_plain(*c.w, c.groups, 1);
    const ThreadLimit limit(pack->host);
    if ((c.pixels() < kFewPixels || c.out() >= c.in()) && c.is_product({{c.y, 0}})) {
      const memory::desc w({c.out(), c.in()}, memory::data_type::f32, memory::format_tag::ab);
      choose_channels_last(out_prepared, 0, *c.x);
      finish(out_prepared, product(pack, c.rows(c.out()), w, nullptr, c.rows(c.in()), {0, 1, 2}, c), c.cost());
      return;
    }
    c.blocked = c.x->shape[c.x->n_dims - 1] <= kNarrow && !c.moves() && c.groups == 1 &&
                std::min(c.in(), c.out()) >= kManyChannels;
    const auto desc = described_by("convolution", [&] {
      return conv_input_gradient_desc(pack->engine, c.x_desc(), weight_any(*c.w, c.groups), c.y_desc(), c.window.stride,
                                      c.window.dilation, c.window.begin, c.window.end, c.attr);
    });
    auto state = std::make_unique<Staged>(pack, dnnl::convolution_backward_data(desc));
    state->input(DNNL_ARG_DIFF_DST, 0, described(*c.y, 0), desc.diff_dst_desc());
    if (auto packed = packed_constant(pack, *c.w, w_plain, desc.weights_desc())) {
      state->hold(DNNL_ARG_WEIGHTS, std::move(packed));
      out_prepared->unread_inputs |= OAR_BIT(1);
    } else {
      state->input(DNNL_ARG_WEIGHTS, 1, w_plain, desc.weights_desc());
    }
    state->output(DNNL_ARG_DIFF_SRC, 2, channels_last(*c.x), desc.diff_src_desc());
    state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    choose_channels_last(out_prepared, 0, *c.x);
    finish(out_prepared, std::move(state), c.cost());
  });
}

// (dy, x) -> dw
oar_status_t prepare_weight(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                            oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    check_plain(call);
    const Convolution c(call, call->inputs[1], call->outputs[0], call->inputs[0], 1, 2, 0, 1);
    const ThreadLimit limit(pack->host);
    if (c.in() * c.out() >= kManyWeights && c.is_product({{c.y, 0}, {c.x, 1}})) {
      const memory::desc turned({c.out(), c.pixels()}, memory::data_type::f32, memory::format_tag::ba);
      const memory::desc dw({c.out(), c.in()}, memory::data_type::f32, memory::format_tag::ab);
      finish(out_prepared, product(pack, turned, c.rows(c.in()), nullptr, dw, {0, 1, 2}, c), c.cost());
      return;
    }
    const auto desc = described_by("convolution", [&] {
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
