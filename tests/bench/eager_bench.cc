// Eager calls end to end, from C++ and from C, on 16 f32 with the simd pack.
#include <oarlock/app.h>
#include <oarlock/oarlock.h>

#include "timing.h"

using namespace oarlock;

int main() {
  throw_if(set_setting("backends", OARLOCK_BACKEND_DIR));
  devices();
  Tensor x = full({16}, 1), y = full({16}, 2), z;
  bench::report("eager add of 16, C++", bench::best_ns([&] { z = add(x, y); }), "ns", 60);
  bench::report("view (reshape), C++", bench::best_ns([&] { z = reshape(x, {4, 4}); }), "ns", 25);
  bench::report("empty tensor of 16, C++", bench::best_ns([&] { z = Tensor::empty({16}); }), "ns");
  Tensor leaf = full({16}, 1).set_requires_grad();
  bench::report("recorded add of 16, C++", bench::best_ns([&] { z = add(leaf, y); }), "ns", 120);
  Tensor w = full({16, 16}, 1), b = full({16}, 1), row = full({1, 16}, 1);
  bench::report("linear of 16 (matmul, add), C++", bench::best_ns([&] { z = add(matmul(row, w), b); }), "ns");
  Tensor a = full({16}, 3).set_requires_grad();
  bench::report("three ops forward and backward, C++",
                bench::best_ns(
                    [&] {
                      sum(multiply(add(a, y), y)).backward();
                      a.set_grad({});
                    },
                    2'000),
                "ns");

  oar_tensor_t *cx = nullptr, *cy = nullptr, *cz = nullptr;
  int64_t shape[] = {16};
  float values[16] = {1, 2, 3};
  if (oar_tensor_create(OAR_DTYPE_F32, 1, shape, values, 0, &cx) != OAR_OK) return 1;
  if (oar_tensor_create(OAR_DTYPE_F32, 1, shape, values, 0, &cy) != OAR_OK) return 1;
  bool failed = false;
  bench::report("eager add of 16, C",
                bench::best_ns([&] { failed |= oar_add(cx, cy, &cz) != OAR_OK || oar_tensor_release(cz) != OAR_OK; }),
                "ns", 60);
  return failed;
}
