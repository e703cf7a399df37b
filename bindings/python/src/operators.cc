#include "operators.h"

#include "call.h"

namespace oarlock::python {
namespace {

enum Op {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kPower,
  kMatmul,
  kAnd,
  kOr,
  kXor,
  kLeft,
  kRight,
  kOps
};
constexpr const char* kNames[][2] = {  // what the op table may call them
    {"add", nullptr},
    {"subtract", nullptr},
    {"multiply", nullptr},
    {"divide", nullptr},
    {"floor_divide", nullptr},
    {"remainder", "mod"},
    {"power", "pow"},
    {"matmul", nullptr},
    {"bitwise_and", "logical_and"},
    {"bitwise_or", "logical_or"},
    {"bitwise_xor", "logical_xor"},
    {"bitwise_left_shift", "shift_left"},
    {"bitwise_right_shift", "shift_right"}};
Binary functions[kOps];
Binary booleans[kOps];  // of & | ^ between bools, where the table keeps those apart

// An operand beside t: a number, or an array of NumPy's. False: not ours.
bool other_operand(PyObject* o, const Tensor& t, Tensor& out) {
  if (is_number(o) && (!is_numpy(o) || PyFloat_Check(o))) {
    out = weak(o, t);
    return true;
  }
  if (!is_numpy(o)) return false;
  out = tensor_from(o, DType::none, t.device(), Sharing::if_possible, "operator");
  return true;
}

template <class F>
PyObject* with_operands(PyObject* a, PyObject* b, F&& f) noexcept {
  return guarded([&]() -> PyObject* {
    const Tensor *x = tensor_of(a), *y = tensor_of(b);
    Tensor made;
    if (!x || !y) {
      if (!other_operand(x ? b : a, x ? *x : *y, made)) Py_RETURN_NOTIMPLEMENTED;
      (x ? y : x) = &made;
    }
    Tensor out;
    {
      Unlocked u(work_of(*x) + work_of(*y) >= kLongCall);
      out = f(*x, *y);
    }
    return wrap(std::move(out));
  });
}

Binary function_for(Op op, const Tensor& x) {
  if (op >= kAnd && booleans[op] && x.dtype() == DType::boolean) return booleans[op];
  if (functions[op]) return functions[op];
  raise_type(std::string("operator: the op table has no ") + kNames[op][0] + ".");
}

template <Op op>
PyObject* binary(PyObject* a, PyObject* b) {
  return with_operands(a, b, [](const Tensor& x, const Tensor& y) {
    if constexpr (op == kAdd) return add(x, y);
    else if constexpr (op == kSubtract) return subtract(x, y);
    else if constexpr (op == kMultiply) return multiply(x, y);
    else if constexpr (op == kDivide) return divide(x, y);
    else if constexpr (op == kMatmul) return matmul(x, y);
    else return functions[op](x, y);
  });
}
template <Op op>
PyObject* checked_binary(PyObject* a, PyObject* b) {
  return with_operands(a, b, [](const Tensor& x, const Tensor& y) { return function_for(op, x)(x, y); });
}
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return checked_binary<kPower>(a, b);
}

template <Op op>
PyObject* in_place(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    const Tensor& x = *tensor_of(self);
    const Tensor* y = tensor_of(other);
    Tensor made, out;
    if (!y) {
      if (!other_operand(other, x, made)) Py_RETURN_NOTIMPLEMENTED;
      y = &made;
    }
    Binary f = function_for(op, x);
    {
      Unlocked u(work_of(x) + work_of(*y) >= kLongCall);
      out = f(x, *y);
    }
    write(self, out, kNames[op][0]);
    Py_INCREF(self);
    return self;
  });
}
PyObject* in_place_power(PyObject* self, PyObject* other, PyObject*) { return in_place<kPower>(self, other); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  static constexpr Binary kCompare[] = {less, less_equal, equal, not_equal, greater, greater_equal};
  if (!is_tensor(b) && !is_number(b) && !is_numpy(b)) Py_RETURN_NOTIMPLEMENTED;  // == None is False
  return with_operands(a, b, [&](const Tensor& x, const Tensor& y) { return kCompare[op](x, y); });
}

PyObject* unary(PyObject* self, Unary f) {
  return guarded([&] {
    const Tensor& x = *tensor_of(self);
    Tensor out;
    {
      Unlocked u(work_of(x) >= kLongCall);
      out = f(x);
    }
    return wrap(std::move(out));
  });
}
PyObject* negate(PyObject* self) { return unary(self, negative); }
PyObject* itself(PyObject* self) {
  Py_INCREF(self);
  return self;
}
PyObject* absolute(PyObject* self) {
  Unary f = unary_op("abs");
  return unary(
      self, f ? f : [](const Tensor& x) { return maximum(x, negative(x)); });
}
PyObject* invert(PyObject* self) {
  bool boolean = tensor_of(self)->dtype() == DType::boolean;
  Unary f = unary_op(boolean ? "logical_not" : "bitwise_invert");
  if (!f && boolean)
    f = [](const Tensor& x) { return equal(cast(x, DType::u8), Tensor::scalar(0, DType::u8).to(x.device())); };
  if (!f && !(set_of(tensor_of(self)->dtype()) & kInt))
    return guarded([]() -> PyObject* { raise_type("~: expects bools or integers. Cast first."); });
  if (!f) f = [](const Tensor& x) { return subtract(negative(x), Tensor::scalar(1, x.dtype()).to(x.device())); };
  return unary(self, f);
}

// -- one element as a number of Python's
const Tensor& single(PyObject* self, const char* where) {
  const Tensor& t = *tensor_of(self);
  if (t.element_count() != 1)
    raise_value(std::string(where) + ": the tensor has shape " + to_string(t.shape()) +
                ", not one element. Use any(), all(), or an index.");
  return t;
}
int truth(PyObject* self) {
  return guarded_int([&] {
    const Tensor& t = single(self, "bool");
    return (set_of(t.dtype()) & kInt) ? t.item_int() != 0 : t.item() != 0;
  });
}
PyObject* whole(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = single(self, "int");
    if (t.dtype() == DType::u64) return PyLong_FromUnsignedLongLong(uint64_t(t.item_int()));
    if (set_of(t.dtype()) & (kInt | kBool)) return PyLong_FromLongLong(t.item_int());
    return PyLong_FromDouble(t.item());
  });
}
PyObject* fraction(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(single(self, "float").item()); });
}
PyObject* index(PyObject* self) {
  const Tensor& t = *tensor_of(self);
  if (t.rank() != 0 || !(set_of(t.dtype()) & (kInt | kBool)))
    return guarded([&]() -> PyObject* {
      raise_type(std::string("index: the tensor is ") + python_name(t.dtype()) + " of shape " + to_string(t.shape()) +
                 ". Only an integer of rank 0 is an index.");
    });
  return whole(self);
}

template <class F>
PyType_Slot slot(int id, F f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

void add_operator_slots(std::vector<PyType_Slot>& slots) {
  for (int op = 0; op < kOps; ++op) {
    functions[op] = binary_op(kNames[op][0]);
    Binary second = kNames[op][1] ? binary_op(kNames[op][1]) : nullptr;
    if (!functions[op]) functions[op] = second;
    else if (op >= kAnd && op <= kXor) booleans[op] = second;
  }
  auto add = [&](int id, auto f) { slots.push_back(slot(id, f)); };
  add(Py_nb_add, binary<kAdd>);
  add(Py_nb_subtract, binary<kSubtract>);
  add(Py_nb_multiply, binary<kMultiply>);
  add(Py_nb_true_divide, binary<kDivide>);
  add(Py_nb_matrix_multiply, binary<kMatmul>);
  add(Py_nb_floor_divide, checked_binary<kFloorDivide>);
  add(Py_nb_remainder, checked_binary<kRemainder>);
  add(Py_nb_power, power);
  add(Py_nb_and, checked_binary<kAnd>);
  add(Py_nb_or, checked_binary<kOr>);
  add(Py_nb_xor, checked_binary<kXor>);
  add(Py_nb_lshift, checked_binary<kLeft>);
  add(Py_nb_rshift, checked_binary<kRight>);
  add(Py_nb_inplace_add, in_place<kAdd>);
  add(Py_nb_inplace_subtract, in_place<kSubtract>);
  add(Py_nb_inplace_multiply, in_place<kMultiply>);
  add(Py_nb_inplace_true_divide, in_place<kDivide>);
  add(Py_nb_inplace_matrix_multiply, in_place<kMatmul>);
  add(Py_nb_inplace_floor_divide, in_place<kFloorDivide>);
  add(Py_nb_inplace_remainder, in_place<kRemainder>);
  add(Py_nb_inplace_power, in_place_power);
  add(Py_nb_inplace_and, in_place<kAnd>);
  add(Py_nb_inplace_or, in_place<kOr>);
  add(Py_nb_inplace_xor, in_place<kXor>);
  add(Py_nb_inplace_lshift, in_place<kLeft>);
  add(Py_nb_inplace_rshift, in_place<kRight>);
  add(Py_nb_negative, negate);
  add(Py_nb_positive, itself);
  add(Py_nb_absolute, absolute);
  add(Py_nb_invert, invert);
  add(Py_nb_bool, truth);
  add(Py_nb_int, whole);
  add(Py_nb_float, fraction);
  add(Py_nb_index, index);
  add(Py_tp_richcompare, compare);
}

void write(PyObject* self, const Tensor& value, const char* where) {
  auto& object = *reinterpret_cast<TensorObject*>(self);
  const Tensor& x = object.value;
  if (!(value.shape() == x.shape()))
    raise_value(std::string(where) + ": the result has shape " + to_string(value.shape()) + ", the tensor written to " +
                to_string(x.shape()) + ". Use x = x op y, which makes a new one.");
  if (value.dtype() != x.dtype())
    raise_type(std::string(where) + ": the result is " + python_name(value.dtype()) + ", the tensor written to " +
               python_name(x.dtype()) + ". Cast, or use x = x op y, which makes a new one.");
  if (!grad_enabled() || !(x.requires_grad() || value.requires_grad())) {
    Unlocked u(work_of(x) >= kLongCall);
    return assign(x, value);
  }
  if (object.is_view)
    raise(PyExc_RuntimeError, std::string(where) +
                                  ": a view is written to while gradients are recorded, which its base would not "
                                  "see. Write to the base by one index, x[i, j] = v, or under oarlock.no_grad().");
  if (x.requires_grad() && is_leaf(x))
    raise(PyExc_RuntimeError, std::string(where) +
                                  ": a leaf that requires a gradient is written to while gradients are recorded. "
                                  "Do it under oarlock.no_grad(), or on a copy.");
  object.value = value;
}

}  // namespace oarlock::python
