// Rates of torch.optim.lr_scheduler 1.13 from a base of 0.4, and closed forms.
#include <cmath>

#include <oarlock/optim/lr.h>

#include "api/near.h"

namespace oarlock::optim::lr {
namespace {

void expect_rates(LRScheduler& s, const std::vector<double>& want) {
  for (size_t i = 0; i < want.size(); ++i, s.step()) EXPECT_NEAR(s.get_lr(), want[i], 1e-14) << "epoch " << i;
  int64_t end = s.last_epoch();
  s.step_to(1);
  EXPECT_NEAR(s.get_lr(), want[1], 1e-14) << "back at epoch 1";
  s.step_to(end);
}

TEST(Schedules, EqualTorch) {
  CosineAnnealingDecay cosine(0.4, 6, 0.05);
  expect_rates(cosine, {0.4, 0.376554445662277, 0.3125, 0.225, 0.1375, 0.0734455543377232, 0.05, 0.0734455543377232});
  CosineAnnealingWarmRestarts restarts(0.4, 2, 2, 0.05);
  expect_rates(restarts, {0.4, 0.225, 0.4, 0.348743686707646, 0.225, 0.101256313292354, 0.4, 0.386678918189475,
                          0.348743686707646});
  StepDecay step(0.4, 3, 0.5);
  expect_rates(step, {0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.1});
  MultiStepDecay multi(0.4, {2, 5}, 0.5);
  expect_rates(multi, {0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1});
  ExponentialDecay exponential(0.4, 0.9);
  expect_rates(exponential, {0.4, 0.36, 0.324, 0.2916, 0.26244});
  OneCycleLR cycle(0.4, 10, 4, 0.01, 0.3);
  expect_rates(cycle, {0.1, 0.25, 0.4, 0.380688929240972, 0.326580511362453, 0.248391582121481, 0.161608417878519,
                       0.083419488637547, 0.0293110707590283, 0.01});
  EXPECT_NEAR(cycle.get_lr(), 0.01, 1e-15) << "past the end";
  OneCycleLR three(0.4, 12, 4, 0.01, 0.25, "linear", true);
  expect_rates(three, {0.1, 0.25, 0.4, 0.25, 0.1, 0.0871428571428571, 0.0742857142857143, 0.0614285714285714,
                       0.0485714285714286, 0.0357142857142857, 0.0228571428571429, 0.01});
}
TEST(Schedules, ClosedForms) {
  PolynomialDecay square(0.4, 4, 0.1, 2);
  expect_rates(square, {0.4, 0.26875, 0.175, 0.11875, 0.1, 0.1});
  PolynomialDecay cycling(0.4, 2, 0.1, 1, true);
  expect_rates(cycling, {0.4, 0.25, 0.1, 0.175, 0.1, 0.15});  // of 2, 2, 2, 4, 4, 6 steps
  PiecewiseDecay pieces({2, 3}, {1, 0.5, 0.25});
  expect_rates(pieces, {1, 1, 0.5, 0.25, 0.25});
  NaturalExpDecay natural(2, 0.5);
  expect_rates(natural, {2, 2 * std::exp(-0.5), 2 * std::exp(-1.0)});
  InverseTimeDecay inverse(2, 0.5);
  expect_rates(inverse, {2, 2 / 1.5, 1, 0.8});
  LambdaDecay lambda(2, [](int64_t epoch) { return 1.0 / double(epoch + 1); });
  expect_rates(lambda, {2, 1, 2.0 / 3});
  NoamDecay noam(64, 4);
  expect_rates(noam, {0, 0.125 / 8, 0.25 / 8, 0.375 / 8, 0.5 / 8, 1 / (8 * std::sqrt(5.0))});
}
TEST(Schedules, WarmupThenAnother) {
  LinearWarmup fixed(0.5, 4, 0, 0.4);
  expect_rates(fixed, {0, 0.1, 0.2, 0.3, 0.5, 0.5});
  LinearWarmup then(std::make_shared<StepDecay>(0.4, 2, 0.5), 2, 0.1, 0.4);
  expect_rates(then, {0.1, 0.25, 0.4, 0.4, 0.2, 0.2, 0.1});
  LinearWarmup again(std::make_shared<StepDecay>(0.4, 2, 0.5), 2, 0.1, 0.4);
  again.set_state_dict(then.state_dict());
  EXPECT_EQ(again.last_epoch(), 7);
  EXPECT_EQ(again.get_lr(), then.get_lr());
}
TEST(Schedules, PlateausCutTheRate) {
  ReduceOnPlateau s(1, "min", 0.5, 1, 0.1, "rel", 1, 0.2);
  auto after = [&](double metric) {
    s.step(metric);
    return s.get_lr();
  };
  EXPECT_EQ(after(10), 1);
  EXPECT_EQ(after(9.5), 1);    // not a tenth better: one bad
  EXPECT_EQ(after(9.2), 0.5);  // two bad, more than patience
  EXPECT_EQ(after(9.1), 0.5);  // resting
  EXPECT_EQ(after(9.1), 0.5);
  EXPECT_EQ(after(8.9), 0.5);  // better than 9
  EXPECT_EQ(after(8.9), 0.5);
  NamedTensors state = s.state_dict();
  ReduceOnPlateau t(1, "min", 0.5, 1, 0.1, "rel", 1, 0.2);
  t.set_state_dict(state);
  for (ReduceOnPlateau* p : {&s, &t}) {
    p->step(8.9);
    EXPECT_EQ(p->get_lr(), 0.25);
    for (int i = 0; i < 3; ++i) p->step(8.9);
    EXPECT_EQ(p->get_lr(), 0.2) << "not below min_lr";
  }
}
TEST(Schedules, WrongSettingsAreRefused) {
  EXPECT_ERROR(StepDecay(0.1, 0), "step_size is 0");
  EXPECT_ERROR(MultiStepDecay(0.1, {3, 3}), "milestones have to rise");
  EXPECT_ERROR(PiecewiseDecay({1}, {0.1}), "1 boundaries and 1 values");
  EXPECT_ERROR(OneCycleLR(0.1, 10, 25, 0, 0.3, "sin"), "anneal_strategy is \"sin\"");
  EXPECT_ERROR(ReduceOnPlateau(0.1, "less"), "mode is \"less\"");
  StepDecay s(0.1, 2);
  EXPECT_ERROR(s.step_to(-1), "epoch is -1");
  EXPECT_ERROR(s.set_state_dict({}), "no \"last_epoch\"");
}

}  // namespace
}  // namespace oarlock::optim::lr
