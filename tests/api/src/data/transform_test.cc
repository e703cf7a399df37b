#include <oarlock/data/transform.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include <oarlock/base/ops.h>
#include <oarlock/random.h>

#include "tests/api/src/data/files/files.h"

namespace oarlock::vision {
namespace {

using data::Random;
using test::error_of;

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> v(static_cast<size_t>(t.element_count()));
  if (!v.empty()) cast(t, DType::f64).copy_to_host(v.data());
  return v;
}
Tensor counting(const Shape& shape, DType dtype) { return cast(reshape(arange(count(shape)), shape), dtype); }

TEST(Transform, FlipsMirrorTheLastAxes) {
  for (DType dtype : {DType::u8, DType::i16, DType::f32, DType::f64, DType::c128}) {
    if (dtype == DType::c128) continue;
    for (int64_t width : {1, 7, 8, 9, 23}) {
      Tensor x = counting({1, 2, width}, dtype);
      Random r(1, 0, 0);
      std::vector<double> v = numbers(RandomHorizontalFlip(1).apply(x, r)),
                          up = numbers(RandomVerticalFlip(1).apply(x, r));
      for (int64_t y = 0; y < 2; ++y)
        for (int64_t i = 0; i < width; ++i) {
          EXPECT_EQ(v[size_t(y * width + i)], double(y * width + width - 1 - i));
          EXPECT_EQ(up[size_t(y * width + i)], double((1 - y) * width + i));
        }
      EXPECT_EQ(numbers(RandomHorizontalFlip(0).apply(x, r)), numbers(x));
    }
  }
}

TEST(Transform, FlipsAsOftenAsAsked) {
  Tensor x = counting({10000, 1, 2}, DType::u8);
  x = cast(Tensor(reshape(arange(20000), {10000, 1, 2})), DType::i64);
  std::vector<Random> r;
  for (int i = 0; i < 10000; ++i) r.push_back(Random::of_sample(1, 0, i));
  std::vector<double> v = numbers(RandomHorizontalFlip(0.3).apply_batch(x, r));
  int flipped = 0;
  for (size_t i = 0; i < 10000; ++i) flipped += v[2 * i] > v[2 * i + 1];
  EXPECT_NEAR(flipped, 3000, 200);
}

TEST(Transform, CropsAreWindowsOfThePaddedImage) {
  Tensor x = counting({2, 4, 5}, DType::f32);
  std::map<std::pair<int, int>, int> seen;
  for (int i = 0; i < 2000; ++i) {
    Random r = Random::of_sample(9, 0, i);
    Tensor y = RandomCrop(3, 4, 2, -1).apply(x, r);
    ASSERT_EQ(y.shape(), Shape({2, 3, 4}));
    std::vector<double> v = numbers(y);
    // The draw is known: the same stream gives top, then left.
    Random same = Random::of_sample(9, 0, i);
    int64_t top = same.below(4 + 4 - 3 + 1) - 2, left = same.below(5 + 4 - 4 + 1) - 2;
    ++seen[{int(top), int(left)}];
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t a = 0; a < 3; ++a)
        for (int64_t b = 0; b < 4; ++b) {
          int64_t row = top + a, column = left + b;
          bool inside = row >= 0 && row < 4 && column >= 0 && column < 5;
          ASSERT_EQ(v[size_t((c * 3 + a) * 4 + b)], inside ? double((c * 4 + row) * 5 + column) : -1.0);
        }
  }
  EXPECT_EQ(seen.size(), 36u);  // every place occurs
  Random r(1, 0, 0);
  EXPECT_EQ(numbers(RandomCrop(4, 5).apply(x, r)), numbers(x));
  EXPECT_NE(error_of([&] { RandomCrop(5, 5).apply(x, r); }).find("does not fit"), std::string::npos);
  EXPECT_NE(error_of([] { RandomCrop(0, 5); }), "");
  EXPECT_NE(error_of([] { RandomCrop(5, 5, -1); }), "");
  // A padding wider than the window: windows with nothing of the image.
  for (int i = 0; i < 200; ++i) RandomCrop(2, 2, 9).apply(x, r);
}

TEST(Transform, CenterCrop) {
  Tensor x = counting({4, 5}, DType::i64);
  Random r(1, 0, 0);
  EXPECT_EQ(numbers(CenterCrop(2, 2).apply(x, r)), (std::vector<double>{6, 7, 11, 12}));
  EXPECT_NE(error_of([&] { CenterCrop(5, 2).apply(x, r); }), "");
}

TEST(Transform, ToFloatAndNormalize) {
  Tensor x = counting({3, 1, 2}, DType::u8);
  Random r(1, 0, 0);
  Tensor y = ToFloat().apply(x, r);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.data_as<float>()[i], float(i) * (1.0f / 255));
  Tensor n = Normalize({0.1, 0.2, 0.3}, {0.5, 0.25, 2}).apply(y, r);
  float mean[] = {0.1f, 0.2f, 0.3f}, deviation[] = {0.5f, 0.25f, 2.0f};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(n.data_as<float>()[i], (y.data_as<float>()[i] - mean[i / 2]) / deviation[i / 2]);
  EXPECT_EQ(numbers(x), (std::vector<double>{0, 1, 2, 3, 4, 5}));  // never written to
  EXPECT_NE(error_of([&] { ToFloat().apply(y, r); }).find("expects u8"), std::string::npos);
  EXPECT_NE(error_of([&] { Normalize({0}, {1}).apply(x, r); }).find("expects f32"), std::string::npos);
  EXPECT_NE(error_of([&] { Normalize({0, 0}, {1, 1}).apply(y, r); }).find("3 channels"), std::string::npos);
  EXPECT_NE(error_of([] { Normalize({0}, {0}); }), "");
  EXPECT_NE(error_of([] { Normalize({0}, {1, 2}); }), "");
}

TEST(Transform, ErasedShareIsWithinItsBounds) {
  Tensor x = cast(full({1, 32, 32}, 1), DType::u8);
  int erased = 0;
  for (int i = 0; i < 500; ++i) {
    Random r = Random::of_sample(2, 0, i);
    std::vector<double> v = numbers(RandomErasing(0.5, {0.1, 0.3}, {0.5, 2}, 0).apply(x, r));
    int64_t zeros = std::count(v.begin(), v.end(), 0);
    if (!zeros) continue;
    ++erased;
    EXPECT_GE(double(zeros) / 1024, 0.1 * 0.85);  // sides are rounded
    EXPECT_LE(double(zeros) / 1024, 0.3 * 1.15);
    // One rectangle: as many as its bounding box.
    int64_t top = 32, left = 32, bottom = 0, right = 0;
    for (int64_t p = 0; p < 1024; ++p)
      if (v[size_t(p)] == 0) {
        top = std::min(top, p / 32), bottom = std::max(bottom, p / 32 + 1);
        left = std::min(left, p % 32), right = std::max(right, p % 32 + 1);
      }
    EXPECT_EQ(zeros, (bottom - top) * (right - left));
  }
  EXPECT_NEAR(erased, 250, 50);
}

TEST(Transform, ABatchIsItsImages) {
  Tensor x = counting({9, 3, 8, 10}, DType::u8);
  struct Own : Transform {  // only apply: the batch form is the default
    Tensor apply(const Tensor& image, Random& r) const override { return RandomVerticalFlip().apply(image, r); }
  };
  std::vector<TransformPtr> all = {std::make_shared<RandomHorizontalFlip>(), std::make_shared<RandomVerticalFlip>(),
                                   std::make_shared<RandomCrop>(6, 7, 3),    std::make_shared<CenterCrop>(5, 5),
                                   std::make_shared<RandomErasing>(0.8),     std::make_shared<Own>()};
  all.push_back(std::make_shared<Compose>(all));
  all.back() = std::make_shared<Compose>(std::vector<TransformPtr>(all.begin(), all.begin() + 3));
  for (size_t t = 0; t < all.size(); ++t) {
    std::vector<Random> r;
    for (int i = 0; i < 9; ++i) r.push_back(Random::of_sample(3, 1, i));
    Tensor batch = all[t]->apply_batch(x, r);
    std::vector<double> v = numbers(batch);
    size_t each = v.size() / 9;
    for (int64_t i = 0; i < 9; ++i) {
      Random one = Random::of_sample(3, 1, i);
      std::vector<double> image =
          numbers(all[t]->apply(reshape(slice(x, {i, 0, 0, 0}, {1, 3, 8, 10}), {3, 8, 10}), one));
      EXPECT_EQ(image,
                std::vector<double>(v.begin() + int64_t(size_t(i) * each), v.begin() + int64_t(size_t(i + 1) * each)))
          << "transform " << t << " image " << i;
    }
  }
}

TEST(Transform, OutsideALoaderTheLibrarysSeedDecides) {
  Tensor x = counting({8, 8}, DType::u8);
  RandomCrop crop(8, 8, 4);
  auto five = [&] {
    std::vector<double> all;
    for (int i = 0; i < 5; ++i)
      for (double v : numbers(crop(x))) all.push_back(v);
    return all;
  };
  set_seed(1);
  std::vector<double> a = five(), b = five();
  set_seed(1);
  EXPECT_EQ(five(), a);
  EXPECT_NE(a, b);
}

TEST(Transform, OddOperandsAreErrors) {
  Random r(1, 0, 0);
  EXPECT_NE(error_of([&] { RandomHorizontalFlip().apply(Tensor(), r); }), "");
  EXPECT_NE(error_of([&] { RandomHorizontalFlip().apply(Tensor::empty({3}), r); }).find("[3]"), std::string::npos);
  EXPECT_NE(error_of([&] {
              RandomHorizontalFlip().apply_batch(Tensor::empty({3, 2, 2}), {&r, 1});
            }).find("3 images with 1"),
            std::string::npos);
  EXPECT_NE(error_of([] { RandomHorizontalFlip(1.5); }), "");
  EXPECT_NE(error_of([] { RandomErasing(0.5, {0.5, 0.1}); }), "");
  EXPECT_EQ(RandomHorizontalFlip().apply(Tensor::empty({0, 4}), r).shape(), Shape({0, 4}));
  EXPECT_EQ(RandomCrop(2, 2).apply_batch(Tensor::empty({0, 4, 4}), {}).shape(), Shape({0, 2, 2}));
  // Views are read as what they show.
  Tensor view = permute(counting({3, 2}, DType::i64), {1, 0});
  EXPECT_EQ(numbers(RandomHorizontalFlip(1).apply(view, r)), (std::vector<double>{4, 2, 0, 5, 3, 1}));
}

}  // namespace
}  // namespace oarlock::vision
