// Transforms of images: flips, crops, scaling, erasing, normalisation.
//
// An image is [H, W] or [..., C, H, W] in host memory; the last two axes are height and width, in elements of a whole
// number of bytes. A transform is const and may be used by many threads at once. Random ones draw from data::Random
// streams, one per image, so the result for an image doesn't depend on the batch it comes in.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <oarlock/base/tensor.h>
#include <oarlock/data/random.h>

namespace oarlock::vision {

class OAR_EXPORT Transform {
 public:
  virtual ~Transform() = default;
  // One image, with random numbers from `random`. Returns a new tensor or the image itself; never writes to it.
  virtual Tensor apply(const Tensor& image, data::Random& random) const = 0;
  // Images [N, ...] at once, bitwise as apply on each. The default does just that. random: N streams.
  virtual Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const;
  // apply with data::sample_random().
  Tensor operator()(const Tensor& image) const { return apply(image, data::sample_random()); }
};
using TransformPtr = std::shared_ptr<const Transform>;

// One after the other.
class OAR_EXPORT Compose : public Transform {
 public:
  explicit Compose(std::vector<TransformPtr> transforms);
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;

 private:
  std::vector<TransformPtr> transforms_;
};

// Mirrors left and right with that probability. One draw per image.
class OAR_EXPORT RandomHorizontalFlip : public Transform {
 public:
  explicit RandomHorizontalFlip(double probability = 0.5);
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;

 private:
  double probability_;
};

// Turns upside down with that probability. One draw per image.
class OAR_EXPORT RandomVerticalFlip : public Transform {
 public:
  explicit RandomVerticalFlip(double probability = 0.5);
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;

 private:
  double probability_;
};

// A window of height x width at a random place of the image with `padding` elements of `fill` around it. Two draws per
// image. Throws Error: a window larger than the padded image.
class OAR_EXPORT RandomCrop : public Transform {
 public:
  RandomCrop(int64_t height, int64_t width, int64_t padding = 0, double fill = 0);
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;

 private:
  int64_t height_, width_, padding_;
  double fill_;
};

// The middle height x width; odd remainders leave the extra row or column at the end.
class OAR_EXPORT CenterCrop : public Transform {
 public:
  CenterCrop(int64_t height, int64_t width);
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;

 private:
  int64_t height_, width_;
};

// u8 0..255 to f32 0..1: x * (1 / 255) in f32. Throws Error for other dtypes.
class OAR_EXPORT ToFloat : public Transform {
 public:
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;
};

// (x - mean[c]) / deviation[c] for channel c, the third axis from the end; one value serves all channels, and images
// [H, W]. f32 only.
class OAR_EXPORT Normalize : public Transform {
 public:
  // Throws Error: lists of different lengths, none at all, a deviation that is not above zero.
  Normalize(std::vector<double> mean, std::vector<double> deviation);
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;

 private:
  std::vector<float> mean_, deviation_;
};

// With that probability, sets a random rectangle to `value`: its area is a share of the image's from `scale`, its height
// over width from `ratio`, log-uniform (Zhong et al. 2017, Random erasing data augmentation). Ten tries to fit one, as
// usual; then the image stays.
class OAR_EXPORT RandomErasing : public Transform {
 public:
  explicit RandomErasing(double probability = 0.5, std::pair<double, double> scale = {0.02, 0.33},
                         std::pair<double, double> ratio = {0.3, 3.3}, double value = 0);
  Tensor apply(const Tensor& image, data::Random& random) const override;
  Tensor apply_batch(const Tensor& images, std::span<data::Random> random) const override;

 private:
  double probability_;
  std::pair<double, double> scale_, ratio_;
  double value_;
};

}  // namespace oarlock::vision
