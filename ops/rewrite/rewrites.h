// All rewrites, a file each, and what they ask of values.
#pragma once
#include "ops/rewrite/rewriter.h"
#include "ops/rules.h"

namespace oarlock::rewrite {

int identity_arithmetic(Program& p);   // x * 1, -(-x), a cast that changes nothing
int recognise_softmax(Program& p);     // exp(x - max) / sum
int recognise_attention(Program& p);   // softmax(q k^T * scale + mask) v
int recognise_layer_norm(Program& p);  // (x - mean) / sqrt(variance + epsilon) * scale + bias
int recognise_gelu(Program& p);        // by erf and by tanh
int recognise_silu(Program& p);        // x * sigmoid(x), and the sigmoid
int fold_batch_norm(Program& p);       // into the weights of the convolution or matrix product before it
int fold_conv_bias(Program& p);        // an addition for each channel into the convolution before it
int identity_views(Program& p);        // a reshape of a reshape, a permutation that changes nothing

// Ops that are put in the place of several compute halves in f32, with fewer roundings and no overflow in between: what
// comes out would be another value, so those are left as they are.
inline bool is_f32_or_f64(const Scope& s, ValueId v) { return s[v].dtype == DType::f32 || s[v].dtype == DType::f64; }
// A reduction (attributes axes, keepdims) of one axis that keeps its place.
inline bool keeps_one_axis(op::Attrs a) { return a.integers(0).size() == 1 && a.flag(1); }

}  // namespace oarlock::rewrite
