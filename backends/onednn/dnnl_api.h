// The calls that differ between oneDNN 2 (descriptors) and 3 (primitive descriptors alone). Everything else in this
// plugin is the same source for both.
#ifndef OARLOCK_ONEDNN_DNNL_API_H_
#define OARLOCK_ONEDNN_DNNL_API_H_

#include <oneapi/dnnl/dnnl.hpp>

namespace oarlock::onednn {

#if DNNL_VERSION_MAJOR >= 3

inline dnnl::matmul::primitive_desc matmul_desc(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                                const dnnl::memory::desc& b, const dnnl::memory::desc* bias,
                                                const dnnl::memory::desc& out, const dnnl::primitive_attr& attr) {
  return bias != nullptr ? dnnl::matmul::primitive_desc(engine, a, b, *bias, out, attr)
                         : dnnl::matmul::primitive_desc(engine, a, b, out, attr);
}
inline dnnl::eltwise_forward::primitive_desc eltwise_desc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                          const dnnl::memory::desc& x,
                                                          const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_inference, algorithm, x, x, 0.f, 0.f, attr};
}
inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
  ops.append_eltwise(algorithm, alpha, beta);
}

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

inline dnnl::convolution_forward::primitive_desc conv_desc(const dnnl::engine& engine, const Desc& x, const Desc& w,
                                                           const Desc* bias, const Desc& out, const Dims& stride,
                                                           const Dims& dilation, const Dims& begin, const Dims& end,
                                                           const dnnl::primitive_attr& attr) {
  constexpr auto kind = dnnl::prop_kind::forward_training;
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  return bias != nullptr ? dnnl::convolution_forward::primitive_desc(engine, kind, direct, x, w, *bias, out, stride,
                                                                     dilation, begin, end, attr)
                         : dnnl::convolution_forward::primitive_desc(engine, kind, direct, x, w, out, stride, dilation,
                                                                     begin, end, attr);
}
inline dnnl::convolution_backward_data::primitive_desc conv_input_gradient_desc(
    const dnnl::engine& engine, const Desc& dx, const Desc& w, const Desc& dy, const Dims& stride, const Dims& dilation,
    const Dims& begin, const Dims& end, const dnnl::primitive_attr& attr) {
  const auto hint = conv_desc(engine, dx, w, nullptr, dy, stride, dilation, begin, end, {});
  return {engine, dnnl::algorithm::convolution_direct, dx, w, dy, stride, dilation, begin, end, hint, attr};
}
inline dnnl::convolution_backward_weights::primitive_desc conv_weight_gradient_desc(
    const dnnl::engine& engine, const Desc& x, const Desc& dw, const Desc& dy, const Dims& stride, const Dims& dilation,
    const Dims& begin, const Dims& end, const dnnl::primitive_attr& attr) {
  const auto hint = conv_desc(engine, x, dw, nullptr, dy, stride, dilation, begin, end, {});
  return {engine, dnnl::algorithm::convolution_direct, x, dw, dy, stride, dilation, begin, end, hint, attr};
}
inline dnnl::batch_normalization_forward::primitive_desc batch_norm_forward(const dnnl::engine& engine,
                                                                            dnnl::prop_kind kind, const Desc& x,
                                                                            float epsilon,
                                                                            dnnl::normalization_flags flags,
                                                                            const dnnl::primitive_attr& attr) {
  return {engine, kind, x, x, epsilon, flags, attr};
}
inline dnnl::batch_normalization_backward::primitive_desc batch_norm_backward(
    const dnnl::engine& engine, const Desc& x, float epsilon, dnnl::normalization_flags flags,
    const dnnl::batch_normalization_forward::primitive_desc& hint, const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::backward, x, x, x, epsilon, flags, hint, attr};
}

#else

inline dnnl::matmul::primitive_desc matmul_desc(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                                const dnnl::memory::desc& b, const dnnl::memory::desc* bias,
                                                const dnnl::memory::desc& out, const dnnl::primitive_attr& attr) {
  return {bias != nullptr ? dnnl::matmul::desc(a, b, *bias, out) : dnnl::matmul::desc(a, b, out), attr, engine};
}
inline dnnl::eltwise_forward::primitive_desc eltwise_desc(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                                          const dnnl::memory::desc& x,
                                                          const dnnl::primitive_attr& attr) {
  return {dnnl::eltwise_forward::desc(dnnl::prop_kind::forward_inference, algorithm, x, 0.f, 0.f), attr, engine};
}
inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
  ops.append_eltwise(1.f, algorithm, alpha, beta);
}

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

inline dnnl::convolution_forward::primitive_desc conv_desc(const dnnl::engine& engine, const Desc& x, const Desc& w,
                                                           const Desc* bias, const Desc& out, const Dims& stride,
                                                           const Dims& dilation, const Dims& begin, const Dims& end,
                                                           const dnnl::primitive_attr& attr) {
  constexpr auto kind = dnnl::prop_kind::forward_training;
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward::desc;
  return {bias != nullptr ? Forward(kind, direct, x, w, *bias, out, stride, dilation, begin, end)
                          : Forward(kind, direct, x, w, out, stride, dilation, begin, end),
          attr, engine};
}
inline dnnl::convolution_backward_data::primitive_desc conv_input_gradient_desc(
    const dnnl::engine& engine, const Desc& dx, const Desc& w, const Desc& dy, const Dims& stride, const Dims& dilation,
    const Dims& begin, const Dims& end, const dnnl::primitive_attr& attr) {
  const auto hint = conv_desc(engine, dx, w, nullptr, dy, stride, dilation, begin, end, {});
  return {dnnl::convolution_backward_data::desc(dnnl::algorithm::convolution_direct, dx, w, dy, stride, dilation, begin,
                                                end),
          attr, engine, hint};
}
inline dnnl::convolution_backward_weights::primitive_desc conv_weight_gradient_desc(
    const dnnl::engine& engine, const Desc& x, const Desc& dw, const Desc& dy, const Dims& stride, const Dims& dilation,
    const Dims& begin, const Dims& end, const dnnl::primitive_attr& attr) {
  const auto hint = conv_desc(engine, x, dw, nullptr, dy, stride, dilation, begin, end, {});
  return {dnnl::convolution_backward_weights::desc(dnnl::algorithm::convolution_direct, x, dw, dy, stride, dilation,
                                                   begin, end),
          attr, engine, hint};
}
inline dnnl::batch_normalization_forward::primitive_desc batch_norm_forward(const dnnl::engine& engine,
                                                                            dnnl::prop_kind kind, const Desc& x,
                                                                            float epsilon,
                                                                            dnnl::normalization_flags flags,
                                                                            const dnnl::primitive_attr& attr) {
  return {dnnl::batch_normalization_forward::desc(kind, x, epsilon, flags), attr, engine};
}
inline dnnl::batch_normalization_backward::primitive_desc batch_norm_backward(
    const dnnl::engine& engine, const Desc& x, float epsilon, dnnl::normalization_flags flags,
    const dnnl::batch_normalization_forward::primitive_desc& hint, const dnnl::primitive_attr& attr) {
  return {dnnl::batch_normalization_backward::desc(dnnl::prop_kind::backward, x, x, epsilon, flags), attr, engine,
          hint};
}

#endif

inline dnnl::batch_normalization_forward::primitive_desc batch_norm_desc(const dnnl::engine& engine, bool training,
                                                                         const Desc& x, float epsilon, bool scale,
                                                                         bool shift, const dnnl::primitive_attr& attr) {
  using Flags = dnnl::normalization_flags;
  Flags flags = training ? Flags::none : Flags::use_global_stats;
  if (scale) flags |= Flags::use_scale;
  if (shift) flags |= Flags::use_shift;
  return batch_norm_forward(engine, training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference,
                            x, epsilon, flags, attr);
}
// Gives the gradients of scale and shift, too.
inline dnnl::batch_normalization_backward::primitive_desc batch_norm_gradient_desc(const dnnl::engine& engine,
                                                                                   bool training, const Desc& x,
                                                                                   float epsilon,
                                                                                   const dnnl::primitive_attr& attr) {
  using Flags = dnnl::normalization_flags;
  Flags flags = Flags::use_scale | Flags::use_shift;
  if (!training) flags |= Flags::use_global_stats;
  const auto hint = batch_norm_forward(engine, dnnl::prop_kind::forward_training, x, epsilon, flags, {});
  return batch_norm_backward(engine, x, epsilon, flags, hint, attr);
}

}  // namespace oarlock::onednn
#endif
