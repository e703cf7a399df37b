#include <gtest/gtest.h>

#include <functional>

#include <oarlock/oarlock.h>

namespace oarlock {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(Tensor, HoldsEveryStorableDtype) {
#define X(id, number, label, width, family, code)                                                          \
  if (info(DType::id).kind != DTypeKind::host) {                                                           \
    Tensor t = Tensor::empty({3, 5}, DType::id);                                                           \
    EXPECT_EQ(t.dtype(), DType::id);                                                                       \
    EXPECT_EQ(size_bytes(DType::id, 15), uint64_t(15 * (width) + 7) / 8) << label;                         \
    EXPECT_EQ(dtype_from(label), DType::id);                                                               \
  } else {                                                                                                 \
    EXPECT_NE(error_of([] { Tensor::empty({1}, DType::id); }).find("can't be stored"), std::string::npos); \
  }
#include <oarlock/base/dtype.def>
#undef X
}

TEST(Tensor, ViewsShareElements) {
  Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  Tensor t = permute(x, {1, 0});
  EXPECT_EQ(t.shape(), Shape({3, 2}));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.data(), x.data());
  x.data_as<float>()[1] = 9;
  EXPECT_EQ(t.contiguous().data_as<float>()[2], 9);
  Tensor row = slice(x, {1, 0}, {1, 3});
  EXPECT_EQ(static_cast<char*>(row.data()) - static_cast<char*>(x.data()), 12);
  EXPECT_TRUE(reshape(x, {6}).is_contiguous());
  EXPECT_EQ(reshape(x, {6}).data(), x.data());
  EXPECT_NE(reshape(t, {6}).data(), x.data());  // no strides can say it: copied
  EXPECT_EQ(reshape(t, {6}).data_as<float>()[1], 3);
  EXPECT_EQ(expand(slice(x, {0, 0}, {2, 1}), {2, 4}).strides()[1], 0);
}

// The last view of an op is remembered: the next must not get it unless sizes and attributes are the same.
TEST(Tensor, ViewsInARowAreEachTheirOwn) {
  Tensor a = reshape(arange(24), {2, 3, 4}), b = reshape(arange(24), {4, 3, 2});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(permute(a, {2, 1, 0}).shape(), Shape({4, 3, 2}));
    EXPECT_EQ(permute(a, {0, 2, 1}).shape(), Shape({2, 4, 3}));
    EXPECT_EQ(permute(a, {0, 2, 1}).contiguous().data_as<int64_t>()[1], 4);
    EXPECT_EQ(permute(b, {0, 2, 1}).contiguous().data_as<int64_t>()[1], 2);
    EXPECT_EQ(reshape(a, {6, -1}).shape(), Shape({6, 4}));
    EXPECT_EQ(reshape(a, {-1}).shape(), Shape({24}));
    EXPECT_EQ(reshape(slice(a, {0, 0, 0}, {2, 3, 2}), {-1}).shape(), Shape({12}));
    EXPECT_EQ(reshape(a, {6, 4}).strides()[0], 4);
    EXPECT_NE(error_of([&] { reshape(a, {5, -1}); }), "no error");
    EXPECT_EQ(reshape(cast(a, DType::f32), {6, 4}).dtype(), DType::f32);
  }
}

TEST(Tensor, BorrowedMemoryIsReleasedOnce) {
  static int released = 0;
  float values[] = {1, 2, 3, 4};
  {
    int64_t strides[] = {1, 2};
    Tensor t = Tensor::borrow(
        values, {2, 2}, DType::f32, strides, [](void* p) { ++*static_cast<int*>(p); }, &released);
    Tensor copy = t, view = reshape(permute(t, {1, 0}), {4});
    EXPECT_EQ(view.data_as<float>()[1], 2);
    EXPECT_EQ(sum(copy).item(), 10);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Tensor, MisuseIsAnError) {
  EXPECT_NE(error_of([] { Tensor().shape(); }).find("no value"), std::string::npos);
  EXPECT_NE(error_of([] { Tensor::of<float>({1, 2}, {3}); }).find("wants 3 values, given 2"), std::string::npos);
  EXPECT_NE(error_of([] { Tensor::empty({2, -1}); }).find("negative size"), std::string::npos);
  EXPECT_NE(error_of([] {
              Tensor::empty({int64_t(1) << 62, 4});
            }).find("more bytes than any memory"),
            std::string::npos);
  EXPECT_NE(error_of([] { Tensor::from_host(nullptr, {3}, DType::f32); }).find("null"), std::string::npos);
  EXPECT_NE(error_of([] { Tensor::empty({2}).item(); }).find("2 elements, not one"), std::string::npos);
  EXPECT_NE(error_of([] { Tensor::empty({2}, DType::f32, Device(99)); }).find("no device 99"), std::string::npos);
  int64_t negative = -1;
  float x = 0;
  EXPECT_NE(error_of([&] { Tensor::borrow(&x, {1}, DType::f32, &negative); }).find("negative"), std::string::npos);
}

TEST(Tensor, Prints) {
  EXPECT_EQ(Tensor::of<float>({1, 2.5f, -3}, {3}).to_string(), "[1., 2.5, -3.]  Tensor(f32[3] on cpu)");
  EXPECT_EQ(Tensor::of<bool>({true, false}, {2}).to_string(), "[true, false]  Tensor(bool[2] on cpu)");
  EXPECT_EQ(arange(100).to_string(2), "[0, 1, ..., 98, 99]  Tensor(i64[100] on cpu)");
  EXPECT_EQ(Tensor().to_string(), "Tensor(no value)");
}

TEST(Operators, ANumberTakesTheDtypeBesideIt) {
  Tensor h = cast(Tensor::of<float>({1, 2}, {2}), DType::bf16), i = Tensor::of<int32_t>({4, 6}, {2});
  EXPECT_EQ((h * 2.0).dtype(), DType::bf16);
  EXPECT_EQ((i + 1).dtype(), DType::i32);
  EXPECT_EQ((i + 0.5).dtype(), DType::f32);
  EXPECT_EQ((10 - i).data_as<int32_t>()[1], 4);
  EXPECT_EQ((-i).data_as<int32_t>()[0], -4);
}

}  // namespace
}  // namespace oarlock
