#include "core/op/opdef.h"
namespace oarlock::op::adaptive_max_pool_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "adaptive_max_pool",
    .summary = "Greatest elements of windows that divide the axes behind [N, C] into size parts, as adaptive_avg_pool "
               "does. Of nothing: -infinity. How elements that share a maximum share its gradient is not defined.",
    .source = "torch.nn.functional.adaptive_max_pool2d",
    .inputs = {{"x", "[N, C, *D]"}},
    .outputs = {{"out", "[N, C, *size]"}},
    .types = {{"T", kFloat}},
    .attributes = {dims("size")},
    .infer = infer,
    .decompose = decompose,
    .cases = {{"windows of two lengths", "N=2 C=3 D=7x5", "size=3,2", "x: distinct"},
              {"equal windows", "N=2 C=1 D=6x4", "size=3,2", "x: distinct"},
              {"of everything", "N=2 C=3 D=5x4", "size=1,1", "x: distinct"},
              {"more than there is", "N=1 C=2 D=3", "size=5", "x: distinct"},
              {"nan wins", "N=1 C=1 D=7", "size=3", "x: nan inf -inf"},
              {"no images", "N=0 C=2 D=5", "size=2"},
              {"no elements", "N=2 C=2 D=0", "size=2"},
              {"to nothing", "N=2 C=2 D=3", "size=0"}},
});
}  // namespace oarlock::op::adaptive_max_pool_

#include "rules.h"
#include "adaptive.h"
namespace oarlock::op::adaptive_max_pool_ {
static void infer(InferCall& c) { infer_adaptive(c); }
static void decompose(RuleCall& c) {
  Tensor x = c.in(0);
  auto size = c.attrs.dims(0);
  int axes = x.rank() - 2;
  int64_t lengths[kMaxRank];
  bool empty = false;
  Shape out{x.shape()[0], x.shape()[1]};
  for (int i = 0; i < axes; ++i) {
    empty |= x.shape()[i + 2].n == 0;
    out.push(size[size_t(i)]);
  }
  std::span<const int64_t> kernel(lengths, size_t(axes));
  if (empty) return c.set(0, full(out, -INFINITY, x.dtype()));
  if (equal_windows(x.shape(), size, lengths)) return c.set(0, axes ? max_pool(x, kernel, kernel) : copy(x));
  for (int i = 0; i < axes; ++i)
    if (size[size_t(i)] != x.shape()[i + 2])
      x = by_windows(x, i + 2, size[size_t(i)], [](const Tensor& rows, const Tensor& inside) {
        return max(where(inside, rows, number(-INFINITY, rows)), {1});
      });
  c.set(0, x);
}
}  // namespace oarlock::op::adaptive_max_pool_
