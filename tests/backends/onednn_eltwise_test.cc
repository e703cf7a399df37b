// tanh and sqrt of the oneDNN plugin: values against libm in double, special values, refusals.
#include "harness.h"

namespace oarlock::test {
namespace {

constexpr uint32_t kF32 = OAR_DTYPE_F32, kBf16 = OAR_DTYPE_BF16;

struct Function {
  const char* op;
  uint32_t dtype;
  double (*libm)(double);
};
constexpr Function kFunctions[] = {{"tanh", kF32, [](double x) { return std::tanh(x); }},
                                   {"tanh", kBf16, [](double x) { return std::tanh(x); }},
                                   {"sqrt", kBf16, [](double x) { return std::sqrt(x); }}};

// bf16 without AVX-512 is not oneDNN's; of f32 no CPU is excused.
bool lacks_type(const Function& f, const Outcome& outcome) {
  return f.dtype == kBf16 && outcome.status == OAR_REFUSED && outcome.reason == OAR_REASON_DEVICE;
}

// Distance from want in units of the last place; a zero of the wrong sign counts as far off.
double ulps(uint32_t dtype, double got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  if (got == 0 && want == 0) return std::signbit(got) == std::signbit(want) ? 0 : 1e30;
  if (dtype == kF32) return ulps_f32(static_cast<float>(got), want);
  if (got == want) return 0;
  if (std::isinf(got) || std::isinf(want)) return 1e30;
  return std::abs(got - want) / std::ldexp(1.0, std::max(std::ilogb(want) - 7, -133));
}

// The CPU's own conversion to bf16 takes denormals for zeros, by its definition (VCVTNEPS2BF16).
bool flushed(const Function& f, double got, double x, double want) {
  if (f.dtype != kBf16 || !__builtin_cpu_supports("avx512bf16")) return false;
  auto denormal = [](double v) { return v != 0 && std::abs(v) < std::ldexp(1, -126); };
  return (denormal(x) || denormal(want)) && got == 0 && std::signbit(got) == std::signbit(want);
}

void expect_values(const Function& f, const Array& x, const Array& out, double most) {
  for (int64_t i = 0; i < x.count(); ++i) {
    if (flushed(f, out.get(i), x.get(i), f.libm(x.get(i)))) continue;
    ASSERT_LE(ulps(f.dtype, out.get(i), f.libm(x.get(i))), most)
        << f.op << " of " << x.get(i) << " is " << out.get(i) << ", not " << f.libm(x.get(i));
  }
}

TEST(OnednnEltwise, AgreesWithLibm) {
  for (const Function& f : kFunctions)
    for (const Dims& shape :
         {Dims{65537}, Dims{70, 3, 41}, Dims{8, 1, 1024}, Dims{1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5}})
      for (double reach : {1e-3, 1.0, 12.0, 1e30}) {
        const Array x = Array(f.dtype, shape).random(7, -reach, reach);
        const Array out(f.dtype, shape);
        const Outcome outcome = plugin().call({.op = f.op, .inputs = {x}, .out = out});
        if (lacks_type(f, outcome)) continue;
        ASSERT_EQ(outcome.status, OAR_OK) << f.op << ": " << outcome.text;
        expect_values(f, x, out, f.dtype == kF32 ? 4 : 0.51);
        if (HasFatalFailure()) return;
      }
}

TEST(OnednnEltwise, EveryBf16AndItsLikeInF32) {
  // All 65536 patterns: NaNs, infinities, both zeros, denormals.
  for (const Function& f : kFunctions) {
    Array x(f.dtype, {65536});
    x.fill([](int64_t i) { return oar_kit_bf16_to_f32(static_cast<uint16_t>(i)); });
    const Array out(f.dtype, {65536});
    const Outcome outcome = plugin().call({.op = f.op, .inputs = {x}, .out = out});
    if (lacks_type(f, outcome)) continue;
    ASSERT_EQ(outcome.status, OAR_OK) << f.op << ": " << outcome.text;
    expect_values(f, x, out, f.dtype == kF32 ? 4 : 0.51);
    if (HasFatalFailure()) return;
  }
}

TEST(OnednnEltwise, SpecialValuesInEveryLane) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {nan, inf, -inf, 0.0, -0.0, std::ldexp(1, -149), -std::ldexp(1, -149), std::ldexp(1, -127)};
  for (double value : special) {
    // An odd length, so that the vector code and its tail both meet the value.
    Array x(kF32, {4099});
    x.fill([&](int64_t i) { return i % 3 == 0 ? value : 0.25; });
    const Array out(kF32, {4099});
    ASSERT_EQ(plugin().call({.op = "tanh", .inputs = {x}, .out = out}).status, OAR_OK);
    // tanh(v) is v for zeros, denormals and NaN, and the sign's 1 for infinities.
    const double want = std::isinf(value) ? std::copysign(1, value) : value;
    for (int64_t i = 0; i < 4099; ++i) {
      const double expected = i % 3 == 0 ? want : 0.244918662403709;
      ASSERT_LE(ulps(kF32, out.get(i), expected), i % 3 == 0 ? 0 : 4) << value << " at element " << i;
    }
  }
}

TEST(OnednnEltwise, WritesOverItsInput) {
  const oar_kernel_decl_t* decl = plugin().find("tanh");
  ASSERT_NE(decl->inplace, nullptr);
  EXPECT_EQ(decl->inplace[0], 0);
  const Array x = Array(kF32, {9001}).random(3, -4, 4), kept = Array(kF32, {9001}).random(3, -4, 4);
  ASSERT_EQ(plugin().call({.op = "tanh", .inputs = {x}, .out = x}).status, OAR_OK);
  expect_values(kFunctions[0], kept, x, 4);
}

TEST(OnednnEltwise, KeepsToTheThreadBudget) {
  const Array x = Array(kF32, {1 << 18}).random(5, -4, 4);
  for (uint32_t threads : {1u, 2u}) {
    const Array out(kF32, {1 << 18});
    plugin().threads(threads);
    const Outcome outcome = plugin().call({.op = "tanh", .inputs = {x}, .out = out});
    plugin().threads(2);
    ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
    expect_values(kFunctions[0], x, out, 4);
  }
}

TEST(OnednnEltwise, RefusesFewElementsAndNone) {
  for (const Function& f : kFunctions)
    for (const Dims& shape : {Dims{0}, Dims{3, 0, 5}, Dims{}, Dims{1}, Dims{8, 8}}) {
      const Array x = Array(f.dtype, shape).random(1);
      const Outcome o = plugin().call({.op = f.op, .inputs = {x}, .out = Array(f.dtype, shape)});
      EXPECT_EQ(o.status, OAR_REFUSED) << f.op;
      EXPECT_EQ(o.reason, OAR_REASON_SLOWER) << f.op;
      EXPECT_EQ(o.text.find(std::to_string(x.count())), 0u) << o.text;
    }
  // On both sides of the border.
  const Array below = Array(kF32, {4095}).random(1), at = Array(kF32, {4096}).random(1);
  EXPECT_EQ(plugin().call({.op = "tanh", .inputs = {below}, .out = Array(kF32, {4095})}).reason, OAR_REASON_SLOWER);
  EXPECT_EQ(plugin().call({.op = "tanh", .inputs = {at}, .out = Array(kF32, {4096})}).status, OAR_OK);
}

TEST(OnednnEltwise, RefusesLayouts) {
  const Dims shape = {128, 64};
  const Array out(kF32, shape);
  const Array transposed = Array(kF32, {64, 128}).random(1).permuted({1, 0});
  const Array gaps = Array(kF32, shape, {65, 1}).random(1), repeated = Array(kF32, shape, {0, 1}).random(1);
  for (const Array& x : {transposed, gaps, repeated}) {
    const Outcome o = plugin().call({.op = "tanh", .inputs = {x}, .out = out});
    EXPECT_EQ(o.status, OAR_REFUSED);
    EXPECT_EQ(o.reason, OAR_REASON_LAYOUT);
    EXPECT_EQ(o.operand, 0);
  }
  const Array x = Array(kF32, shape).random(1);
  const Outcome o = plugin().call({.op = "tanh", .inputs = {x}, .out = Array(kF32, shape, {1, 128})});
  EXPECT_EQ(o.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(o.operand, 1);
  // The stride of an axis of length 1 says nothing.
  const Array column = Array(kF32, {8192, 1}, {1, 77}).random(1);
  EXPECT_EQ(plugin().call({.op = "tanh", .inputs = {column}, .out = Array(kF32, {8192, 1})}).status, OAR_OK);
}

TEST(OnednnEltwise, RefusesEpiloguesAndOtherTypes) {
  const Array x = Array(kF32, {8192}).random(1);
  const Outcome fused =
      plugin().call({.op = "tanh", .inputs = {x}, .out = Array(kF32, {8192}), .epilogue = {{"relu", {-1}}}});
  EXPECT_EQ(fused.status, OAR_REFUSED);
  EXPECT_EQ(fused.reason, OAR_REASON_EPILOGUE);
  for (uint32_t dtype : {OAR_DTYPE_F16, OAR_DTYPE_F64}) {
    const Array other = Array(dtype, {8192}).random(1);
    EXPECT_EQ(plugin().call({.op = "tanh", .inputs = {other}, .out = Array(dtype, {8192})}).reason, OAR_REASON_DTYPE);
  }
  EXPECT_EQ(plugin().call({.op = "tanh", .inputs = {x}, .out = Array(kBf16, {8192})}).reason, OAR_REASON_DTYPE);
  // sqrt of f32 is the simd pack's.
  EXPECT_EQ(plugin().call({.op = "sqrt", .inputs = {x}, .out = Array(kF32, {8192})}).reason, OAR_REASON_DTYPE);
}

TEST(OnednnEltwise, OffersNothingThatOnednnGetsWrong) {
  for (const char* op : {"relu", "exp", "log", "negative", "erf"}) EXPECT_EQ(plugin().find(op), nullptr) << op;
}

}  // namespace
}  // namespace oarlock::test
