// Control flow in captured functions: gradients as those of eager calls, exports, predictors.
#include "tests/same.h"

namespace oarlock::jit {
namespace {

using Tensors = std::vector<Tensor>;
using Given = std::span<const Tensor>;

Tensor number(double v) { return full({}, v); }
Tensor positive(const Tensor& x) { return greater(sum(x), number(0)); }

void expect_near(const Tensor& got, const Tensor& want, double most, const std::string& who) {
  ASSERT_EQ(got.defined(), want.defined()) << who;
  ASSERT_EQ(to_string(got.shape()), to_string(want.shape())) << who;
  if (got.element_count() == 0) return;
  EXPECT_LE(max(abs(subtract(got, want))).item(), most) << who;
}
// Values and gradients of every input and of `weight`, called and captured: bit for bit, or near where sums of many
// contributions are made in another order.
void expect_gradients(const std::function<Tensors(Given, const Tensor& weight)>& f, const Tensors& given,
                      const Tensor& weight, double near = 0) {
  for (Device device : {Device(), sim()}) {
    DeviceScope scope(device);
    std::vector<Tensors> values, gradients;
    for (bool captured : {false, true}) {
      Tensors in;
      for (const Tensor& t : given) {
        in.push_back(t.to(device).clone());
        if (t.dtype() == DType::f32) in.back().set_requires_grad();
      }
      Tensor w = weight.to(device).clone().set_requires_grad();
      StaticFunction captured_f([&](Given x) { return f(x, w); });
      Tensors out = captured ? captured_f.call(in) : f(in, w);
      Tensor loss;
      for (size_t i = 0; i < out.size(); ++i) {
        if (!out[i].requires_grad()) continue;
        Tensor part = sum(multiply(out[i], uniform(out[i].shape(), int64_t(i) + 7).to(device)));
        loss = loss.defined() ? add(loss, part) : part;
      }
      values.push_back(out);
      loss.backward();
      Tensors& of = gradients.emplace_back();
      for (const Tensor& t : in) of.push_back(t.grad());
      of.push_back(w.grad());
      EXPECT_EQ(captured, !captured_f.programs().empty() && captured_f.programs()[0].backward_nodes > 0);
    }
    for (Tensor& t : values[0]) t = t.detach();
    for (Tensor& t : values[1]) t = t.detach();
    expect_same(values[1], values[0], "values on " + device.name());
    for (size_t i = 0; i < gradients[0].size(); ++i) {
      std::string who = "gradient " + std::to_string(i) + " on " + device.name();
      // A cond gives zeros where the other branch alone reads something; called, nothing reaches it.
      Tensor want = gradients[0][i], got = gradients[1][i];
      if (!want.defined() && got.defined()) want = full_like(got, 0);
      near == 0 ? expect_same(got, want, who) : expect_near(got, want, near, who);
    }
  }
}

TEST(ControlFlow, CondHasGradients) {
  auto f = [](Given x, const Tensor& w) {
    Tensor h = multiply(x[0], x[1]);
    Tensors out = cond(
        positive(x[0]),
        [&] {
          return Tensors{multiply(h, w), x[1]};
        },
        [&] {
          return Tensors{exp(x[0]), x[0].detach()};
        });
    return Tensors{add(out[0], h), out[1]};
  };
  expect_gradients(f, {uniform({3}, 1, 0, 1), uniform({3}, 2)}, uniform({3}, 3));
  expect_gradients(f, {uniform({3}, 1, -1, 0), uniform({3}, 2)}, uniform({3}, 3));
}

TEST(ControlFlow, ScanHasGradients) {
  for (bool reverse : {false, true})
    for (int64_t rows : {0, 1, 6}) {
      auto f = [=](Given x, const Tensor& w) {
        Scanned out = scan(
            [&](Given c, Given row) {
              Tensor next = tanh(add(multiply(c[0], w), row[0]));
              return Scanned{{next, add(c[1], full({}, 1, DType::i64))}, {multiply(next, row[0]), c[1]}};
            },
            {{x[0], full({}, 0, DType::i64)}}, {{x[1]}}, {.reverse = reverse});
        return Tensors{out.carry[0], out.ys[0], out.ys[1]};
      };
      expect_gradients(f, {uniform({3}, 1), uniform({rows, 3}, 2)}, uniform({3}, 3), 1e-6);
    }
}

TEST(ControlFlow, NestedOnesHaveGradients) {
  auto f = [](Given x, const Tensor& w) {
    return scan(
               [&](Given c, Given row) {
                 Tensor next = cond(
                     positive(row[0]),
                     [&] {
                       return scan(
                                  [&](Given d, Given r) {
                                    return Scanned{{multiply(add(d[0], r[0]), w)}, {}};
                                  },
                                  {{c[0]}}, {{x[2]}})
                           .carry;
                     },
                     [&] { return Tensors{subtract(c[0], multiply(row[0], w))}; })[0];
                 return Scanned{{next}, {}};
               },
               {{x[0]}}, {{x[1]}})
        .carry;
  };
  expect_gradients(f, {uniform({2}, 1), uniform({4, 2}, 2), uniform({3, 2}, 4)}, uniform({2}, 3), 1e-5);
}

// Everything before it, so nothing of what comes before may be gone through twice.
TEST(ControlFlow, GradientsPassThroughOnce) {
  auto f = [](Given x, const Tensor& w) {
    Tensor h = exp(multiply(x[0], w));
    for (int i = 0; i < 3; ++i)
      h = cond(
          positive(x[0]), [&] { return Tensors{multiply(h, h)}; }, [&] { return Tensors{h}; })[0];
    return Tensors{h};
  };
  expect_gradients(f, {uniform({3}, 1, 0, 0.1)}, uniform({3}, 3));
}

TEST(ControlFlow, LoopsHaveGradientsEagerlyAndSayWhyNotCaptured) {
  Tensor x = full({2}, 3).set_requires_grad();
  auto f = [](Given v) {
    return while_loop([](Given w) { return less(sum(w[0]), number(40)); },
                      [](Given w) { return Tensors{multiply(w[0], w[0])}; }, v);
  };
  sum(f({&x, 1})[0]).backward();
  expect_same(x.grad(), full({2}, 4 * 27), "two rounds: x^4");
  StaticFunction captured(f);
  std::string text = error_of([&] { captured.call({{x}}); });
  EXPECT_NE(text.find("while_loop: it has no gradient in a program"), std::string::npos) << text;
  EXPECT_NE(text.find("Use scan"), std::string::npos) << text;
  NoGrad off;
  expect_same(captured.call({{x}})[0], full({2}, 81), "without gradients");
}

TEST(ControlFlow, WritesBetweenAreNoticed) {
  Tensor state = full({2}, 2), x = full({2}, 3).set_requires_grad();
  StaticFunction captured([&](Given v) {
    Tensors out = cond(
        positive(v[0]), [&] { return Tensors{multiply(v[0], state)}; }, [&] { return Tensors{v[0]}; });
    NoGrad off;
    assign(state, v[0].detach());
    return out;
  });
  std::string text = error_of([&] { captured.call({{x}}); });
  EXPECT_NE(text.find("was written to after a function that reads it was recorded"), std::string::npos) << text;
}

TEST(ControlFlow, NothingOfACaptureIsGoodAfterIt) {
  Tensor kept, x = full({2}, 3).set_requires_grad();
  StaticFunction captured([&](Given v) {
    kept = cond(
        positive(v[0]), [&] { return Tensors{multiply(v[0], v[0])}; }, [&] { return Tensors{v[0]}; })[0];
    return Tensors{v[0]};
  });
  captured.call({{x}});
  const Tensor seed = full({2}, 1);
  std::string text = error_of([&] { backward({&kept, 1}, {&seed, 1}); });
  EXPECT_NE(text.find("the capture that recorded it has ended"), std::string::npos) << text;
}

TEST(ControlFlow, PredictorsRunIt) {
  auto f = [](Given x) {
    Tensor small = cond(
        positive(x[0]), [&] { return Tensors{x[0]}; }, [&] { return Tensors{negative(x[0])}; })[0];
    Tensor grown = while_loop([](Given v) { return less(sum(v[0]), number(100)); },
                              [](Given v) { return Tensors{add(multiply(v[0], number(2)), number(1))}; }, {{small}})[0];
    return scan(
               [](Given c, Given row) {
                 return Scanned{{add(c[0], row[0])}, {c[0]}};
               },
               {{full({3}, 0)}}, {{grown}})
        .ys;
  };
  ExportedProgram program = export_function(f, {{.shape = {"N", 3}, .name = "x"}}, {.output_names = {"sums"}});
  for (Device device : {Device(), sim()}) {
    inference::Predictor p = inference::create_predictor(inference::Config(program).set_device(device));
    for (int64_t n : {1, 4})
      for (double low : {-1.0, 0.0}) {
        Tensor x = uniform({n, 3}, n, low, low + 1).to(device);
        DeviceScope scope(device);
        expect_same(p.run({{x}}), f({{x}}), device.name() + ", N=" + std::to_string(n));
      }
  }
}

}  // namespace
}  // namespace oarlock::jit
