#include "core/op/opdef.h"
namespace oarlock::op::expand_ {
static ViewRule view;
static GradientRule gradient;

extern constinit const OpDef def = define({
    .name = "expand",
    .summary = "x broadcast to shape; -1 keeps a size. The result shares x's elements, repeated axes by a stride of 0.",
    .source = "Array API standard 2023.12, broadcast_to",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[*shape]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dims("shape")},
    .view = view,
    .gradient = gradient,
    .role = Role::expand,
    .cases = {{"leading and inner axes", "...=1x3", "shape=4,2,3"},
              {"to nothing", "...=1x3", "shape=0,3"},
              {"kept", "...=2x1", "shape=-1,5"}},
});
}  // namespace oarlock::op::expand_

#include "rules.h"
namespace oarlock::op::expand_ {
static bool view(ViewCall& c) {
  auto shape = c.attrs.dims(0);
  int lead = int(shape.size()) - c.in.rank;
  auto both = [&] {
    Shape asked;
    asked.push(shape.data(), int(shape.size()));
    return c.input_text() + ", shape is " + to_string(asked);
  };
  if (lead < 0) return c.fail(both() + ". Give at least " + std::to_string(c.in.rank) + " sizes");
  for (int i = 0; i < int(shape.size()); ++i) {
    Dim want = shape[size_t(i)], have = i < lead ? Dim(1) : c.in[i - lead];
    if (want.n == kRest) {
      if (i < lead) return c.fail(both() + ". -1 keeps a size, and axis " + std::to_string(i) + " is new");
      want = have;
    }
    if (have.n != 1 && have != want &&
        !c.agree(have, want,
                 "shape disagrees: " + both() + " (" + to_string(have) + " against " + to_string(want) +
                     "). Only axes of size 1 can be repeated"))
      return false;
    c.out.push(want);
    if (c.in_strides) c.out_strides[i] = i < lead || (have.n == 1 && want.n != 1) ? 0 : c.in_strides[i - lead];
  }
  return true;
}
static void gradient(GradientCall& c) { c.set(0, sum_to(c.dout(0), c.in(0).shape())); }
}  // namespace oarlock::op::expand_
