#include "call.h"

#include <cstring>
#include <deque>

namespace oarlock::python {
namespace {

// Words that other libraries use for the same parameter.
struct Synonym {
  const char* theirs;
  const char* ours;
};
constexpr Synonym kSynonyms[] = {{"dim", "axis"},
                                 {"axes", "axis"},
                                 {"keepdim", "keepdims"},
                                 {"input", "x"},
                                 {"x1", "a"},
                                 {"x2", "b"},
                                 {"other", "b"},
                                 {"y", "b"},
                                 {"fill_value", "value"},
                                 {"size", "shape"},
                                 {"input", "a"},
                                 {"x", "a"},
                                 {"tensors", "xs"},
                                 {"x", "xs"},
                                 {"arrays", "xs"},
                                 {"start_axis", "start"},
                                 {"stop_axis", "stop"},
                                 {"start_dim", "start"},
                                 {"end_dim", "stop"},
                                 {"k", "offset"},
                                 {"chunks", "parts"},
                                 {"diagonal", "offset"}};

int find(const Function& f, PyObject* name) {
  for (int i = 0; i < f.count; ++i)
    if (f.parameters[i].interned == name) return i;
  for (int i = 0; i < f.count; ++i)
    if (PyUnicode_Compare(f.parameters[i].interned, name) == 0) return i;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) throw Raised();
  for (const Synonym& s : kSynonyms)
    if (!std::strcmp(s.theirs, text))
      for (int i = 0; i < f.count; ++i)
        if (!std::strcmp(f.parameters[i].name, s.ours)) return i;
  return -1;
}

std::string names_of(const Function& f) {
  std::string text;
  for (int i = 0; i < f.count; ++i) text += std::string(i ? ", " : "") + f.parameters[i].name;
  return text.empty() ? "none" : text;
}

}  // namespace

void Arguments::place(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Function& f = function_;
  int at = 0;
  if (self) raw_[at++] = self;
  // A method's only list may be spread: x.reshape(2, 3), x.permute(1, 0).
  if (self && n > 1 && f.count == 2 && (f.parameters[1].kind == Kind::dims || f.parameters[1].kind == Kind::axes)) {
    packed_ = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      Py_INCREF(args[i]);
      PyTuple_SET_ITEM(packed_.get(), i, args[i]);
    }
    raw_[at++] = packed_.get();
    args += n, n = 0;
  }
  Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  if (at + n > f.count) {
    raise_type(std::string(f.name) + ": takes " + std::to_string(f.count) + " arguments, given " +
               std::to_string(at + n + keywords) + ". They are " + names_of(f) + ".");
  }
  for (Py_ssize_t i = 0; i < n; ++i) raw_[at++] = args[i];
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    int p = find(f, name);
    if (p < 0)
      raise_type(std::string(f.name) + ": there is no argument '" + PyUnicode_AsUTF8(name) + "'. There are " +
                 names_of(f) + ".");
    if (raw_[p]) raise_type(std::string(f.name) + ": " + f.parameters[p].name + " is given twice. Give it once.");
    raw_[p] = args[n + i];
  }
  for (int i = 0; i < f.count; ++i)
    if (f.parameters[i].required && !raw_[i])
      raise_type(std::string(f.name) + ": " + f.parameters[i].name + " is missing. The arguments are " + names_of(f) +
                 ".");
}

void Arguments::wrong(int i, const char* expects) {
  raise_type(std::string(function_.name) + ": " + function_.parameters[i].name + " is a " + Py_TYPE(raw_[i])->tp_name +
             ". Give " + expects + ".");
}

// An operand that is no tensor: a number takes the dtype of a tensor beside it that shares its type.
Tensor Arguments::converted(int i, PyObject* o) {
  const Parameter& p = function_.parameters[i];
  if (p.dtype != DType::none) return tensor_from(o, p.dtype, std::nullopt, Sharing::if_possible, function_.name);
  const Tensor* first = nullptr;
  for (int k = 0; k < function_.count && !first; ++k)
    if (function_.parameters[k].kind == Kind::tensor && raw_[k] && raw_[k] != o)
      if (const Tensor* t = tensor_of(raw_[k]); t && t->defined() && function_.parameters[k].type == p.type) first = t;
  if (first && is_number(o) && !is_numpy(o)) return weak(o, *first);
  Tensor t = tensor_from(o, DType::none, std::nullopt, Sharing::if_possible, function_.name);
  if (first && !first->device().is_host()) t = t.to(first->device());
  return t;
}

const Tensor& Arguments::tensor(int i) {
  static const Tensor absent;
  PyObject* o = raw_[i];
  if (!o || o == Py_None) {
    if (function_.parameters[i].required) wrong(i, "a tensor");
    return absent;
  }
  const Tensor* t = tensor_of(o);
  if (!t) {
    if (made_count_ < int(std::size(made_))) {
      made_[made_count_] = converted(i, o);
      t = &made_[made_count_++];
    } else {
      raise_type(std::string(function_.name) + ": more than " + std::to_string(std::size(made_)) +
                 " operands are no tensors. Convert them by oarlock.asarray.");
    }
  }
  work_ += work_of(*t);
  return *t;
}

Tensors Arguments::tensors(int i) {
  PyObject* o = raw_[i];
  if (is_tensor(o)) wrong(i, "a list or tuple of tensors");
  Ref list(PySequence_Fast(o, "not a sequence"));
  if (!list) {
    PyErr_Clear();
    wrong(i, "a list or tuple of tensors");
  }
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list.get());
  more_.reserve(size_t(n));
  const Tensor* first = nullptr;
  for (Py_ssize_t k = 0; k < n && !first; ++k) first = tensor_of(PySequence_Fast_GET_ITEM(list.get(), k));
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), k);
    if (const Tensor* t = tensor_of(item)) more_.push_back(*t);
    else if (first && is_number(item) && !is_numpy(item)) more_.push_back(weak(item, *first));
    else more_.push_back(tensor_from(item, DType::none, std::nullopt, Sharing::if_possible, function_.name));
    work_ += work_of(more_.back());
  }
  return more_;
}

bool Arguments::flag(int i, bool otherwise) {
  if (!given(i)) return otherwise;
  PyObject* o = raw_[i];
  if (o == Py_True) return true;
  if (o == Py_False) return false;
  if (is_tensor(o) || PyUnicode_Check(o) || PySequence_Check(o)) wrong(i, "True or False");
  int v = PyObject_IsTrue(o);
  if (v < 0) throw Raised();
  return v != 0;
}
int64_t Arguments::integer(int i, int64_t otherwise) {
  return given(i) ? integer_from(raw_[i], function_.name, function_.parameters[i].name) : otherwise;
}
double Arguments::real(int i, double otherwise) {
  return given(i) ? real_from(raw_[i], function_.name, function_.parameters[i].name) : otherwise;
}
std::string_view Arguments::text(int i, std::string_view otherwise) {
  if (!given(i)) return otherwise;
  if (!PyUnicode_Check(raw_[i])) wrong(i, "a str");
  Py_ssize_t n = 0;
  const char* s = PyUnicode_AsUTF8AndSize(raw_[i], &n);
  if (!s) throw Raised();
  return {s, size_t(n)};
}

Integers Arguments::integers(int i) {
  if (!given(i)) return {};
  PyObject* o = raw_[i];
  if (PyLong_CheckExact(o) && few_count_ < int(std::size(few_))) {  // one axis is most of what is given
    int64_t* p = &few_[few_count_++];
    *p = integer_from(o, function_.name, function_.parameters[i].name);
    return std::span<const int64_t>(p, 1);
  }
  lists_.reserve(size_t(kMostParameters));  // spans into the lists stay valid
  lists_.emplace_back();
  integers_from(o, lists_.back(), function_.name, function_.parameters[i].name);
  return lists_.back();
}
Reals Arguments::reals(int i) {
  if (!given(i)) return {};
  Ref list(PySequence_Fast(raw_[i], "not a sequence"));
  if (!list) {
    PyErr_Clear();
    wrong(i, "a list of numbers");
  }
  reals_.reserve(256);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list.get());
  if (reals_.size() + size_t(n) > 256) wrong(i, "at most 256 numbers");
  size_t from = reals_.size();
  for (Py_ssize_t k = 0; k < n; ++k)
    reals_.push_back(real_from(PySequence_Fast_GET_ITEM(list.get(), k), function_.name, function_.parameters[i].name));
  return std::span<const double>(reals_.data() + from, size_t(n));
}
Shape Arguments::dims(int i) {
  if (!given(i)) return Shape();
  Shape s = shape_from(raw_[i], function_.name);
  int64_t n = 1;
  for (Dim d : s)
    if (d.n < 0 || __builtin_mul_overflow(n, d.n, &n)) n = kLongCall;
  work_ += n;
  return s;
}
DType Arguments::dtype(int i, DType otherwise) {
  return given(i) ? dtype_from_object(raw_[i], function_.name) : otherwise;
}

PyObject* Arguments::result() {
  const Function& f = function_;
  if (f.output_count == 1) return wrap(std::move(out_[0]));
  if (f.output_count == 0) Py_RETURN_NONE;
  if (f.output_count < 0) {
    Ref tuple = checked(PyTuple_New(Py_ssize_t(list_.size())));
    for (size_t i = 0; i < list_.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), checked(wrap(std::move(list_[i]))).give());
    return tuple.give();
  }
  Ref named = checked(PyStructSequence_New(f.result_type));
  for (int i = 0; i < f.output_count; ++i)
    PyStructSequence_SET_ITEM(named.get(), i, checked(wrap(std::move(out_[i]))).give());
  return named.give();
}

PyObject* invoke(const Function& f, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) noexcept {
  return guarded([&] {
    Arguments a(f);
    a.place(self, args, n, names);
    f.run(a);
    a.end();
    return a.result();
  });
}

void add_ops(PyObject* module) {
  for (const Function* const* p = all_functions; *p; ++p) {
    const Function& f = **p;
    for (int i = 0; i < f.count; ++i)
      if (!(f.parameters[i].interned = PyUnicode_InternFromString(f.parameters[i].name))) throw Raised();
    if (f.output_count < 2) continue;
    std::vector<PyStructSequence_Field> fields;
    for (int i = 0; i < f.output_count; ++i) fields.push_back({f.outputs[i], nullptr});
    fields.push_back({nullptr, nullptr});
    std::string name = std::string("oarlock.") + f.result_name;
    PyStructSequence_Desc description{name.c_str(), "What the op gives, by name.", fields.data(), f.output_count};
    f.result_type = PyStructSequence_NewType(&description);
    if (!f.result_type || add_object(module, f.result_name, reinterpret_cast<PyObject*>(f.result_type)) < 0)
      throw Raised();
  }
  if (PyModule_AddFunctions(module, op_functions) < 0) throw Raised();
}

}  // namespace oarlock::python
