#include "core/op/opdef.h"
namespace oarlock::op::matrix_transpose_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "matrix_transpose",
    .summary = "Swaps the last two axes. The result shares x's elements.",
    .source = "Array API standard 2023.12, matrix_transpose",
    .inputs = {{"x", "[*L, M, N]"}},
    .outputs = {{"out", "[*L, N, M]"}},
    .types = {{"T", kAny | kStorage}},
    .decompose = decompose,
    .cases = {{"a stack of matrices", "L=4 M=2 N=3"}},
});
}  // namespace oarlock::op::matrix_transpose_

#include "rules.h"
namespace oarlock::op::matrix_transpose_ {
static void decompose(RuleCall& c) {
  int rank = c.in(0).rank();
  int64_t axes[kMaxRank];
  for (int i = 0; i < rank; ++i) axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  c.set(0, permute(c.in(0), std::span<const int64_t>(axes, size_t(rank))));
}
}  // namespace oarlock::op::matrix_transpose_
