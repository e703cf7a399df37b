// The optimisers' steps from call to loop. Parameter and moments must lie alike and without gaps, in whatever order; a
// gradient that lies otherwise is gathered in that order, block by block.
#include <algorithm>
#include <cmath>

#include "loop.h"

namespace oarlock::simd {
namespace {

constexpr int64_t kBlock = 1024;  // gathered at a time

enum Rule : int { kAdam, kAdamw, kRmsprop, kAdagrad };
constexpr Rule kRules[] = {kAdam, kAdamw, kRmsprop, kAdagrad};
// Operands between the gradient and the rate.
constexpr int states_of(Rule rule) { return rule == kAdagrad ? 1 : 3; }

struct Job {
  const Kernels* kernels;
  uint32_t dtype;
  void (*kernel)(const OptimiserStep& step, int64_t n);
  OptimiserStep step;
  int size, state_size;  // of p and g, and of the states
  bool gathers;
  // The axes in the order in which the parameter lies, widest first, and the gradient's strides along them.
  int n_dims = 0;
  int64_t shape[kMaxRank], strides[kMaxRank];
};

// n elements of the gradient from number i on, in the parameter's order.
void gradient_gather(const Job& job, int64_t i, int64_t n, char* to) {
  const auto* from = static_cast<const char*>(job.step.g);
  const int last = job.n_dims - 1;
  int64_t index[kMaxRank], at = 0;
  for (int d = last; d >= 0; --d) {
    index[d] = i % job.shape[d];
    i /= job.shape[d];
    at += index[d] * job.strides[d];
  }
  while (n > 0) {
    const int64_t run = std::min(n, job.shape[last] - index[last]);
    gather(from + at * job.size, 0, job.strides[last], 1, run, job.size, to);
    to += run * job.size;
    n -= run;
    at -= index[last] * job.strides[last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      at += job.strides[d];
      if (++index[d] < job.shape[d]) break;
      at -= job.strides[d] * job.shape[d];
      index[d] = 0;
    }
  }
}

// A parameter of f16 or bf16: in f32, rounded once at the end. Its states are of the same dtype or of f32.
void half_step(const Job& job, const OptimiserStep& step, int64_t n) {
  constexpr int64_t kWide = 512;
  alignas(64) float wide[5][kWide];
  const Tile widen = job.kernels->cast[job.dtype][OAR_DTYPE_F32], narrow = job.kernels->cast[OAR_DTYPE_F32][job.dtype];
  void* const states[] = {step.p, step.a, step.b, step.c};
  for (int64_t i = 0; i < n; i += kWide) {
    const int64_t part = std::min(kWide, n - i);
    OptimiserStep s = step;
    void** const wides[] = {&s.p, &s.a, &s.b, &s.c};
    for (int k = 0; k < 4; ++k) {
      if (states[k] == nullptr) continue;
      *wides[k] = wide[k];
      if (k > 0 && job.state_size == 4) *wides[k] = static_cast<float*>(states[k]) + i;
      else widen(static_cast<char*>(states[k]) + i * 2, nullptr, nullptr, wide[k], part);
    }
    widen(static_cast<const char*>(step.g) + i * 2, nullptr, nullptr, wide[4], part);
    s.g = wide[4];
    job.kernel(s, part);
    for (int k = 0; k < 4; ++k)
      if (states[k] != nullptr && (k == 0 || job.state_size == 2))
        narrow(wide[k], nullptr, nullptr, static_cast<char*>(states[k]) + i * 2, part);
  }
}

void job_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  alignas(64) char buffer[kBlock * 8];
  const int64_t most = job.gathers ? kBlock : end - begin;
  for (int64_t i = begin; i < end; i += most) {
    const int64_t n = std::min(most, end - i);
    OptimiserStep s = job.step;
    s.p = static_cast<char*>(s.p) + i * job.size;
    for (void** state : {&s.a, &s.b, &s.c})
      if (*state != nullptr) *state = static_cast<char*>(*state) + i * job.state_size;
    if (job.gathers) {
      gradient_gather(job, i, n, buffer);
      s.g = buffer;
    } else {
      s.g = static_cast<const char*>(s.g) + i * job.size;
    }
    if (is_half(job.dtype)) half_step(job, s, n);
    else job.kernel(s, n);
  }
}

// Axes of a parameter in the order in which it lies; false if it has gaps.
bool order_of(const int64_t* shape, const int64_t* strides, int n_dims, int* out_order, int* out_n) {
  int n = 0;
  for (int d = 0; d < n_dims; ++d) {
    if (shape[d] == 1) continue;
    int at = n++;
    for (; at > 0 && strides[out_order[at - 1]] < strides[d]; --at) out_order[at] = out_order[at - 1];
    out_order[at] = d;
  }
  *out_n = n;
  int64_t next = 1;
  for (int i = n - 1; i >= 0; --i) {
    if (strides[out_order[i]] != next) return false;
    next *= shape[out_order[i]];
  }
  return true;
}

oar_status_t run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  const Rule rule = *static_cast<const Rule*>(decl->user);
  const oar_view_t &p = *frame->inputs[0], &g = *frame->inputs[1];
  const int states = states_of(rule);
  auto state = [&](int i) -> void* {
    return i < states && frame->inputs[2 + i] != nullptr ? frame->inputs[2 + i]->data : nullptr;
  };
  const int64_t n = count_of(p);
  if (n == 0) return OAR_OK;
  Job job;
  job.kernels = &pack->kernels;
  job.dtype = p.dtype;
  job.size = job.state_size = size_of(p.dtype);
  for (int i = 0; i < states; ++i)
    if (frame->inputs[2 + i] != nullptr) job.state_size = size_of(frame->inputs[2 + i]->dtype);
  OptimiserStep& s = job.step;
  s = {};
  s.p = p.data;
  s.g = g.data;
  s.a = state(0);
  s.b = state(1);
  s.c = state(2);
  s.rate = *static_cast<const double*>(frame->inputs[2 + states]->data);
  const oar_call_t& call = *frame->call;
  const OptimiserKernels& kernels = job.size == 8 ? pack->kernels.optimise_f64 : pack->kernels.optimise_f32;
  if (rule == kAdam || rule == kAdamw) {
    const auto step = static_cast<double>(*static_cast<const int64_t*>(frame->inputs[3 + states]->data));
    s.beta1 = kit::attr_float(call, 0, 0.9);
    s.beta2 = kit::attr_float(call, 1, 0.999);
    s.epsilon = kit::attr_float(call, 2, 1e-8);
    s.decay = kit::attr_float(call, 3, 0);
    s.decoupled = rule == kAdamw;
    s.ratio = s.rate / (1 - std::pow(s.beta1, step));
    s.root = std::sqrt(1 - std::pow(s.beta2, step));
    job.kernel = kernels.step[0];
  } else if (rule == kRmsprop) {
    s.beta1 = kit::attr_float(call, 0, 0.99);
    s.epsilon = kit::attr_float(call, 1, 1e-8);
    s.decay = kit::attr_float(call, 2, 0);
    s.beta2 = kit::attr_float(call, 3, 0.9);
    job.kernel = kernels.step[1];
  } else {
    s.epsilon = kit::attr_float(call, 0, 1e-10);
    s.decay = kit::attr_float(call, 1, 0);
    job.kernel = kernels.step[2];
  }
  int order[kMaxRank], dims;
  if (!order_of(p.shape, p.strides, p.n_dims, order, &dims))
    return fail(pack, OAR_INVALID_ARGUMENT, "an optimiser's step: the parameter has gaps");
  job.gathers = false;
  for (int i = 0; i < dims; ++i) {
    job.gathers |= g.strides[order[i]] != p.strides[order[i]];
    job.shape[i] = p.shape[order[i]];
    job.strides[i] = g.strides[order[i]];
  }
  job.n_dims = dims;
  parallel(pack, n, kParallelElements / 2, job_body, &job);
  return OAR_OK;
}

oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  const int states = states_of(*static_cast<const Rule*>(decl->user));
  const oar_value_t& p = *call->inputs[0];
  int64_t row_major[kMaxRank], own[kMaxRank];
  oar_kit_strides(p.n_dims, p.shape, row_major);
  auto strides = [&](const oar_value_t& value) {
    return value.layout == OAR_LAYOUT_STRIDED && value.strides != nullptr ? value.strides : row_major;
  };
  int order[kMaxRank], dims;
  std::copy_n(strides(p), p.n_dims, own);
  if (oar_kit_count(p.n_dims, p.shape) != 0 && !order_of(p.shape, own, static_cast<int>(p.n_dims), order, &dims))
    return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "the parameter has gaps");
  for (int i = 1; i < 2 + states; ++i) {
    if (call->inputs[i] == nullptr) continue;
    const bool wide = i > 1 && is_half(p.dtype) && call->inputs[i]->dtype == OAR_DTYPE_F32;
    if (call->inputs[i]->dtype != p.dtype && !wide)
      return oar_kit_refuse(out_verdict, OAR_REASON_DTYPE, i, "the parameter has another dtype");
    for (uint32_t d = 0; i != 1 && d < p.n_dims; ++d)
      if (p.shape[d] > 1 && strides(*call->inputs[i])[d] != own[d])
        return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, i, "the parameter lies in another order");
  }
  return OAR_OK;
}

constexpr uint64_t kF = kReal, kI64 = OAR_BIT(OAR_DTYPE_I64);
constexpr uint64_t kAdamTypes[] = {kF, kF, kF, kF, kF, kF64, kI64};
constexpr uint64_t kRmspropTypes[] = {kF, kF, kF, kF, kF, kF64};
constexpr uint64_t kAdagradTypes[] = {kF, kF, kF, kF64};
template <size_t N>
constexpr oar_kernel_decl_t optimiser(const char* op, const uint64_t (&masks)[N], Rule rule, uint64_t host) {
  oar_kernel_decl_t decl = declare(op, masks, run, &kRules[rule], nullptr, check);
  decl.host_inputs = host;
  return decl;
}
constexpr oar_kernel_decl_t kDecls[] = {
    optimiser("adam_update", kAdamTypes, kAdam, OAR_BIT(5) | OAR_BIT(6)),
    optimiser("adamw_update", kAdamTypes, kAdamw, OAR_BIT(5) | OAR_BIT(6)),
    optimiser("rmsprop_update", kRmspropTypes, kRmsprop, OAR_BIT(5)),
    optimiser("adagrad_update", kAdagradTypes, kAdagrad, OAR_BIT(3)),
};

}  // namespace

Declarations optimise_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
