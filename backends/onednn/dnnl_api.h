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
inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm) { ops.append_eltwise(algorithm, 0.f, 0.f); }

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
inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm) {
  ops.append_eltwise(1.f, algorithm, 0.f, 0.f);
}

#endif

}  // namespace oarlock::onednn
#endif
