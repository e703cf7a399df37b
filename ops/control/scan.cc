#include "core/op/opdef.h"
namespace oarlock::op::scan_ {
static TypesRule types_of;
static ControlRule run;
static ControlGradientRule gradient;

extern constinit const OpDef def = define({
    .name = "scan",
    .summary =
        "f of the carried values and the rows of xs, row by row: the carried values as the last row leaves them, then "
        "what f gave beside them at each row, stacked.",
    .source = "jax.lax.scan",
    .inputs = {{"xs", "X[*_]", variadic}},  // the first carried values, then xs
    .outputs = {{"ys", "X[*_]", variadic}},
    .attributes = {integer("carried", 0).at_least(0), flag("reverse", false), dim("length").or_none()},
    .regions =
        {{"f",
          "takes the carried values and one row of each of xs, gives the next carried values, of the same dtypes "
          "and shapes, and one row of each result"}},
    .types_of = types_of,
    .run = run,
    .control_gradient = gradient,
});
}  // namespace oarlock::op::scan_

#include "rules.h"
#include "control.h"
namespace oarlock::op::scan_ {
static Dim length_of(Attrs attrs, const Shape* first) { return first ? first->d[0] : attrs.dim(2); }

static void types_of(ControlTypes& c) {
  size_t carried = size_t(c.attrs.integer(0));
  if (carried > c.inputs.size())
    return void(c.fail("carried is " + std::to_string(carried) + ", there are " + std::to_string(c.inputs.size()) +
                       " operands. Give the carried values first"));
  if (carried == c.inputs.size() && c.attrs.none(2))
    return void(c.fail("neither xs nor length says how many rows there are. Give one of them"));
  auto xs = c.inputs.subspan(carried);
  c.parameters[0].assign(c.inputs.begin(), c.inputs.begin() + int64_t(carried));
  for (size_t j = 0; j < xs.size(); ++j) {
    const Shape& x = xs[j].shape;
    if (x.rank == 0)
      return void(
          c.fail("xs[" + std::to_string(j) + "] is " + to_text(xs[j]) + ", which has no rows. Give it an axis"));
    Dim rows = j || c.attrs.none(2) ? xs[0].shape[0] : c.attrs.dim(2);
    std::string other = j || c.attrs.none(2) ? "xs[0] has " : "length is ";
    if (!c.agree({xs[j].dtype, {rows}}, {xs[j].dtype, {x[0]}},
                 "the rows disagree: " + other + to_string(rows) + ", xs[" + std::to_string(j) + "] has " +
                     to_string(x[0]) + ". Give each as many"))
      return;
    ValueType row{xs[j].dtype, {}, xs[j].host};
    row.shape.push(x.d + 1, x.rank - 1);
    c.parameters[0].push_back(row);
  }
  if (!c.results_known()) return;
  const auto& given = c.results[0];
  if (!keeps(c, "f", std::span(given).first(std::min(carried, given.size())), c.inputs.first(carried))) return;
  c.outputs = {c.inputs.begin(), c.inputs.begin() + int64_t(carried)};
  for (size_t j = carried; j < given.size(); ++j) {
    if (given[j].shape.rank == kMaxRank)
      return void(c.fail("f gives " + to_text(given[j]) + ", of which no more than " + std::to_string(kMaxRank - 1) +
                         " axes can be stacked. Reshape it"));
    ValueType all{given[j].dtype, {length_of(c.attrs, xs.empty() ? nullptr : &xs[0].shape)}, given[j].host};
    all.shape.push(given[j].shape.d, given[j].shape.rank);
    c.outputs.push_back(all);
  }
}

// By way of pieces of pieces: the gradient of a slice is as large as what it was cut from.
static void add_rows(const Tensor& x, std::vector<Tensor>& rows) {
  constexpr int64_t kPieces = 16;
  int64_t n = x.shape()(0);
  if (n == 1) return rows.push_back(squeeze(x, {0}));
  int64_t step = (n + kPieces - 1) / kPieces;
  for (int64_t t = 0; t < n; t += step) {
    Shape starts, sizes = x.shape();
    for (int i = 0; i < x.rank(); ++i) starts.push(i ? 0 : t);
    sizes.d[0] = std::min(step, n - t);
    add_rows(slice(x, starts, sizes), rows);
  }
}
// An op takes so many operands only.
static Tensor stacked(std::span<const Tensor> rows) {
  constexpr size_t kMost = 64;
  if (rows.size() <= kMost) return stack(rows);
  size_t step = (rows.size() + kMost - 1) / kMost;
  std::vector<Tensor> pieces;
  for (size_t t = 0; t < rows.size(); t += step)
    pieces.push_back(stacked(rows.subspan(t, std::min(step, rows.size() - t))));
  return concat(pieces);
}
static void run(ControlCall& c) {
  size_t carried = size_t(c.attrs.integer(0));
  auto xs = c.inputs.subspan(carried);
  std::vector<Tensor> now(c.inputs.begin(), c.inputs.begin() + int64_t(carried));
  int64_t n = length_of(c.attrs, xs.empty() ? nullptr : &xs[0].shape()).n;
  std::vector<std::vector<Tensor>> in(xs.size()), rows;  // per operand, per result
  for (size_t j = 0; j < xs.size(); ++j) add_rows(xs[j], in[j]);
  for (int64_t k = 0; k < n; ++k) {
    int64_t t = c.attrs.flag(1) ? n - 1 - k : k;
    std::vector<Tensor> given = now;
    for (const auto& of : in) given.push_back(of[size_t(t)]);
    std::vector<Tensor> out = c.call(0, given);
    auto next = std::span(out).first(std::min(carried, out.size()));
    check_kept(c, "f", next, now);
    if (k && rows.size() != out.size() - carried)
      throw_if(invalid("scan: f gives " + std::to_string(out.size() - carried) + " results at row " +
                       std::to_string(t) + ", before " + std::to_string(rows.size()) + ". Give as many at each."));
    rows.resize(out.size() - carried);
    for (size_t j = 0; j < rows.size(); ++j) rows[j].push_back(out[carried + j]);
    now.assign(next.begin(), next.end());
  }
  c.outputs = std::move(now);
  for (size_t i = carried; n == 0 && i < c.output_count(); ++i) c.outputs.push_back(c.empty(int(i)));
  for (auto& of : rows) {
    if (c.attrs.flag(1)) std::reverse(of.begin(), of.end());
    c.outputs.push_back(stacked(of));
  }
}

// One scan for what was carried at each row, then one the other way round, whose rows are differentiated as they come. It
// carries the gradients of what was carried, and sums of those of what stands around.
static void gradient(ControlGradientCall& c) {
  size_t carried = size_t(c.attrs.integer(0)), n = c.inputs.size(), around = c.around.size();
  auto is_float = [](const Tensor& t) { return (set_of(t.dtype()) & kFloat) != 0; };
  auto or_zeros = [&](size_t i) { return c.doutputs[i].defined() ? c.doutputs[i] : zeros_like(c.outputs[i]); };

  const RegionFunction keep[] = {[&](std::span<const Tensor> given) {
    std::vector<Tensor> out = c.call(0, given);
    out.resize(carried);
    out.insert(out.end(), given.begin(), given.begin() + int64_t(carried));
    return out;
  }};
  oar_attr_t attrs[] = {attr_integer(int64_t(carried)), c.attrs[1], c.attrs[2]};
  std::vector<Tensor> kept = c.control("scan", c.inputs, attrs, keep);

  std::vector<size_t> of_carried, of_rows;  // carried values and results that have gradients
  std::vector<Tensor> in;
  for (size_t i = 0; i < carried; ++i)
    if (is_float(c.inputs[i])) {
      of_carried.push_back(i);
      in.push_back(or_zeros(i));
    }
  for (const ValueType& t : c.around) in.push_back(zeros_of(t));
  size_t sums = of_carried.size(), first_row = in.size();
  in.insert(in.end(), kept.begin() + int64_t(carried), kept.end());
  in.insert(in.end(), c.inputs.begin() + int64_t(carried), c.inputs.end());
  for (size_t i = carried; i < c.outputs.size(); ++i)
    if (c.gives(0, i)) in.push_back(or_zeros(i));
  const RegionFunction back[] = {[&](std::span<const Tensor> given) {
    std::vector<Tensor> dresults;
    for (size_t k = 0; k < of_carried.size(); ++k)
      if (c.gives(0, of_carried[k])) dresults.push_back(given[k]);
    dresults.insert(dresults.end(), given.begin() + int64_t(first_row + n), given.end());
    std::vector<Tensor> g = c.differentiate(0, given.subspan(first_row, n), dresults), out;
    for (size_t i : of_carried) out.push_back(g[i].defined() ? g[i] : zeros_like(c.inputs[i]));
    for (size_t e = 0; e < around; ++e)
      out.push_back(g[n + e].defined() ? add(given[sums + e], g[n + e]) : given[sums + e]);
    for (size_t i = carried; i < n; ++i)
      if (g[i].defined()) out.push_back(g[i]);
    return out;
  }};
  attrs[0] = attr_integer(int64_t(first_row));
  attrs[1] = attr_flag(!c.attrs.flag(1));
  std::vector<Tensor> out = c.control("scan", in, attrs, back);
  for (size_t k = 0; k < of_carried.size(); ++k) c.gradients[of_carried[k]] = out[k];
  for (size_t e = 0; e < around; ++e) c.gradients[n + e] = out[sums + e];
  size_t next = first_row;
  for (size_t i = carried; i < n; ++i)
    if (c.reaches(0, i)) c.gradients[i] = out[next++];
}
}  // namespace oarlock::op::scan_
