#include <oarlock/nn.h>

#include "api/near.h"

namespace oarlock::nn {
namespace {

TEST(Summaries, CountWhatANetworkHasAndDoes) {
  auto conv = std::make_shared<Conv2D>(1, 4, 3, ConvOptions{.padding = 1});
  auto drop = std::make_shared<Dropout>(0.5);
  Sequential net(conv, std::make_shared<BatchNorm2D>(4), std::make_shared<ReLU>(), std::make_shared<MaxPool2D>(2),
                 std::make_shared<Flatten>(), drop, std::make_shared<Linear>(4 * 14 * 14, 10));
  conv->freeze();
  drop->eval();
  Summary s = summary(net, {{2, 1, 28, 28}});
  EXPECT_TRUE(net.training());
  EXPECT_FALSE(drop->training());
  EXPECT_EQ(values(net.buffer("1.num_batches_tracked"))[0], 0) << "statistics stay";
  ASSERT_EQ(s.rows.size(), 8u);
  EXPECT_EQ(s.rows[1].name, "0");
  EXPECT_EQ(s.rows[1].type, "Conv2D");
  EXPECT_EQ(s.rows[1].parameters, 4 * 9 + 4);
  EXPECT_EQ(s.rows[1].multiply_adds, 2.0 * 4 * 28 * 28 * 9);
  EXPECT_EQ(to_string(s.rows[4].outputs[0]), "[2, 4, 14, 14]");
  EXPECT_EQ(s.rows[7].multiply_adds, 2.0 * 784 * 10);
  EXPECT_EQ(s.parameters, 40 + 8 + 7850);
  EXPECT_EQ(s.trainable, 8 + 7850);
  EXPECT_EQ(s.parameter_bytes, 4u * (40 + 8 + 7850));
  EXPECT_EQ(s.multiply_adds, 2.0 * (4 * 28 * 28 * 9 + 7840));
  std::string text = s.to_string();
  for (const char* part :
       {"Sequential", "  Conv2D (0)", "[2, 10]", "7,850", "72,128", "Parameters: 7,898 (7,858 trainable)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}
TEST(Summaries, SharedLayersCountTheirParametersOnceAndTheirWorkTwice) {
  auto same = std::make_shared<Linear>(3, 3);
  Sequential net(same, same);
  Summary s = summary(net, {{1, 3}});
  EXPECT_EQ(s.rows.size(), 2u);
  EXPECT_EQ(s.parameters, 12);
  EXPECT_EQ(s.rows[1].calls, 2);
  EXPECT_EQ(s.multiply_adds, 18);
}
TEST(Summaries, OfAttentionAndIntegers) {
  Sequential net(std::make_shared<Embedding>(10, 8), std::make_shared<TransformerEncoderLayer>(8, 2, 16));
  Summary s = summary(net, {{2, 5}}, {DType::i64});
  // in-projections 3 * 64, scores and mix 2 * 5 * 8, out-projection 64, linears 2 * 128 for each of 10 places
  EXPECT_EQ(s.multiply_adds, 10 * (3 * 64 + 2 * 5 * 8 + 64 + 2 * 128));
  EXPECT_ERROR(summary(net, {{2, 5}}), "embedding");
  EXPECT_TRUE(net.training());
}

}  // namespace
}  // namespace oarlock::nn
