// Throughput of the data loader on images of 28 x 28: shuffled batches of 64, with and without flips, padded crops,
// scaling and normalisation, with and without workers, and from a dataset that only gives single samples.
// tests/bench/torch/loader.py measures torch's loader on the same.
#include <oarlock/data.h>

#include <chrono>

#include <oarlock/base/operators.h>

#include "timing.h"

using namespace oarlock;

namespace {

struct Single : data::Dataset {  // hides get_batch
  std::shared_ptr<const data::Dataset> inner;
  int64_t size() const override { return inner->size(); }
  data::Sample get(int64_t i) const override { return inner->get(i); }
};

double images_per_second(std::shared_ptr<const data::Dataset> dataset, int workers) {
  data::DataLoader loader(dataset,
                          {.batch_size = 64, .shuffle = true, .num_workers = workers, .prefetch = 4, .seed = 1});
  double best = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    auto begin = std::chrono::steady_clock::now();
    int64_t n = 0;
    while (auto batch = loader.next()) n += (*batch)[0].size(0);
    best = std::max(best, double(n) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

int main() {
  Tensor bytes = cast(random_uniform(Tensor::of<int64_t>({1, 0}, {2}), {60000, 1, 28, 28}) * 256.0, DType::u8);
  auto plain = std::make_shared<data::TensorDataset>(std::vector<Tensor>{bytes, arange(60000)});
  std::vector<vision::TransformPtr> steps = {
      std::make_shared<vision::RandomCrop>(28, 28, 4), std::make_shared<vision::RandomHorizontalFlip>(),
      std::make_shared<vision::ToFloat>(),
      std::make_shared<vision::Normalize>(std::vector<double>{0.286}, std::vector<double>{0.353})};
  auto altered = std::make_shared<data::TransformedDataset>(plain, std::make_shared<vision::Compose>(steps));
  auto single = std::make_shared<Single>();
  single->inner = altered;
  bench::report("loader, plain rows, no workers", images_per_second(plain, 0), "images/s");
  bench::report("loader, flips and crops, no workers", images_per_second(altered, 0), "images/s");
  bench::report("loader, flips and crops, 2 workers", images_per_second(altered, 2), "images/s");
  bench::report("loader, flips and crops, sample by sample, no workers", images_per_second(single, 0), "images/s");
  bench::report("loader, flips and crops, sample by sample, 2 workers", images_per_second(single, 2), "images/s");
}
