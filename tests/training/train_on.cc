// Trains a small perceptron on made-up data on one device and prints the losses and a hash of every parameter's bits:
// train_on DEVICE STEPS. An error is printed as "error: ..." and the process goes on to say that it lives.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <oarlock/oarlock.h>

using namespace oarlock;

namespace {

uint64_t hash(uint64_t h, const void* bytes, size_t n) {  // FNV-1a
  for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211ull;
  return h;
}

void train(Device device, int steps) {
  const int64_t batch = 8, in = 12, hidden = 16, classes = 4;
  auto uniform = [&](int64_t id, const Shape& s) { return random_uniform(Tensor::of<int64_t>({7, id}, {2}), s); };
  std::vector<Tensor> p = {(uniform(1, {in, hidden}) * 2.0 - 1.0) * 0.3, full({hidden}, 0),
                           (uniform(2, {hidden, classes}) * 2.0 - 1.0) * 0.3, full({classes}, 0)};
  std::vector<Tensor> momenta;
  for (Tensor& t : p) {
    momenta.push_back(full_like(t, 0).to(device));
    t = t.to(device);
    t.set_requires_grad();
  }
  uint64_t h = 14695981039346656037ull;
  for (int step = 0; step < steps; ++step) {
    Tensor x = uniform(100 + step, {batch, in}).to(device);
    Tensor y = cast(uniform(500 + step, {batch}) * double(classes), DType::i64).to(device);
    Tensor loss = mean(cross_entropy(matmul(relu(matmul(x, p[0]) + p[1]), p[2]) + p[3], y));
    loss.backward();
    {
      NoGrad off;
      for (size_t i = 0; i < p.size(); ++i) {
        sgd_update(p[i], p[i].grad(), Tensor::scalar(0.1, DType::f64), momenta[i]);
        p[i].set_grad({});
      }
    }
    std::printf("loss %.9g\n", loss.item());
  }
  for (Tensor& t : p) {
    std::vector<float> values(size_t(t.element_count()));
    t.copy_to_host(values.data());
    h = hash(h, values.data(), values.size() * sizeof(float));
  }
  std::printf("hash %016llx\n", static_cast<unsigned long long>(h));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    train(Device(argv[1]), std::atoi(argv[2]));
  } catch (const Error& e) { std::printf("error: %s\n", e.what()); }
  Tensor alive = full({3}, 2);
  std::printf("alive %g\n", sum(alive).item());
}
