// sgd_update, adam_update, adamw_update, rmsprop_update and adagrad_update: one launch for each parameter.
#include <cmath>

#include "pack.h"

namespace oarlock::opencl {
namespace {

// `update` of kernels/optimise.cl.
struct Update {
  Number rate, beta1, beta2, epsilon, decay, ratio, root;
};
enum Op : int { kSgd, kNesterov, kAdam, kAdamw, kRmsprop, kAdagrad };
constexpr int kOps[] = {kSgd, kAdam, kAdamw, kRmsprop, kAdagrad};

oar_status_t run_step(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    int op = *static_cast<const int*>(decl->user);
    const oar_call_t& call = *frame->call;
    const oar_view_t &p = *frame->inputs[0], &g = *frame->inputs[1];
    const oar_view_t* states[3] = {};
    const uint32_t n_states = op == kSgd || op == kAdagrad ? 1 : 3;
    cl_int given = 0;
    uint32_t m = p.dtype;
    for (uint32_t k = 0; k < n_states; ++k) {
      states[k] = frame->inputs[2 + k];
      if (states[k] == nullptr) continue;
      given |= 1 << k;
      m = states[k]->dtype;
    }
    const double rate = *kit::data<double>(*frame->inputs[2 + n_states]);
    Update s;
    s.rate = Number(rate);
    if (op == kSgd) {
      s.beta1 = Number(kit::attr_float(call, 0, 0.9));
      s.decay = Number(kit::attr_float(call, 1));
      s.beta2 = Number(1 - kit::attr_float(call, 3));
      if (kit::attr_bool(call, 2)) op = kNesterov;
    } else if (op == kRmsprop) {
      s.beta1 = Number(kit::attr_float(call, 0, 0.99));
      s.epsilon = Number(kit::attr_float(call, 1, 1e-8));
      s.decay = Number(kit::attr_float(call, 2));
      s.beta2 = Number(kit::attr_float(call, 3, 0.9));
    } else if (op == kAdagrad) {
      s.epsilon = Number(kit::attr_float(call, 0, 1e-10));
      s.decay = Number(kit::attr_float(call, 1));
    } else {
      const double beta1 = kit::attr_float(call, 0, 0.9), beta2 = kit::attr_float(call, 1, 0.999);
      const auto steps = static_cast<double>(*kit::data<int64_t>(*frame->inputs[6]));
      s.beta1 = Number(beta1);
      s.beta2 = Number(beta2);
      s.epsilon = Number(kit::attr_float(call, 2, 1e-8));
      s.decay = Number(kit::attr_float(call, 3, op == kAdamw ? 0.01 : 0));
      s.ratio = Number(rate / (1 - std::pow(beta1, steps)));
      s.root = Number(std::sqrt(1 - std::pow(beta2, steps)));
    }
    const bool f32 = p.dtype == OAR_DTYPE_F32 && m == OAR_DTYPE_F32;
    Launch launch(frame->stream, "optimise", f32 ? "-D REAL=float" : "", "optimise");
    launch.view(&p).view(&g).view(states[0]).view(states[1]).view(states[2]).value(s).value<cl_long>(count_of(p));
    launch.value<cl_int>(op).value(given).value(static_cast<cl_int>(p.dtype | m << 8)).items(count_of(p));
  });
}

constexpr uint64_t kSgdMask[] = {kFloats, kFloats, kFloats, kF64};
constexpr uint64_t kAdamMask[] = {kFloats, kFloats, kFloats, kFloats, kFloats, kF64, kI64};
constexpr uint64_t kRmspropMask[] = {kFloats, kFloats, kFloats, kFloats, kFloats, kF64};

constexpr oar_kernel_decl_t sgd() {
  oar_kernel_decl_t decl = declare("sgd_update", kSgdMask, run_step, &kOps[0], check_dense, OAR_BIT(3));
  decl.op_max = 2;
  return decl;
}
const oar_kernel_decl_t kDecls[] = {
    sgd(), declare("adam_update", kAdamMask, run_step, &kOps[1], check_dense, OAR_BIT(5) | OAR_BIT(6)),
    declare("adamw_update", kAdamMask, run_step, &kOps[2], check_dense, OAR_BIT(5) | OAR_BIT(6)),
    declare("rmsprop_update", kRmspropMask, run_step, &kOps[3], check_dense, OAR_BIT(5)),
    declare("adagrad_update", kSgdMask, run_step, &kOps[4], check_dense, OAR_BIT(3))};

}  // namespace

Declarations optimise_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
