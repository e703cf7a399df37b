// batch_norm and its gradient: f32 and bf16 images with f32 statistics. oneDNN normalises; the running statistics and the
// inverse deviation that the op hands on are made here from its mean and variance.
#include <algorithm>
#include <cmath>
#include <memory>

#include "staged.h"
#include "window.h"

namespace oarlock::onednn {
namespace {

using dnnl::memory;

bool dense_vector(const oar_value_t& value, int operand) {
  return value.shape[0] == 1 || strides_of(value, operand)[0] == 1;
}
void check_vectors(const oar_call_t* call, int first) {
  for (uint32_t i = static_cast<uint32_t>(first); i < call->n_inputs; ++i) {
    if (call->inputs[i] == nullptr) continue;
    if (call->inputs[i]->dtype != OAR_DTYPE_F32)
      throw kit::Refusal(OAR_REASON_DTYPE, static_cast<int>(i), "statistics and factors must be f32");
    if (!dense_vector(*call->inputs[i], static_cast<int>(i)))
      throw kit::Refusal(OAR_REASON_LAYOUT, static_cast<int>(i), "statistics and factors must be dense");
  }
}
const float* floats(const oar_view_t* view) {
  return reinterpret_cast<const float*>(static_cast<const char*>(view->data) + view->byte_offset);
}
float* floats(const oar_view_t* view, int) { return const_cast<float*>(floats(view)); }

struct Forward {
  int64_t channels, elements;  // elements: of one channel
  double momentum, epsilon;
  bool training, has_hidden;
  uint64_t mean, variance;  // places in the workspace
};

// mean and variance of the batch, as oneDNN left them, into the op's other outputs.
void hand_on(const void* user, const oar_frame_t* frame, char* workspace) {
  const Forward& f = *static_cast<const Forward*>(user);
  const float *old_mean = floats(frame->inputs[1]), *old_var = floats(frame->inputs[2]);
  const float* mean = f.training ? reinterpret_cast<const float*>(workspace + f.mean) : old_mean;
  const float* var = f.training ? reinterpret_cast<const float*>(workspace + f.variance) : old_var;
  float *new_mean = floats(frame->outputs[1], 0), *new_var = floats(frame->outputs[2], 0);
  const float keep = static_cast<float>(f.momentum), take = static_cast<float>(1 - f.momentum);
  for (int64_t c = 0; c < f.channels; ++c) {
    new_mean[c] = f.training ? old_mean[c] * keep + mean[c] * take : old_mean[c];
    new_var[c] = f.training ? old_var[c] * keep + var[c] * take : old_var[c];
  }
  if (!f.has_hidden) return;
  float *saved_mean = floats(frame->outputs[3], 0), *saved_inverse = floats(frame->outputs[4], 0);
  for (int64_t c = 0; c < f.channels; ++c) {
    saved_mean[c] = mean[c];
    saved_inverse[c] = static_cast<float>(1 / std::sqrt(static_cast<double>(var[c]) + f.epsilon));
  }
}

memory::desc vector_desc(int64_t n) { return {{n}, memory::data_type::f32, memory::format_tag::x}; }

oar_status_t prepare_forward(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                             oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& x = *call->inputs[0];
    if (call->n_epilogue != 0) throw kit::Refusal(OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
    check_image(x, 0, 2);
    check_vectors(call, 1);
    auto f = std::make_shared<Forward>();
    f->channels = x.shape[1];
    f->elements = oar_kit_count(x.n_dims, x.shape) / f->channels;
    f->training = kit::attr_bool(*call, 0, true);
    f->momentum = kit::attr_float(*call, 1, 0.9);
    f->epsilon = kit::attr_float(*call, 2, 1e-5);
    f->has_hidden = call->n_outputs > 4 && call->outputs[3] != nullptr && call->outputs[4] != nullptr;
    const bool scale = call->n_inputs > 3 && call->inputs[3], bias = call->n_inputs > 4 && call->inputs[4];
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const memory::desc image = channels_last(x), vector = vector_desc(f->channels);
    const ThreadLimit limit(pack->host);
    const auto desc = described_by("batch normalisation", [&] {
      return batch_norm_desc(pack->engine, f->training, image, static_cast<float>(f->epsilon), scale, bias, attr);
    });
    const int n = static_cast<int>(call->n_inputs);
    auto state = std::make_unique<Staged>(pack, dnnl::batch_normalization_forward(desc));
    state->input(DNNL_ARG_SRC, 0, described(x, 0), image);
    if (f->training) {
      f->mean = state->scratch(DNNL_ARG_MEAN, vector);
      f->variance = state->scratch(DNNL_ARG_VARIANCE, vector);
    } else {
      state->input(DNNL_ARG_MEAN, 1, vector, vector);
      state->input(DNNL_ARG_VARIANCE, 2, vector, vector);
    }
    if (scale) state->input(DNNL_ARG_SCALE, 3, vector, vector);
    if (bias) state->input(DNNL_ARG_SHIFT, 4, vector, vector);
    state->output(DNNL_ARG_DST, n, image, image);
    state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    state->user = f;
    state->after(hand_on);
    choose_channels_last(out_prepared, 0, *call->outputs[0]);
    finish(out_prepared, std::move(state), 1000 + static_cast<uint64_t>(f->elements * f->channels) / 4);
  });
}

struct Backward {
  int64_t channels;
  uint64_t variance;
};
// oneDNN takes the variance; with an epsilon of 0 that of the inverse deviation gives the same numbers.
void variance_of_inverse(const void* user, const oar_frame_t* frame, char* workspace) {
  const Backward& b = *static_cast<const Backward*>(user);
  const float* inverse = floats(frame->inputs[3]);
  float* variance = reinterpret_cast<float*>(workspace + b.variance);
  for (int64_t c = 0; c < b.channels; ++c) {
    const double i = inverse[c];
    variance[c] = static_cast<float>(1 / (i * i));
  }
}

oar_status_t prepare_backward(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                              oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t &dy = *call->inputs[0], &x = *call->inputs[1];
    if (call->n_epilogue != 0) throw kit::Refusal(OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
    check_image(dy, 0, 2);
    check_image(x, 1, 2);
    check_vectors(call, 2);
    auto b = std::make_shared<Backward>();
    b->channels = x.shape[1];
    const bool training = kit::attr_bool(*call, 0, true);
    const bool scale = call->n_inputs > 4 && call->inputs[4];
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const memory::desc image = channels_last(x), vector = vector_desc(b->channels);
    const ThreadLimit limit(pack->host);
    const auto desc = described_by("batch normalisation",
                                   [&] { return batch_norm_gradient_desc(pack->engine, training, image, 0.f, attr); });
    const int n = static_cast<int>(call->n_inputs);
    auto state = std::make_unique<Staged>(pack, dnnl::batch_normalization_backward(desc));
    state->input(DNNL_ARG_DIFF_DST, 0, described(dy, 0), image);
    state->input(DNNL_ARG_SRC, 1, described(x, 1), image);
    state->input(DNNL_ARG_MEAN, 2, vector, vector);
    b->variance = state->scratch(DNNL_ARG_VARIANCE, vector);
    state->output(DNNL_ARG_DIFF_SRC, n, image, image);
    auto constant = [&](int argument, float value) {
      memory filled(vector, pack->engine);
      std::fill_n(static_cast<float*>(filled.get_data_handle()), b->channels, value);
      state->hold(argument, filled);
    };
    if (scale) state->input(DNNL_ARG_SCALE, 4, vector, vector);
    else constant(DNNL_ARG_SCALE, 1);  // so that the sums come out all the same
    constant(DNNL_ARG_SHIFT, 0);       // not read, but 2.6 fails without it
    state->output(DNNL_ARG_DIFF_SCALE, n + 1, vector, vector);
    state->output(DNNL_ARG_DIFF_SHIFT, n + 2, vector, vector);
    state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    state->user = b;
    state->before(variance_of_inverse);
    choose_channels_last(out_prepared, 0, *call->outputs[0]);
    finish(out_prepared, std::move(state), 1000 + static_cast<uint64_t>(oar_kit_count(x.n_dims, x.shape)) / 2);
  });
}

constexpr uint64_t kForwardTypes[] = {kF32 | kBf16, kF32, kF32, kF32, kF32, kF32 | kBf16, kF32};
constexpr uint64_t kBackwardTypes[] = {kF32 | kBf16, kF32 | kBf16, kF32, kF32, kF32, kF32 | kBf16, kF32};

constexpr oar_kernel_decl_t kBatchNorm =
    OAR_KIT_KERNEL("batch_norm", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kForwardTypes, .prepare = prepare_forward,
                   .launch = staged_launch, .release = staged_release);
OAR_KIT_LISTED(kBatchNorm);
constexpr oar_kernel_decl_t kBatchNormGradient =
    OAR_KIT_KERNEL("batch_norm_gradient", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kBackwardTypes,
                   .prepare = prepare_backward, .launch = staged_launch, .release = staged_release);
OAR_KIT_LISTED(kBatchNormGradient);

}  // namespace
}  // namespace oarlock::onednn
