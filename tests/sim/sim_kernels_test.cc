// The sim device's kernels against values worked out by hand or published.
#include <cmath>
#include <limits>

#include "sim/sim_host.h"

namespace oarlock::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using F = std::vector<float>;
using I = std::vector<int32_t>;
using B = std::vector<bool>;

TEST(SimKernels, BroadcastRightAligned) {
  Sim sim;
  Array column = sim.upload<float>({2, 1}, {10, 20}), row = sim.upload<float>({3}, {1, 2, 3});
  Array scalar = sim.upload<float>({}, {100});
  EXPECT_EQ(sim.compute<float>("add", {column, row}, {2, 3}), (F{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(sim.compute<float>("subtract", {scalar, row}, {3}), (F{99, 98, 97}));
  EXPECT_EQ(sim.compute<float>("divide", {row, scalar}, {1, 3}), (F{0.01f, 0.02f, 0.03f}));
  EXPECT_EQ(sim.compute<float>("multiply", {scalar, scalar}, {}), (F{10000}));
  Array empty = sim.array(OAR_DTYPE_F32, {0, 3});
  EXPECT_EQ(sim.compute<float>("add", {empty, row}, {0, 3}), F{});
  Array out = sim.array(OAR_DTYPE_F32, {2, 3});
  EXPECT_EQ(sim.call("add", {column, sim.upload<float>({2}, {1, 2})}, out), OAR_REFUSED);
  EXPECT_EQ(sim.verdict.reason, uint32_t{OAR_REASON_SHAPE});
  EXPECT_EQ(sim.verdict.operand, 1);
}

TEST(SimKernels, IntegersWrap) {
  Sim sim;
  Array a = sim.upload<int8_t>({3}, {127, -128, 100}), b = sim.upload<int8_t>({3}, {1, -1, 3});
  EXPECT_EQ(sim.compute<int8_t>("add", {a, b}, {3}), (std::vector<int8_t>{-128, 127, 103}));
  EXPECT_EQ(sim.compute<int8_t>("multiply", {a, b}, {3}), (std::vector<int8_t>{127, -128, 44}));
  EXPECT_EQ(sim.compute<int8_t>("maximum", {a, b}, {3}), (std::vector<int8_t>{127, -1, 100}));
  Array u = sim.upload<uint64_t>({2}, {0, UINT64_MAX}), one = sim.upload<uint64_t>({1}, {1});
  EXPECT_EQ(sim.compute<uint64_t>("subtract", {u, one}, {2}), (std::vector<uint64_t>{UINT64_MAX, UINT64_MAX - 1}));
  EXPECT_EQ(sim.compute<bool>("less", {one, u}, {2}), (B{false, true}));
  Array s = sim.upload<int64_t>({2}, {-1, INT64_MIN}), zero = sim.upload<int64_t>({1}, {0});
  EXPECT_EQ(sim.compute<bool>("less", {s, zero}, {2}), (B{true, true}));
}

TEST(SimKernels, MaximumAndComparisonsKnowNan) {
  Sim sim;
  Array a = sim.upload<float>({4}, {1, kNan, 3, -kInf}), b = sim.upload<float>({4}, {2, 0, kNan, kInf});
  F out = sim.compute<float>("maximum", {a, b}, {4});
  EXPECT_EQ(out[0], 2);
  EXPECT_TRUE(std::isnan(out[1]) && std::isnan(out[2]));
  EXPECT_EQ(out[3], kInf);
  EXPECT_EQ(sim.compute<bool>("less", {a, b}, {4}), (B{true, false, false, true}));
  EXPECT_EQ(sim.compute<bool>("equal", {a, a}, {4}), (B{true, false, true, true}));
}

TEST(SimKernels, Functions) {
  Sim sim;
  Array x = sim.upload<double>({2}, {0.5, 2});
  // From tables: e^0.5, e^2, ln, square roots, tanh and erf to 15 places.
  const std::pair<const char*, std::vector<double>> cases[] = {{"exp", {1.648721270700128, 7.389056098930650}},
                                                               {"log", {-0.693147180559945, 0.693147180559945}},
                                                               {"sqrt", {0.707106781186548, 1.414213562373095}},
                                                               {"tanh", {0.462117157260010, 0.964027580075817}},
                                                               {"erf", {0.520499877813047, 0.995322265018953}}};
  for (const auto& [op, want] : cases) {
    std::vector<double> got = sim.compute<double>(op, {x}, {2});
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(got[i], want[i], 1e-14) << op;
  }
  Array edge = sim.upload<float>({3}, {0, -1, kInf});
  F logs = sim.compute<float>("log", {edge}, {3});
  EXPECT_TRUE(logs[0] == -kInf && std::isnan(logs[1]) && logs[2] == kInf);
}

TEST(SimKernels, HalfPrecision) {
  Sim sim;
  // 1 + 2^-11 is a tie in f16 and rounds to even, 1; 65520 is past the largest, 65504; 2^-24 is the smallest.
  Array x = sim.upload<float>({5}, {1.00048828125f, 65519, 65520, 5.9604645e-8f, kNan});
  Array half = sim.array(OAR_DTYPE_F16, {5}), brain = sim.array(OAR_DTYPE_BF16, {5});
  ASSERT_EQ(sim.call("cast", {x}, half, Attrs().dtype(OAR_DTYPE_F16)), OAR_OK);
  F back = sim.compute<float>("cast", {half}, {5}, Attrs().dtype(OAR_DTYPE_F32));
  EXPECT_EQ(F(back.begin(), back.begin() + 4), (F{1, 65504, kInf, 5.9604645e-8f}));
  EXPECT_TRUE(std::isnan(back[4]));
  // bf16 keeps 8 bits: 1 + 2^-8 is a tie to 1, 1 + 3 * 2^-8 a tie to 1 + 2^-6.
  Array y = sim.upload<float>({5}, {1.00390625f, 1.01171875f, -kInf, 3.3895314e38f, kNan});
  ASSERT_EQ(sim.call("cast", {y}, brain, Attrs().dtype(OAR_DTYPE_BF16)), OAR_OK);
  back = sim.compute<float>("cast", {brain}, {5}, Attrs().dtype(OAR_DTYPE_F32));
  EXPECT_EQ(F(back.begin(), back.begin() + 4), (F{1, 1.015625f, -kInf, 3.3895314e38f}));
  EXPECT_TRUE(std::isnan(back[4]));
  Array sum = sim.array(OAR_DTYPE_F16, {5});
  ASSERT_EQ(sim.call("add", {half, half}, sum), OAR_OK);
  EXPECT_EQ(sim.compute<float>("cast", {sum}, {5}, Attrs().dtype(OAR_DTYPE_F32))[0], 2);
}

TEST(SimKernels, CastSaturatesAndTruncates) {
  Sim sim;
  Array x = sim.upload<float>({7}, {2.9f, -2.9f, 300, -300, kNan, kInf, 0});
  EXPECT_EQ(sim.compute<int8_t>("cast", {x}, {7}, Attrs().dtype(OAR_DTYPE_I8)),
            (std::vector<int8_t>{2, -2, 127, -128, 0, 127, 0}));
  EXPECT_EQ(sim.compute<uint8_t>("cast", {x}, {7}, Attrs().dtype(OAR_DTYPE_U8)),
            (std::vector<uint8_t>{2, 0, 255, 0, 0, 255, 0}));
  EXPECT_EQ(sim.compute<int64_t>("cast", {x}, {7}, Attrs().dtype(OAR_DTYPE_I64))[5], INT64_MAX);
  EXPECT_EQ(sim.compute<uint64_t>("cast", {x}, {7}, Attrs().dtype(OAR_DTYPE_U64))[5], UINT64_MAX);
  EXPECT_EQ(sim.compute<bool>("cast", {x}, {7}, Attrs().dtype(OAR_DTYPE_BOOL)),
            (B{true, true, true, true, true, true, false}));
  Array i = sim.upload<int64_t>({3}, {16777217, -129, 4294967296});
  EXPECT_EQ(sim.compute<float>("cast", {i}, {3}, Attrs().dtype(OAR_DTYPE_F32)), (F{16777216, -129, 4294967296.0f}));
  EXPECT_EQ(sim.compute<int8_t>("cast", {i}, {3}, Attrs().dtype(OAR_DTYPE_I8)), (std::vector<int8_t>{1, 127, 0}));
}

TEST(SimKernels, WhereFullArange) {
  Sim sim;
  Array condition = sim.upload<bool>({2, 1}, {true, false});
  Array a = sim.upload<int32_t>({2}, {1, 2}), b = sim.upload<int32_t>({}, {9});
  EXPECT_EQ(sim.compute<int32_t>("where", {condition, a, b}, {2, 2}), (I{1, 2, 9, 9}));
  EXPECT_EQ(sim.compute<int32_t>("full", {}, {3}, Attrs().ints({3}).real(-1.5).dtype(OAR_DTYPE_I32)), (I{-1, -1, -1}));
  EXPECT_EQ(sim.compute<float>("full", {}, {}, Attrs().ints({}).real(0.25).dtype(OAR_DTYPE_F32)), F{0.25f});
  EXPECT_EQ(sim.compute<float>("arange", {}, {4}, Attrs().integer(4).dtype(OAR_DTYPE_F32)), (F{0, 1, 2, 3}));
  EXPECT_EQ(sim.compute<int64_t>("arange", {}, {0}, Attrs().integer(0).dtype(OAR_DTYPE_I64)), std::vector<int64_t>{});
}

TEST(SimKernels, CopyReadsAnyStridesAndNothingElseDoes) {
  Sim sim;
  Array x = sim.upload<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  Array transposed(x.data, OAR_DTYPE_I32, {3, 2}), repeated(x.data, OAR_DTYPE_I32, {2, 2});
  transposed.strides = {1, 3};
  repeated.strides = {3, 0};
  EXPECT_EQ(sim.compute<int32_t>("copy", {transposed}, {3, 2}), (I{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(sim.compute<int32_t>("copy", {repeated}, {2, 2}), (I{0, 0, 3, 3}));
  EXPECT_EQ(sim.call("add", {sim.upload<int32_t>({1}, {1}), transposed}, sim.array(OAR_DTYPE_I32, {3, 2})),
            OAR_REFUSED);
  EXPECT_EQ(sim.verdict.reason, uint32_t{OAR_REASON_LAYOUT});
  EXPECT_EQ(sim.verdict.operand, 1);
  EXPECT_GT(sim.verdict.text_size, 0u);
  Array beyond(x.data, OAR_DTYPE_I32, {2, 3});
  beyond.strides = {4, 1};
  EXPECT_EQ(sim.call("copy", {beyond}, sim.array(OAR_DTYPE_I32, {2, 3})), OAR_INVALID_ARGUMENT);
}

TEST(SimKernels, SumAndMax) {
  Sim sim;
  Array x = sim.upload<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(sim.compute<float>("sum", {x}, {3}, Attrs().ints({0}).boolean(false)), (F{5, 7, 9}));
  EXPECT_EQ(sim.compute<float>("sum", {x}, {2, 1}, Attrs().ints({1}).boolean(true)), (F{6, 15}));
  EXPECT_EQ(sim.compute<float>("sum", {x}, {}, Attrs().none(OAR_ATTR_INTS).boolean(false)), F{21});
  EXPECT_EQ(sim.compute<float>("sum", {x}, {2, 3}, Attrs().ints({}).boolean(false)), (F{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(sim.compute<float>("max", {x}, {2}, Attrs().ints({1}).boolean(false)), (F{3, 6}));
  Array nans = sim.upload<float>({2, 2}, {kNan, 1, -kInf, -kInf});
  F out = sim.compute<float>("max", {nans}, {2}, Attrs().ints({1}).boolean(false));
  EXPECT_TRUE(std::isnan(out[0]) && out[1] == -kInf);
  Array empty = sim.array(OAR_DTYPE_F32, {0, 2}), ints = sim.array(OAR_DTYPE_I8, {2, 0});
  EXPECT_EQ(sim.compute<float>("sum", {empty}, {2}, Attrs().ints({0}).boolean(false)), (F{0, 0}));
  EXPECT_EQ(sim.compute<float>("max", {empty}, {2}, Attrs().ints({0}).boolean(false)), (F{-kInf, -kInf}));
  EXPECT_EQ(sim.compute<int8_t>("max", {ints}, {2}, Attrs().ints({1}).boolean(false)),
            (std::vector<int8_t>{-128, -128}));
  Array small = sim.upload<uint8_t>({2}, {200, 100});
  EXPECT_EQ(sim.compute<uint8_t>("sum", {small}, {}, Attrs().ints({0}).boolean(false)), std::vector<uint8_t>{44});
  Array deep = sim.upload<int32_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(sim.compute<int32_t>("sum", {deep}, {2}, Attrs().ints({0, 2}).boolean(false)), (I{10, 18}));
  EXPECT_EQ(sim.compute<int32_t>("max", {deep}, {1, 2, 1}, Attrs().ints({0, 2}).boolean(true)), (I{5, 7}));
}

TEST(SimKernels, Matmul) {
  Sim sim;
  Array a = sim.upload<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b = sim.upload<float>({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(sim.compute<float>("matmul", {a, b}, {2, 2}), (F{58, 64, 139, 154}));
  Array batch = sim.upload<float>({2, 1, 1, 2}, {1, 2, 3, 4}), other = sim.upload<float>({3, 2, 1}, {1, 0, 0, 1, 1, 1});
  EXPECT_EQ(sim.compute<float>("matmul", {batch, other}, {2, 3, 1, 1}), (F{1, 2, 3, 3, 4, 7}));
  Array i = sim.upload<int8_t>({1, 2}, {100, 100}), j = sim.upload<int8_t>({2, 1}, {2, 1});
  EXPECT_EQ(sim.compute<int8_t>("matmul", {i, j}, {1, 1}), std::vector<int8_t>{44});
  Array none = sim.array(OAR_DTYPE_F32, {2, 0}), none_too = sim.array(OAR_DTYPE_F32, {0, 2});
  EXPECT_EQ(sim.compute<float>("matmul", {none, none_too}, {2, 2}), (F{0, 0, 0, 0}));
  EXPECT_EQ(sim.call("matmul", {a, a}, sim.array(OAR_DTYPE_F32, {2, 3})), OAR_REFUSED);
  EXPECT_EQ(sim.verdict.reason, uint32_t{OAR_REASON_SHAPE});
}

TEST(SimKernels, GatherAndScatterAdd) {
  Sim sim;
  Array x = sim.upload<float>({3, 2}, {1, 2, 3, 4, 5, 6}), index = sim.upload<int64_t>({2, 2}, {0, -1, 2, 1});
  EXPECT_EQ(sim.compute<float>("gather", {x, index}, {2, 2, 2}), (F{1, 2, 5, 6, 5, 6, 3, 4}));
  Array bytes = sim.upload<uint8_t>({1}, {2});
  EXPECT_EQ(sim.compute<float>("gather", {x, bytes}, {1, 2}), (F{5, 6}));
  Array same = sim.upload<int32_t>({3}, {1, -2, 0}), updates = sim.upload<float>({3, 2}, {10, 20, 30, 40, 50, 60});
  EXPECT_EQ(sim.compute<float>("scatter_add", {x, same, updates}, {3, 2}), (F{51, 62, 43, 64, 5, 6}));
  Array far = sim.upload<int32_t>({3}, {1, 3, 0}), out = sim.array(OAR_DTYPE_F32, {3, 2});
  ASSERT_EQ(sim.call("scatter_add", {x, far, updates}, out), OAR_OK);
  EXPECT_EQ(sim.sync(), OAR_INVALID_ARGUMENT);
  Array huge = sim.upload<uint64_t>({1}, {UINT64_MAX});
  ASSERT_EQ(sim.call("gather", {x, huge}, sim.array(OAR_DTYPE_F32, {1, 2})), OAR_OK);
  EXPECT_EQ(sim.sync(), OAR_INVALID_ARGUMENT);
  Array no_rows = sim.array(OAR_DTYPE_F32, {0, 2}), no_index = sim.array(OAR_DTYPE_I32, {0});
  EXPECT_EQ(sim.compute<float>("gather", {no_rows, no_index}, {0, 2}), F{});
}

TEST(SimKernels, ConcatAndPad) {
  Sim sim;
  Array a = sim.upload<int32_t>({2, 1}, {1, 2}), b = sim.upload<int32_t>({2, 2}, {3, 4, 5, 6});
  Array none = sim.array(OAR_DTYPE_I32, {2, 0});
  EXPECT_EQ(sim.compute<int32_t>("concat", {a, none, b}, {2, 3}, Attrs().integer(1)), (I{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(sim.compute<int32_t>("concat", {b, b}, {4, 2}, Attrs().integer(0)), (I{3, 4, 5, 6, 3, 4, 5, 6}));
  Array x = sim.upload<int32_t>({3}, {1, 2, 3});
  EXPECT_EQ(sim.compute<int32_t>("pad", {x}, {8}, Attrs().ints({1}).ints({2}).ints({1}).real(7)),
            (I{7, 1, 7, 2, 7, 3, 7, 7}));
  EXPECT_EQ(sim.compute<int32_t>("pad", {b}, {3, 3}, Attrs().ints({0, 1}).ints({0, 0}).ints({1, 0}).real(0)),
            (I{0, 3, 4, 0, 0, 0, 0, 5, 6}));
  EXPECT_EQ(sim.compute<int32_t>("pad", {b}, {3, 2}, Attrs().ints({0, 0}).ints({1, 0}).ints({}).real(-2)),
            (I{3, 4, 5, 6, -2, -2}));
  EXPECT_EQ(sim.compute<int32_t>("pad", {none}, {2, 2}, Attrs().ints({0, 1}).ints({0, 1}).ints({0}).real(8)),
            (I{8, 8, 8, 8}));
}

TEST(SimKernels, RandomUniformIsPhilox) {
  Sim sim;
  // The known answer of Random123 for Philox4x32-10 with counter and key 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  int64_t seed[2] = {0, 0};
  Array host(seed, OAR_DTYPE_I64, {2}), out = sim.array(OAR_DTYPE_F32, {6});
  ASSERT_EQ(sim.call("random_uniform", {host}, out, Attrs().ints({6}).dtype(OAR_DTYPE_F32)), OAR_OK);
  seed[0] = 77;  // read during launch
  F got = sim.download<float>(out);
  const uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got[i], static_cast<float>(words[i] >> 8) / 16777216.0f);
  EXPECT_NE(got[4], got[0]);
  seed[0] = 0;
  std::vector<double> wide = sim.compute<double>("random_uniform", {host}, {2}, Attrs().ints({2}).dtype(OAR_DTYPE_F64));
  EXPECT_EQ(wide[0], static_cast<double>(0xe169c58d6627e8d5u >> 11) / 9007199254740992.0);
  EXPECT_EQ(wide[1], static_cast<double>(0x9b00dbd8bc57ac4cu >> 11) / 9007199254740992.0);
  // And with all bits set: 408f276d 41c83b0e a20bc7c6 6d5451fd. The block number is not free there; the last element
  // of a block far out would be, so the key and the offset alone are checked against a stream of another seed.
  seed[0] = -1;
  F keyed = sim.compute<float>("random_uniform", {host}, {4}, Attrs().ints({4}).dtype(OAR_DTYPE_F32));
  seed[1] = 5;
  F shifted = sim.compute<float>("random_uniform", {host}, {4}, Attrs().ints({4}).dtype(OAR_DTYPE_F32));
  EXPECT_NE(keyed, shifted);
  for (float value : shifted) EXPECT_TRUE(value >= 0 && value < 1);
}

TEST(SimKernels, InPlaceOnlyWhereDeclared) {
  Sim sim;
  Array x = sim.upload<float>({2}, {1, 2}), y = sim.upload<float>({2}, {10, 20});
  EXPECT_EQ(sim.call("add", {x, y}, x), OAR_OK);
  EXPECT_EQ(sim.download<float>(x), (F{11, 22}));
  EXPECT_EQ(sim.call("add", {y, x}, x), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(sim.call("sum", {x}, x, Attrs().ints({}).boolean(false)), OAR_INVALID_ARGUMENT);
}

TEST(SimKernels, SixteenAxesAndNoMore) {
  Sim sim;
  Array x = sim.upload<float>(Dims(16, 1), {3}), out = sim.array(OAR_DTYPE_F32, Dims(16, 1));
  EXPECT_EQ(sim.compute<float>("sqrt", {x}, Dims(16, 1)), F{std::sqrt(3.0f)});
  Array more(x.data, OAR_DTYPE_F32, Dims(17, 1)), more_out(out.data, OAR_DTYPE_F32, Dims(17, 1));
  EXPECT_EQ(sim.call("sqrt", {more}, more_out), OAR_REFUSED);
  EXPECT_EQ(sim.verdict.reason, uint32_t{OAR_REASON_RANK});
}

}  // namespace
}  // namespace oarlock::test
