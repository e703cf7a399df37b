// The type `Tensor`.
#include <Python.h>
#include <structmember.h>

#include "convert.h"
#include "call.h"
#include "operators.h"

namespace oarlock::python {

PyTypeObject* tensor_type;

namespace {

// Objects given back, to be used again: most tensors live for one expression. The interpreter lock guards it.
TensorObject* spare[64];
int spares;

PyObject* object_of(PyTypeObject* type, Tensor t) {
  TensorObject* o;
  if (type == tensor_type && spares > 0) {
    o = spare[--spares];
    PyObject_Init(reinterpret_cast<PyObject*>(o), type);
  } else {
    o = reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
    if (!o) throw Raised();
  }
  new (&o->value) Tensor(std::move(t));
  o->weak = nullptr;
  o->is_view = false;
  return reinterpret_cast<PyObject*>(o);
}

void dealloc(PyObject* self) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  o->value.~Tensor();
  PyTypeObject* type = Py_TYPE(self);
  if (type == tensor_type && spares < int(std::size(spare))) spare[spares++] = o;
  else type->tp_free(self);
  Py_DECREF(type);
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject *data = nullptr, *dtype = nullptr, *device = nullptr;
    static const char* const names[] = {"data", "dtype", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OO:Tensor", const_cast<char**>(names), &data, &dtype, &device))
      throw Raised();
    DType d = dtype && dtype != Py_None ? dtype_from_object(dtype, "Tensor") : DType::none;
    std::optional<Device> where;
    if (device && device != Py_None) where = device_from_object(device, "Tensor");
    return object_of(type, tensor_from(data, d, where, Sharing::never, "Tensor"));
  });
}

Py_hash_t hash(PyObject* self) {
  auto p = reinterpret_cast<uintptr_t>(tensor_of(self)->impl());
  Py_hash_t h = Py_hash_t(p >> 4);
  return h == -1 ? -2 : h;
}

PyObject* printed;  // oarlock._print.text

PyObject* repr(PyObject* self) {
  if (!printed) {
    Ref module(PyImport_ImportModule("oarlock._print"));
    if (!module || !(printed = PyObject_GetAttrString(module.get(), "text"))) return nullptr;
  }
  return PyObject_CallOneArg(printed, self);
}

PyObject* iterate(PyObject* self) {
  if (length_of(self) < 0) return nullptr;
  return PySeqIter_New(self);
}
PyObject* item_at(PyObject* self, Py_ssize_t i) {
  Ref key(PyLong_FromSsize_t(i));
  return key ? get_index(self, key.get()) : nullptr;
}

}  // namespace

PyObject* wrap(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  return object_of(tensor_type, std::move(t));
}

void add_tensor_type(PyObject* module) {
  static std::vector<PyMethodDef> methods;
  for (PyMethodDef* m = tensor_methods; m->ml_name; ++m) methods.push_back(*m);
  size_t by_hand = methods.size();
  for (PyMethodDef* m = op_methods; m->ml_name; ++m) {
    bool known = false;
    for (size_t i = 0; i < by_hand; ++i) known |= std::string_view(methods[i].ml_name) == m->ml_name;
    if (!known) methods.push_back(*m);
  }
  methods.push_back({nullptr, nullptr, 0, nullptr});
  static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  std::vector<PyType_Slot> slots;
  auto add = [&](int id, auto p) { slots.push_back({id, reinterpret_cast<void*>(p)}); };
  static const char doc[] =
      "Tensor(data, dtype=None, device=None)\n--\n\n"
      "Elements of one dtype in a box of axes, on a device. Made of numbers, nested lists, arrays or tensors, which "
      "are copied.\n"
      "Reading one from many threads is safe; who writes to one needs a lock of their own.";
  add(Py_tp_doc, const_cast<char*>(doc));
  add(Py_tp_new, make);
  add(Py_tp_dealloc, dealloc);
  add(Py_tp_hash, hash);
  add(Py_tp_repr, repr);
  add(Py_tp_iter, iterate);
  add(Py_tp_methods, methods.data());
  add(Py_tp_getset, tensor_properties);
  add(Py_tp_members, members);
  add(Py_mp_length, length_of);
  add(Py_mp_subscript, get_index);
  add(Py_mp_ass_subscript, set_index);
  add(Py_sq_item, item_at);
  add(Py_bf_getbuffer, tensor_getbuffer);
  add(Py_bf_releasebuffer, tensor_releasebuffer);
  add_operator_slots(slots);
  slots.push_back({0, nullptr});
  static PyType_Spec spec{"oarlock.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, nullptr};
  spec.slots = slots.data();
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw Raised();
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
  // NumPy leaves array + tensor to us.
  if (PyObject_SetAttrString(type, "__array_ufunc__", Py_None) < 0 || add_object(module, "Tensor", type) < 0)
    throw Raised();
}

}  // namespace oarlock::python
