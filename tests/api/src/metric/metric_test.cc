#include <oarlock/metric.h>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <oarlock/base/ops.h>

#include "tests/api/src/data/files/files.h"

namespace oarlock::metric {
namespace {

using test::error_of;

TEST(Accuracy, CountsTopK) {
  Accuracy a({1, 2});
  EXPECT_EQ(a.names(), (std::vector<std::string>{"acc_top1", "acc_top2"}));
  EXPECT_EQ(Accuracy().names(), std::vector<std::string>{"acc"});
  EXPECT_EQ(a.accumulate(), (std::vector<double>{0, 0}));
  Tensor scores = Tensor::of<float>({.1f, .7f, .2f, /**/ .5f, .3f, .2f, /**/ .3f, .3f, .4f}, {3, 3});
  a.update(scores, Tensor::of<int64_t>({1, 1, 0}, {3}));
  EXPECT_EQ(a.accumulate(), (std::vector<double>{1.0 / 3, 1}));  // the tie in row 3 goes to class 0
  a.update(scores, Tensor::of<int32_t>({0, 2, 1}, {3, 1}));
  EXPECT_EQ(a.accumulate(), (std::vector<double>{1.0 / 6, 3.0 / 6}));
  std::vector<double> state = a.state();
  Accuracy b({1, 2});
  b.set_state(state);
  EXPECT_EQ(b.accumulate(), a.accumulate());
  a.reset();
  a.update(scores, Tensor::of<float>({0, 1, 0, 1, 0, 0, 0, 1, 0}, {3, 3}));  // one-hot
  EXPECT_EQ(a.accumulate(), (std::vector<double>{2.0 / 3, 2.0 / 3}));
}

TEST(Accuracy, NanIsTheHighestAndNeverRight) {
  Accuracy a;
  a.update(Tensor::of<float>({NAN, 1, 0, /**/ NAN, 1, 0}, {2, 3}), Tensor::of<int64_t>({1, 0}, {2}));
  EXPECT_EQ(a.accumulate()[0], 0);
}

TEST(Accuracy, BadOperandsAddNothing) {
  Accuracy a;
  Tensor scores = Tensor::of<float>({1, 0, 0, 1}, {2, 2});
  EXPECT_NE(error_of([&] {
              a.update(scores, Tensor::of<int64_t>({0, 2}, {2}));
            }).find("no class of 0..1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { a.update(scores, Tensor::of<int64_t>({0, -1}, {2})); }), "");
  EXPECT_NE(error_of([&] { a.update(scores, Tensor::of<int64_t>({0, 1, 1}, {3})); }), "");
  EXPECT_NE(error_of([&] { a.update(Tensor(), Tensor()); }), "");
  EXPECT_NE(error_of([] { Accuracy(std::vector<int>{}); }), "");
  EXPECT_NE(error_of([] { Accuracy({0}); }), "");
  EXPECT_NE(error_of([&] { a.set_state({1}); }), "");
  EXPECT_EQ(a.accumulate()[0], 0);
  a.update(scores, Tensor::of<int64_t>({0, 1}, {2}));
  EXPECT_EQ(a.accumulate()[0], 1);
}

TEST(PrecisionRecall, FromTheFourCounts) {
  // 3 true positives, 2 false positives, 1 false negative, 4 true negatives.
  Tensor p = Tensor::of<float>({.9f, .5f, .7f, .6f, .8f, .1f, .2f, .3f, .4f, .0f}, {10, 1});
  Tensor y = Tensor::of<int64_t>({1, 1, 1, 0, 0, 1, 0, 0, 0, 0}, {10});
  Precision precision;
  Recall recall;
  EXPECT_EQ(precision.accumulate()[0], 0);
  precision.update(p, y);
  recall.update(p, y);
  EXPECT_EQ(precision.accumulate()[0], 3.0 / 5);
  EXPECT_EQ(recall.accumulate()[0], 3.0 / 4);
  Recall again;
  again.set_state(recall.state());
  EXPECT_EQ(again.accumulate(), recall.accumulate());
  EXPECT_NE(error_of([&] { precision.update(p, Tensor::of<int64_t>({2}, {1})); }), "");
}

// The area is the chance that a positive scores above a negative, ties counted half.
TEST(Auc, IsTheMannWhitneyStatistic) {
  std::mt19937 random(4);
  std::vector<float> p(400);
  std::vector<int64_t> y(400);
  for (size_t i = 0; i < 400; ++i) {
    y[i] = random() % 3 == 0;
    p[i] = float(random() % 64 + (y[i] ? 20 : 0)) / 128;  // on the thresholds, so that bins hold equals only
  }
  double better = 0, pairs = 0;
  for (size_t i = 0; i < 400; ++i)
    for (size_t j = 0; j < 400; ++j)
      if (y[i] == 1 && y[j] == 0) better += p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0, ++pairs;
  Auc auc(4096), split(4096);
  Tensor scores = Tensor::from_host(p.data(), {400}, DType::f32),
         labels = Tensor::from_host(y.data(), {400}, DType::i64);
  auc.update(scores, labels);
  EXPECT_NEAR(auc.accumulate()[0], better / pairs, 1e-12);
  split.set_state(auc.state());
  EXPECT_EQ(split.accumulate(), auc.accumulate());
  Auc two;
  two.update(Tensor::of<float>({.9f, .1f, .2f, .8f}, {2, 2}), Tensor::of<int64_t>({0, 1}, {2}));
  EXPECT_EQ(two.accumulate()[0], 1);
  EXPECT_EQ(Auc().accumulate()[0], 0);
  EXPECT_NE(error_of([&] { two.update(Tensor::of<float>({1.5f}, {1}), Tensor::of<int64_t>({0}, {1})); }), "");
}

TEST(Mean, OfAllElementsAndOfWeightedValues) {
  Mean m;
  m.update(Tensor::of<float>({1, 2, 3}, {3}));
  m.update(Tensor::scalar(6));
  EXPECT_EQ(m.accumulate()[0], 3);
  m.reset();
  m.add(1, 3);
  m.add(5, 1);
  EXPECT_EQ(m.accumulate()[0], 2);
  EXPECT_NE(error_of([&] { m.add(1, -1); }), "");
}

}  // namespace
}  // namespace oarlock::metric
