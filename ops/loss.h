// What losses share: how the losses of single elements become one.
#pragma once
#include "rules.h"

namespace oarlock::op {

// .infer of a loss: the open name is the shape of all losses, or of a scalar. all: the losses before reduction.
inline void infer_loss(InferCall& c, int reduction, const Shape& all) {
  Shape& out = c.open(0);
  if (c.attrs.text(reduction) == "none") out.push(all.d, all.rank);
}
inline Tensor reduced(const Tensor& losses, std::string_view reduction) {
  if (reduction == "mean") return mean(losses);
  return reduction == "sum" ? sum(losses) : losses;
}
// What each loss gets of the result's gradient.
inline Tensor share_of(const Tensor& d, const Shape& all, std::string_view reduction) {
  if (reduction == "none") return d;
  Dim n = 1;
  for (Dim size : all) n = n * size;
  return expand(reduction == "mean" ? as(divide(wide(d), number(n, wide(d))), d.dtype()) : d, all);
}

// x with axis as its last.
inline Tensor axis_last(const Tensor& x, int axis) {
  if (axis == x.rank() - 1) return x;
  int64_t order[kMaxRank];
  int n = 0;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) order[n++] = i;
  order[n] = axis;
  return permute(x, std::span<const int64_t>(order, size_t(x.rank())));
}
// .infer of losses of labels: inputs 0 and 1 are [*S] and the labels, S without the axis; attribute 0 is the axis.
inline bool infer_labels(InferCall& c, int reduction) {
  const Shape &x = *c.in[0], &labels = *c.in[1];
  int axis = int(c.attrs.integer(0));
  if (labels.rank != x.rank - 1)
    return c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1) + ", which has all axes but axis " +
                  std::to_string(axis));
  for (int i = 0, k = 0; i < x.rank; ++i)
    if (i != axis && !c.agree(x[i], labels[k++], "size of axis " + std::to_string(i), 1, 0)) return false;
  if (c.count > 2 && c.in[2] && !c.agree(x[axis], c.in[2]->d[0], "number of classes", 2, 0)) return false;
  infer_loss(c, reduction, labels);
  return true;
}
// The mean of losses is over the weights of the labels that count.
inline Tensor reduced_labels(Tensor losses, const Tensor& weights, const Tensor& counted, std::string_view reduction) {
  if (reduction != "mean") return reduced(where(counted, losses, number(0, losses)), reduction);
  Tensor all = wide(losses), zero = number(0, all), by = weights ? wide(weights) : number(1, all);
  return as(divide(sum(where(counted, all, zero)), sum(where(counted, by, zero))), losses.dtype());
}

}  // namespace oarlock::op
