// x[key] and x[key] = value by NumPy's rules.
//
// What slices, integers, None and ... say is one view. Arrays then select from it: their axes go to the front, several of
// them become one index into the merged axes, and gather takes the rows. Boolean arrays are the places where they are true.
#include <cstring>

#include "convert.h"
#include "operators.h"

namespace oarlock::python {
namespace {

struct Item {
  enum What { integer, range, new_axis, ellipsis, array, truth } what;
  Py_ssize_t start = 0, stop = 0, step = 1;  // integer: start
  Tensor index = {};                         // array: integers; truth: zeros, as many as the truth value says
  int axes() const { return what == integer || what == range || what == array; }
};

struct Items {
  std::vector<Item> list;
  bool advanced = false;
  void array(Tensor index) {
    list.push_back({Item::array, 0, 0, 1, std::move(index)});
    advanced = true;
  }
};

std::vector<char> host_bytes(const Tensor& t) {
  std::vector<char> bytes(size_bytes(t.dtype(), uint64_t(t.element_count())) + 1);
  Unlocked u(!t.device().is_host());
  t.copy_to_host(bytes.data());
  return bytes;
}
std::vector<int64_t> host_integers(const Tensor& t) {
  Tensor wide = t.dtype() == DType::i64 ? t : cast(t, DType::i64);
  std::vector<int64_t> v(size_t(t.element_count()));
  Unlocked u(!t.device().is_host());
  wide.copy_to_host(v.data());
  return v;
}

// The places where a mask is true become one array an axis.
void add_mask(Items& items, const Tensor& mask) {
  std::vector<char> bytes = host_bytes(mask);
  int64_t n = mask.element_count();
  int rank = mask.rank();
  if (rank == 0) {
    Item item{Item::truth};
    item.index = full(Shape{bytes[0] ? 1 : 0}, 0, DType::i64);
    items.list.push_back(item);
    items.advanced = true;
    return;
  }
  std::vector<std::vector<int64_t>> places{size_t(rank)};
  for (int64_t k = 0; k < n; ++k) {
    if (!bytes[size_t(k)]) continue;
    int64_t rest = k;
    for (int i = rank - 1; i >= 0; --i) {
      places[size_t(i)].push_back(rest % mask.shape()(i));
      rest /= mask.shape()(i);
    }
  }
  for (int i = 0; i < rank; ++i)
    items.array(Tensor::from_host(places[size_t(i)].data(), Shape{int64_t(places[size_t(i)].size())}, DType::i64));
}

// Axes of x that the items so far take, to hold a mask's sizes against.
int axes_before(const Items& items) {
  int n = 0;
  for (const Item& i : items.list) n += i.axes();
  return n;
}

void add_tensor(Items& items, const Tensor& given, const Tensor& x, bool after_ellipsis, int axes_after) {
  Tensor t = given.detach();
  if (t.dtype() == DType::boolean) {
    int at = after_ellipsis ? x.rank() - axes_after - t.rank() : axes_before(items);
    for (int i = 0; i < t.rank(); ++i)
      if (at + i >= 0 && at + i < x.rank() && t.shape()(i) != x.shape()(at + i))
        raise_index("index: a boolean array of shape " + to_string(t.shape()) + " stands at axis " +
                    std::to_string(at) + " of a tensor of shape " + to_string(x.shape()) +
                    ". Give one of the same sizes.");
    return add_mask(items, t);
  }
  if (t.element_count() == 0 && t.dtype() == DType::f32) t = cast(t, DType::i64);  // []
  if (!(set_of(t.dtype()) & kInt))
    raise_index(std::string("index: an array of ") + python_name(t.dtype()) + " is no index. Give integers or bools.");
  if (t.rank() == 0) items.list.push_back({Item::integer, Py_ssize_t(t.item_int())});
  else items.array(t);
}

int key_axes(PyObject* key, bool* out_mask_unknown) {
  *out_mask_unknown = false;
  if (key == Py_None || key == Py_Ellipsis || PyBool_Check(key)) return 0;
  if (PySlice_Check(key) || PyLong_Check(key)) return 1;
  if (const Tensor* t = tensor_of(key)) return t->dtype() == DType::boolean ? t->rank() : 1;
  return 1;
}

Items parse(PyObject* key, const Tensor& x) {
  Items items;
  Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
  bool seen = false, unknown;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* k = PyTuple_Check(key) ? PyTuple_GET_ITEM(key, i) : key;
    if (k == Py_None) {
      items.list.push_back({Item::new_axis});
    } else if (k == Py_Ellipsis) {
      if (seen) raise_index("index: there are two ellipses (...). Give one.");
      seen = true;
      items.list.push_back({Item::ellipsis});
    } else if (PySlice_Check(k)) {
      Item item{Item::range};
      if (PySlice_Unpack(k, &item.start, &item.stop, &item.step) < 0) throw Raised();
      items.list.push_back(item);
    } else if (PyBool_Check(k)) {
      add_mask(items, Tensor::scalar(k == Py_True, DType::boolean));
    } else if (PyLong_Check(k) || (PyIndex_Check(k) && !is_tensor(k) && !is_numpy(k))) {
      Py_ssize_t v = PyNumber_AsSsize_t(k, PyExc_IndexError);
      if (v == -1 && PyErr_Occurred()) throw Raised();
      items.list.push_back({Item::integer, v});
    } else {
      if (PyFloat_Check(k) || PyUnicode_Check(k))
        raise_index(std::string("index: a ") + Py_TYPE(k)->tp_name +
                    " is no index. Give integers, slices, ..., None, or arrays of integers or bools.");
      int after = 0;
      for (Py_ssize_t j = i + 1; j < n; ++j) after += key_axes(PyTuple_GET_ITEM(key, j), &unknown);
      const Tensor* t = tensor_of(k);
      add_tensor(items, t ? *t : tensor_from(k, DType::none, std::nullopt, Sharing::if_possible, "index"), x, seen,
                 after);
    }
  }
  return items;
}

struct Advanced {
  int axis;  // of the view
  int gap;   // slices, None and ... before it: arrays with none of these between them stay in their place
  Tensor index;
};

[[noreturn]] void out_of_bounds(int64_t i, int axis, int64_t n) {
  raise_index("index: " + std::to_string(i) + " is out of bounds, axis " + std::to_string(axis) + " has " +
              std::to_string(n) + " entries. Give " + std::to_string(-n) + " to " + std::to_string(n - 1) + ".");
}

// The view that everything but arrays says. flipped: axes of the result whose step is negative are walked forwards
// instead and noted there.
Tensor basic(const Tensor& x, const Items& items, std::vector<Advanced>* out_advanced, std::vector<int64_t>* flipped) {
  int taken = 0;
  for (const Item& i : items.list) taken += i.axes();
  if (taken > x.rank())
    raise_index("index: " + std::to_string(taken) + " axes are indexed, the tensor has " + std::to_string(x.rank()) +
                ": its shape is " + to_string(x.shape()) + ". Give fewer indices.");
  Shape starts, sizes, out;
  int64_t steps[kMaxRank];
  bool whole = true, same_rank = true;
  int axis = 0;
  auto keep = [&](int64_t start, int64_t size, int64_t step) {
    if (start != 0 || size != x.shape()(axis) || step != 1) whole = false;
    starts.push(start), sizes.push(size);
    steps[axis++] = step;
  };
  auto keep_all = [&] {
    out.push(x.shape()(axis));
    keep(0, x.shape()(axis), 1);
  };
  int added = 0, gap = 0;
  for (const Item& i : items.list) added += i.what == Item::new_axis || i.what == Item::truth;
  if (x.rank() + added > kMaxRank)
    raise_index("index: the result has more than " + std::to_string(kMaxRank) + " axes. Give fewer None.");
  for (const Item& i : items.list) {
    gap += i.what == Item::range || i.what == Item::new_axis || i.what == Item::ellipsis;
    switch (i.what) {
      case Item::integer: {
        int64_t n = x.shape()(axis);
        if (i.start < -n || i.start >= n) out_of_bounds(i.start, axis, n);
        int64_t at = i.start < 0 ? i.start + n : i.start;
        if (items.advanced) {
          out_advanced->push_back({out.rank, gap, Tensor::from_host(&at, Shape(), DType::i64)});
          keep_all();
        } else {
          keep(at, 1, 1);
          same_rank = false;
        }
        break;
      }
      case Item::range: {
        Py_ssize_t start = i.start, stop = i.stop, step = i.step;
        Py_ssize_t n = PySlice_AdjustIndices(x.shape()(axis), &start, &stop, step);
        if (n <= 1) step = 1;  // one element has no direction
        if (n == 0) start = 0;
        if (step < 0 && flipped) {
          start += (n - 1) * step;
          step = -step;
          flipped->push_back(out.rank);
        }
        out.push(n);
        keep(start, n, step);
        break;
      }
      case Item::new_axis:
        out.push(1);
        same_rank = false;
        break;
      case Item::truth:
        out_advanced->push_back({out.rank, gap, i.index});
        out.push(1);
        same_rank = false;
        break;
      case Item::ellipsis:
        for (int k = x.rank() - taken; k > 0; --k) keep_all();
        break;
      case Item::array:
        out_advanced->push_back({out.rank, gap, i.index});
        keep_all();
        break;
    }
  }
  while (axis < x.rank()) keep_all();
  Tensor v = x;
  if (!whole) v = slice(v, starts, sizes, std::span<const int64_t>(steps, size_t(axis)));
  if (!same_rank) v = reshape(v, out);
  return v;
}

void broadcast_into(Shape& all, const Shape& s) {
  Shape before = all;
  if (s.rank > all.rank) {
    all = s;
    for (int i = 0; i < before.rank; ++i) {
      Dim& d = all.d[all.rank - before.rank + i];
      if (d.n == 1) d = before[i];
      else if (before(i) != 1 && before(i) != d.n)
        raise_index("index: arrays of shapes " + to_string(before) + " and " + to_string(s) +
                    " do not broadcast. Give arrays of one shape.");
    }
    return;
  }
  for (int i = 0; i < s.rank; ++i) {
    Dim& d = all.d[all.rank - s.rank + i];
    if (d.n == 1) d = s[i];
    else if (s(i) != 1 && s(i) != d.n)
      raise_index("index: arrays of shapes " + to_string(before) + " and " + to_string(s) +
                  " do not broadcast. Give arrays of one shape.");
  }
}

void check_bounds(const std::vector<int64_t>& index, int axis, int64_t n) {
  for (int64_t i : index)
    if (i < -n || i >= n) out_of_bounds(i, axis, n);
}

// One index into the merged axes of `sizes` for each place of the arrays' common shape.
Tensor merged(const std::vector<Advanced>& advanced, const Shape& joint, const Tensor& v) {
  int64_t n = count(joint);
  std::vector<int64_t> linear(size_t(n), 0);
  for (const Advanced& a : advanced) {
    std::vector<int64_t> index = host_integers(a.index);
    int64_t size = v.shape()(a.axis);
    check_bounds(index, a.axis, size);
    const Shape& s = a.index.shape();
    int64_t place[kMaxRank] = {}, strides[kMaxRank] = {}, step = 1;
    for (int i = s.rank - 1; i >= 0; --i) {
      strides[joint.rank - s.rank + i] = s(i) == 1 ? 0 : step;
      step *= s(i);
    }
    for (int64_t k = 0, at = 0; k < n; ++k) {
      int64_t i = index[size_t(at)];
      linear[size_t(k)] = linear[size_t(k)] * size + (i < 0 ? i + size : i);
      for (int d = joint.rank - 1; d >= 0; --d) {
        at += strides[d];
        if (++place[d] < joint(d)) break;
        at -= strides[d] * joint(d);
        place[d] = 0;
      }
    }
  }
  return Tensor::from_host(linear.data(), joint, DType::i64);
}

Tensor select_arrays(const Tensor& v, const std::vector<Advanced>& advanced) {
  Shape joint;
  bool together = true;
  for (size_t i = 0; i < advanced.size(); ++i) {
    broadcast_into(joint, advanced[i].index.shape());
    together &= advanced[i].gap == advanced[0].gap;
  }
  Tensor index, rows = v;
  std::vector<int64_t> order;
  for (const Advanced& a : advanced) order.push_back(a.axis);
  int64_t merged_count = 1;
  Shape rest;
  for (int i = 0; i < v.rank(); ++i)
    if (std::find(order.begin(), order.begin() + std::ptrdiff_t(advanced.size()), i) ==
        order.begin() + std::ptrdiff_t(advanced.size())) {
      order.push_back(i);
      rest.push(v.shape()[i]);
    } else {
      merged_count *= v.shape()(i);
    }
  if (joint.rank + rest.rank > kMaxRank)
    raise_index("index: the result has more than " + std::to_string(kMaxRank) + " axes. Give arrays of fewer axes.");
  bool in_order = true;
  for (size_t i = 0; i < order.size(); ++i) in_order &= order[i] == int64_t(i);
  if (!in_order) rows = permute(rows, order);
  if (advanced.size() == 1) {
    index = advanced[0].index;
    if (index.device().is_host()) {
      Tensor wide = index.dtype() == DType::i64 ? index.contiguous() : cast(index, DType::i64);
      const int64_t* p = wide.element_count() ? wide.data_as<int64_t>() : nullptr;
      int64_t n = v.shape()(advanced[0].axis);
      for (int64_t k = 0; k < wide.element_count(); ++k)
        if (p[k] < -n || p[k] >= n) out_of_bounds(p[k], advanced[0].axis, n);
    }
  } else {
    index = merged(advanced, joint, v);
    Shape flat{merged_count};
    flat.push(rest.begin(), rest.rank);
    rows = reshape(rows, flat);
  }
  if (!(index.device() == v.device())) index = index.to(v.device());
  Tensor out;
  {
    Unlocked u(work_of(rows) >= kLongCall);
    out = gather(rows, index);
  }
  if (!together || advanced[0].axis == 0 || joint.rank == 0) return out;
  // The arrays' axes go where the first of them stood.
  std::vector<int64_t> back;
  for (int i = 0; i < advanced[0].axis; ++i) back.push_back(joint.rank + i);
  for (int i = 0; i < joint.rank; ++i) back.push_back(i);
  for (int i = advanced[0].axis; i < rest.rank; ++i) back.push_back(joint.rank + i);
  return permute(out, back);
}

Tensor select(const Tensor& x, const Items& items) {
  std::vector<Advanced> advanced;
  Tensor v = basic(x, items, &advanced, nullptr);
  return advanced.empty() ? v : select_arrays(v, advanced);
}

// value in the shape of the selection; leading axes of one entry may be too many.
Tensor fitted(Tensor value, const Shape& shape) {
  while (value.rank() > shape.rank && value.shape()(0) == 1) {
    Shape less;
    for (int i = 1; i < value.rank(); ++i) less.push(value.shape()[i]);
    value = reshape(value, less);
  }
  bool fits = value.rank() <= shape.rank;
  for (int i = 0; fits && i < value.rank(); ++i) {
    int64_t n = value.shape()(i);
    fits = n == 1 || n == shape(shape.rank - value.rank() + i);
  }
  if (!fits)
    raise_value("index: the value has shape " + to_string(value.shape()) + ", the places it is written to " +
                to_string(shape) + ". Give one that broadcasts.");
  return value.shape() == shape ? value : expand(value, shape);
}

// x with the elements at `positions` (flat indices) from value, the last where one is named twice. Differentiable in both.
Tensor replaced(const Tensor& x, const Tensor& positions, const Tensor& value) {
  std::vector<int64_t> places = host_integers(positions);
  int64_t n = x.element_count();
  bool one = value.element_count() == 1;
  std::vector<uint8_t> hit(size_t(n), 0);
  std::vector<int64_t> source(one ? 0 : size_t(n), 0);
  for (size_t k = 0; k < places.size(); ++k) {
    hit[size_t(places[k])] = 1;
    if (!one) source[size_t(places[k])] = int64_t(k);
  }
  Tensor mask = Tensor::from_host(hit.data(), x.shape(), DType::boolean, x.device());
  if (one) return where(mask, reshape(value, Shape()), x);
  Tensor flat = reshape(fitted(value, positions.shape()), Shape{int64_t(places.size())});
  return where(mask, gather(flat, Tensor::from_host(source.data(), x.shape(), DType::i64, x.device())), x);
}

}  // namespace

PyObject* get_index(PyObject* self, PyObject* key) noexcept {
  return guarded([&] {
    const Tensor& x = *tensor_of(self);
    Ref view;
    if (PyLong_CheckExact(key) && x.rank() > 0) {  // a row, the usual
      Items one;
      Py_ssize_t v = PyNumber_AsSsize_t(key, PyExc_IndexError);
      if (v == -1 && PyErr_Occurred()) throw Raised();
      int64_t n = x.shape()(0);
      if (v < -n || v >= n) out_of_bounds(v, 0, n);
      Shape starts, sizes, out;
      starts.push(v < 0 ? v + n : v), sizes.push(1);
      for (int i = 1; i < x.rank(); ++i) starts.push(0), sizes.push(x.shape()[i]), out.push(x.shape()[i]);
      view = checked(wrap(reshape(slice(x, starts, sizes), out)));
    } else {
      Items items = parse(key, x);
      view = checked(wrap(select(x, items)));
      if (items.advanced) return view.give();
    }
    reinterpret_cast<TensorObject*>(view.get())->is_view = true;
    return view.give();
  });
}

int set_index(PyObject* self, PyObject* key, PyObject* given) noexcept {
  return guarded_int([&] {
    if (!given) raise_type("index: elements of a tensor can't be deleted.");
    const Tensor x = *tensor_of(self);
    Items items = parse(key, x);
    Tensor value;
    if (const Tensor* t = tensor_of(given)) value = *t;
    else if (is_number(given) && !is_numpy(given)) value = alone(given, x.dtype(), x.device());
    else value = tensor_from(given, DType::none, x.device(), Sharing::if_possible, "index");
    if (value.dtype() != x.dtype()) value = cast(value, x.dtype());
    if (!(value.device() == x.device())) value = value.to(x.device());
    bool recorded = grad_enabled() && (x.requires_grad() || value.requires_grad());
    if (!items.advanced && !recorded) {
      std::vector<int64_t> flipped;
      Tensor view = basic(x, items, nullptr, &flipped);
      value = fitted(value, view.shape());
      if (!flipped.empty()) {
        Shape starts, sizes = view.shape();
        int64_t steps[kMaxRank];
        for (int i = 0; i < view.rank(); ++i) {
          bool back = std::find(flipped.begin(), flipped.end(), i) != flipped.end();
          starts.push(back ? view.shape()(i) - 1 : 0);
          steps[i] = back ? -1 : 1;
        }
        value = slice(value, starts, sizes, std::span<const int64_t>(steps, size_t(view.rank())));
      }
      if (view.element_count() == 0) return 0;
      Unlocked u(work_of(view) >= kLongCall);
      assign(view, value);
      return 0;
    }
    Tensor all = reshape(arange(x.element_count()), x.shape());
    Tensor positions = select(all, items);
    if (value.element_count() != 1 || value.rank() > positions.rank())
      fitted(value, positions.shape());  // its error, if any
    if (positions.element_count() == 0) return 0;
    write(self, replaced(x, positions, value), "index");
    return 0;
  });
}

Py_ssize_t length_of(PyObject* self) noexcept {
  const Tensor& t = *tensor_of(self);
  if (t.rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "len: the tensor has no axes. Use item() or size.");
    return -1;
  }
  return t.shape()(0);
}

}  // namespace oarlock::python
