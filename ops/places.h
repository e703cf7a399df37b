// Elements at places that an index operand names, and the gradients of ops that write to such places.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "axes.h"

namespace oarlock::op {

// The place on an axis of x that the index at `position` means, or -1 after telling what is wrong with it.
inline int64_t place(KernelCall& c, const char* op, const int64_t* position, int axis) {
  const oar_view_t& index = c.in(1);
  int64_t n = c.in(0).shape[axis], at = load<int64_t>(index, offset(index, position, index.n_dims));
  bool natural = dtype(index) == DType::u64;
  if (at < n && at >= -n && !(at < 0 && natural)) return at < 0 ? at + n : at;
  Shape where;
  for (int i = 0; i < index.n_dims; ++i) where.push(position[i]);
  c.fail(std::string(op) + ": index " + (natural ? std::to_string(uint64_t(at)) : std::to_string(at)) +
         " at position " + to_string(where) + " is out of range: axis " + std::to_string(axis) + " of x has " +
         std::to_string(n) + " elements" +
         (n ? ". Give " + std::to_string(-n) + " to " + std::to_string(n - 1) : std::string()) + ".");
  return -1;
}

// What becomes of an element and an update: assign, add, multiply, maximum or minimum; integers wrap, NaN stays.
template <class Acc>
Acc reduced(char reduction, Acc old, Acc update) {
  switch (reduction) {
    case 'a': return wrapping(old, update, [](auto x, auto y) { return x + y; });
    case 'm': return wrapping(old, update, [](auto x, auto y) { return x * y; });
    case '>': return old > update || old != old ? old : update;
    case '<': return old < update || old != old ? old : update;
    default: return update;
  }
}
inline char reduction_code(std::string_view name) {
  return name == "add" ? 'a' : name == "multiply" ? 'm' : name == "maximum" ? '>' : name == "minimum" ? '<' : '=';
}

// All elements of x, row-major, in the widest type: rounded once, however many updates meet.
template <class Acc>
std::vector<Acc> gathered(const oar_view_t& x) {
  std::vector<Acc> all;
  all.reserve(size_t(count(x)));
  for (Walk w(x); w.more(); w.next()) all.push_back(load<Acc>(x, offset(x, w.index, x.n_dims)));
  return all;
}
template <class Acc>
void spread(const std::vector<Acc>& all, const oar_view_t& out) {
  size_t n = 0;
  for (Walk w(out); w.more(); w.next()) store<Acc>(out, offset(out, w.index, out.n_dims), all[n++]);
}

// Operands x, index, updates. take(t): what stands at the places in t, which is like x; put(t, u, reduction): t with u
// written to the places. Elements and updates that share an extreme share its gradient; of updates that meet in an
// assignment the last has it. Where updates of 0 meet in a product, only the first order is right.
template <class Take, class Put>
void scatter_gradient(GradientCall& c, char reduction, Take take, Put put) {
  const Tensor &x = c.in(0), &u = c.in(2), &d = c.dout(0);
  Tensor zero = number(0, d);
  if (reduction == 'a') {
    c.set(0, d);
    if (c.wants(2)) c.set(2, take(d));
  } else if (reduction == '=') {
    if (c.wants(0)) c.set(0, put(d, zeros_like(u), "assign"));
    if (!c.wants(2)) return;
    Dim n = 1;
    for (Dim s : u.shape()) n = n * s;
    Tensor number_of = reshape(arange(n), u.shape());
    Tensor last = take(put(full(x.shape(), -1, DType::i64), number_of, "assign"));
    c.set(2, where(equal(last, number_of), take(d), zero));
  } else if (reduction == 'm') {
    Tensor ones = full(x.shape(), 1, x.dtype());
    if (c.wants(0)) c.set(0, multiply(d, put(ones, u, "multiply")));
    if (!c.wants(2)) return;
    Tensor none = equal(u, zero), safe = where(none, number(1, u), u);  // out / u, but for zeros
    Tensor zeros = take(put(zeros_like(x), cast(none, x.dtype()), "add"));
    Tensor others = where(equal(zeros, number(1, u)), take(put(x, safe, "multiply")), zero);
    c.set(2, multiply(take(d), where(none, others, divide(take(c.out(0)), safe))));
  } else {
    Tensor x_has = cast(equal(x, c.out(0)), x.dtype()), u_has = cast(equal(u, take(c.out(0))), x.dtype());
    Tensor share = divide(d, put(x_has, u_has, "add"));
    if (c.wants(0)) c.set(0, multiply(share, x_has));
    if (c.wants(2)) c.set(2, multiply(take(share), u_has));
  }
}

}  // namespace oarlock::op
