#include "core/op/opdef.h"
namespace oarlock::op::diagonal_ {
static ViewRule view;
static GradientRule gradient;

extern constinit const OpDef def = define({
    .name = "diagonal",
    .summary = "The diagonal of two axes, put last; offset shifts it right, or down if negative. The result shares x's "
               "elements.",
    .source = "Array API standard 2023.12, linalg.diagonal; numpy.diagonal for the axes",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {integer("offset", 0), axis("axis1", -2), axis("axis2", -1)},
    .view = view,
    .gradient = gradient,
    .cases = {{"of a stack", "S=2x3x4", "offset=1"},
              {"below", "S=4x3", "offset=-2"},
              {"outside", "S=2x3", "offset=7"},
              {"first and last axis", "S=3x2x3", "axis1=0 axis2=2"}},
});
}  // namespace oarlock::op::diagonal_

#include "rules.h"
namespace oarlock::op::diagonal_ {
static bool view(ViewCall& c) {
  int64_t offset = c.attrs.integer(0), rows = c.attrs.integer(1), columns = c.attrs.integer(2);
  if (rows == columns) return c.fail("axis1 and axis2 are both " + std::to_string(rows) + ". Give two axes");
  Dim m = c.in[int(rows)], n = c.in[int(columns)], length;
  int64_t down = offset < 0 ? (offset == INT64_MIN ? INT64_MAX : -offset) : 0, right = offset > 0 ? offset : 0;
  if (m.known() && n.known())
    length = std::max<int64_t>(0, std::min(m.n - std::min(down, m.n), n.n - std::min(right, n.n)));
  else if (m == n) length = m - std::max(down, right);
  else return c.fail("sizes are not known yet: " + c.input_text());
  int at = 0;
  for (int i = 0; i < c.in.rank; ++i) {
    if (i == rows || i == columns) continue;
    c.out.push(c.in[i]);
    if (c.in_strides) c.out_strides[at] = c.in_strides[i];
    ++at;
  }
  c.out.push(length);
  if (c.in_strides) {
    c.out_strides[at] = c.in_strides[rows] + c.in_strides[columns];
    c.out_offset = count(c.out) == 0 ? 0 : down * c.in_strides[rows] + right * c.in_strides[columns];
  }
  return true;
}
static void gradient(GradientCall& c) {  // spread over rows, then masked
  const Shape& in = c.in(0).shape();
  int rank = in.rank;
  int64_t offset = c.attrs.integer(0), rows = c.attrs.integer(1), columns = c.attrs.integer(2);
  const Tensor& d = c.dout(0);
  Dim m = in[int(rows)], n = in[int(columns)], length = d.shape()[rank - 2];
  if (length.n == 0) return c.set(0, zeros_like(c.in(0)));
  Shape before, after, column;
  for (int i = 0; i < rank - 1; ++i) {
    before.push(0);
    after.push(0);
  }
  before.d[rank - 2] = offset < 0 ? -offset : 0;
  after.d[rank - 2] = m - length - before.d[rank - 2];
  Tensor spread = pad(d, before, after);
  column = spread.shape();
  column.push(1);
  Tensor i = reshape(arange(m), {m, 1});
  Tensor mask = equal(add(i, number(double(offset), i)), arange(n));
  Tensor last = where(mask, reshape(spread, column), number(0, d));  // rows and columns are the last axes here
  int64_t back[kMaxRank];
  for (int64_t a = 0, at = 0; a < rank; ++a) back[a] = a == rows ? rank - 2 : a == columns ? rank - 1 : at++;
  c.set(0, permute(last, std::span<const int64_t>(back, size_t(rank))));
}
}  // namespace oarlock::op::diagonal_
