#include "core/op/opdef.h"
namespace oarlock::op::adaptive_avg_pool_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "adaptive_avg_pool",
    .summary = "Means of windows that divide the axes behind [N, C] into size parts: window i of E over D elements is "
               "floor(i * D / E) to ceil((i + 1) * D / E), without the end. Over nothing: 0.",
    .source = "torch.nn.functional.adaptive_avg_pool2d",
    .inputs = {{"x", "[N, C, *D]"}},
    .outputs = {{"out", "[N, C, *size]"}},
    .types = {{"T", kFloat}},
    .attributes = {dims("size")},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.ulps = 16, .of_absolutes = true},
    .cases = {{"windows of two lengths", "N=2 C=3 D=7x5", "size=3,2"},
              {"equal windows", "N=2 C=1 D=6x4", "size=3,2"},
              {"of everything", "N=2 C=3 D=5x4", "size=1,1"},
              {"more than there is", "N=1 C=2 D=3", "size=5"},
              {"no images", "N=0 C=2 D=5", "size=2"},
              {"no elements", "N=2 C=2 D=0", "size=2"},
              {"to nothing", "N=2 C=2 D=3", "size=0"}},
});
}  // namespace oarlock::op::adaptive_avg_pool_

#include "rules.h"
#include "adaptive.h"
namespace oarlock::op::adaptive_avg_pool_ {
static void infer(InferCall& c) { infer_adaptive(c); }
static void decompose(RuleCall& c) {
  Tensor x = c.in(0);
  auto size = c.attrs.dims(0);
  int axes = x.rank() - 2;
  int64_t lengths[kMaxRank], behind[kMaxRank];
  bool ones = true, empty = false;
  Shape out{x.shape()[0], x.shape()[1]};
  for (int i = 0; i < axes; ++i) {
    behind[i] = i + 2;
    ones &= size[size_t(i)].n == 1;
    empty |= x.shape()[i + 2].n == 0;
    out.push(size[size_t(i)]);
  }
  std::span<const int64_t> kernel(lengths, size_t(axes));
  if (empty) return c.set(0, full(out, 0, x.dtype()));
  if (ones && axes) return c.set(0, mean(x, std::span<const int64_t>(behind, size_t(axes)), true));
  if (equal_windows(x.shape(), size, lengths)) return c.set(0, axes ? avg_pool(x, kernel, kernel) : copy(x));
  for (int i = 0; i < axes; ++i)
    if (size[size_t(i)] != x.shape()[i + 2])
      x = by_windows(x, i + 2, size[size_t(i)], [](const Tensor& rows, const Tensor& inside) {
        Tensor n = sum(cast(inside, rows.dtype()), {1});
        return divide(sum(where(inside, rows, number(0, rows)), {1}), n);
      });
  c.set(0, x);
}
}  // namespace oarlock::op::adaptive_avg_pool_
