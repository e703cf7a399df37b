// A network on sim, whose memory the host cannot read and whose kernels run late: moved there, trained, saved and moved back.
#include <oarlock/nn.h>
#include <oarlock/optim.h>
#include <oarlock/random.h>
#include <oarlock/save.h>

#include "api/near.h"

namespace oarlock::nn {
namespace {

Device sim() {
  Result<PluginInfo> p = load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/sim/liboarlock_sim.so");
  throw_if(p.status());
  return Device("sim");
}
std::unique_ptr<Sequential> make() {
  set_seed(17);
  return std::make_unique<Sequential>(
      std::make_shared<Linear>(10, 12), std::make_shared<BatchNorm1D>(12), std::make_shared<GELU>(),
      std::make_shared<Unflatten>(1, std::vector<int64_t>{3, 4}), std::make_shared<TransformerEncoderLayer>(4, 2, 8),
      std::make_shared<Flatten>(), std::make_shared<Dropout>(0.25), std::make_shared<Linear>(12, 4));
}
std::vector<double> train(Sequential& net, optim::Optimizer& opt, Device device, int steps) {
  CrossEntropyLoss loss;
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    Tensor x = random_uniform(Tensor::of<int64_t>({1, 2}, {2}), {6, 10}).to(device);
    Tensor y = Tensor::of<int64_t>({0, 1, 2, 3, 0, 1}, {6}).to(device);
    Tensor l = loss(net(x), y);
    l.backward();
    opt.step();
    opt.clear_grad();
    losses.push_back(l.item());
  }
  return losses;
}
optim::AdamOptions settings() {
  return {.learning_rate = 0.02, .weight_decay = 0.01, .grad_clip = std::make_shared<optim::ClipGradByGlobalNorm>(0.5)};
}

TEST(OnSim, TrainsAsOnTheHost) {
  auto here = make();
  optim::AdamW host_opt(here->parameters(), settings());
  std::vector<double> want = train(*here, host_opt, Device(), 6);
  EXPECT_LT(want.back(), want.front());
  auto there = make();
  optim::AdamW opt(there->parameters(), settings());  // before the move: handles stay valid
  there->to(sim());
  EXPECT_FALSE(there->parameters()[0].device().is_host());
  EXPECT_FALSE(there->buffer("1.running_mean").device().is_host());
  std::vector<double> got = train(*there, opt, sim(), 6);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << "step " << i;
  auto a = here->state_dict(), b = there->state_dict();
  for (size_t i = 0; i < a.size(); ++i) expect_near(b[i].second, values(a[i].second), 2e-3);

  // From sim to a file and back to the host; then both go on from there.
  std::vector<std::byte> file = save_to_memory(there->state_dict()), state = save_to_memory(opt.state_dict());
  auto back = make();
  back->set_state_dict(load_from_memory(file));
  optim::AdamW back_opt(back->parameters(), settings());
  back_opt.set_state_dict(load_from_memory(state));
  RandomState random = default_generator().state();
  std::vector<double> on_sim = train(*there, opt, sim(), 2);
  default_generator().set_state(random);
  std::vector<double> on_host = train(*back, back_opt, Device(), 2);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(on_sim[i], on_host[i], 1e-4);

  there->to(Device());  // what the optimiser keeps follows at its next step
  train(*there, opt, Device(), 1);
  EXPECT_TRUE(find(opt.state_dict(), "state.0.exp_avg").device().is_host());
}
TEST(OnSim, AStateOfTheHostLoadsThere) {
  auto a = make(), b = make();
  b->parameters()[0].set_data(full(b->parameters()[0].shape(), 0));
  b->to(sim());
  b->set_state_dict(a->state_dict());
  for (size_t i = 0; i < a->parameters().size(); ++i) EXPECT_EQ(values(b->parameters()[i]), values(a->parameters()[i]));
}

}  // namespace
}  // namespace oarlock::nn
