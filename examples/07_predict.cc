// Classifies Fashion-MNIST's test images with a saved program, through the inference engine: no network is defined here.
//
//   07_predict NETWORK.oarp [--device cpu|all] [--batch 500] [--images 10000] [--seconds 10]
//
// --device all   on every device there is, in a table, as many images as each manages in about --seconds
// 02_train_cnn --out FOLDER saves such a program; it takes image f32[N, 1, 28, 28] and gives ten scores an image.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <oarlock/oarlock.h>

using namespace oarlock;

namespace {

struct Options {
  std::string program, device = "cpu";
  int64_t batch = 500, images = 10000;
  double seconds = 10;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "07_predict: %s\n", why.c_str());
  std::exit(1);
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
    else if (name == "--batch") o.batch = std::atoll(value().c_str());
    else if (name == "--images") o.images = std::atoll(value().c_str());
    else if (name == "--seconds") o.seconds = std::atof(value().c_str());
    else if (!name.empty() && name[0] != '-') o.program = name;
    else stop("unknown option " + name + "; there are --device --batch --images --seconds");
  }
  if (o.program.empty()) stop("give the path of a saved program");
  if (o.batch < 1 || o.images < 1) stop("--batch and --images are 1 or more");
  return o;
}

struct Outcome {
  int64_t images = 0, right = 0;
  double seconds = 0;
};

Outcome predict(const inference::Predictor& predictor, data::DataLoader& loader, const Options& o) {
  Outcome out;
  loader.begin_epoch();
  while (out.images < o.images && out.seconds < o.seconds) {
    std::optional<data::Batch> batch = loader.next();
    if (!batch) break;
    auto begin = std::chrono::steady_clock::now();
    Tensor best = argmax(predictor.run({{(*batch)[0]}})[0], 1).to(Device());
    out.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    out.right += int64_t(sum(cast(equal(best, (*batch)[1]), DType::i64)).item());
    out.images += best.element_count();
  }
  return out;
}

void run(const Options& o) {
  jit::ExportedProgram program = jit::load(o.program);
  auto prepared = std::make_shared<vision::Compose>(
      std::vector<vision::TransformPtr>{std::make_shared<vision::ToFloat>(),
                                        std::make_shared<vision::Normalize>(std::vector{0.2860}, std::vector{0.3530})});
  data::DataLoader loader(std::make_shared<vision::FashionMNIST>(vision::Split::test, prepared),
                          {.batch_size = std::min(o.batch, o.images), .num_workers = 1});
  std::printf("%-12s %9s %8s %12s  %s\n", "device", "accuracy", "images", "images/s", "is");
  for (Device d : o.device == "all" ? devices() : std::vector{Device(o.device)}) {
    inference::Predictor predictor(
        inference::Config(program).set_device(d).warm_up({{std::min(o.batch, o.images), 1, 28, 28}}));
    Outcome out = predict(predictor, loader, o);
    std::printf("%-12s %9.4f %8lld %12.0f  %s\n", d.name().c_str(), double(out.right) / double(out.images),
                static_cast<long long>(out.images), double(out.images) / out.seconds, d.description().c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_options(argc, argv));
  } catch (const Error& e) { stop(e.what()); }
}
