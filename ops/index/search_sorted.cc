#include "core/op/opdef.h"
namespace oarlock::op::search_sorted_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "search_sorted",
    .summary = "How many elements of sorted come before each value: where it could be put in, left of its equals or "
               "right of them. NaN is the greatest.",
    .source = "Array API standard 2023.12, searchsorted",
    .inputs = {{"sorted", "[N]"}, {"values", "[*J]"}},
    .outputs = {{"out", "i64[*J]"}},
    .types = {{"T", kNumeric, promotes}},
    .attributes = {choice("side", "left|right")},
    .no_gradient = "its results are places",
    .reference = reference,
    .cases = {{"among equals", "N=5 J=4", "side=right", "sorted: 1 2 2 2 3; values: 0 2 3 4"},
              {"left of equals", "N=5 J=4", "", "sorted: 1 2 2 2 3; values: 0 2 3 4"},
              {"in nothing", "N=0 J=2"},
              {"nan", "N=3 J=2", "", "sorted: 1 2 nan; values: nan inf"}},
});
}  // namespace oarlock::op::search_sorted_

#include "rules.h"
#include "axes.h"
namespace oarlock::op::search_sorted_ {
static void reference(KernelCall& c) {
  const oar_view_t &sorted = c.in(0), &values = c.in(1), &out = c.out(0);
  bool right = c.attrs.text(0) == "right";
  with_accumulator(dtype(sorted), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(values); w.more(); w.next()) {
      Acc value = load<Acc>(values, offset(values, w.index, values.n_dims));
      int64_t low = 0, high = sorted.shape[0];
      while (low < high) {
        int64_t middle = low + (high - low) / 2;
        Acc x = load<Acc>(sorted, middle * sorted.strides[0]);
        if (right ? !before(value, x) : before(x, value)) low = middle + 1;
        else high = middle;
      }
      store<int64_t>(out, offset(out, w.index, out.n_dims), low);
    }
  });
}
}  // namespace oarlock::op::search_sorted_
