// Trains a small residual network on Fashion-MNIST (5.7 million multiply-adds an image) through whatever plugins are
// loaded, keeps its weights, and says how it did beside the results that ship with the data.
//
//   02_train_cnn [--device cpu] [--epochs 8] [--out FOLDER] [--steps N] [--check WEIGHTS] [--batches N]
//                [--batch 64] [--seconds 10]
//
// --out FOLDER     keeps weights.safetensors, history.csv, the program that 07_predict runs (network.oarp and its weights)
//                  and, for pictures, images.npy, scores.npy, labels.npy; with --steps the weights alone, with --check
//                  logits.npy, of the first 64 test images
// --check WEIGHTS  trains nothing: loads the weights and tests them; with --device all on every device there is, in a
//                  table, as many test images as each manages in about --seconds
// --steps N        trains N steps without shuffling or transforms, and prints each loss and a hash of the weights' bits:
//                  what to compare between devices and sets of plugins
// --batches N      with --check: only so many batches
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <oarlock/oarlock.h>

using namespace oarlock;

namespace {

struct Options {
  std::string device = "cpu", out, check;
  int64_t epochs = 8, steps = 0, batches = -1, batch = 64;
  double seconds = 10;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "02_train_cnn: %s\n", why.c_str());
  std::exit(1);
}

nn::ConvOptions plain(int64_t stride, int64_t padding) {  // batch norm has the bias
  nn::ConvOptions o;
  o.stride = stride;
  o.padding = padding;
  o.bias_attr = false;
  return o;
}

// He et al. 2016, Deep residual learning for image recognition: two 3 x 3 convolutions and a way past them.
struct Block : nn::Layer {
  std::shared_ptr<nn::Conv2D> conv1, conv2;
  std::shared_ptr<nn::BatchNorm2D> bn1, bn2;
  std::shared_ptr<nn::Sequential> downsample;

  Block(int64_t in, int64_t out, int64_t stride) {
    conv1 = add_sublayer("conv1", std::make_shared<nn::Conv2D>(in, out, 3, plain(stride, 1)));
    bn1 = add_sublayer("bn1", std::make_shared<nn::BatchNorm2D>(out));
    conv2 = add_sublayer("conv2", std::make_shared<nn::Conv2D>(out, out, 3, plain(1, 1)));
    bn2 = add_sublayer("bn2", std::make_shared<nn::BatchNorm2D>(out));
    if (stride == 1 && in == out) return;
    downsample = add_sublayer(
        "downsample", std::make_shared<nn::Sequential>(std::make_shared<nn::Conv2D>(in, out, 1, plain(stride, 0)),
                                                       std::make_shared<nn::BatchNorm2D>(out)));
  }
  Tensor forward(const Tensor& x) override {
    Tensor y = relu((*bn1)((*conv1)(x)));
    y = (*bn2)((*conv2)(y));
    return relu(y + (downsample ? (*downsample)(x) : x));
  }
};

struct Net : nn::Layer {
  std::shared_ptr<nn::Conv2D> conv1 = add_sublayer("conv1", std::make_shared<nn::Conv2D>(1, 16, 3, plain(1, 1)));
  std::shared_ptr<nn::BatchNorm2D> bn1 = add_sublayer("bn1", std::make_shared<nn::BatchNorm2D>(16));
  std::shared_ptr<Block> layer1 = add_sublayer("layer1", std::make_shared<Block>(16, 32, 2));
  std::shared_ptr<Block> layer2 = add_sublayer("layer2", std::make_shared<Block>(32, 64, 2));
  std::shared_ptr<nn::Linear> fc = add_sublayer("fc", std::make_shared<nn::Linear>(64, 10));

  Tensor forward(const Tensor& x) override {
    Tensor y = relu((*bn1)((*conv1)(x)));
    y = (*layer2)((*layer1)(y));
    return (*fc)(mean(y, {2, 3}));
  }
};

std::string read_gz(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return "";
  std::string all;
  std::vector<char> piece(1 << 16);
  for (int n; (n = gzread(file, piece.data(), unsigned(piece.size()))) > 0;) all.append(piece.data(), size_t(n));
  gzclose(file);
  return all;
}

// The submitted results in the data set's own README, those next to ours.
void print_baselines(double ours) {
  std::vector<std::pair<double, std::string>> rows;
  std::string all = read_gz("/usr/share/doc/dataset-fashion-mnist/README.md.gz");
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
    double value = std::strtod(cells[2].c_str(), nullptr);
    if (value > 0.5 && value < 1) rows.emplace_back(value, cells[0]);
  }
  if (rows.empty()) return;
  rows.emplace_back(ours, "this run");
  std::sort(rows.begin(), rows.end());
  auto is_ours = [](auto& row) { return row.second == "this run"; };
  size_t mine = size_t(std::find_if(rows.begin(), rows.end(), is_ours) - rows.begin());
  std::printf("published results that ship with the data, next to this run:\n");
  for (size_t i = mine > 5 ? mine - 5 : 0; i < std::min(rows.size(), mine + 5); ++i)
    std::printf("  %.4f  %s%s\n", rows[i].first, rows[i].second.c_str(), i == mine ? "  <--" : "");
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 >= argc) stop(name + " wants a value");
      return argv[++i];
    };
    if (name == "--device") o.device = value();
    else if (name == "--out") o.out = value();
    else if (name == "--check") o.check = value();
    else if (name == "--epochs") o.epochs = std::atoll(value().c_str());
    else if (name == "--steps") o.steps = std::atoll(value().c_str());
    else if (name == "--batches") o.batches = std::atoll(value().c_str());
    else if (name == "--batch") o.batch = std::atoll(value().c_str());
    else if (name == "--seconds") o.seconds = std::atof(value().c_str());
    else
      stop("unknown option " + name +
           "; there are --device --epochs --out --steps --check --batches --batch --seconds");
  }
  if (o.device == "all" && o.check.empty()) stop("--device all goes with --check");
  return o;
}

// Mean and deviation of the training images' pixels.
vision::TransformPtr prepared(bool augmented) {
  std::vector<vision::TransformPtr> all;
  if (augmented) all.push_back(std::make_shared<vision::RandomHorizontalFlip>());
  all.push_back(std::make_shared<vision::ToFloat>());
  all.push_back(std::make_shared<vision::Normalize>(std::vector{0.2860}, std::vector{0.3530}));
  return std::make_shared<vision::Compose>(all);
}

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

double value_of(const Logs& logs, const char* name) {
  const double* v = find(logs, name);
  if (!v) stop(std::string("no value ") + name + " in the logs");
  return *v;
}

void train_steps(Model& model, data::DataLoader& loader, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    std::optional<data::Batch> batch = loader.next();
    if (!batch) break;
    Device device = model.parameters()[0].device();
    Tensor x = (*batch)[0].to(device), y = (*batch)[1].to(device);
    Logs logs = model.train_batch({&x, 1}, {&y, 1});
    std::printf("step %2lld  loss %.6f\n", static_cast<long long>(i + 1), value_of(logs, "loss"));
  }
  uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const auto& [name, t] : model.network().state_dict()) {
    std::string bytes(size_t(size_bytes(t.dtype(), uint64_t(t.element_count()))), '\0');
    t.copy_to_host(bytes.data());
    for (unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211ull;
  }
  std::printf("weights %016llx\n", static_cast<unsigned long long>(hash));
}

constexpr int64_t kFirst = 64;

Tensor logits_of_first_images(Model& model, const std::shared_ptr<data::Dataset>& test) {
  std::vector<int64_t> first(kFirst);
  std::iota(first.begin(), first.end(), 0);
  data::DataLoader loader(std::make_shared<data::Subset>(test, first), {.batch_size = kFirst});
  return model.predict(loader)[0].to(Device());
}

// What the pictures are drawn from: the first test images, the network's scores for them, the true classes.
void keep_predictions(Model& model, const std::shared_ptr<vision::FashionMNIST>& test, const std::string& folder) {
  data::write_npy(folder + "/scores.npy", softmax(logits_of_first_images(model, test)));
  data::write_npy(folder + "/images.npy", slice(test->images(), {0, 0, 0, 0}, {kFirst, 1, 28, 28}).contiguous());
  data::write_npy(folder + "/labels.npy", slice(test->labels(), {0}, {kFirst}).contiguous());
}

struct Checked {
  double accuracy, seconds;
  int64_t images;
};
Checked check(Model& model, data::DataLoader& loader, int64_t batches, int64_t images) {
  auto begin = std::chrono::steady_clock::now();
  Logs logs = model.evaluate(loader, {.verbose = 0, .max_steps = batches});
  return {value_of(logs, "acc"), seconds_since(begin), images};
}

// The same weights on one device after the other.
void check_everywhere(Model& model, const std::shared_ptr<data::Dataset>& test, const Options& o) {
  data::DataLoader loader(test, {.batch_size = o.batch, .num_workers = 1});
  std::printf("%-12s %9s %8s %12s  %s\n", "device", "accuracy", "images", "images/s", "is");
  for (Device d : devices()) {
    model.network().to(d);
    check(model, loader, 1, o.batch);  // kernels are chosen, programs compiled
    int64_t all = (test->size() + o.batch - 1) / o.batch, batches = 1;
    Checked c;
    for (;;) {  // more and more, until it takes long enough
      c = check(model, loader, batches, std::min(batches * o.batch, test->size()));
      if (batches == all || c.seconds > o.seconds / 2) break;
      batches = std::min(all, batches * std::clamp<int64_t>(int64_t(o.seconds / c.seconds), 2, 16));
    }
    std::printf("%-12s %9.4f %8lld %12.0f  %s\n", d.name().c_str(), c.accuracy, static_cast<long long>(c.images),
                double(c.images) / c.seconds, d.description().c_str());
    std::fflush(stdout);
  }
}

void run(const Options& o) {
  Device device = o.device == "all" ? Device() : Device(o.device);
  std::string loaded;
  for (const PluginInfo& p : plugins())
    if (p.state == PluginState::loaded) loaded += (loaded.empty() ? "" : ", ") + p.name;
  std::printf("device %s, plugins: %s\n", o.device == "all" ? "all" : device.name().c_str(),
              loaded.empty() ? "none" : loaded.c_str());

  if (!o.out.empty()) std::filesystem::create_directories(o.out);
  set_seed(1);
  auto net = std::make_shared<Net>();
  net->to(device);
  bool plain_steps = o.steps > 0;
  auto train = std::make_shared<vision::FashionMNIST>(vision::Split::train, prepared(!plain_steps));
  auto test = std::make_shared<vision::FashionMNIST>(vision::Split::test, prepared(false));
  data::DataLoader train_loader(
      train, {.batch_size = o.batch, .shuffle = !plain_steps, .drop_last = true, .num_workers = plain_steps ? 0 : 1});
  data::DataLoader test_loader(test, {.batch_size = o.batches > 0 ? o.batch : 500, .num_workers = 1});

  Model model(net);
  auto loss = std::make_shared<nn::CrossEntropyLoss>();
  auto accuracy = std::make_shared<metric::Accuracy>();
  if (!o.check.empty()) {
    model.prepare(nullptr, loss, {accuracy});
    model.load(o.check);
    if (o.device == "all") return check_everywhere(model, test, o);
    Checked c = check(model, test_loader, o.batches, o.batches > 0 ? o.batches * o.batch : test->size());
    std::printf("loaded %s: accuracy %.4f over %lld test images, %.0f images/s\n", o.check.c_str(), c.accuracy,
                static_cast<long long>(c.images), double(c.images) / c.seconds);
    if (!o.out.empty()) data::write_npy(o.out + "/logits.npy", logits_of_first_images(model, test));
    return;
  }
  auto schedule = std::make_shared<optim::lr::OneCycleLR>(0.05, train_loader.size() * std::max<int64_t>(o.epochs, 1));
  optim::SGDOptions sgd{
      .learning_rate = optim::lr::SchedulerPtr(schedule), .momentum = 0.9, .weight_decay = 2e-4, .nesterov = true};
  if (plain_steps) sgd.learning_rate = 0.05;
  model.prepare(std::make_shared<optim::SGD>(net->parameters(), sgd), loss, {accuracy});
  if (plain_steps) {
    train_steps(model, train_loader, o.steps);
    if (!o.out.empty()) model.save(o.out + "/weights.safetensors", /*training=*/false);
    return;
  }

  FitOptions fit{.epochs = o.epochs, .eval = &test_loader, .log_freq = 100};
  if (!o.out.empty()) { fit.callbacks.push_back(std::make_shared<callbacks::CSVLogger>(o.out + "/history.csv")); }
  fit.callbacks.push_back(std::make_shared<callbacks::LRScheduler>());
  auto begin = std::chrono::steady_clock::now();
  model.fit(train_loader, fit);
  double training = seconds_since(begin);
  double got = value_of(model.evaluate(test_loader, {.verbose = 0}), "acc");
  std::printf("trained %lld epochs in %.1f s\ntest accuracy %.4f\n", static_cast<long long>(o.epochs), training, got);
  print_baselines(got);
  if (!o.out.empty()) {
    model.save(o.out + "/weights.safetensors", /*training=*/false);
    keep_predictions(model, test, o.out);
    jit::save(jit::export_layer(*net, {{.shape = {"N", 1, 28, 28}, .name = "image"}},
                                {.name = "fashion_mnist", .output_names = {"scores"}}),
              o.out + "/network");
    std::printf("kept weights.safetensors, history.csv, network.oarp and some predictions in %s\n", o.out.c_str());
  }
  if (got < 0.80) stop("the accuracy is below 0.80, so something is wrong.");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_options(argc, argv));
  } catch (const Error& e) { stop(e.what()); }
}
