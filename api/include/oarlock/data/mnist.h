// Image sets in the form of MNIST: a pair of IDX files, images u8[N, H, W] and labels u8[N].
#pragma once
#include <string>

#include <oarlock/data/dataset.h>
#include <oarlock/data/transform.h>

namespace oarlock::vision {

enum class Split { train, test };

// Sample i is {image, label}: u8[1, H, W] (f32 or whatever the transform makes of it) and i64[].
class OAR_EXPORT MNIST : public data::Dataset {
 public:
  // images, labels: IDX files, plain or gzip. Throws Error: counts, ranks or dtypes that don't fit.
  MNIST(const std::string& images, const std::string& labels, TransformPtr transform = nullptr);
  int64_t size() const override { return all_->size(); }
  data::Sample get(int64_t index) const override { return source_->get(index); }
  std::optional<data::Batch> get_batch(std::span<const int64_t> indices,
                                       std::span<data::Random> random) const override {
    return source_->get_batch(indices, random);
  }
  const Tensor& images() const { return all_->tensors()[0]; }  // u8[N, 1, H, W], untransformed
  const Tensor& labels() const { return all_->tensors()[1]; }  // i64[N]

 private:
  std::shared_ptr<const data::TensorDataset> all_;
  std::shared_ptr<const data::Dataset> source_;
};

// Xiao, Rasul and Vollgraf 2017, Fashion-MNIST: 60,000 and 10,000 images of 28 x 28, ten classes.
class OAR_EXPORT FashionMNIST : public MNIST {
 public:
  // folder: with {train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz. Empty: the environment's
  // OARLOCK_FASHION_MNIST, else where Debian's package dataset-fashion-mnist puts it.
  explicit FashionMNIST(Split split, TransformPtr transform = nullptr, const std::string& folder = "");
  static const char* class_name(int64_t label);  // "T-shirt/top"; throws Error outside 0..9
};

}  // namespace oarlock::vision
