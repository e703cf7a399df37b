// batch_norm and layer_norm with their gradients: statistics and results in one launch.
#include "pack.h"

namespace oarlock::opencl {
namespace {

// How the groups of kernels/norm.cl and softmax.cl are made up for this device and these dtypes.
struct Team {
  std::string options;
  int64_t items = 1, lanes = 1;
  Team(const oar_pack_t& pack, bool f32) {
    const bool cpu = pack.device->cpu_shaped;
    if (f32) options = cpu ? "-D WIDE -D REAL=float" : "-D REAL=float";
    if (!cpu) options += " -D GROUP=256", items = 256;
    if (f32 && cpu) lanes = 16;
  }
  void run(Launch& launch, int64_t groups) const {
    if (groups > 0) launch.groups({static_cast<size_t>(groups * items)}, {static_cast<size_t>(items)});
  }
};

bool are_f32(const oar_call_t& call) {
  for (uint32_t i = 0; i < call.n_inputs + call.n_outputs; ++i)
    if (const oar_value_t* v = oar_kit_operand(&call, i); v != nullptr && v->dtype != OAR_DTYPE_F32) return false;
  return true;
}
// dtypes of x, of scale and what is like it (x's where there is none), of hidden statistics.
cl_int dtypes_of(const oar_value_t& x, const oar_value_t* scale) {
  const uint32_t own = x.dtype == OAR_DTYPE_F64 ? OAR_DTYPE_F64 : OAR_DTYPE_F32;
  return static_cast<cl_int>(x.dtype | (scale != nullptr ? scale->dtype : x.dtype) << 8 | own << 16);
}
const oar_value_t* input(const oar_call_t& call, uint32_t i) { return i < call.n_inputs ? call.inputs[i] : nullptr; }
const oar_view_t* input(const oar_frame_t& frame, uint32_t i) { return i < frame.n_inputs ? frame.inputs[i] : nullptr; }
const oar_view_t* output(const oar_frame_t& frame, uint32_t i) {
  return i < frame.n_outputs ? frame.outputs[i] : nullptr;
}

struct BatchNorm final : Prepared {
  Team team;
  int64_t images, channels, plane;
  cl_int training, dtypes;
  Number momentum, epsilon;
  bool backward;
  BatchNorm(oar_pack_t* p, const oar_call_t& call, bool back) : Prepared(p), team(*p, are_f32(call)), backward(back) {
    const oar_value_t& x = *call.inputs[0];
    images = x.shape[0];
    channels = x.shape[1];
    plane = oar_kit_count(x.n_dims - 2, x.shape + 2);
    training = kit::attr_bool(call, 0, true);
    momentum = Number(kit::attr_float(call, 1, 0.9));
    epsilon = Number(kit::attr_float(call, 2, 1e-5));
    dtypes = dtypes_of(x, back ? input(call, 4) : call.inputs[1]);
  }
  void launch(const oar_frame_t& f) const override {
    if (channels == 0) return;
    Launch launch(f.stream, "norm", team.options, backward ? "batch_norm_gradient" : "batch_norm");
    for (uint32_t i = 0; i < 5; ++i) launch.view(input(f, i));
    for (uint32_t i = 0; i < (backward ? 3u : 5u); ++i) launch.view(output(f, i));
    launch.value<cl_long>(images).value<cl_long>(channels).value<cl_long>(plane).value(training);
    cl_int given, wanted;
    if (backward) {
      given = input(f, 4) != nullptr ? 1 : 0;
      wanted =
          (output(f, 0) != nullptr ? 1 : 0) | (output(f, 1) != nullptr ? 2 : 0) | (output(f, 2) != nullptr ? 4 : 0);
    } else {
      given = (input(f, 3) != nullptr ? 1 : 0) | (input(f, 4) != nullptr ? 2 : 0);
      wanted = (output(f, 1) != nullptr ? 1 : 0) | (output(f, 2) != nullptr ? 8 : 0) |
               (output(f, 3) != nullptr ? 2 : 0) | (output(f, 4) != nullptr ? 4 : 0);
      launch.value(momentum).value(epsilon);
    }
    team.run(launch.value(dtypes).value(given).value(wanted), channels);
  }
};

struct LayerNorm final : Prepared {
  Team team;
  int64_t rows, n;
  cl_int dtypes;
  Number epsilon;
  bool backward;
  LayerNorm(oar_pack_t* p, const oar_call_t& call, bool back) : Prepared(p), team(*p, are_f32(call)), backward(back) {
    const oar_value_t& x = *call.inputs[0];
    n = x.shape[x.n_dims - 1];
    rows = oar_kit_count(x.n_dims - 1, x.shape);
    epsilon = Number(kit::attr_float(call, 0, 1e-5));
    const oar_value_t* scale = input(call, back ? 4 : 1);
    dtypes = dtypes_of(x, scale != nullptr || back ? scale : input(call, 2));
  }
  void launch(const oar_frame_t& f) const override {
    if (!backward) {
      const cl_int given = (input(f, 1) != nullptr ? 1 : 0) | (input(f, 2) != nullptr ? 2 : 0);
      const cl_int wanted = (output(f, 1) != nullptr ? 2 : 0) | (output(f, 2) != nullptr ? 4 : 0);
      Launch launch(f.stream, "norm", team.options, "layer_norm");
      for (uint32_t i = 0; i < 3; ++i) launch.view(input(f, i));
      for (uint32_t i = 0; i < 3; ++i) launch.view(output(f, i));
      launch.value<cl_long>(n).value(epsilon).value(dtypes).value(given).value(wanted);
      return team.run(launch, rows);
    }
    if (output(f, 0) != nullptr && n > 0) {
      Launch launch(f.stream, "norm", team.options, "layer_norm_gradient");
      for (uint32_t i = 0; i < 5; ++i) launch.view(input(f, i));
      launch.view(output(f, 0)).value<cl_long>(n).value(dtypes).value<cl_int>(input(f, 4) != nullptr ? 1 : 0);
      team.run(launch, rows);
    }
    const cl_int wanted = (output(f, 1) != nullptr ? 2 : 0) | (output(f, 2) != nullptr ? 4 : 0);
    if (wanted == 0 || n == 0) return;
    Launch launch(f.stream, "norm", team.options, "layer_norm_columns");
    for (uint32_t i = 0; i < 4; ++i) launch.view(input(f, i));
    launch.view(output(f, 1)).view(output(f, 2)).value<cl_long>(rows).value<cl_long>(n).value(dtypes).value(wanted);
    launch.groups({static_cast<size_t>((n + team.lanes - 1) / team.lanes)}, {1});
  }
};

template <class Norm, bool kBackward>
oar_status_t prepare_norm(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                          oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    for (uint32_t i = 0; i < call->n_inputs; ++i) want_dense(out_prepared, call, i);
    finish(out_prepared, std::make_unique<Norm>(pack, *call, kBackward));
  });
}

constexpr uint64_t kFloatsMask[] = {kFloats};
const oar_kernel_decl_t kDecls[] = {
    declare_prepared("batch_norm", kFloatsMask, prepare_norm<BatchNorm, false>, nullptr, check_plain),
    declare_prepared("batch_norm_gradient", kFloatsMask, prepare_norm<BatchNorm, true>, nullptr, check_plain),
    declare_prepared("layer_norm", kFloatsMask, prepare_norm<LayerNorm, false>, nullptr, check_plain),
    declare_prepared("layer_norm_gradient", kFloatsMask, prepare_norm<LayerNorm, true>, nullptr, check_plain)};

}  // namespace

Declarations norm_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
