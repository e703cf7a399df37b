// Trains a two-layer perceptron on Fashion-MNIST through whatever plugins are loaded.
//
//   01_train_mlp [--device cpu] [--epochs 8] [--steps N] [--data FOLDER]
//
// --steps N trains N steps, prints each loss and stops: what to compare between devices and sets of plugins.
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <oarlock/oarlock.h>

using namespace oarlock;

namespace {

struct Options {
  std::string device = "cpu", data = "/usr/share/datasets/fashion-mnist";
  std::string readme = "/usr/share/doc/dataset-fashion-mnist/README.md.gz";
  int epochs = 8, steps = 0, batch = 64;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "01_train_mlp: %s\n", why.c_str());
  std::exit(1);
}

std::string read_gz(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) stop(path + " can't be read. Install Debian's package dataset-fashion-mnist.");
  std::string all;
  std::vector<char> piece(1 << 20);
  int n;
  while ((n = gzread(file, piece.data(), unsigned(piece.size()))) > 0) all.append(piece.data(), size_t(n));
  gzclose(file);
  if (n < 0) stop(path + " is damaged.");
  return all;
}

// An IDX file of bytes: magic 0x0000080R for rank R, R big-endian sizes, then the elements.
std::string read_idx(const std::string& path, std::vector<int64_t>& sizes) {
  std::string all = read_gz(path);
  auto word = [&](size_t at) {
    return int64_t(uint8_t(all[at])) << 24 | int64_t(uint8_t(all[at + 1])) << 16 | int64_t(uint8_t(all[at + 2])) << 8 |
           int64_t(uint8_t(all[at + 3]));
  };
  if (all.size() < 4 || all[0] != 0 || all[1] != 0 || all[2] != 8 || all[3] < 1 || all[3] > 4)
    stop(path + " is no IDX file of bytes.");
  size_t rank = size_t(all[3]), head = 4 + 4 * rank;
  int64_t n = 1;
  for (size_t i = 0; i < rank; ++i) {
    if (all.size() < head) stop(path + " is cut short.");
    sizes.push_back(word(4 + 4 * i));
    if (sizes.back() > 1 << 24 || (n *= sizes.back()) > int64_t(1) << 32)
      stop(path + " claims more than any such file has.");
  }
  if (all.size() != head + size_t(n))
    stop(path + " has " + std::to_string(all.size() - head) + " elements, its head says " + std::to_string(n) + ".");
  return all.substr(head);
}

struct Data {
  Tensor images;  // f32[N, 784], 0..1
  Tensor labels;  // i64[N]
  int64_t count;
};
Data read_data(const std::string& folder, const std::string& which) {
  std::vector<int64_t> image_sizes, label_sizes;
  std::string pixels = read_idx(folder + "/" + which + "-images-idx3-ubyte.gz", image_sizes);
  std::string classes = read_idx(folder + "/" + which + "-labels-idx1-ubyte.gz", label_sizes);
  if (image_sizes.size() != 3 || label_sizes.size() != 1 || image_sizes[0] != label_sizes[0])
    stop("images and labels in " + folder + " don't belong together.");
  int64_t n = image_sizes[0];
  Tensor bytes = Tensor::from_host(pixels.data(), {n, image_sizes[1] * image_sizes[2]}, DType::u8);
  Tensor images = cast(bytes, DType::f32) * (1.0 / 255.0);
  Tensor labels = cast(Tensor::from_host(classes.data(), {n}, DType::u8), DType::i64);
  return {images, labels, n};
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
    std::vector<float> scores(size_t(n) * 10);
    net.logits(x).copy_to_host(scores.data());
    const int64_t* labels = test.labels.data_as<int64_t>() + at;
    for (int64_t i = 0; i < n; ++i) {
      const float* row = scores.data() + i * 10;
      right += std::max_element(row, row + 10) - row == labels[i];
    }
  }
  return double(right) / double(test.count);
}

// The submitted results in the data set's own README, those next to ours: "name  accuracy".
void print_baselines(const std::string& readme, double ours) {
  std::vector<std::pair<double, std::string>> rows;
  std::string all = read_gz(readme);
  for (size_t at = 0; at < all.size();) {
    size_t end = std::min(all.find('\n', at), all.size());
    std::string line = all.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line[0] != '|') continue;
    std::vector<std::string> cells;
    for (size_t from = 1; from < line.size();) {
      size_t bar = std::min(line.find('|', from), line.size());
      cells.push_back(line.substr(from, bar - from));
      from = bar + 1;
    }
    if (cells.size() < 3) continue;
    char* rest = nullptr;
    double value = std::strtod(cells[2].c_str(), &rest);
    if (value > 0.5 && value < 1) rows.emplace_back(value, cells[0]);
  }
  rows.emplace_back(ours, "this run");
  std::sort(rows.begin(), rows.end());
  size_t mine =
      size_t(std::find_if(rows.begin(), rows.end(), [](auto& r) { return r.second == "this run"; }) - rows.begin());
  std::printf("published results that ship with the data, next to this run:\n");
  for (size_t i = mine > 4 ? mine - 4 : 0; i < std::min(rows.size(), mine + 5); ++i)
    std::printf("  %.4f  %s%s\n", rows[i].first, rows[i].second.c_str(), i == mine ? "  <--" : "");
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
  Data train = read_data(o.data, "train"), test = read_data(o.data, "t10k");
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
  print_baselines(o.readme, got);
  if (got < 0.87) stop("the accuracy is below 0.87, so something is wrong.");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_options(argc, argv));
  } catch (const Error& e) { stop(e.what()); }
}
