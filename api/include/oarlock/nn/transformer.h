// Attention and the encoder made of it. Sequences are [N, L, E], batch first. Names in the state are torch.nn's.
//
// Masks: true where a query may look at a key, or numbers that are added to the scores; of a shape that broadcasts to
// [N, num_heads, L, S]. A query that may look nowhere gets 0.
#pragma once
#include <optional>

#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>
#include <oarlock/nn/linear.h>
#include <oarlock/nn/norm.h>

namespace oarlock::nn {

struct AttentionOptions {
  double dropout = 0;                     // of the attention weights, in training
  std::optional<int64_t> kdim{}, vdim{};  // of keys and values; embed_dim unless given
  bool need_weights = false;              // also give the weights [N, num_heads, L, S]
  bool causal = false;                    // query i looks at keys 0 to i only
  ParamAttr weight_attr{}, bias_attr{};
};
// softmax(q k^T / sqrt(E / heads)) v for each head, of projections of query, key and value. Vaswani et al. 2017, Attention is
// all you need. Called with query, and optionally key, value (what is absent is the one before it) and mask.
// Parameters: in_proj_weight [3 E, E] and in_proj_bias [3 E]; with other kdim or vdim q_proj_weight, k_proj_weight,
// v_proj_weight; out_proj.
class OAR_EXPORT MultiHeadAttention : public Layer {
 public:
  MultiHeadAttention(int64_t embed_dim, int64_t num_heads, AttentionOptions options = {});
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) override;
  std::string type_name() const override { return "MultiHeadAttention"; }
  std::string extra_repr() const override;
  double multiply_adds(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const override;

 private:
  Tensor heads(const Tensor& x) const;
  int64_t width_, heads_;
  AttentionOptions o_;
  bool packed_;
  Tensor *in_weight_ = nullptr, *in_bias_ = nullptr;
  Tensor* separate_[3] = {};
  std::shared_ptr<Linear> out_;
};

struct EncoderOptions {
  double dropout = 0.1;
  std::string activation = "relu";                      // or "gelu"
  std::optional<double> attn_dropout{}, act_dropout{};  // dropout unless given
  bool normalize_before = false;                        // norms before attention and linears instead of behind them
  bool causal = false;
  double layer_norm_eps = 1e-5;
  ParamAttr weight_attr{}, bias_attr{};
};
// Attention over the sequence itself, then two linears, each added to what went in, with norms. Called with src [N, L, d_model]
// and optionally a mask. Sublayers: self_attn, linear1, dropout, linear2, norm1, norm2, dropout1, dropout2.
class OAR_EXPORT TransformerEncoderLayer : public Layer {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, int64_t dim_feedforward, EncoderOptions options = {});
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) override;
  std::string type_name() const override { return "TransformerEncoderLayer"; }
  // Another one with these settings and first values of its own.
  std::shared_ptr<TransformerEncoderLayer> again() const;

 private:
  int64_t width_, nhead_, inner_;
  EncoderOptions o_;
  std::shared_ptr<MultiHeadAttention> self_attn_;
  std::shared_ptr<Linear> linear1_, linear2_;
  std::shared_ptr<Dropout> dropout_, dropout1_, dropout2_;
  std::shared_ptr<LayerNorm> norm1_, norm2_;
};
// num_layers of them: the one given, then others of its settings; then norm, if there is one. Sublayers: layers.0, ..., norm.
class OAR_EXPORT TransformerEncoder : public Layer {
 public:
  TransformerEncoder(std::shared_ptr<TransformerEncoderLayer> encoder_layer, int64_t num_layers, LayerPtr norm = {});
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) override;
  std::string type_name() const override { return "TransformerEncoder"; }

 private:
  LayerPtr layers_, norm_;
};

}  // namespace oarlock::nn
