// A program outside the tree: what the package installs is all it sees.
#include <cstdio>
#include <span>

#include <oarlock/base/op.h>
#include <oarlock/base/tensor.h>

int main() {
  using oarlock::Tensor;
  const Tensor a = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  const Tensor b = Tensor::of<float>({10, 20, 30, 40}, {2, 2});
  const Tensor operands[] = {a, b};
  const Tensor c = oarlock::call_op("matmul", operands).at(0);
  const float want[] = {70, 100, 150, 220};
  float have[4];
  c.copy_to_host(have);
  for (int i = 0; i < 4; ++i) {
    if (have[i] != want[i]) {
      std::printf("matmul: element %d is %g, expected %g\n", i, have[i], want[i]);
      return 1;
    }
  }
  try {
    const Tensor wrong[] = {a, Tensor::of<float>({1, 2, 3}, {3, 1})};
    (void)oarlock::call_op("matmul", wrong);
    std::puts("matmul took operands whose K disagrees");
    return 1;
  } catch (const oarlock::Error& error) { std::printf("refused as it should: %s\n", error.what()); }
  return 0;
}
