// Values of torch.optim 1.13 in f64, five steps on a parameter [0.5, -1, 2] whose gradient at step t is
// 0.3 p + t [0.1, -0.2, 0.05].
#include <oarlock/optim.h>

#include "api/near.h"

namespace oarlock::optim {
namespace {

Tensor start(DType dtype = DType::f64) {
  Tensor p = cast(Tensor::of<double>({0.5, -1, 2}, {3}), dtype);
  p.set_requires_grad();
  return p;
}
void give_gradient(Tensor& p, int t) {
  NoGrad off;
  Tensor slope = cast(Tensor::of<double>({0.1, -0.2, 0.05}, {3}), p.dtype());
  p.set_grad(p.detach() * 0.3 + slope * double(t));
}
void five_steps(Optimizer& o, Tensor& p, int from = 1, int to = 5) {
  for (int t = from; t <= to; ++t) {
    give_gradient(p, t);
    o.step();
  }
}
template <class O, class Options>
void expect_steps(Options options, const std::vector<double>& want) {
  Tensor p = start();
  O o(std::vector<Tensor>{p}, options);
  five_steps(o, p);
  expect_near(p, want, 1e-12);
}

TEST(Optimizers, SgdEqualsTorch) {
  expect_steps<SGD>(SGDOptions{.learning_rate = 0.1}, {0.28523362475, -0.5704672495, 1.64540135735});
  expect_steps<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9},
                    {0.0143104047499999, -0.0286208094999998, 1.11472411535});
  expect_steps<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.05, .nesterov = true},
                    {-0.150057169404423, 0.300114338808847, 0.782619970428579});
  expect_steps<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.8, .dampening = 0.3, .weight_decay = 0.02},
                    {0.159188201584617, -0.318376403169234, 1.34921218280355});
}
TEST(Optimizers, AdamEqualsTorch) {
  expect_steps<Adam>(AdamOptions{.learning_rate = 0.05}, {0.250324038460516, -0.750641678308711, 1.74918346682038});
  expect_steps<Adam>(
      AdamOptions{.learning_rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.1},
      {0.247129373579536, -0.747219885651539, 1.74894834848327});
  expect_steps<Adam>(AdamOptions{.learning_rate = 0.05, .beta1 = 0.5, .beta2 = 0.6, .amsgrad = true},
                     {0.247819825477508, -0.747893192066877, 1.74885738106367});
}
TEST(Optimizers, AdamWEqualsTorch) {
  for (bool amsgrad : {false, true})
    expect_steps<AdamW>(AdamOptions{.learning_rate = 0.05, .weight_decay = 0.1, .amsgrad = amsgrad},
                        {0.240403876198426, -0.728341146108344, 1.70221603035718});
}
TEST(Optimizers, RmspropEqualsTorch) {
  expect_steps<RMSProp>(RMSPropOptions{.learning_rate = 0.02},
                        {-0.227198514445026, -0.251960585411101, 1.34642798163038});
  expect_steps<RMSProp>(
      RMSPropOptions{.learning_rate = 0.02, .rho = 0.9, .momentum = 0.7, .weight_decay = 0.1, .centered = true},
      {-0.0704993668790512, -0.420083441040027, 1.47053355926571});
}
TEST(Optimizers, AdagradEqualsTorch) {
  expect_steps<Adagrad>(
      AdagradOptions{.learning_rate = 0.1, .lr_decay = 0.1, .initial_accumulator_value = 0.2, .weight_decay = 0.01},
      {0.270624971182985, -0.713601046402522, 1.73769008962256});
}

TEST(Optimizers, GroupsHaveTheirOwnRateAndDecay) {
  Tensor a = start(), b = start();
  SGD o({Group{{a}}, Group{{b}, 0.5, 0.05}}, {.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
  five_steps(o, a);
  Tensor alone = start();
  SGD same({alone}, {.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
  five_steps(same, alone);
  EXPECT_EQ(values(a), values(alone));
  EXPECT_EQ(values(b), values(start())) << "a parameter without a gradient stays";
  five_steps(o, b);  // steps a as well, whose old gradient is still there
  Tensor half = start();
  SGD slow({half}, {.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.05, .nesterov = true});
  five_steps(slow, half);
  EXPECT_EQ(values(b), values(half));
}

template <class O, class Options>
void expect_resume(Options options) {
  Tensor p = start(DType::f32);
  O whole({p}, options);
  five_steps(whole, p, 1, 9);
  Tensor q = start(DType::f32);
  O first({q}, options);
  five_steps(first, q, 1, 4);
  NamedTensors state;
  for (auto& [name, tensor] : first.state_dict()) state.emplace_back(name, tensor.clone());
  Tensor r = q.detach().clone();
  r.set_requires_grad();
  O second({r}, options);
  second.set_state_dict(state);
  five_steps(second, r, 5, 9);
  EXPECT_EQ(values(r), values(p));
  EXPECT_NE(values(q), values(p));
}
TEST(Optimizers, ResumeIsBitForBit) {
  expect_resume<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
  expect_resume<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.2});
  expect_resume<AdamW>(AdamOptions{.learning_rate = 0.05, .amsgrad = true});
  expect_resume<RMSProp>(RMSPropOptions{.momentum = 0.5, .centered = true});
  expect_resume<Adagrad>(AdagradOptions{});
}
TEST(Optimizers, AScheduleIsPartOfTheState) {
  auto make = [] { return std::make_shared<lr::CosineAnnealingDecay>(0.4, 6, 0.05); };
  auto schedule = make();
  Tensor p = start();
  SGD o({p}, {.learning_rate = schedule});
  for (int i = 0; i < 4; ++i) schedule->step();
  EXPECT_NEAR(o.get_lr(), 0.1375, 1e-12);
  auto other = make();
  SGD again({p}, {.learning_rate = other});
  again.set_state_dict(o.state_dict());
  EXPECT_EQ(other->last_epoch(), 4);
  EXPECT_EQ(again.get_lr(), o.get_lr());
}
TEST(Optimizers, StateOfAnotherOptimizerIsRefused) {
  Tensor p = start(), q = Tensor::of<double>({1, 2}, {2});
  q.set_requires_grad();
  Adam o({p}, {});
  five_steps(o, p, 1, 1);
  NamedTensors state = o.state_dict();
  Adam shorter({q}, {});
  EXPECT_ERROR(shorter.set_state_dict(state), "state.0.exp_avg is [3], its parameter [2]");
  SGD sgd({p}, {.momentum = 0.9});
  EXPECT_ERROR(sgd.set_state_dict(state), "no \"state.0.momentum_buffer\"");
  SGD plain({p}, {});
  EXPECT_ERROR(plain.set_state_dict(state), "\"state.0.exp_avg\" is unknown");
  state.erase(state.begin());
  EXPECT_ERROR(o.set_state_dict(state), "no \"learning_rate\"");
}
TEST(Optimizers, HalfPrecisionGoesThroughAMaster) {
  // 1 - 2^-9 is between the bf16 neighbours 1 - 2^-8 and 1: steps of 2^-11 would be lost without an f32 copy.
  Tensor p = full({1}, 1, DType::bf16);
  p.set_requires_grad();
  SGD o({p}, {.learning_rate = std::ldexp(1.0, -11)});
  for (int i = 0; i < 8; ++i) {
    p.set_grad(full({1}, 1, DType::bf16));
    o.step();
  }
  EXPECT_EQ(p.dtype(), DType::bf16);
  EXPECT_EQ(p.item(), 1 - std::ldexp(1.0, -8));
  EXPECT_EQ(find(o.state_dict(), "state.0.master").item(), 1 - std::ldexp(1.0, -8));
}
TEST(Optimizers, StateFollowsTheParametersDtype) {
  Tensor p = start(DType::f32);
  Adam o({p}, {.learning_rate = 0.05});
  five_steps(o, p, 1, 2);
  p.set_data(cast(p.detach(), DType::f64));
  five_steps(o, p, 3, 5);
  EXPECT_EQ(find(o.state_dict(), "state.0.exp_avg").dtype(), DType::f64);
  expect_near(p, {0.250324038460516, -0.750641678308711, 1.74918346682038}, 1e-6);
}
TEST(Optimizers, WrongSettingsAreRefused) {
  Tensor p = start();
  std::vector<Tensor> one{p};
  EXPECT_ERROR(SGD(one, {.learning_rate = -1}), "learning rate is -1");
  EXPECT_ERROR(SGD(one, {.nesterov = true}), "nesterov needs a momentum");
  EXPECT_ERROR(Adam(one, {.beta1 = 1}), "beta1 is 1");
  EXPECT_ERROR(SGD(std::vector<Tensor>{p, p}, {}), "twice");
  EXPECT_ERROR(SGD(std::vector<Tensor>{Tensor::of<int64_t>({1}, {1})}, {}), "dtype i64");
  EXPECT_ERROR(SGD(std::vector<Tensor>{Tensor()}, {}), "no value");
}

TEST(Clipping, ByGlobalNorm) {
  Tensor a = Tensor::of<double>({3, 4}, {2}), b = Tensor::of<double>({12}, {1, 1});
  EXPECT_EQ(global_norm({a, b}).item(), 13);  // 9 + 16 + 144
  std::vector<Tensor> g{a, b};
  ClipGradByGlobalNorm(2).clip(g);
  expect_near(g[0], {3 * 2 / 13.0, 4 * 2 / 13.0}, 1e-14);
  expect_near(g[1], {12 * 2 / 13.0}, 1e-14);
  g = {a, b};
  ClipGradByGlobalNorm(20).clip(g);
  EXPECT_EQ(values(g[0]), values(a));
}
TEST(Clipping, ByNormAndByValue) {
  std::vector<Tensor> g{Tensor::of<double>({3, 4}, {2}), Tensor::of<double>({0.3, 0.4}, {2})};
  ClipGradByNorm(1).clip(g);
  expect_near(g[0], {0.6, 0.8}, 1e-15);
  expect_near(g[1], {0.3, 0.4}, 1e-15);
  g = {Tensor::of<double>({-3, 0.5, 4}, {3})};
  ClipGradByValue(-1, 2).clip(g);
  expect_near(g[0], {-1, 0.5, 2}, 0);
}
TEST(Clipping, OfParametersReplacesGradients) {
  Tensor a = Tensor::of<double>({3, 4}, {2}), b = Tensor::of<double>({12}, {1, 1}), c = Tensor::of<double>({1}, {1});
  for (Tensor* t : {&a, &b, &c}) t->set_requires_grad();
  a.set_grad(a.detach().clone());
  b.set_grad(b.detach().clone());
  EXPECT_EQ(clip_grad_norm({a, b, c}, 2).item(), 13);
  expect_near(a.grad(), {0.461538426035506, 0.615384568047341}, 1e-12);  // torch's 2 / (13 + 1e-6)
  EXPECT_FALSE(c.grad().defined());
  clip_grad_value({a}, 0.5);
  expect_near(a.grad(), {0.461538426035506, 0.5}, 1e-12);
}
TEST(Clipping, AnOptimizerLeavesTheGradientAsItWas) {
  Tensor p = Tensor::of<double>({0, 0}, {2});
  p.set_requires_grad();
  p.set_grad(Tensor::of<double>({30, 40}, {2}));
  SGD o({p}, {.learning_rate = 1, .grad_clip = std::make_shared<ClipGradByGlobalNorm>(5)});
  o.step();
  expect_near(p, {-3, -4}, 1e-14);
  expect_near(p.grad(), {30, 40}, 0);
  o.clear_grad();
  EXPECT_FALSE(p.grad().defined());
}

}  // namespace
}  // namespace oarlock::optim
