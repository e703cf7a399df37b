// What oneDNN 2.6.3 gets right behind a convolution or a product, against libm in double, special values included: tanh,
// sqrt, abs, square, leaky_relu and hard_swish to 2 ulp, sigmoid and silu to 4 but for results below 1e-37, which become
// 0; gelu to 5e-7 absolute. All of them keep NaN.
//
// Its relu and clip turn NaN into 0. elu with an alpha of 0 is x above 0, and 0 * (exp(x) - 1) elsewhere, which keeps NaN;
// 1 * x + 0 then makes 0 of -0. Over 1.6 million bit patterns that is our relu; 6.4 MB cost 0.1 ms more than without. The
// others that lose NaN or accuracy are refused: clip, maximum, minimum, exp, log.
#include "epilogue.h"

#include <algorithm>
#include <string>

namespace oarlock::onednn {
namespace {

using dnnl::algorithm;

[[noreturn]] void refuse(int operand, const std::string& why) { throw kit::Refusal(OAR_REASON_EPILOGUE, operand, why); }

// Appends a step of one operand; false: there is none of that name.
bool append_unary(dnnl::post_ops& ops, const std::string& name, const oar_call_t& step) {
  if (name == "relu") {
    append_eltwise(ops, algorithm::eltwise_elu, 0.f, 0.f);
    append_eltwise(ops, algorithm::eltwise_linear, 1.f, 0.f);
  } else if (name == "leaky_relu") {
    const float alpha = static_cast<float>(kit::attr_float(step, 0, 0.01));
    if (alpha == 0.f) refuse(-1, "leaky_relu with an alpha of 0 loses NaN in oneDNN");
    append_eltwise(ops, algorithm::eltwise_relu, alpha, 0.f);
  } else if (name == "gelu") {
    const bool by_tanh = kit::attr_string(step, 0) == "tanh";
    append_eltwise(ops, by_tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf, 0.f, 0.f);
  } else if (name == "hard_swish") {
    append_eltwise(ops, algorithm::eltwise_hardswish, 1.f / 6, 0.5f);
  } else if (name == "silu") {
    append_eltwise(ops, algorithm::eltwise_swish, 1.f, 0.f);
  } else {
    const algorithm plain = name == "tanh"      ? algorithm::eltwise_tanh
                            : name == "sigmoid" ? algorithm::eltwise_logistic
                            : name == "sqrt"    ? algorithm::eltwise_sqrt
                            : name == "abs"     ? algorithm::eltwise_abs
                            : name == "square"  ? algorithm::eltwise_square
                                                : algorithm::undef;
    if (plain == algorithm::undef) return false;
    append_eltwise(ops, plain, 0.f, 0.f);
  }
  return true;
}

algorithm binary_of(const std::string& name) {
  if (name == "add") return algorithm::binary_add;
  if (name == "multiply") return algorithm::binary_mul;
  if (name == "subtract") return algorithm::binary_sub;
  if (name == "divide") return algorithm::binary_div;
  return algorithm::undef;
}

}  // namespace

bool Epilogue::any_whole() const {
  return std::any_of(extras.begin(), extras.end(), [](const Extra& e) { return e.kind == Extra::whole; });
}

uint32_t own_inputs(const oar_call_t& call) {
  int own = static_cast<int>(call.n_inputs);
  for (uint32_t s = 0; s < call.n_epilogue; ++s)
    for (uint32_t i = 0; i < call.epilogue[s]->n_inputs; ++i)
      if (const int at = oar_call_input(&call, call.epilogue[s]->inputs[i]); at >= 0) own = std::min(own, at);
  return static_cast<uint32_t>(own);
}

Epilogue epilogue_of(const oar_call_t& call, bool bias_allowed, const Describe& describe) {
  Epilogue e;
  const uint32_t dtype = call.inputs[0]->dtype;
  if (call.n_epilogue != 0 && dtype != OAR_DTYPE_F32 && dtype != OAR_DTYPE_BF16)
    refuse(-1, "only f32 and bf16 are fused");
  if (own_inputs(call) < 2) refuse(-1, "a step reads an operand of the call itself");  // which may be packed away
  for (uint32_t s = 0; s < call.n_epilogue; ++s) {
    const oar_call_t& step = *call.epilogue[s];
    const std::string name(kit::view(step.op));
    if (step.n_epilogue != 0 || step.n_outputs != 1 || step.op_version != 1)
      refuse(-1, name + " has a form that oneDNN cannot fuse");
    if (step.outputs[0]->dtype != dtype) refuse(-1, name + " changes the dtype");
    if (step.n_inputs == 1 && oar_call_input(&call, step.inputs[0]) < 0 && append_unary(e.steps, name, step)) continue;
    const algorithm binary = binary_of(name);
    if (binary == algorithm::undef || step.n_inputs != 2) refuse(-1, "oneDNN has no step like " + name);
    int operand = oar_call_input(&call, step.inputs[1]);
    if (const int first = oar_call_input(&call, step.inputs[0]); first >= 0) {
      if (operand >= 0 || (name != "add" && name != "multiply"))
        refuse(-1, name + " must have the running value first");
      operand = first;
    }
    if (operand < 0) refuse(-1, name + " of the running value with itself");
    const oar_value_t& x = *call.inputs[operand];
    if (x.dtype != dtype) refuse(operand, name + ": the operand has another dtype");
    Extra extra = {describe.kind(x, operand), 0, operand};
    if (s == 0 && bias_allowed && name == "add" && extra.kind == Extra::channel) {
      e.bias = operand;
      continue;
    }
    extra.argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(e.steps.len()) | DNNL_ARG_SRC_1;
    e.steps.append_binary(binary, describe.desc(extra));
    e.extras.push_back(extra);
  }
  return e;
}

}  // namespace oarlock::onednn
