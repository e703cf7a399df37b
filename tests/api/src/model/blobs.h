// A small classification problem: three clouds of points, a network of two layers, and what a test compares.
#pragma once
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include <oarlock/base/ops.h>
#include <oarlock/data.h>
#include <oarlock/model.h>
#include <oarlock/nn/containers.h>
#include <oarlock/nn/linear.h>

#include "tests/api/src/data/files/files.h"

namespace oarlock::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("oarlock_model_" + std::to_string(getpid()) + "_" + std::to_string(number++)))
                .string();
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string bits(const Tensor& t) {
  std::string s(size_bytes(t.dtype(), uint64_t(t.element_count())), 0);
  if (!s.empty()) t.copy_to_host(s.data());
  return s;
}
inline Tensor softmax_loss(const Tensor& scores, const Tensor& labels) { return mean(cross_entropy(scores, labels)); }

struct Relu : nn::Layer {
  Tensor forward(const Tensor& x) override { return relu(x); }
};

struct Blobs {
  std::shared_ptr<data::TensorDataset> points;
  nn::LayerPtr net;
  OptimizerPtr optimizer;
  Loss loss = Loss([](const Tensor& y, const Tensor& t) { return softmax_loss(y, t); });

  // distance: between the clouds, in deviations of one.
  Blobs(int64_t n, double distance, double dropout = 0) {
    std::vector<float> x;
    std::vector<int64_t> y;
    data::Random r(17, 0, 0);
    for (int64_t i = 0; i < n; ++i) {
      y.push_back(i % 3);
      double angle = double(i % 3) * 2.0943951023931953;
      for (double center : {std::cos(angle), std::sin(angle)}) {
        double sum = -6;  // nearly normal
        for (int k = 0; k < 12; ++k) sum += r.uniform();
        x.push_back(float(distance * center + sum));
      }
    }
    points = std::make_shared<data::TensorDataset>(std::vector<Tensor>{Tensor::from_host(x.data(), {n, 2}, DType::f32),
                                                                       Tensor::from_host(y.data(), {n}, DType::i64)});
    net = std::make_shared<nn::Sequential>(std::make_shared<nn::Linear>(2, 16), std::make_shared<Relu>(),
                                           std::make_shared<nn::Dropout>(dropout), std::make_shared<nn::Linear>(16, 3));
    optimizer =
        std::make_shared<optim::SGD>(net->parameters(), optim::SGDOptions{.learning_rate = 0.1, .momentum = 0.9});
  }
  Model& model(std::vector<MetricPtr> metrics) {
    model_ = std::make_unique<Model>(net);
    model_->prepare(optimizer, loss, std::move(metrics));
    return *model_;
  }
  data::DataLoader loader(int64_t batch, bool shuffle, int workers = 0) {
    return data::DataLoader(std::shared_ptr<const data::Dataset>(points),
                            {.batch_size = batch, .shuffle = shuffle, .num_workers = workers});
  }

 private:
  std::unique_ptr<Model> model_;
};

}  // namespace oarlock::test
