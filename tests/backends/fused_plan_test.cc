// Plans with the plugins of this host: networks whose elementwise steps oneDNN fuses, against the same plans without.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "core/graph/compile.h"
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

void load() {
  for (const char* name : {"simd", "onednn"})
    throw_if(load_plugin(std::string(OARLOCK_BACKEND_DIR) + "/liboarlock_" + name + ".so").status());
}
std::shared_ptr<Program> frozen(const Function& f, const std::vector<In>& inputs) {
  auto p = std::make_shared<Program>(capture(f, inputs));
  throw_if(compile(*p));
  return p;
}
std::vector<double> doubles(const Tensor& t) {
  Tensor wide = cast(t, DType::f64).contiguous();
  return {wide.data_as<double>(), wide.data_as<double>() + wide.element_count()};
}
std::string ops(Executable& e, const Shape& shape) {
  std::string out;
  for (const StepInfo& s : e.info({&shape, 1}).steps) out += (out.empty() ? "" : ", ") + s.op;
  return out;
}
void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  std::vector<double> a = doubles(got), b = doubles(want);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) ASSERT_TRUE(std::isnan(a[i])) << i << ": " << a[i];
    else ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::fabs(b[i]))) << i;
  }
}

struct Block {
  Tensor a, b, scale, shift;
  explicit Block(DType t) {
    a = cast(uniform({32, 16, 3, 3}, 1, -0.1, 0.1), t);
    b = cast(uniform({16, 32, 3, 3}, 2, -0.1, 0.1), t);
    scale = cast(uniform({16, 1, 1}, 3), t);
    shift = cast(uniform({32, 1, 1}, 4), t);
  }
  std::vector<Tensor> operator()(std::span<const Tensor> x) const {
    Tensor in = conv(x[0], a, Tensor(), {1}, {1});
    Tensor h = relu(add(in, shift));
    h = multiply(conv(h, b, Tensor(), {1}, {1}), scale);
    Tensor out = silu(conv(relu(h), a, Tensor(), {1}, {1}));
    return {relu(add(conv(out, b, Tensor(), {1}, {1}), h))};
  }
};

TEST(FusedPlan, AResidualBlock) {
  load();
  for (DType t : {DType::f32, DType::bf16}) {
    auto p = frozen(Block(t), {{{"N", "16", "H", "12"}, t}});
    Executable fused(p, Device()), plain(p, Device(), 64, UINT64_MAX, {.epilogues = false});
    for (const Shape& shape : {Shape{2, 16, 12, 12}, Shape{1, 16, 7, 12}, Shape{3, 16, 20, 12}, Shape{2, 16, 12, 12}}) {
      std::vector<Tensor> x = {cast(uniform(shape, shape(0)), t)};
      Result<Outcome> got = fused.run(x), want = plain.run(x);
      ASSERT_TRUE(got) << got.status().text();
      ASSERT_TRUE(want) << want.status().text();
      expect_near(got->results[0], want->results[0], t == DType::f32 ? 1e-5 : 0.04);
    }
    // In f32 the first sum is a bias already: fold_conv_bias leaves bf16 alone.
    const std::string first = t == DType::f32 ? "conv+relu" : "conv+add+relu";
    EXPECT_EQ(ops(fused, {2, 16, 12, 12}), first + ", conv+multiply, relu, conv+silu, conv+add+relu");
  }
}

TEST(FusedPlan, ATransformersFeedForward) {
  load();
  for (DType t : {DType::f32, DType::bf16}) {
    Tensor w = cast(uniform({64, 128}, 1, -0.2, 0.2), t), b = cast(uniform({128}, 2), t),
           v = cast(uniform({128, 64}, 3, -0.2, 0.2), t), c = cast(uniform({64}, 4), t);
    Function f = [=](std::span<const Tensor> x) {
      return std::vector<Tensor>{add(add(matmul(gelu(add(matmul(x[0], w), b)), v), c), x[0])};
    };
    auto p = frozen(f, {{{"N", "L", "64"}, t}});
    Executable fused(p, Device()), plain(p, Device(), 64, UINT64_MAX, {.epilogues = false});
    for (const Shape& shape : {Shape{2, 20, 64}, Shape{1, 1, 64}, Shape{3, 7, 64}}) {
      Tensor in = cast(uniform(shape, shape(1)), t);
      std::vector<Tensor> x = {in};
      Result<Outcome> got = fused.run(x), want = plain.run(x);
      ASSERT_TRUE(got) << got.status().text();
      expect_near(got->results[0], want->results[0], t == DType::f32 ? 1e-5 : 0.04);
    }
    EXPECT_EQ(ops(fused, {2, 20, 64}), "matmul+add+gelu, matmul+add+add");
  }
}

TEST(FusedPlan, NaNAndInfinityComeThrough) {
  load();
  auto p = frozen(Block(DType::f32), {{{"1", "16", "12", "12"}}});
  Executable fused(p, Device()), plain(p, Device(), 64, UINT64_MAX, {.epilogues = false});
  for (double odd : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    Tensor x = uniform({1, 16, 12, 12}, 1);
    std::vector<float> values(x.data_as<float>(), x.data_as<float>() + x.element_count());
    values[700] = float(odd);
    std::vector<Tensor> in = {Tensor::from_host(values.data(), {1, 16, 12, 12}, DType::f32)};
    Result<Outcome> got = fused.run(in), want = plain.run(in);
    ASSERT_TRUE(got && want);
    expect_near(got->results[0], want->results[0], 1e-5);
  }
}

// Threads and shapes share what is packed of the constants.
TEST(FusedPlan, ManyThreadsAndShapes) {
  load();
  auto p = frozen(Block(DType::f32), {{{"N", "16", "12", "12"}}});
  Executable fused(p, Device(), 3);
  std::vector<std::string> want(5);
  for (int64_t n = 1; n < 5; ++n) {
    Result<Outcome> out = fused.run(std::vector<Tensor>{uniform({n, 16, 12, 12}, n)});
    ASSERT_TRUE(out) << out.status().text();
    want[size_t(n)] = bytes(out->results[0]);
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 12; ++i) {
        int64_t n = 1 + (i + t) % 4;
        Result<Outcome> out = fused.run(std::vector<Tensor>{uniform({n, 16, 12, 12}, n)});
        wrong += !out || bytes(out->results[0]) != want[size_t(n)];
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace oarlock::graph
