// The cases of eager_bench in torch's C++ library, one thread.
#include <torch/torch.h>

#include "timing.h"

int main() {
  torch::set_num_threads(1);
  torch::NoGradGuard off;
  torch::Tensor x = torch::full({16}, 1.f), y = torch::full({16}, 2.f), z;
  bench::report("eager add of 16, C++", bench::best_ns([&] { z = torch::add(x, y); }), "ns");
  bench::report("view (reshape), C++", bench::best_ns([&] { z = x.reshape({4, 4}); }), "ns");
  bench::report("empty tensor of 16, C++", bench::best_ns([&] { z = torch::empty({16}); }), "ns");
  torch::Tensor w = torch::full({16, 16}, 1.f), b = torch::full({16}, 1.f), row = torch::full({1, 16}, 1.f);
  bench::report("linear of 16 (matmul, add), C++", bench::best_ns([&] { z = torch::add(torch::matmul(row, w), b); }),
                "ns");
  torch::AutoGradMode on(true);
  torch::Tensor leaf = torch::full({16}, 1.f).requires_grad_();
  bench::report("recorded add of 16, C++", bench::best_ns([&] { z = torch::add(leaf, y); }), "ns");
  bench::report("three ops forward and backward, C++",
                bench::best_ns(
                    [&] {
                      torch::sum(torch::mul(torch::add(leaf, y), y)).backward();
                      leaf.mutable_grad().reset();
                    },
                    2'000),
                "ns");
}
