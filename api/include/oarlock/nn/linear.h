// Layers of one matrix, and those of none.
#pragma once
#include <optional>

#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>

namespace oarlock::nn {

// x [..., in] -> x weight^T + bias [..., out].
// weight [out_features, in_features], bias [out_features]; both from U(-1/sqrt(in), 1/sqrt(in)) unless their attr says
// otherwise. bias_attr = false: no bias.
class OAR_EXPORT Linear : public Layer {
 public:
  Linear(int64_t in_features, int64_t out_features, ParamAttr weight_attr = {}, ParamAttr bias_attr = {});
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "Linear"; }
  std::string extra_repr() const override;
  double multiply_adds(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const override;

  Tensor &weight, &bias;

 private:
  int64_t in_, out_;
};

// Rows of weight [num_embeddings, embedding_dim] by index: [*] -> [*, embedding_dim]. First values: N(0, 1). The row
// padding_idx (negative: from the end) starts at 0, is read as 0 and gets no gradient.
class OAR_EXPORT Embedding : public Layer {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx = {},
            ParamAttr weight_attr = {});
  Tensor forward(const Tensor& index) override;
  std::string type_name() const override { return "Embedding"; }
  std::string extra_repr() const override;

  Tensor& weight;

 private:
  int64_t count_, width_, padding_;
};

class OAR_EXPORT Identity : public Layer {
 public:
  Tensor forward(const Tensor& x) override { return x; }
  std::string type_name() const override { return "Identity"; }
};

// Axes start_axis to stop_axis (both included, negative from the end) become one.
class OAR_EXPORT Flatten : public Layer {
 public:
  explicit Flatten(int start_axis = 1, int stop_axis = -1) : start_(start_axis), stop_(stop_axis) {}
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "Flatten"; }
  std::string extra_repr() const override;

 private:
  int start_, stop_;
};

// Axis `axis` becomes several of that shape; one of them may be -1.
class OAR_EXPORT Unflatten : public Layer {
 public:
  Unflatten(int axis, std::vector<int64_t> shape) : axis_(axis), shape_(std::move(shape)) {}
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "Unflatten"; }
  std::string extra_repr() const override;

 private:
  int axis_;
  std::vector<int64_t> shape_;
};

// A dropped element is 0, the others are divided by 1 - p; in eval nothing happens. Which ones follows from the generator:
// null is default_generator().
class OAR_EXPORT Dropout : public Layer {
 public:
  explicit Dropout(double p = 0.5, Generator* generator = nullptr);
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "Dropout"; }
  std::string extra_repr() const override;

 protected:
  double p_;
  Generator* generator_;
};
// The same for whole channels: axes behind [N, C] are kept or dropped together.
class OAR_EXPORT Dropout2D : public Dropout {
 public:
  using Dropout::Dropout;
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "Dropout2D"; }
};

}  // namespace oarlock::nn
