// Every transform is one function over a batch; a single image is a batch of one, so the two cannot disagree.
#include <oarlock/data/transform.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <oarlock/data/dataset.h>

#include "api/src/data/rows.h"

namespace oarlock::vision {
namespace {

using data::Random;

[[noreturn]] void fail(const char* who, const std::string& text) {
  throw Error(Code::invalid_argument, std::string(who) + ": " + text);
}
std::string text(int64_t n) { return std::to_string(n); }

// Images as bytes in a row: n images of `planes` planes of height x width elements.
struct Images {
  Tensor all;  // row-major, on the host
  bool batched;
  int64_t n = 1, planes = 1, channels = 1, height = 0, width = 0;
  uint64_t element = 0;  // bytes
  const char* bytes = nullptr;

  Images(const char* who, const Tensor& x, bool is_batch, std::span<Random> random) : batched(is_batch) {
    if (!x) fail(who, "the image has no value.");
    int least = batched ? 3 : 2;
    if (x.rank() < least)
      fail(who, "an image of shape " + to_string(x.shape()) + "; expects " +
                    (batched ? "[N, H, W] or [N, C, H, W]." : "[H, W] or [C, H, W]."));
    if (info(x.dtype()).bits % 8)
      fail(who, std::string(to_string(x.dtype())) + " elements share bytes. Cast the image.");
    all = x.to(Device()).contiguous();
    int rank = x.rank();
    height = x.shape()(rank - 2), width = x.shape()(rank - 1);
    n = batched ? x.shape()(0) : 1;
    for (int i = batched ? 1 : 0; i < rank - 2; ++i) planes *= x.shape()(i);
    if (rank > least) channels = x.shape()(rank - 3);
    element = info(x.dtype()).bits / 8;
    if (int64_t(random.size()) != n)
      fail(who, text(n) + " images with " + text(int64_t(random.size())) + " random streams; one each is needed.");
    bytes = n * planes * height * width > 0 ? static_cast<const char*>(all.data()) : nullptr;
  }
  uint64_t image_bytes() const { return uint64_t(planes * height * width) * element; }
  Tensor like(int64_t h, int64_t w) const {
    Shape shape = all.shape();
    shape.d[shape.rank - 2] = h;
    shape.d[shape.rank - 1] = w;
    return Tensor::empty(shape, all.dtype());
  }
};

// One element of `value` as bytes of the dtype.
std::vector<char> element_of(double value, DType dtype) {
  Tensor t = Tensor::scalar(value, dtype);
  std::vector<char> bytes(info(dtype).bits / 8);
  t.copy_to_host(bytes.data());
  return bytes;
}
void fill(char* to, int64_t count, const std::vector<char>& element) {
  if (element.size() == 1) {
    std::memset(to, element[0], size_t(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i, to += element.size()) std::memcpy(to, element.data(), element.size());
}

template <class T>
void mirror(const char* from, char* to, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    std::memcpy(to + (width - 1 - i) * int64_t(sizeof(T)), from + i * int64_t(sizeof(T)), sizeof(T));
}
template <>
void mirror<uint8_t>(const char* from, char* to, int64_t width) {
  int64_t i = 0;
  for (; i + 8 <= width; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, from + i, 8);
    eight = __builtin_bswap64(eight);
    std::memcpy(to + width - 8 - i, &eight, 8);
  }
  for (; i < width; ++i) to[width - 1 - i] = from[i];
}
void mirror_row(const char* from, char* to, int64_t width, uint64_t element) {
  if (element == 1) return mirror<uint8_t>(from, to, width);
  if (element == 2) return mirror<uint16_t>(from, to, width);
  if (element == 4) return mirror<uint32_t>(from, to, width);
  if (element == 8) return mirror<uint64_t>(from, to, width);
  for (int64_t i = 0; i < width; ++i)
    std::memcpy(to + uint64_t(width - 1 - i) * element, from + uint64_t(i) * element, element);
}

Tensor flip(const char* who, const Tensor& x, bool batched, std::span<Random> random, double probability,
            bool vertical) {
  Images in(who, x, batched, random);
  Tensor out = in.like(in.height, in.width);
  if (!in.bytes) return out;
  const char* from = in.bytes;
  char* to = static_cast<char*>(out.data());
  uint64_t row = uint64_t(in.width) * in.element, image = in.image_bytes();
  for (int64_t i = 0; i < in.n; ++i, from += image, to += image) {
    if (!random[size_t(i)].coin(probability)) {
      std::memcpy(to, from, image);
      continue;
    }
    for (int64_t p = 0; p < in.planes; ++p)
      for (int64_t y = 0; y < in.height; ++y) {
        const char* source = from + uint64_t(p * in.height + y) * row;
        if (vertical) std::memcpy(to + uint64_t(p * in.height + in.height - 1 - y) * row, source, row);
        else mirror_row(source, to + uint64_t(p * in.height + y) * row, in.width, in.element);
      }
  }
  return out;
}

// Copies the window whose top left corner lies at (top, left) of the image, either side of it.
void window(const Images& in, const char* from, char* to, int64_t top, int64_t left, int64_t height, int64_t width,
            const std::vector<char>& padding) {
  int64_t begin = std::clamp<int64_t>(-left, 0, width), end = std::clamp<int64_t>(in.width - left, begin, width);
  uint64_t row = uint64_t(width) * in.element;
  for (int64_t p = 0; p < in.planes; ++p)
    for (int64_t y = 0; y < height; ++y, to += row) {
      int64_t source = top + y;
      if (source < 0 || source >= in.height || begin == end) {
        fill(to, width, padding);
        continue;
      }
      if (begin) fill(to, begin, padding);
      std::memcpy(to + uint64_t(begin) * in.element,
                  from + uint64_t((p * in.height + source) * in.width + left + begin) * in.element,
                  uint64_t(end - begin) * in.element);
      if (end < width) fill(to + uint64_t(end) * in.element, width - end, padding);
    }
}

void check_window(const char* who, int64_t height, int64_t width) {
  if (height < 1 || width < 1) fail(who, "a window of " + text(height) + " x " + text(width) + "; both are 1 or more.");
}
void check_probability(const char* who, double p) {
  if (!(p >= 0 && p <= 1)) fail(who, "probability " + std::to_string(p) + " is not in 0..1.");
}

Tensor crop(const Tensor& x, bool batched, std::span<Random> random, int64_t height, int64_t width, int64_t padding,
            double value) {
  Images in("RandomCrop", x, batched, random);
  int64_t down = in.height + 2 * padding - height, right = in.width + 2 * padding - width;
  if (down < 0 || right < 0)
    fail("RandomCrop", "a window of " + text(height) + " x " + text(width) + " does not fit an image of " +
                           text(in.height) + " x " + text(in.width) + " with padding " + text(padding) + ".");
  Tensor out = in.like(height, width);
  std::vector<char> element = element_of(value, x.dtype());
  uint64_t step = uint64_t(in.planes * height * width) * in.element;
  char* to = step && in.n ? static_cast<char*>(out.data()) : nullptr;
  for (int64_t i = 0; i < in.n; ++i) {
    int64_t top = random[size_t(i)].below(down + 1) - padding, left = random[size_t(i)].below(right + 1) - padding;
    if (to)
      window(in, in.bytes + in.image_bytes() * uint64_t(i), to + step * uint64_t(i), top, left, height, width, element);
  }
  return out;
}

Tensor center(const Tensor& x, bool batched, std::span<Random> random, int64_t height, int64_t width) {
  Images in("CenterCrop", x, batched, random);
  if (height > in.height || width > in.width)
    fail("CenterCrop", "a window of " + text(height) + " x " + text(width) + " does not fit an image of " +
                           text(in.height) + " x " + text(in.width) + ".");
  Tensor out = in.like(height, width);
  uint64_t step = uint64_t(in.planes * height * width) * in.element;
  if (!in.bytes) return out;
  char* to = static_cast<char*>(out.data());
  for (int64_t i = 0; i < in.n; ++i)
    window(in, in.bytes + in.image_bytes() * uint64_t(i), to + step * uint64_t(i), (in.height - height) / 2,
           (in.width - width) / 2, height, width, {});
  return out;
}

Tensor to_float(const Tensor& x) {
  if (!x || x.dtype() != DType::u8)
    fail("ToFloat", "the image is " + std::string(x ? to_string(x.dtype()) : "missing") + ", expects u8.");
  Tensor bytes = x.to(Device()).contiguous(), out = Tensor::empty(x.shape(), DType::f32);
  int64_t n = x.element_count();
  if (!n) return out;
  const uint8_t* from = bytes.data_as<uint8_t>();
  float* to = out.data_as<float>();
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = float(from[i]) * (1.0f / 255.0f);
  return out;
}

Tensor normalize(const Tensor& x, bool batched, std::span<Random> random, const std::vector<float>& mean,
                 const std::vector<float>& deviation) {
  Images in("Normalize", x, batched, random);
  if (x.dtype() != DType::f32)
    fail("Normalize", "the image is " + std::string(to_string(x.dtype())) + ", expects f32. ToFloat makes it so.");
  size_t values = mean.size();
  if (values != 1 && int64_t(values) != in.channels)
    fail("Normalize", text(int64_t(values)) + " means for an image of " + text(in.channels) + " channels.");
  Tensor out = in.like(in.height, in.width);
  if (!in.bytes) return out;
  const float* from = in.all.data_as<float>();
  float* to = out.data_as<float>();
  int64_t plane = in.height * in.width;
  for (int64_t p = 0; p < in.n * in.planes; ++p, from += plane, to += plane) {
    size_t c = values == 1 ? 0 : size_t(p % in.channels);
    float m = mean[c], d = deviation[c];
#pragma omp simd
    for (int64_t i = 0; i < plane; ++i) to[i] = (from[i] - m) / d;
  }
  return out;
}

Tensor erase(const Tensor& x, bool batched, std::span<Random> random, double probability,
             std::pair<double, double> scale, std::pair<double, double> ratio, double value) {
  Images in("RandomErasing", x, batched, random);
  Tensor out = in.like(in.height, in.width);
  if (!in.bytes) return out;
  std::vector<char> element = element_of(value, x.dtype());
  char* to = static_cast<char*>(out.data());
  uint64_t image = in.image_bytes();
  std::memcpy(to, in.bytes, image * uint64_t(in.n));
  double low = std::log(ratio.first), high = std::log(ratio.second);
  for (int64_t i = 0; i < in.n; ++i, to += image) {
    Random& r = random[size_t(i)];
    if (!r.coin(probability)) continue;
    for (int attempt = 0; attempt < 10; ++attempt) {
      double area = double(in.height * in.width) * (scale.first + r.uniform() * (scale.second - scale.first));
      double aspect = std::exp(low + r.uniform() * (high - low));
      int64_t h = std::llround(std::sqrt(area * aspect)), w = std::llround(std::sqrt(area / aspect));
      if (h < 1 || w < 1 || h >= in.height || w >= in.width) continue;
      int64_t top = r.below(in.height - h + 1), left = r.below(in.width - w + 1);
      for (int64_t p = 0; p < in.planes; ++p)
        for (int64_t y = top; y < top + h; ++y)
          fill(to + uint64_t((p * in.height + y) * in.width + left) * in.element, w, element);
      break;
    }
  }
  return out;
}

}  // namespace

Tensor Transform::apply_batch(const Tensor& images, std::span<Random> random) const {
  if (!images || images.rank() < 1) fail("apply_batch", "a batch has at least one axis.");
  int64_t n = images.size(0);
  if (int64_t(random.size()) != n)
    fail("apply_batch",
         text(n) + " images with " + text(int64_t(random.size())) + " random streams; one each is needed.");
  Tensor all = images.to(Device()).contiguous();
  Shape shape;
  shape.push(all.shape().begin() + 1, all.rank() - 1);
  uint64_t bytes = data::row_bytes(all);
  std::vector<data::Sample> made;
  for (int64_t i = 0; i < n; ++i) {
    Tensor image = Tensor::from_host(static_cast<const char*>(all.data()) + bytes * uint64_t(i), shape, all.dtype());
    made.push_back({apply(image, random[size_t(i)])});
  }
  if (!n) return images;
  return data::default_collate(made)[0];
}

Compose::Compose(std::vector<TransformPtr> transforms) : transforms_(std::move(transforms)) {
  for (size_t i = 0; i < transforms_.size(); ++i)
    if (!transforms_[i]) fail("Compose", "transform " + text(int64_t(i)) + " has no value.");
}
Tensor Compose::apply(const Tensor& image, Random& random) const {
  Tensor x = image;
  for (const TransformPtr& t : transforms_) x = t->apply(x, random);
  return x;
}
Tensor Compose::apply_batch(const Tensor& images, std::span<Random> random) const {
  Tensor x = images;
  for (const TransformPtr& t : transforms_) x = t->apply_batch(x, random);
  return x;
}

RandomHorizontalFlip::RandomHorizontalFlip(double p) : probability_(p) { check_probability("RandomHorizontalFlip", p); }
Tensor RandomHorizontalFlip::apply(const Tensor& x, Random& r) const {
  return flip("RandomHorizontalFlip", x, false, {&r, 1}, probability_, false);
}
Tensor RandomHorizontalFlip::apply_batch(const Tensor& x, std::span<Random> r) const {
  return flip("RandomHorizontalFlip", x, true, r, probability_, false);
}

RandomVerticalFlip::RandomVerticalFlip(double p) : probability_(p) { check_probability("RandomVerticalFlip", p); }
Tensor RandomVerticalFlip::apply(const Tensor& x, Random& r) const {
  return flip("RandomVerticalFlip", x, false, {&r, 1}, probability_, true);
}
Tensor RandomVerticalFlip::apply_batch(const Tensor& x, std::span<Random> r) const {
  return flip("RandomVerticalFlip", x, true, r, probability_, true);
}

RandomCrop::RandomCrop(int64_t height, int64_t width, int64_t padding, double fill)
    : height_(height), width_(width), padding_(padding), fill_(fill) {
  check_window("RandomCrop", height, width);
  if (padding < 0 || padding > 1 << 20) fail("RandomCrop", "padding " + text(padding) + " is not in 0..1048576.");
}
Tensor RandomCrop::apply(const Tensor& x, Random& r) const {
  return crop(x, false, {&r, 1}, height_, width_, padding_, fill_);
}
Tensor RandomCrop::apply_batch(const Tensor& x, std::span<Random> r) const {
  return crop(x, true, r, height_, width_, padding_, fill_);
}

CenterCrop::CenterCrop(int64_t height, int64_t width) : height_(height), width_(width) {
  check_window("CenterCrop", height, width);
}
Tensor CenterCrop::apply(const Tensor& x, Random& r) const { return center(x, false, {&r, 1}, height_, width_); }
Tensor CenterCrop::apply_batch(const Tensor& x, std::span<Random> r) const {
  return center(x, true, r, height_, width_);
}

Tensor ToFloat::apply(const Tensor& x, Random&) const { return to_float(x); }
Tensor ToFloat::apply_batch(const Tensor& x, std::span<Random>) const { return to_float(x); }

Normalize::Normalize(std::vector<double> mean, std::vector<double> deviation)
    : mean_(mean.begin(), mean.end()), deviation_(deviation.begin(), deviation.end()) {
  if (mean.empty() || mean.size() != deviation.size())
    fail("Normalize", text(int64_t(mean.size())) + " means and " + text(int64_t(deviation.size())) +
                          " deviations; there must be as many of each, and at least one.");
  for (double d : deviation)
    if (!(float(d) > 0)) fail("Normalize", "deviation " + std::to_string(d) + " is not above zero.");
}
Tensor Normalize::apply(const Tensor& x, Random& r) const { return normalize(x, false, {&r, 1}, mean_, deviation_); }
Tensor Normalize::apply_batch(const Tensor& x, std::span<Random> r) const {
  return normalize(x, true, r, mean_, deviation_);
}

RandomErasing::RandomErasing(double probability, std::pair<double, double> scale, std::pair<double, double> ratio,
                             double value)
    : probability_(probability), scale_(scale), ratio_(ratio), value_(value) {
  check_probability("RandomErasing", probability);
  if (!(scale.first >= 0 && scale.first <= scale.second && scale.second <= 1))
    fail("RandomErasing", "scale must be two shares of the area, 0 <= low <= high <= 1.");
  if (!(ratio.first > 0 && ratio.first <= ratio.second && std::isfinite(ratio.second)))
    fail("RandomErasing", "ratio must be two ratios above zero, low <= high.");
}
Tensor RandomErasing::apply(const Tensor& x, Random& r) const {
  return erase(x, false, {&r, 1}, probability_, scale_, ratio_, value_);
}
Tensor RandomErasing::apply_batch(const Tensor& x, std::span<Random> r) const {
  return erase(x, true, r, probability_, scale_, ratio_, value_);
}

}  // namespace oarlock::vision
