#include "core/op/opdef.h"
namespace oarlock::op::max_pool_gradient_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "max_pool_gradient",
    .summary =
        "The gradient of max_pool: what each window hands back goes to the place it took its value from. indices "
        "are places in the window's plane of x, counted row-major; the number of elements in a plane stands for "
        "none. size: of x behind [N, C].",
    .source = "ONNX operator set 12, MaxPool; operator set 11, MaxUnpool",
    .inputs = {{"dy", "[N, C, *E]"}, {"indices", "i64[N, C, *E]", constant, "0..0"}},
    .outputs = {{"dx", "[N, C, *size]"}},
    .types = {{"T", kNumeric}},
    .attributes = {dims("size")},
    .gradient = gradient,
    .saves = {{"indices"}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"one plane", "N=1 C=1 E=2x2", "size=3,4", "indices: 0..12"},
              {"windows share a place", "N=1 C=1 E=4", "size=2", "indices: 0..2"},
              {"no images", "N=0 C=2 E=3", "size=5"}},
});
}  // namespace oarlock::op::max_pool_gradient_

#include "rules.h"
namespace oarlock::op::max_pool_gradient_ {
// Planes of `size`, each with a place behind it for windows of padding alone, as rows of one list.
struct Places {
  Shape x;
  Dim planes, places = 1, results = 1;
  Tensor index;
  Places(const Tensor& indices, std::span<const Dim> size) : x{indices.shape()[0], indices.shape()[1]} {
    for (Dim d : size) {
      x.push(d);
      places = places * d;
    }
    for (int i = 2; i < indices.rank(); ++i) results = results * indices.shape()[i];
    planes = x[0] * x[1];
    Tensor start = multiply(arange(planes), number(places + 1, indices));
    index = reshape(add(reshape(indices, {planes, results}), unsqueeze(start, {-1})), {planes * results});
  }
};
static void gradient(GradientCall& c) {
  const Tensor& d = c.dout(0);
  Places p(c.in(1), c.attrs.dims(0));
  Tensor all = concat({reshape(d, {p.planes, p.places}), full({p.planes, 1}, 0, d.dtype())}, 1);
  c.set(0, reshape(gather(reshape(all, {p.planes * (p.places + 1)}), p.index), c.in(0).shape()));
}
static void decompose(RuleCall& c) {
  const Tensor& dy = c.in(0);
  Places p(c.in(1), c.attrs.dims(0));
  Tensor all = full({p.planes * (p.places + 1)}, 0, dy.dtype());
  all = scatter_add(all, p.index, reshape(dy, {p.planes * p.results}));
  all = reshape(all, {p.planes, p.places + 1});
  c.set(0, reshape(slice(all, {0, 0}, {p.planes, p.places}), p.x));
}
}  // namespace oarlock::op::max_pool_gradient_
