// Values of elementwise ops, from NumPy 2 and SciPy, or mpmath where those know none.
#include "core/op/attrs.h"
#include "tests/ops/expect.h"

namespace oarlock::test {
namespace {

struct Row {
  const char* op;
  Tensor (*f)(const Tensor&);
  Values x, want;
};
TEST(Math, FunctionsOfOneOperand) {
  const Row rows[] = {
      {"sign", sign, {-2.0, 0.0, 3.0}, {-1.0, 0.0, 1.0}},
      {"ceil", ceil, {-1.5, -0.5, 0.5, 2.5, 7.0}, {-1.0, -0.0, 1.0, 3.0, 7.0}},
      {"round", round, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994}, {-2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 0.0}},
      {"trunc", trunc, {-1.5, -0.5, 0.5, 2.5}, {-1.0, -0.0, 0.0, 2.0}},
      {"square", square, {-1.5, 3.0}, {2.25, 9.0}},
      {"reciprocal", reciprocal, {-2.0, 0.3, kInf}, {-0.5, 3.3333333333333335, 0.0}},
      {"rsqrt", rsqrt, {0.25, 3.0, kInf}, {2.0, 0.5773502691896258, 0.0}},
      {"expm1",
       expm1,
       {-40.0, -1.0, 1e-10, 0.5, 700.0},
       {-1.0, -0.6321205588285577, 1.00000000005e-10, 0.6487212707001282, 1.0142320547350045e+304}},
      {"log1p",
       log1p,
       {-1.0, -0.5, 1e-10, 3.0},
       {-kInf, -0.6931471805599453, 9.999999999500001e-11, 1.3862943611198906}},
      {"log2", log2, {0.0, 0.3, 1.0, 8.0, 1e+300}, {-kInf, -1.7369655941662063, 0.0, 3.0, 996.5784284662087}},
      {"log10", log10, {0.0, 0.3, 1.0, 1000.0, 1e-300}, {-kInf, -0.5228787452803376, 0.0, 3.0, -300.0}},
      {"exp2", exp2, {-1074.0, -0.5, 0.0, 10.0, 0.3}, {5e-324, 0.7071067811865476, 1.0, 1024.0, 1.2311444133449163}},
      {"sin",
       sin,
       {-1000.0, -1.0, 1e-08, 0.5, 3.141592653589793, 1000000000000000.0},
       {-0.8268795405320025, -0.8414709848078965, 1e-08, 0.479425538604203, 1.2246467991473532e-16,
        0.8582727931702359}},
      {"cos",
       cos,
       {-1000.0, -1.0, 1e-08, 1.5707963267948966, 1000000000000000.0},
       {0.5623790762907029, 0.5403023058681398, 1.0, 6.123233995736766e-17, -0.5131937377869703}},
      {"tan", tan, {-1.0, 0.3, 1.5707963267948966}, {-1.5574077246549023, 0.3093362496096232, 1.633123935319537e+16}},
      {"asin",
       asin,
       {-1.0, -0.3, 1e-09, 0.999999, 1.0},
       {-1.5707963267948966, -0.30469265401539747, 1e-09, 1.5693821131146521, 1.5707963267948966}},
      {"acos",
       acos,
       {-1.0, -0.3, 1e-09, 0.999999, 1.0},
       {3.141592653589793, 1.8754889808102941, 1.5707963257948967, 0.0014142136802445852, 0.0}},
      {"atan",
       atan,
       {-1e+300, -0.3, 1.0, kInf},
       {-1.5707963267948966, -0.2914567944778671, 0.7853981633974483, 1.5707963267948966}},
      {"sinh",
       sinh,
       {-710.0, -1.0, 1e-09, 0.5, 30.0},
       {-1.1169973830808555e+308, -1.1752011936438014, 1e-09, 0.5210953054937474, 5343237290762.231}},
      {"cosh",
       cosh,
       {-710.0, -1.0, 1e-09, 0.5, 30.0},
       {1.1169973830808555e+308, 1.5430806348152437, 1.0, 1.1276259652063807, 5343237290762.231}},
      {"asinh",
       asinh,
       {-1e+300, -1.0, 1e-09, 0.5, 10000000000.0},
       {-691.4686750787737, -0.881373587019543, 1e-09, 0.48121182505960347, 23.7189981105004}},
      {"acosh",
       acosh,
       {1.0, 1.0000001, 2.0, 1e+300},
       {0.0, 0.0004472135919037347, 1.3169578969248168, 691.4686750787737}},
      {"atanh",
       atanh,
       {-1.0, -0.999999, 1e-09, 0.5, 1.0},
       {-kInf, -7.254328619247669, 1e-09, 0.5493061443340549, kInf}},
      {"erf_inverse",
       erf_inverse,
       {-1.0, -0.999999999, -0.3, 1e-12, 0.5, 0.99, 1.0, 1 - 0x1p-37, 1 - 0x1p-44, 1 - 0x1p-53},
       {-kInf, -4.320005388105362, -0.2724627147267544, 8.86226925452758e-13, 0.4769362762044699, 1.8213863677184496,
        kInf, 4.845185938111059, 5.314017270169747, 5.8635847487551676}},
      {"lgamma",
       lgamma,
       {-2.0, -1.5, 0.0, 0.5, 1.0, 2.0, 3.7, 150.0},
       {kInf, 0.860047015376481, kInf, 0.5723649429247, 0.0, 0.0, 1.428072326665388, 600.0094705553274}},
      {"digamma",
       digamma,
       {-1.5, -0.25, 1e-06, 0.5, 1.0, 3.7, 1000000.0, -1e-30, -1e-05, -0.9999, -3.0001},
       {0.7031566406452434, 2.9141391202135245, -1000000.57721402, -1.9635100260214235, -0.5772156649015329,
        1.1671535393615113, 13.81551005796419, 9.999999999999999e+29, 99999.42276788563, -9999.576951174615,
        10001.255817042409}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.op);
    expect_values(row.f(f64(row.x)), row.want, 1e-14);
    Values nan = numbers(row.f(f64({kNan})));
    EXPECT_TRUE(std::isnan(nan[0]));
    EXPECT_EQ(text(row.f(full({0, 3}, 1))), "[0, 3]");
  }
}

// The series behind polygamma has to be long enough for its order.
TEST(Math, PolygammaHoldsItsDigitsForHighOrders) {
  expect_values(polygamma(f64({0.5, 3.7, 9.5, 20.0}), 4),
                {-771.4742498266672, -0.05303861110795396, -0.0009052254233853626, -4.140597772639667e-05}, 4e-15);
  expect_values(polygamma(f64({0.5, 3.7, 9.5, 20.0}), 7),
                {1290440.218185598, 0.17110607134145694, 0.00014633255734266892, 6.674755818176071e-07}, 4e-15);
}

// Every op that is made of others says the same by that way.
TEST(Math, DecompositionsAgreeWithTheReferences) {
  Tensor x = f64({-0.9, -0.5, -0.001, 0.0, 1e-9, 0.3, 0.7, 0.999, 1.0, kNan});
  Tensor more = f64({1.0, 1.0000001, 1.5, 20.5, 1e8, 1e300, kInf, kNan});
  auto agree = [](const char* op, const Tensor& t) {
    SCOPED_TRACE(op);
    std::vector<Tensor> in{t};
    expect_values(call_op(op, in, {}, {.route = Route::decomposition})[0],
                  numbers(call_op(op, in, {}, {.route = Route::reference})[0]), 4e-15);
  };
  for (const char* op : {"ceil", "trunc", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "atanh", "exp2"})
    agree(op, x);
  for (const char* op : {"log2", "log10", "acosh", "asinh", "ceil", "trunc", "atan"}) agree(op, more);
  agree("sinh", f64({-710.0, 710.0, 21, 0.1, kInf, -kInf}));
  agree("cosh", f64({-710.0, 710.0, 21, 0.1, kInf, -kInf}));
}

TEST(Math, Polygamma) {
  Tensor x = f64({-20.5, -3.75, -0.5, 0.1, 1, 4.5, 100});
  expect_values(polygamma(x, 1),
                {9.82199434464988, 19.504980060599575, 8.934802200544679, 101.43329915079275, 1.6449340668482264,
                 0.24872510303901038, 0.010050166663333571},
                1e-13);
  expect_values(polygamma(x, 2),
                {-0.002266289919637797, -124.07972713378925, -0.82879664423432, -2001.8614573783436,
                 -2.4041138063191885, -0.061556821321027695, -0.00010100499983335},
                1e-12);
  expect_values(polygamma(x, 3),
                {194.81796635297297, 1558.5200920240343, 193.40909103400244, 60004.51287679026, 6.493939402266829,
                 0.030322508542366587, 2.030199990001333e-06},
                1e-13);
  expect_values(polygamma(f64({0, -3, kInf}), 1), {kInf, kInf, 0});
}

TEST(Math, RoundingKeepsIntegers) {
  for (auto f : {floor, ceil, round, trunc}) expect_values(f(i32({-3, 0, 7})), {-3, 0, 7});
  expect_values(abs(i32({INT32_MIN, -5, 5})), {double(INT32_MIN), 5, 5});
  expect_values(abs(Tensor::of<uint8_t>({200}, {1})), {200});
  expect_values(sign(Tensor::of<uint8_t>({200, 0}, {2})), {1, 0});
}

TEST(Math, Power) {
  expect_values(power(f64({2, -2, 0, 0, -8}), f64({0.5, 3, 0, -1, 1.0 / 3})), {std::sqrt(2.0), -8, 1, kInf, kNan});
  expect_values(power(i32({3, -2, 2, 7, 0, 10}), i32({4, 3, 31, 0, 0, 10})),
                {81, -8, double(INT32_MIN), 1, 1, 1410065408});
  expect_values(power(i32({2, 1, -1, -1, 0}), i32({-1, -5, -3, -4, -1})), {0, 1, -1, 1, 0});
  Tensor a = f64({0, 0, 2, -3}).set_requires_grad(), b = f64({0, 2, 0, 2}).set_requires_grad();
  sum(power(a, b)).backward();
  expect_values(a.grad(), {0, 0, 0, -6});
  expect_values(b.grad(), {0, 0, std::log(2.0), kNan});
}

TEST(Math, DivisionRoundsDown) {
  Tensor a = f64({7, -7, 7, -7, 7.5, 1, -1, kInf, 0}), b = f64({3, 3, -3, -3, -2, kInf, kInf, 2, -5});
  expect_values(floor_divide(a, b), {2, -3, -3, 2, -4, 0, -1, kNan, -0.0});
  expect_values(remainder(a, b), {1, 2, -2, -1, -0.5, 1, kInf, kNan, -0.0});
  expect_values(fmod(a, b), {1, -1, 1, -1, 1.5, 1, -1, kNan, 0});
  expect_values(floor_divide(f64({1, -1, 0}), f64({0, 0, 0})), {kInf, -kInf, kNan});
  expect_values(fmod(f64({-1e-20}), f64({1})), {-1e-20});
  Tensor m = i32({7, -7, 7, -7}), n = i32({3, 3, -3, -3});
  expect_values(floor_divide(m, n), {2, -3, -3, 2});
  expect_values(remainder(m, n), {1, 2, -2, -1});
  expect_values(fmod(m, n), {1, -1, 1, -1});
}

TEST(Math, DivisionOfIntegersByZeroIsAnError) {
  Tensor a = Tensor::of<int32_t>({1, 2, 3, 4}, {2, 2}), b = i32({1, 0});
  for (auto& op :
       {std::pair("floor_divide", &floor_divide), std::pair("remainder", &remainder), std::pair("fmod", &fmod)}) {
    std::string got = complaint([&] { op.second(a, b); });
    EXPECT_TRUE(says(got, std::string(op.first) + ": ") && says(got, "b is 0 at position [0, 1]")) << got;
  }
  EXPECT_TRUE(
      says(complaint([] { floor_divide(Tensor::of<uint64_t>({1}, {1}), Tensor::of<uint64_t>({0}, {1})); }), "b is 0"));
  EXPECT_EQ(text(floor_divide(Tensor::empty({0}, DType::i32), i32({0}))), "[0]");
  expect_values(divide(i32({1, -1, 0}), i32({0, 0, 0})), {kInf, -kInf, kNan});
}

TEST(Math, TheLowestIntegerByMinusOneWraps) {
  Tensor low = i32({INT32_MIN}), one = i32({-1});
  expect_values(floor_divide(low, one), {double(INT32_MIN)});
  expect_values(remainder(low, one), {0});
  expect_values(fmod(low, one), {0});
  Tensor wide = i64({INT64_MIN}), minus = i64({-1});
  EXPECT_EQ(floor_divide(wide, minus).item_int(), INT64_MIN);
  EXPECT_EQ(remainder(wide, minus).item_int(), 0);
  expect_values(floor_divide(Tensor::of<int8_t>({-128}, {1}), Tensor::of<int8_t>({-1}, {1})), {-128});
}

TEST(Math, NegativeFloatsToUnsigned) {
  expect_values(cast(f32({-0.5f, -1.5f, 0.7f, 3.9f}), DType::u32), {0, 0, 0, 3});
  expect_values(cast(f32({5e9f, INFINITY, NAN}), DType::u32), {4294967295.0, 4294967295.0, 0});
}

TEST(Math, TwoOperands) {
  expect_values(hypot(f64({3e200, 3, kInf, 0, kNan}), f64({4e200, 4, kNan, 0, 1})), {5e200, 5, kInf, 0, kNan}, 1e-15);
  expect_values(atan2(f64({0, -0.0, 1, -1}), f64({-1, -1, 0, 0})),
                {std::numbers::pi, -std::numbers::pi, std::numbers::pi / 2, -std::numbers::pi / 2});
  expect_values(logaddexp(f64({1, -1000, kInf, -kInf}), f64({2, -1001, kInf, -kInf})),
                {2.313261687518223, -999.6867383124818, kInf, -kInf}, 1e-15);
  expect_values(copysign(f64({1, -2, 0, kNan}), f64({-0.0, 3, -1, -1})), {-1, 2, 0, kNan});
  EXPECT_TRUE(std::signbit(numbers(copysign(f64({0}), f64({-1})))[0]));
  expect_values(heaviside(f64({-1, 0, 2, kNan}), f64({0.5})), {0, 0.5, 1, kNan});
  expect_values(lerp(f64({0.1, 1, 2}), f64({0.7, 5, 4}), f64({1, 0.25, 0.5})), {0.7, 2, 3});
  expect_values(hypot(f64({0}), f64({0})), {0});
}

TEST(Math, ClipKeepsNanAndLetsMaxWin) {
  Tensor x = f64({-20, kNan, 5, kInf, -kInf}), low = full({}, -10, DType::f64), high = full({}, 10, DType::f64);
  expect_values(clip(x, low, high), {-10, kNan, 5, 10, -10});
  expect_values(clip(x, {}, high), {-20, kNan, 5, 10, -kInf});
  expect_values(clip(x), {-20, kNan, 5, kInf, -kInf});
  expect_values(clip(f64({5}), high, low), {-10});
  expect_values(clip(full({7}, kNan), full({}, -10), full({}, 10)), Values(7, kNan));
  expect_values(clip(i32({-5, 3, 9}), i32({0}), i32({4})), {0, 3, 4});
  Tensor edge = f64({-10, 10, 11}).set_requires_grad();
  sum(clip(edge, low, high)).backward();
  expect_values(edge.grad(), {1, 1, 0});
}

TEST(Math, FiniteNumbersInPlaceOfOthers) {
  expect_values(nan_to_num(f32({NAN, INFINITY, -INFINITY, 2})), {0, 3.4028234663852886e38, -3.4028234663852886e38, 2});
  expect_values(nan_to_num(f64({kNan, kInf, -kInf}), 1, 2, -3), {1, 2, -3});
  expect_values(nan_to_num(cast(f32({INFINITY}), DType::f16)), {65504});
  Tensor x = f64({kNan, kInf, -kInf, 1});
  expect_values(isnan(x), {1, 0, 0, 0});
  expect_values(isinf(x), {0, 1, 1, 0});
  expect_values(isfinite(x), {0, 0, 0, 1});
  expect_values(isfinite(i32({1, INT32_MAX})), {1, 1});
  expect_values(isinf(i64({INT64_MAX})), {0});
}

TEST(Math, LogicAndBits) {
  Tensor a = Tensor::of<bool>({false, false, true, true}, {4}), b = Tensor::of<bool>({false, true, false, true}, {4});
  expect_values(logical_and(a, b), {0, 0, 0, 1});
  expect_values(logical_or(a, b), {0, 1, 1, 1});
  expect_values(logical_xor(a, b), {0, 1, 1, 0});
  expect_values(logical_not(a), {1, 1, 0, 0});
  Tensor m = i32({12, -1, 5}), n = i32({10, 7, -2});
  expect_values(bitwise_and(m, n), {8, 7, 4});
  expect_values(bitwise_or(m, n), {14, -1, -1});
  expect_values(bitwise_xor(m, n), {6, -8, -5});
  expect_values(bitwise_invert(m), {-13, 0, -6});
  expect_values(bitwise_invert(Tensor::of<uint8_t>({0, 200}, {2})), {255, 55});
  EXPECT_EQ(uint64_t(bitwise_invert(Tensor::of<uint64_t>({0}, {1})).item_int()), UINT64_MAX);
  expect_values(bitwise_invert(a), {1, 1, 0, 0});
  expect_values(bitwise_xor(a, b), {0, 1, 1, 0});
  expect_values(bitwise_left_shift(i32({1, 1, 3, 1}), i32({4, 31, -1, 32})), {16, double(INT32_MIN), 0, 0});
  expect_values(bitwise_right_shift(i32({-16, -16, 16, 16, -1}), i32({2, 99, 99, -1, 31})), {-4, -1, 0, 0, -1});
  expect_values(bitwise_left_shift(Tensor::of<uint8_t>({255}, {1}), Tensor::of<uint8_t>({4}, {1})), {240});
}

}  // namespace
}  // namespace oarlock::test
