#include <oarlock/nn/transformer.h>

#include <cmath>

#include <oarlock/base/operators.h>
#include <oarlock/nn/containers.h>

#include "api/src/nn/made.h"

namespace oarlock::nn {
namespace {

Tensor input(std::span<const Tensor> in, size_t i) { return i < in.size() ? in[i] : Tensor(); }
Tensor rows(const Tensor& t, int64_t from, int64_t n) {
  if (!t.defined()) return {};
  Shape starts, sizes = t.shape();
  for (int i = 0; i < t.rank(); ++i) starts.push(i == 0 ? from : 0);
  sizes.d[0] = n;
  return slice(t, starts, sizes);
}
Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor y = matmul(x, matrix_transpose(weight));
  return bias.defined() ? add(y, bias) : y;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t width, int64_t heads, AttentionOptions o)
    : width_(width), heads_(heads), o_(std::move(o)) {
  check_positive("MultiHeadAttention", "embed_dim", width);
  check_positive("MultiHeadAttention", "num_heads", heads);
  if (width % heads)
    throw Error(Code::invalid_argument, "MultiHeadAttention: embed_dim is " + std::to_string(width) + ", num_heads " +
                                            std::to_string(heads) + ". Heads have to divide it.");
  if (!(o_.dropout >= 0 && o_.dropout <= 1))
    throw Error(Code::invalid_argument,
                "MultiHeadAttention: dropout is " + number_text(o_.dropout) + ", a probability is from 0 to 1.");
  int64_t k = o_.kdim.value_or(width), v = o_.vdim.value_or(width);
  packed_ = k == width && v == width;
  initializer::XavierUniform xavier;
  if (packed_) {
    in_weight_ = &add_made(*this, "in_proj_weight", {3 * width, width}, o_.weight_attr, xavier, false);
  } else {
    const char* names[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
    int64_t from[] = {width, k, v};
    for (int i = 0; i < 3; ++i)
      separate_[i] = &add_made(*this, names[i], {width, from[i]}, o_.weight_attr, xavier, false);
  }
  in_bias_ = &add_made(*this, "in_proj_bias", {3 * width}, o_.bias_attr, initializer::Constant{0});
  ParamAttr out_bias = o_.bias_attr;
  if (out_bias.present && !out_bias.initializer) out_bias.initializer = initializer::Constant{0};
  out_ = add_sublayer("out_proj", std::make_shared<Linear>(width, width, o_.weight_attr, out_bias));
}
Tensor MultiHeadAttention::heads(const Tensor& x) const {  // [N, L, E] -> [N, heads, L, E / heads]
  return permute(reshape(x, {x.shape()[0], x.shape()[1], heads_, width_ / heads_}), {0, 2, 1, 3});
}
std::vector<Tensor> MultiHeadAttention::forward_all(std::span<const Tensor> in) {
  if (in.empty() || in.size() > 4 || !in[0].defined())
    throw Error(Code::invalid_argument, "MultiHeadAttention: takes query, key, value and mask, given " +
                                            std::to_string(in.size()) + " tensors.");
  const Tensor& query = in[0];
  Tensor key = input(in, 1).defined() ? in[1] : query, value = input(in, 2).defined() ? in[2] : key;
  Tensor mask = input(in, 3);
  const Tensor* each[] = {&query, &key, &value};
  const char* names[] = {"query", "key", "value"};
  int64_t widths[] = {width_, o_.kdim.value_or(width_), o_.vdim.value_or(width_)};
  for (int i = 0; i < 3; ++i)
    if (each[i]->rank() != 3 || each[i]->size(2) != widths[i])
      throw Error(Code::invalid_argument, std::string("MultiHeadAttention: ") + names[i] + " has shape " +
                                              oarlock::to_string(each[i]->shape()) + ", wants [N, L, " +
                                              std::to_string(widths[i]) + "].");
  Tensor qkv[3];
  if (packed_ && query.impl() == key.impl() && key.impl() == value.impl()) {
    Tensor all = project(query, *in_weight_, *in_bias_);
    for (int i = 0; i < 3; ++i)
      qkv[i] = heads(slice(all, {0, 0, i * width_}, {query.shape()[0], query.shape()[1], width_}));
  } else {
    for (int i = 0; i < 3; ++i) {
      Tensor w = packed_ ? rows(*in_weight_, i * width_, width_) : *separate_[i];
      qkv[i] = heads(project(*each[i], w, rows(*in_bias_, i * width_, width_)));
    }
  }
  double drop = training() ? o_.dropout : 0;
  Tensor context, weights;
  if (drop == 0 && !o_.need_weights) {
    context = attention(qkv[0], qkv[1], qkv[2], mask, o_.causal);
  } else {
    Tensor scores = matmul(qkv[0], matrix_transpose(qkv[1])) * (1 / std::sqrt(double(width_ / heads_)));
    Tensor allowed;
    if (mask.defined() && mask.dtype() == DType::boolean) allowed = mask;
    else if (mask.defined()) scores = scores + mask;
    if (o_.causal) {
      Tensor i = arange(scores.shape()[2]).to(scores.device()), j = arange(scores.shape()[3]).to(scores.device());
      Tensor earlier = less_equal(j, unsqueeze(i, {1}));
      allowed = allowed.defined() ? where(allowed, earlier, full({}, 0, DType::boolean).to(scores.device())) : earlier;
    }
    // The least number, not -infinity: a row without any key stays finite, and is 0 below.
    if (allowed.defined())
      scores = where(allowed, scores, detail::beside(scores, scores.dtype() == DType::f16 ? -65504 : -1e30));
    weights = softmax(scores);
    if (allowed.defined()) weights = where(allowed, weights, detail::beside(weights, 0));
    context = matmul(drop > 0 ? dropout(weights, default_generator().next(), drop) : weights, qkv[2]);
  }
  Tensor merged = reshape(permute(context, {0, 2, 1, 3}), {query.shape()[0], query.shape()[1], width_});
  std::vector<Tensor> out{(*out_)(merged)};
  if (o_.need_weights) out.push_back(weights);
  return out;
}
std::string MultiHeadAttention::extra_repr() const {
  return "embed_dim=" + std::to_string(width_) + ", num_heads=" + std::to_string(heads_) +
         (o_.dropout != 0 ? ", dropout=" + number_text(o_.dropout) : "") + (o_.causal ? ", causal=True" : "");
}
double MultiHeadAttention::multiply_adds(std::span<const Tensor> in, std::span<const Tensor>) const {
  double n = double(in[0].size(0)), l = double(in[0].size(1)), w = double(width_);
  const Tensor& key = in.size() > 1 && in[1].defined() ? in[1] : in[0];
  double s = double(key.size(1)), k = double(o_.kdim.value_or(width_)), v = double(o_.vdim.value_or(width_));
  return n * (l * w * w + s * w * (k + v) + 2 * l * s * w);
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t width, int64_t nhead, int64_t inner, EncoderOptions o)
    : width_(width), nhead_(nhead), inner_(inner), o_(std::move(o)) {
  if (o_.activation != "relu" && o_.activation != "gelu")
    throw Error(Code::invalid_argument,
                "TransformerEncoderLayer: activation is \"" + o_.activation + "\"; there are relu and gelu.");
  self_attn_ = add_sublayer("self_attn", std::make_shared<MultiHeadAttention>(
                                             width, nhead,
                                             AttentionOptions{.dropout = o_.attn_dropout.value_or(o_.dropout),
                                                              .causal = o_.causal,
                                                              .weight_attr = o_.weight_attr,
                                                              .bias_attr = o_.bias_attr}));
  linear1_ = add_sublayer("linear1", std::make_shared<Linear>(width, inner, o_.weight_attr, o_.bias_attr));
  dropout_ = add_sublayer("dropout", std::make_shared<Dropout>(o_.act_dropout.value_or(o_.dropout)));
  linear2_ = add_sublayer("linear2", std::make_shared<Linear>(inner, width, o_.weight_attr, o_.bias_attr));
  norm1_ = add_sublayer("norm1", std::make_shared<LayerNorm>(width, NormOptions{.epsilon = o_.layer_norm_eps}));
  norm2_ = add_sublayer("norm2", std::make_shared<LayerNorm>(width, NormOptions{.epsilon = o_.layer_norm_eps}));
  dropout1_ = add_sublayer("dropout1", std::make_shared<Dropout>(o_.dropout));
  dropout2_ = add_sublayer("dropout2", std::make_shared<Dropout>(o_.dropout));
}
std::shared_ptr<TransformerEncoderLayer> TransformerEncoderLayer::again() const {
  return std::make_shared<TransformerEncoderLayer>(width_, nhead_, inner_, o_);
}
std::vector<Tensor> TransformerEncoderLayer::forward_all(std::span<const Tensor> in) {
  if (in.empty() || in.size() > 2)
    throw Error(Code::invalid_argument,
                "TransformerEncoderLayer: takes src and a mask, given " + std::to_string(in.size()) + " tensors.");
  Tensor x = in[0], mask = input(in, 1);
  auto attend = [&](const Tensor& t) { return (*dropout1_)(self_attn_->call({t, t, t, mask})[0]); };
  auto feed = [&](const Tensor& t) {
    Tensor inner = (*linear1_)(t);
    inner = o_.activation == "relu" ? relu(inner) : gelu(inner);
    return (*dropout2_)((*linear2_)((*dropout_)(inner)));
  };
  if (o_.normalize_before) {
    x = x + attend((*norm1_)(x));
    x = x + feed((*norm2_)(x));
  } else {
    x = (*norm1_)(x + attend(x));
    x = (*norm2_)(x + feed(x));
  }
  return {x};
}

TransformerEncoder::TransformerEncoder(std::shared_ptr<TransformerEncoderLayer> first, int64_t n, LayerPtr norm)
    : norm_(std::move(norm)) {
  check_positive("TransformerEncoder", "num_layers", n);
  if (!first) throw Error(Code::invalid_argument, "TransformerEncoder: encoder_layer is null.");
  auto list = std::make_shared<LayerList>();
  list->append(first);
  for (int64_t i = 1; i < n; ++i) list->append(first->again());
  layers_ = add_sublayer("layers", list);
  if (norm_) add_sublayer("norm", norm_);
}
std::vector<Tensor> TransformerEncoder::forward_all(std::span<const Tensor> in) {
  if (in.empty() || in.size() > 2)
    throw Error(Code::invalid_argument,
                "TransformerEncoder: takes src and a mask, given " + std::to_string(in.size()) + " tensors.");
  Tensor x = in[0];
  for (auto& [name, layer] : layers_->sublayer_slots()) x = layer->call({x, input(in, 1)})[0];
  if (norm_) x = (*norm_)(x);
  return {x};
}

}  // namespace oarlock::nn
