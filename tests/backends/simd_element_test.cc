// Elementwise kernels of the simd pack against loops in double.
#include "harness.h"

namespace oarlock::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::vector<uint32_t> kFloats = {OAR_DTYPE_F32, OAR_DTYPE_F64, OAR_DTYPE_F16, OAR_DTYPE_BF16};

using Binary = double (*)(double, double);
struct BinaryOp {
  const char* name;
  Binary want;
};
double nan_min(double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::min(a, b); }
double nan_max(double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::max(a, b); }
const BinaryOp kBinary[] = {
    {"add", [](double a, double b) { return a + b; }},
    {"subtract", [](double a, double b) { return a - b; }},
    {"multiply", [](double a, double b) { return a * b; }},
    {"divide", [](double a, double b) { return a / b; }},
    {"maximum", nan_max},
    {"equal", [](double a, double b) { return double(a == b); }},
    {"less", [](double a, double b) { return double(a < b); }},
    {"minimum", nan_min},
    {"not_equal", [](double a, double b) { return double(a != b); }},
    {"greater", [](double a, double b) { return double(a > b); }},
    {"greater_equal", [](double a, double b) { return double(a >= b); }},
    {"less_equal", [](double a, double b) { return double(a <= b); }},
};
bool compares(const std::string& op) {
  return op.find("equal") != std::string::npos || op == "less" || op == "greater";
}

// Rounds as the dtype stores.
double rounded(uint32_t dtype, double value) {
  Array one(dtype, {1});
  one.set(0, value);
  return one.get(0);
}

void expect_binary(const BinaryOp& op, const Array& a, const Array& b, Array out) {
  const Outcome outcome = plugin().call({.op = op.name, .inputs = {a, b}, .out = out});
  ASSERT_EQ(outcome.status, OAR_OK) << op.name << " " << outcome.text;
  for (int64_t i = 0; i < out.count(); ++i) {
    const double x = broadcast_get(a, out.shape(), i), y = broadcast_get(b, out.shape(), i);
    const double want = rounded(out.dtype(), op.want(x, y));
    const double got = out.get(i);
    ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
        << op.name << " dtype " << a.dtype() << " element " << i << " of " << out.count() << ": " << x << ", " << y
        << " gave " << got << ", not " << want;
  }
}

struct Case {
  const char* what;
  Dims a_shape, a_strides, b_shape, b_strides, out_shape, out_strides;
};
const Case kCases[] = {
    {"scalar", {}, {}, {}, {}, {}, {}},
    {"empty", {0, 3}, {3, 1}, {3}, {1}, {0, 3}, {3, 1}},
    {"dense", {5, 7}, {7, 1}, {5, 7}, {7, 1}, {5, 7}, {7, 1}},
    {"a scalar operand", {3, 5, 7}, {35, 7, 1}, {}, {}, {3, 5, 7}, {35, 7, 1}},
    {"bias", {9, 10}, {10, 1}, {10}, {1}, {9, 10}, {10, 1}},
    {"long bias", {4, 1000}, {1000, 1}, {1000}, {1}, {4, 1000}, {1000, 1}},
    {"column", {9, 10}, {10, 1}, {9, 1}, {1, 1}, {9, 10}, {10, 1}},
    {"outer", {600, 1}, {1, 1}, {1, 3}, {3, 1}, {600, 3}, {3, 1}},
    {"transposed", {20, 30}, {1, 20}, {20, 30}, {30, 1}, {20, 30}, {30, 1}},
    {"large transposed", {300, 700}, {1, 300}, {700}, {1}, {300, 700}, {700, 1}},
    {"every second", {4, 50}, {200, 2}, {4, 50}, {50, 1}, {4, 50}, {50, 1}},
    {"expanded by stride 0", {4, 5, 6}, {0, 6, 1}, {4, 5, 6}, {30, 0, 1}, {4, 5, 6}, {30, 6, 1}},
    {"padded rows", {6, 600}, {640, 1}, {600}, {1}, {6, 600}, {600, 1}},
    {"padded output", {6, 600}, {600, 1}, {600}, {1}, {6, 600}, {640, 1}},
    {"transposed output", {6, 60}, {60, 1}, {6, 60}, {60, 1}, {6, 60}, {1, 6}},
    {"five dimensions",
     {2, 3, 4, 5, 6},
     {360, 120, 30, 6, 1},
     {3, 1, 5, 1},
     {5, 5, 1, 1},
     {2, 3, 4, 5, 6},
     {1, 2, 6, 24, 120}},
    {"parallel", {40, 1001}, {1001, 1}, {1001}, {1}, {40, 1001}, {1001, 1}},
    {"parallel dense", {40040}, {1}, {40040}, {1}, {40040}, {1}},
};

TEST(SimdElement, BinaryOfAllShapesAndStrides) {
  for (const BinaryOp& op : kBinary)
    for (uint32_t dtype : kFloats)
      for (const Case& c : kCases) {
        // The later ops share their loops with the earlier ones: no large shapes again.
        if (&op - kBinary > 6 && oar_kit_count(static_cast<uint32_t>(c.out_shape.size()), c.out_shape.data()) > 10000)
          continue;
        SCOPED_TRACE(c.what);
        // Few distinct values, so that equal is sometimes true, and quotients that bf16 through f32 rounds once.
        auto value = [](int64_t i) { return static_cast<double>((i * 37 + 11) % 13 - 6) / 2; };
        auto divisor = [](int64_t i) { return std::ldexp(i % 2 == 0 ? 1.0 : -1.0, static_cast<int>(i % 3)); };
        Array a = Array(dtype, c.a_shape, c.a_strides), b = Array(dtype, c.b_shape, c.b_strides);
        a.fill(value);
        if (std::string(op.name) == "divide") b.fill(divisor);
        else b.fill([&](int64_t i) { return value(i * 5 + 3); });
        expect_binary(op, a, b,
                      Array(compares(op.name) ? uint32_t{OAR_DTYPE_BOOL} : dtype, c.out_shape, c.out_strides));
        if (HasFatalFailure()) return;
      }
}

TEST(SimdElement, IntegersWrap) {
  for (uint32_t dtype : {OAR_DTYPE_I8, OAR_DTYPE_I16, OAR_DTYPE_I32, OAR_DTYPE_I64, OAR_DTYPE_U8, OAR_DTYPE_U16,
                         OAR_DTYPE_U32, OAR_DTYPE_U64}) {
    for (int64_t n : {1, 7, 64, 1000}) {
      Array a(dtype, {n}), b(dtype, {n});
      for (int64_t i = 0; i < n; ++i) {  // large bit patterns of either sign
        oar_kit_store_int(a.data(), dtype, i, 0x9E3779B97F4A7C15u * static_cast<uint64_t>(i + 1));
        oar_kit_store_int(b.data(), dtype, i, 0xBF58476D1CE4E5B9u * static_cast<uint64_t>(i + 3));
      }
      const char* names[] = {"add", "subtract", "multiply", "maximum"};
      for (int k = 0; k < 4; ++k) {
        Array out(dtype, {n});
        ASSERT_EQ(plugin().call({.op = names[k], .inputs = {a, b}, .out = out}).status, OAR_OK);
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t x = static_cast<uint64_t>(a.get_int(i)), y = static_cast<uint64_t>(b.get_int(i));
          const bool has_sign = oar_kit_in(OAR_KIT_SIGNED, dtype);
          const uint64_t most = has_sign ? static_cast<uint64_t>(std::max(a.get_int(i), b.get_int(i))) : std::max(x, y);
          Array want(dtype, {1});
          oar_kit_store_int(want.data(), dtype, 0, k == 0 ? x + y : k == 1 ? x - y : k == 2 ? x * y : most);
          ASSERT_EQ(out.get_int(i), want.get_int(0)) << names[k] << " dtype " << dtype << " element " << i;
        }
      }
    }
  }
}

TEST(SimdElement, MaximumPropagatesNaNAtEveryPlace) {
  for (uint32_t dtype : kFloats)
    for (int64_t n = 1; n <= 33; ++n)
      for (int64_t place = 0; place < n; ++place)
        for (int side = 0; side < 2; ++side) {
          Array a = Array(dtype, {n}).fill([](int64_t i) { return double(i); });
          Array b = Array(dtype, {n}).fill([](int64_t i) { return double(30 - i); });
          (side == 0 ? a : b).set(place, kNaN);
          expect_binary(kBinary[4], a, b, Array(dtype, {n}));
          expect_binary(kBinary[7], a, b, Array(dtype, {n}));
          if (HasFatalFailure()) return;
        }
}

TEST(SimdElement, WritesOverAnInput) {
  for (int64_t n : {1, 5, 16, 33, 100, 50000}) {
    const Array b = Array(OAR_DTYPE_F32, {n}).random(2);
    Array a = Array(OAR_DTYPE_F32, {n}).random(3);
    std::vector<float> before(static_cast<float*>(a.data()), static_cast<float*>(a.data()) + n);
    ASSERT_EQ(plugin().call({.op = "subtract", .inputs = {a, b}, .out = a}).status, OAR_OK);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(a.get(i), before[i] - static_cast<float>(b.get(i)));
  }
}

TEST(SimdElement, ShapesThatDoNotBroadcastFail) {
  const Array a = Array(OAR_DTYPE_F32, {4}).random(1), b = Array(OAR_DTYPE_F32, {3}).random(1);
  const Outcome outcome = plugin().call({.op = "add", .inputs = {a, b}, .out = Array(OAR_DTYPE_F32, {4})});
  EXPECT_EQ(outcome.status, OAR_INVALID_ARGUMENT);
  EXPECT_NE(outcome.text, "");
}

struct UnaryOp {
  const char* name;
  double (*want)(double);
  double low, high, ulps;
};
const UnaryOp kUnary[] = {
    {"exp", [](double x) { return std::exp(x); }, -104, 89, 2},
    {"exp", [](double x) { return std::exp(x); }, -1, 1, 2},
    {"log", [](double x) { return std::log(x); }, 0, 4, 4},
    {"log", [](double x) { return std::log(x); }, 0, 3.4e38, 4},
    {"log", [](double x) { return std::log(x); }, 0, 1e-38, 4},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 1e6, 0.5},
    {"tanh", [](double x) { return std::tanh(x); }, -1, 1, 4},
    {"tanh", [](double x) { return std::tanh(x); }, -20, 20, 4},
    {"tanh", [](double x) { return std::tanh(x); }, -1e-4, 1e-4, 4},
    {"erf", [](double x) { return std::erf(x); }, -1, 1, 4},
    {"erf", [](double x) { return std::erf(x); }, -5, 5, 4},
    {"erf", [](double x) { return std::erf(x); }, -1e-30, 1e-30, 4},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30, 4},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }, -30, 30, 4},
    {"sin", [](double x) { return std::sin(x); }, -3, 3, 4},
    {"sin", [](double x) { return std::sin(x); }, -100000, 100000, 4},
    {"cos", [](double x) { return std::cos(x); }, -1.5, 1.5, 4},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0, 9, 1.5},
    {"reciprocal", [](double x) { return 1 / x; }, -9, 9, 0.5},
    {"square", [](double x) { return x * x; }, -9, 9, 0.5},
    {"abs", [](double x) { return std::fabs(x); }, -9, 9, 0},
    {"negative", [](double x) { return -x; }, -9, 9, 0},
    {"relu", [](double x) { return x < 0 ? 0 : x; }, -9, 9, 0},
};

TEST(SimdElement, UnaryIsAccurate) {
  for (const UnaryOp& op : kUnary) {
    Array x = Array(OAR_DTYPE_F32, {100003}).random(7, op.low, op.high);
    Array out(OAR_DTYPE_F32, {100003});
    ASSERT_EQ(plugin().call({.op = op.name, .inputs = {x}, .out = out}).status, OAR_OK);
    double worst = 0, at = 0;
    for (int64_t i = 0; i < x.count(); ++i) {
      const double ulps = ulps_f32(static_cast<float>(out.get(i)), op.want(x.get(i)));
      if (ulps > worst) worst = ulps, at = x.get(i);
    }
    EXPECT_LE(worst, op.ulps) << op.name << " of " << at;
    RecordProperty(std::string(op.name) + "_ulps", std::to_string(worst));
    std::printf("%-8s [%g, %g]: %.2f ulp at %.9g\n", op.name, op.low, op.high, worst, at);
  }
}

TEST(SimdElement, GeluOfBothKinds) {
  constexpr double kScale = 0.7978845608028654;  // sqrt(2 / pi)
  for (const std::string kind : {"none", "tanh"}) {
    const Array x = Array(OAR_DTYPE_F32, {10007}).random(7, -9, 9), out(OAR_DTYPE_F32, {10007});
    oar_attr_t attr = {OAR_ATTR_STRING, 1, kind.size(), {}};
    attr.value.str = kind.data();
    ASSERT_EQ(plugin().call({.op = "gelu", .inputs = {x}, .out = out, .attrs = {attr}}).status, OAR_OK);
    for (int64_t i = 0; i < x.count(); ++i) {
      const double v = x.get(i);
      const double gate =
          kind == "tanh" ? std::tanh(kScale * (v + 0.044715 * v * v * v)) : std::erf(v * std::sqrt(0.5));
      ASSERT_NEAR(out.get(i), 0.5 * v * (1 + gate), 4e-7 * std::abs(v)) << v;
    }
    const Outcome outcome = plugin().call({.op = "gelu",
                                           .inputs = {Array(OAR_DTYPE_F64, {3}).random(1)},
                                           .out = Array(OAR_DTYPE_F64, {3}),
                                           .attrs = {attr}});
    EXPECT_EQ(outcome.status, kind == "tanh" ? OAR_OK : OAR_REFUSED);
  }
}

TEST(SimdElement, PowersOfOneExponentAndOfMany) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64})
    for (double exponent : {2.0, 3.0, -1.0, 0.5, 0.0, -2.5}) {
      const Array x = Array(dtype, {9, 100}).random(1, 0.1, 3), out(dtype, {9, 100});
      const Array one = Array(dtype, {}).fill([&](int64_t) { return exponent; });
      const Array many = Array(dtype, {100}).fill([&](int64_t i) { return exponent + static_cast<double>(i % 2); });
      for (const Array& by : {one, many}) {
        ASSERT_EQ(plugin().call({.op = "power", .inputs = {x, by}, .out = out}).status, OAR_OK);
        for (int64_t i = 0; i < x.count(); ++i) {
          const double want = std::pow(x.get(i), broadcast_get(by, out.shape(), i));
          ASSERT_NEAR(out.get(i), want, (dtype == OAR_DTYPE_F32 ? 3e-7 : 1e-15) * want);
        }
      }
    }
}

TEST(SimdElement, ClipsByWhatLimitsThereAre) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16, OAR_DTYPE_I16})
    for (int given = 0; given < 4; ++given) {
      const Array x = Array(dtype, {50, 20}).fill([](int64_t i) { return static_cast<double>(i % 23 - 11); });
      const Array low = Array(dtype, {20}).fill([](int64_t i) { return static_cast<double>(i % 5 - 4); });
      const Array high = Array(dtype, {50, 1}).fill([](int64_t i) { return static_cast<double>(i % 7 - 1); });
      Invocation call = {.op = "clip", .inputs = {x, low, high}, .out = Array(dtype, {50, 20})};
      if (!(given & 1)) call.absent.insert(1);
      if (!(given & 2)) call.absent.insert(2);
      ASSERT_EQ(plugin().call(call).status, OAR_OK);
      for (int64_t i = 0; i < x.count(); ++i) {
        double want = x.get(i);
        if (given & 1) want = std::max(want, low.get(i % 20));
        if (given & 2) want = std::min(want, high.get(i / 20));
        ASSERT_EQ(call.out.get(i), want) << given << " element " << i;
      }
    }
}

TEST(SimdElement, LogicOfBools) {
  const Array a = Array(OAR_DTYPE_BOOL, {2, 1}).fill([](int64_t i) { return static_cast<double>(i); });
  const Array b = Array(OAR_DTYPE_BOOL, {2}).fill([](int64_t i) { return static_cast<double>(i); });
  const struct {
    const char* name;
    int want;  // bit 2 a + b
  } ops[] = {{"logical_and", 8}, {"logical_or", 14}, {"logical_xor", 6}};
  for (const auto& op : ops) {
    const Array out(OAR_DTYPE_BOOL, {2, 2});
    ASSERT_EQ(plugin().call({.op = op.name, .inputs = {a, b}, .out = out}).status, OAR_OK);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out.get_int(i), op.want >> i & 1) << op.name << i;
  }
  const Array out(OAR_DTYPE_BOOL, {2});
  ASSERT_EQ(plugin().call({.op = "logical_not", .inputs = {b}, .out = out}).status, OAR_OK);
  EXPECT_EQ(out.get_int(0), 1);
  EXPECT_EQ(out.get_int(1), 0);
}

TEST(SimdElement, ChannelsInnermostStayInOrder) {
  const Array x = Array(OAR_DTYPE_F32, {3, 5, 7, 20}).random(1).permuted({0, 3, 1, 2});
  const Array bias = Array(OAR_DTYPE_F32, {20, 1, 1}).random(2);
  const Array out = Array(OAR_DTYPE_F32, {3, 5, 7, 20}).permuted({0, 3, 1, 2});
  ASSERT_EQ(plugin().call({.op = "add", .inputs = {x, bias}, .out = out}).status, OAR_OK);
  for (int64_t i = 0; i < out.count(); ++i)
    ASSERT_EQ(out.get(i), static_cast<float>(x.get(i) + bias.get(i / 35 % 20))) << i;
}

TEST(SimdElement, AccumulatesInPlace) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16, OAR_DTYPE_I32}) {
    const Array target = Array(dtype, {300, 200}).fill([](int64_t i) { return static_cast<double>(i % 50); });
    const Array value = Array(dtype, {300, 200}, {1, 300}).fill([](int64_t i) { return static_cast<double>(i % 7); });
    ASSERT_EQ(plugin().call({.op = "accumulate", .inputs = {target, value}, .out = target, .has_output = false}).status,
              OAR_OK);
    for (int64_t i = 0; i < target.count(); ++i) ASSERT_EQ(target.get(i), static_cast<double>(i % 50 + i % 7)) << i;
  }
}

TEST(SimdElement, UnaryAtTheEdges) {
  const double denormal = 1e-42;
  const double inputs[] = {0.0,     -0.0,    kInf, -kInf, kNaN, denormal, -denormal,  3.4e38, -3.4e38,
                           88.7228, 88.7229, 89,   104,   200,  -87.4,    -100,       -103.9, -104.5,
                           -200,    1,       -1,   1e-30, 10,   -10,      1.17549e-38};
  for (const char* name : {"exp", "log", "sqrt", "tanh", "erf", "negative", "relu"})
    for (int64_t pad : {0, 1, 17})  // so that each input meets whole vectors and tails
      for (double value : inputs) {
        const UnaryOp* op = kUnary;
        while (std::string(op->name) != name) ++op;
        Array x = Array(OAR_DTYPE_F32, {pad + 1}).fill([](int64_t) { return 1.0; });
        x.set(pad, value);
        Array out(OAR_DTYPE_F32, {pad + 1});
        ASSERT_EQ(plugin().call({.op = name, .inputs = {x}, .out = out}).status, OAR_OK);
        const double want = op->want(x.get(pad));
        EXPECT_LE(ulps_f32(static_cast<float>(out.get(pad)), want), 4)
            << name << " of " << value << " gave " << out.get(pad) << ", not " << want;
        if (want == 0 && std::string(name) != "relu") {
          EXPECT_EQ(std::signbit(out.get(pad)), std::signbit(want)) << name << " of " << value;
        }
      }
}

TEST(SimdElement, UnaryInDoubleAndHalf) {
  for (const char* name : {"exp", "log", "sqrt", "tanh", "negative", "relu"}) {
    const UnaryOp* op = kUnary;
    while (std::string(op->name) != name) ++op;
    for (uint32_t dtype : {OAR_DTYPE_F64, OAR_DTYPE_F16, OAR_DTYPE_BF16}) {
      const double epsilon = dtype == OAR_DTYPE_F64 ? 0x1p-52 : dtype == OAR_DTYPE_F16 ? 0x1p-10 : 0x1p-7;
      Array x = Array(dtype, {37, 29}).random(11, 0.1, 8).permuted({1, 0});
      Array out(dtype, {29, 37});
      ASSERT_EQ(plugin().call({.op = name, .inputs = {x}, .out = out}).status, OAR_OK);
      for (int64_t i = 0; i < x.count(); ++i) {
        const double want = op->want(x.get(i));
        ASSERT_NEAR(out.get(i), want, 4 * epsilon * std::abs(want)) << name << " of " << x.get(i) << " dtype " << dtype;
      }
    }
  }
}

TEST(SimdElement, WhereSelectsBits) {
  for (uint32_t dtype : {OAR_DTYPE_BOOL, OAR_DTYPE_I16, OAR_DTYPE_F16, OAR_DTYPE_F32, OAR_DTYPE_I64}) {
    for (const Dims& shape : {Dims{31}, Dims{7, 9}, Dims{300, 400}}) {
      Array condition = Array(OAR_DTYPE_BOOL, shape).fill([](int64_t i) { return double(i % 3 == 0); });
      Array a = Array(dtype, shape).fill([](int64_t i) { return double(i % 2); });
      Array b = Array(dtype, {shape.back()}).fill([](int64_t i) { return double(i % 5 == 0); });
      Array out(dtype, shape);
      ASSERT_EQ(plugin().call({.op = "where", .inputs = {condition, a, b}, .out = out}).status, OAR_OK);
      for (int64_t i = 0; i < out.count(); ++i)
        ASSERT_EQ(out.get(i), i % 3 == 0 ? a.get(i) : b.get(i % shape.back())) << i;
    }
  }
  Array nan = Array(OAR_DTYPE_F16, {1, 3});  // a signalling NaN keeps its bits
  for (int i = 0; i < 3; ++i) static_cast<uint16_t*>(nan.data())[i] = 0x7D01;
  Array out(OAR_DTYPE_F16, {2, 3});
  Array yes = Array(OAR_DTYPE_BOOL, {2, 1}).fill([](int64_t) { return 1.0; });
  ASSERT_EQ(plugin().call({.op = "where", .inputs = {yes, nan, nan}, .out = out}).status, OAR_OK);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(static_cast<uint16_t*>(out.data())[i], 0x7D01);
}

TEST(SimdElement, CastFollowsTheRules) {
  const double values[] = {0,    1,     -1,    0.5,  1.5,  2.5,   -2.5, 127.9,      -129,      255.4,
                           256,  65504, 65520, 1e6,  -1e6, 3e9,   -3e9, 1e10,       9.3e18,    1e19,
                           2e19, -2e19, 1e-8,  1e39, kInf, -kInf, kNaN, 1.00390625, 1.01171875};
  const int64_t n = std::size(values) + 40;
  for (uint32_t from = OAR_DTYPE_BOOL; from <= OAR_DTYPE_F64; ++from)
    for (uint32_t to = OAR_DTYPE_BOOL; to <= OAR_DTYPE_F64; ++to) {
      Array x = Array(from, {n}).fill([&](int64_t i) { return values[i % std::size(values)]; });
      Array out(to, {n});
      ASSERT_EQ(plugin().call({.op = "cast", .inputs = {x}, .out = out}).status, OAR_OK) << from << " to " << to;
      Array want(to, {n});
      for (int64_t i = 0; i < n; ++i) {
        oar_kit_convert(want.data(), to, i, x.data(), from, i);
        const double a = out.get(i), b = want.get(i);
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
            << from << " to " << to << ": " << x.get(i) << " gave " << a << ", not " << b;
      }
    }
  // Published points of the formats: 1.00390625 lies between two bf16 and goes to the even one, 65520 overflows f16.
  Array x = Array(OAR_DTYPE_F32, {4}).fill([](int64_t i) {
    return i == 0 ? 1.00390625 : i == 1 ? 1.01171875 : i == 2 ? 65520 : 65519;
  });
  Array bf16(OAR_DTYPE_BF16, {4}), f16(OAR_DTYPE_F16, {4}), i32(OAR_DTYPE_I32, {4});
  ASSERT_EQ(plugin().call({.op = "cast", .inputs = {x}, .out = bf16}).status, OAR_OK);
  ASSERT_EQ(plugin().call({.op = "cast", .inputs = {x}, .out = f16}).status, OAR_OK);
  EXPECT_EQ(bf16.get(0), 1.0);
  EXPECT_EQ(bf16.get(1), 1.015625);
  EXPECT_EQ(f16.get(2), kInf);
  EXPECT_EQ(f16.get(3), 65504);
}

TEST(SimdElement, CopyOfAnyStrides) {
  for (uint32_t dtype : {OAR_DTYPE_BOOL, OAR_DTYPE_BF16, OAR_DTYPE_F32, OAR_DTYPE_F64}) {
    const Array base = Array(dtype, {7, 45, 67}).fill([](int64_t i) { return double(i % 2 + i % 3 * (i % 5)); });
    for (const std::vector<int>& axes : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}}) {
      const Array x = base.permuted(axes);
      Array out(dtype, x.shape());
      ASSERT_EQ(plugin().call({.op = "copy", .inputs = {x}, .out = out}).status, OAR_OK);
      for (int64_t i = 0; i < x.count(); ++i) ASSERT_EQ(out.get(i), x.get(i)) << "dtype " << dtype << " element " << i;
      Array back(dtype, x.shape(), x.strides());  // and with the strides on the other side
      ASSERT_EQ(plugin().call({.op = "copy", .inputs = {out}, .out = back}).status, OAR_OK);
      for (int64_t i = 0; i < x.count(); ++i) ASSERT_EQ(back.get(i), x.get(i)) << "dtype " << dtype << " element " << i;
    }
  }
  const Array row(OAR_DTYPE_F32, {300, 5}, {0, 1});
  Array out(OAR_DTYPE_F32, {300, 5});
  ASSERT_EQ(plugin().call({.op = "copy", .inputs = {row}, .out = out}).status, OAR_OK);
  for (int64_t i = 0; i < 1500; ++i) ASSERT_EQ(static_cast<uint32_t*>(out.data())[i], 0xA5A5A5A5u);
}

TEST(SimdElement, FullConvertsItsValue) {
  const Dims shape = {3, 50, 401};
  for (uint32_t dtype : {OAR_DTYPE_BOOL, OAR_DTYPE_I8, OAR_DTYPE_I64, OAR_DTYPE_F16, OAR_DTYPE_F32, OAR_DTYPE_F64}) {
    Array out(dtype, shape);
    ASSERT_EQ(
        plugin()
            .call(
                {.op = "full", .inputs = {}, .out = out, .attrs = {attr_ints(shape), attr_float(2.5), attr_int(dtype)}})
            .status,
        OAR_OK);
    const double want = dtype == OAR_DTYPE_BOOL ? 1 : oar_kit_in(OAR_KIT_INTEGERS, dtype) ? 2 : 2.5;
    for (int64_t i = 0; i < out.count(); ++i) ASSERT_EQ(out.get(i), want) << dtype;
  }
}

}  // namespace
}  // namespace oarlock::test
