#include "core/op/opdef.h"
namespace oarlock::op::unique_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "unique",
    .summary = "The different elements of x, least first; where each stands first; which of them each element of x is; "
               "and how often each is there. Every NaN is different from the others.",
    .source = "Array API standard 2023.12, unique_all",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"values", "[?N]"}, {"indices", "i64[?M]"}, {"inverse", "i64[*S]"}, {"counts", "i64[?K]"}},
    .types = {{"T", kAny}},
    .no_gradient = "which elements are alike changes in jumps",
    .reference = reference,
    .cases = {{"some twice", "S=2x3", "", "x: 3 1 3 2 1 1"}, {"nan", "S=4", "", "x: nan 1 nan 0"}, {"nothing", "S=0"}},
});
}  // namespace oarlock::op::unique_

#include "rules.h"
#include "places.h"
namespace oarlock::op::unique_ {
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &inverse = c.out(2);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    std::vector<Acc> all = gathered<Acc>(x);
    std::vector<int64_t> order(all.size()), which(all.size()), first, times;
    for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t i, int64_t k) { return before(all[size_t(i)], all[size_t(k)]); });
    for (int64_t at : order) {
      if (first.empty() || !(all[size_t(first.back())] == all[size_t(at)])) {
        first.push_back(at);
        times.push_back(0);
      }
      which[size_t(at)] = int64_t(first.size()) - 1;
      ++times.back();
    }
    spread(which, inverse);
    int64_t n = int64_t(first.size());
    const oar_view_t *values = c.allocate(0, {n}), *indices = c.allocate(1, {n}), *counts = c.allocate(3, {n});
    if (!values || !indices || !counts) return;
    for (int64_t i = 0; i < n; ++i) {
      store<Acc>(*values, i * values->strides[0], all[size_t(first[size_t(i)])]);
      store<int64_t>(*indices, i * indices->strides[0], first[size_t(i)]);
      store<int64_t>(*counts, i * counts->strides[0], times[size_t(i)]);
    }
  });
}
}  // namespace oarlock::op::unique_
