#include "tests/ops/rewrite/rewritten.h"

namespace oarlock::graph {
namespace {

const Rewritten arithmetic{{"identity_arithmetic"}}, views{{"identity_views"}};
Tensor special(DType t = DType::f32) {
  if (set_of(t) & kFloat)
    return cast(Tensor::of<double>({0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-42, -1.5, 3e38}, {8}), t);
  return cast(Tensor::of<int64_t>({0, 1, -1, 127, -128, 255, INT64_MIN, INT64_MAX}, {8}), t);
}

// What is left of f where its result is not seen from outside: two of it, one behind the other.
std::string inner(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  Ops ops = arithmetic(
      [&](const Tensor& in) {
        Tensor y = f(in);
        return concat({y, y});
      },
      x);
  EXPECT_TRUE(ops.text.ends_with("concat")) << ops.text;
  return ops.text == "concat" ? "" : ops.text.substr(0, ops.text.size() - 7);  // " concat"
}

TEST(IdentityArithmetic, WhatChangesNothingGoes) {
  for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i64}) {
    SCOPED_TRACE(to_string(t));
    const bool real = set_of(t) & kFloat;
    const double none = real ? -0.0 : 0.0;
    EXPECT_EQ(inner([&](const Tensor& x) { return multiply(x, num(1, t)); }, special(t)), "");
    EXPECT_EQ(inner([&](const Tensor& x) { return multiply(full({1}, 1, t), x); }, special(t)), "");
    EXPECT_EQ(inner([&](const Tensor& x) { return add(x, num(none, t)); }, special(t)), "");
    EXPECT_EQ(inner([&](const Tensor& x) { return subtract(x, num(0, t)); }, special(t)), "");
    EXPECT_EQ(inner([&](const Tensor& x) { return power(x, num(1, t)); }, special(t)), "");
    EXPECT_EQ(inner([&](const Tensor& x) { return negative(negative(x)); }, special(t)), "");
    EXPECT_EQ(inner([&](const Tensor& x) { return copy(cast(x, t)); }, special(t)), "");
    if (real) EXPECT_EQ(inner([&](const Tensor& x) { return divide(x, num(1, t)); }, special(t)), "");
  }
}
TEST(IdentityArithmetic, WhatChangesSomethingStays) {
  const Tensor x = special();
  EXPECT_EQ(inner([](const Tensor& a) { return add(a, num(0)); }, x), "add") << "-0 becomes 0";
  EXPECT_EQ(inner([](const Tensor& a) { return subtract(a, num(-0.0)); }, x), "subtract");
  EXPECT_EQ(inner([](const Tensor& a) { return subtract(num(0), a); }, x), "subtract");
  EXPECT_EQ(inner([](const Tensor& a) { return multiply(a, num(0)); }, x), "multiply") << "NaN stays";
  EXPECT_EQ(inner([](const Tensor& a) { return multiply(a, num(-1)); }, x), "multiply");
  EXPECT_EQ(inner([](const Tensor& a) { return divide(num(1), a); }, x), "divide");
  EXPECT_EQ(inner([](const Tensor& a) { return power(num(1), a); }, x), "power");
  EXPECT_EQ(inner([](const Tensor& a) { return multiply(a, full({1, 1}, 1)); }, x), "multiply") << "the rank grows";
  EXPECT_EQ(inner(
                [](const Tensor& a) {
                  return multiply(a, Tensor::of<float>({1, 1, 1, 1, 1, 1, 1, 2}, {8}));
                },
                x),
            "multiply");
  EXPECT_EQ(inner([](const Tensor& a) { return multiply(a, num(1)); }, special(DType::f16)), "cast")
      << "f16 times f32 is f32";
}
TEST(IdentityArithmetic, CastsThereAndBack) {
  auto by = [](DType wide, DType last) { return [=](const Tensor& x) { return cast(cast(x, wide), last); }; };
  const Tensor half = special(DType::f16), byte = special(DType::i8);
  EXPECT_EQ(inner(by(DType::f32, DType::f16), half), "");
  EXPECT_EQ(inner(by(DType::f32, DType::i32), half), "cast");
  EXPECT_EQ(inner(by(DType::bf16, DType::f16), half), "cast cast");
  EXPECT_EQ(inner(by(DType::i32, DType::i8), byte), "");
  EXPECT_EQ(inner(by(DType::u32, DType::i64), byte), "cast cast") << "negative ones wrap";
  EXPECT_EQ(inner(by(DType::f16, DType::i8), byte), "cast cast");
  EXPECT_EQ(inner(by(DType::i8, DType::i32), cast(byte, DType::i32)), "cast cast");
}
TEST(IdentityArithmetic, ResultsKeepElementsOfTheirOwn) {
  const Tensor x = uniform({4}, 1);
  EXPECT_EQ(arithmetic([](const Tensor& a) { return copy(a); }, x), "copy");
  EXPECT_EQ(arithmetic([](const Tensor& a) { return multiply(exp(a), num(1)); }, x), "exp");
  EXPECT_EQ(arithmetic(
                [](std::span<const Tensor> a) {
                  Tensor y = exp(a[0]);
                  return std::vector<Tensor>{y, multiply(y, num(1)), copy(reshape(y, {2, 2}))};
                },
                std::vector<Tensor>{x}),
            "exp multiply reshape copy");
}
TEST(IdentityArithmetic, CopiesThatAreWrittenToStay) {
  Program p = compiled(capture(
                           [](std::span<const Tensor> x) {
                             Tensor own = copy(x[0]);
                             assign(own, exp(x[0]));
                             return std::vector<Tensor>{own, x[0]};
                           },
                           {{{"4"}}}),
                       {"identity_arithmetic"});
  EXPECT_EQ(ops_of(p), "copy exp assign");
}

TEST(IdentityViews, WhatChangesNothingGoes) {
  const Tensor x = uniform({2, 3, 4}, 1);
  EXPECT_EQ(views([](const Tensor& a) { return reshape(a, {2, 3, 4}); }, x), "");
  EXPECT_EQ(views([](const Tensor& a) { return expand(a, {2, 3, 4}); }, x), "");
  EXPECT_EQ(views([](const Tensor& a) { return permute(a, {0, 1, 2}); }, x), "");
  EXPECT_EQ(views([](const Tensor& a) { return slice(a, {0, 0, 0}, {2, 3, 4}); }, x), "");
  EXPECT_EQ(views([](const Tensor& a) { return matrix_transpose(matrix_transpose(a)); }, x), "");
  EXPECT_EQ(views([](const Tensor& a) { return permute(permute(a, {1, 2, 0}), {2, 0, 1}); }, x), "");
  EXPECT_EQ(views([](const Tensor& a) { return squeeze(unsqueeze(a, {1}), {1}); }, x), "");
}
TEST(IdentityViews, OneForSeveral) {
  const Tensor x = uniform({2, 3, 4}, 1);
  EXPECT_EQ(views([](const Tensor& a) { return reshape(flatten(unsqueeze(a, {0})), {4, 6}); }, x), "reshape");
  EXPECT_EQ(views([](const Tensor& a) { return permute(permute(a, {1, 2, 0}), {1, 0, 2}); }, x), "permute");
  // What lies between is a result as well.
  EXPECT_EQ(views(
                [](std::span<const Tensor> a) {
                  Tensor between = reshape(a[0], {6, 4});
                  return std::vector<Tensor>{between, reshape(between, {24})};
                },
                std::vector<Tensor>{x}),
            "reshape reshape");
  EXPECT_EQ(views(
                [](const Tensor& a) {
                  Tensor y = a;
                  for (int i = 0; i < 100; ++i) y = i % 2 ? reshape(y, {2, 12}) : reshape(y, {24});
                  return y;
                },
                x),
            "reshape");
}
TEST(IdentityViews, WhatChangesSomethingStays) {
  const Tensor x = uniform({3, 3}, 1);
  EXPECT_EQ(views([](const Tensor& a) { return matrix_transpose(a); }, x), "matrix_transpose");
  EXPECT_EQ(views([](const Tensor& a) { return permute(a, {1, 0}); }, x), "permute");
  EXPECT_EQ(views([](const Tensor& a) { return slice(a, {2, 0}, {3, 3}, {-1, 1}); }, x), "slice");
  EXPECT_EQ(views(
                [](const Tensor& a) {
                  return reshape(permute(reshape(a, {9, 1}), {1, 0}), {3, 3});
                },
                x),
            "reshape permute reshape");
}
TEST(IdentityViews, NamedSizes) {
  auto f = [](std::span<const Tensor> x) {
    Tensor heads = reshape(x[0], {x[0].shape()[0], 2, 2});
    return std::vector<Tensor>{reshape(heads, {x[0].shape()[0], 4})};
  };
  Program p = compiled(capture(f, {{{"N", "4"}}}), {"identity_views", "dead_code"});
  EXPECT_EQ(ops_of(p), "");
  expect_alike(f, p, {uniform({3, 4}, 1)});
}

// Programs of random calls on special values: what the exact passes leave gives every bit of them.
TEST(IdentityRewrites, FiftyRandomPrograms) {
  int changed = 0;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    auto f = [seed](std::span<const Tensor> in) {
      uint32_t state = seed * 2654435761u + 1;
      auto draw = [&](uint32_t n) {
        state = state * 1664525u + 1013904223u;
        return (state >> 16) % n;
      };
      const double numbers[] = {1, 0, -0.0, -1, 2};
      std::vector<Tensor> pool(in.begin(), in.end());
      for (int i = 0; i < 24; ++i) {
        Tensor a = pool[draw(uint32_t(pool.size()))], b = pool[draw(uint32_t(pool.size()))];
        Tensor n = num(numbers[draw(5)], a.dtype());
        switch (draw(12)) {
          case 0: a = multiply(a, n); break;
          case 1: a = add(a, n); break;
          case 2: a = subtract(a, n); break;
          case 3: a = divide(a, n); break;
          case 4: a = negative(a); break;
          case 5: a = add(a, b); break;
          case 6: a = cast(cast(a, DType::f64), a.dtype()); break;
          case 7: a = reshape(reshape(a, {4, 2}), {8}); break;
          case 8: a = copy(reshape(a, {8})); break;
          case 9: a = squeeze(unsqueeze(a, {0}), {0}); break;
          case 10: a = maximum(a, b); break;
          default: a = multiply(add(n, n), a); break;
        }
        pool.push_back(a);
      }
      return std::vector<Tensor>(pool.end() - 6, pool.end());
    };
    const std::vector<Tensor> inputs{special(), uniform({8}, seed)};
    std::vector<std::string> exact = pass_names();
    std::erase_if(exact, [](const std::string& n) {
      return std::count(rounding_pass_names().begin(), rounding_pass_names().end(), n) > 0;
    });
    std::vector<PassReport> report;
    Program p = compiled(capture(f, types_of(inputs)), exact, &report);
    for (const PassReport& r : report) changed += r.changes;
    expect_same(results(p, inputs), f(inputs), "rewritten");
  }
  EXPECT_GT(changed, 300);
}

}  // namespace
}  // namespace oarlock::graph
