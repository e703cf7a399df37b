// Tensors and gradients alone: a two-layer perceptron whose parameters, loss and steps are spelt out, trained on
// Fashion-MNIST through whatever plugins are loaded. 02_train_cnn does the like with layers, optimisers and loaders.
//
//   01_train_mlp [--device cpu] [--epochs 8] [--steps N] [--data FOLDER]
//
// --steps N trains N steps, prints each loss and stops: what to compare between devices and sets of plugins.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <oarlock/oarlock.h>

using namespace oarlock;

namespace {

struct Options {
  std::string device = "cpu", data;
  int epochs = 8, steps = 0, batch = 64;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "01_train_mlp: %s\n", why.c_str());
  std::exit(1);
}

struct Data {
  Tensor images;  // f32[N, 784], 0..1
  Tensor labels;  // i64[N]
  int64_t count;
};
Data read_data(vision::Split split, const std::string& folder) {
  vision::FashionMNIST set(split, nullptr, folder);
  return {cast(reshape(set.images(), {set.size(), -1}), DType::f32) * (1.0 / 255.0), set.labels(), set.size()};
}

struct Mlp {
  std::vector<Tensor> parameters, momenta;  // w1 [784, 128], b1 [128], w2 [128, 10], b2 [10]
  explicit Mlp(Device device) {
    Shape shapes[] = {{784, 128}, {128}, {128, 10}, {10}};
    for (int64_t i = 0; i < 4; ++i) {
      const Shape& s = shapes[i];
      Tensor start;
      if (s.rank == 2) {  // uniform within 1/sqrt(fan in); the numbers are the same on every device
        Tensor seed = Tensor::of<int64_t>({42, i}, {2});
        start = (random_uniform(seed, s) * 2.0 - 1.0) * (1.0 / std::sqrt(double(s(0))));
      } else {
        start = full(s, 0.0);
      }
      parameters.push_back(start.to(device).set_requires_grad());
      momenta.push_back(full(s, 0.0).to(device));
    }
  }
  Tensor logits(const Tensor& x) const {
    Tensor hidden = relu(matmul(x, parameters[0]) + parameters[1]);
    return matmul(hidden, parameters[2]) + parameters[3];
  }
  void step(double rate) {
    NoGrad off;
    for (size_t i = 0; i < parameters.size(); ++i) {
      sgd_update(parameters[i], parameters[i].grad(), Tensor::scalar(rate, DType::f64), momenta[i]);
      parameters[i].set_grad({});
    }
  }
};

double accuracy(const Mlp& net, const Data& test, Device device) {
  NoGrad off;
  int64_t right = 0;
  for (int64_t at = 0; at < test.count; at += 1000) {
    int64_t n = std::min<int64_t>(1000, test.count - at);
    Tensor x = slice(test.images, {at, 0}, {n, test.images.size(1)}).to(device);
    Tensor y = slice(test.labels, {at}, {n}).to(device);
    right += sum(cast(equal(argmax(net.logits(x), 1), y), DType::i64)).item_int();
  }
  return double(right) / double(test.count);
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : (stop(name + " wants a value"), std::string()); };
    if (name == "--device") o.device = value();
    else if (name == "--data") o.data = value();
    else if (name == "--epochs") o.epochs = std::atoi(value().c_str());
    else if (name == "--steps") o.steps = std::atoi(value().c_str());
    else stop("unknown option " + name + "; there are --device --epochs --steps --data");
  }
  return o;
}

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

void run(const Options& o) {
  Device device(o.device);
  std::string loaded;
  for (const PluginInfo& p : plugins())
    if (p.state == PluginState::loaded) loaded += (loaded.empty() ? "" : ", ") + p.name;
  std::printf("device %s, plugins: %s\n", device.name().c_str(), loaded.empty() ? "none" : loaded.c_str());
  Data train = read_data(vision::Split::train, o.data), test = read_data(vision::Split::test, o.data);
  Mlp net(device);
  std::vector<int64_t> order(size_t(train.count));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(7);
  bool terminal = isatty(1);
  int64_t per_epoch = train.count / o.batch, total = o.steps ? o.steps : per_epoch * o.epochs, done = 0;
  auto begin = std::chrono::steady_clock::now();
  double smooth = 0;
  while (done < total) {
    for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    for (int64_t b = 0; b < per_epoch && done < total; ++b, ++done) {
      Tensor index = Tensor::from_host(order.data() + b * o.batch, {o.batch}, DType::i64);
      Tensor x = gather(train.images, index).to(device), y = gather(train.labels, index).to(device);
      Tensor loss = mean(cross_entropy(net.logits(x), y));
      loss.backward();
      net.step(0.05 * 0.5 * (1 + std::cos(3.141592653589793 * double(done) / double(total))));
      if (o.steps) {
        std::printf("step %2lld  loss %.6f\n", static_cast<long long>(done + 1), loss.item());
        continue;
      }
      if (done % 50) continue;
      double value = loss.item();
      smooth = done ? 0.9 * smooth + 0.1 * value : value;
      if (terminal || done % (per_epoch / 50 * 50) == 0)
        std::printf("%sepoch %lld/%d  step %lld/%lld  loss %.4f  %.0f images/s%s", terminal ? "\r" : "",
                    static_cast<long long>(done / per_epoch + 1), o.epochs, static_cast<long long>(done),
                    static_cast<long long>(total), smooth, double(done + 1) * o.batch / seconds_since(begin),
                    terminal ? "\033[K" : "\n");
      std::fflush(stdout);
    }
  }
  if (o.steps) return;
  device.synchronize();
  double training = seconds_since(begin);
  double got = accuracy(net, test, device);
  std::printf("%strained %d epochs in %.1f s (%.0f images/s)\ntest accuracy %.4f\n", terminal ? "\n" : "", o.epochs,
              training, double(total) * o.batch / training, got);
  if (got < 0.87) stop("the accuracy is below 0.87, so something is wrong.");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_options(argc, argv));
  } catch (const Error& e) { stop(e.what()); }
}
