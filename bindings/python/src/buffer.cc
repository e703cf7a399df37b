// The buffer protocol in both directions: how tensors and NumPy arrays share memory.
#include <cstring>
#include <memory>

#include "convert.h"

namespace oarlock::python {
namespace {

struct Held {
  Py_buffer view{};
  ~Held() {
    if (view.obj) PyBuffer_Release(&view);
  }
};
// Called by whoever drops the last reference, with or without the interpreter lock.
void release_held(void* p) {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  delete static_cast<Held*>(p);
  PyGILState_Release(state);
}

DType number_type(char code, Py_ssize_t size) {
  bool is_signed = std::strchr("bhilqn", code) != nullptr;
  if (is_signed || std::strchr("BHILQN", code)) {
    switch (size) {
      case 1: return is_signed ? DType::i8 : DType::u8;
      case 2: return is_signed ? DType::i16 : DType::u16;
      case 4: return is_signed ? DType::i32 : DType::u32;
      case 8: return is_signed ? DType::i64 : DType::u64;
    }
  }
  if (code == '?' && size == 1) return DType::boolean;
  if (code == 'e') return DType::f16;
  if (code == 'f') return DType::f32;
  if (code == 'd') return DType::f64;
  return DType::none;
}

// The dtype of a struct-module format; *out_swapped: its bytes are in the other order.
DType format_type(const char* format, Py_ssize_t size, bool* out_swapped) {
  *out_swapped = false;
  if (!format) return size == 1 ? DType::u8 : DType::none;
  if (std::strchr("@=<", *format)) ++format;
  else if (*format == '>' || *format == '!') {
    *out_swapped = size > 1;
    ++format;
  }
  if (format[0] == 'Z' && format[1] && !format[2])
    return format[1] == 'f' ? DType::c64 : format[1] == 'd' ? DType::c128 : DType::none;
  return format[0] && !format[1] ? number_type(format[0], size) : DType::none;
}

const char* format_of(DType t) {
  switch (t) {
    case DType::boolean: return "?";
    case DType::i8: return "b";
    case DType::i16: return "h";
    case DType::i32: return "i";
    case DType::i64: return "q";
    case DType::u8: return "B";
    case DType::u16: return "H";
    case DType::u32: return "I";
    case DType::u64: return "Q";
    case DType::f16: return "e";
    case DType::f32: return "f";
    case DType::f64: return "d";
    case DType::c64: return "Zf";
    case DType::c128: return "Zd";
    default: return nullptr;
  }
}

// Row-major into out, elements of `size` bytes, each swapped in units of `unit` bytes if that is not 0.
char* copy_out(const Py_buffer& b, int axis, const char* from, size_t unit, char* out) {
  if (axis == b.ndim) {
    std::memcpy(out, from, size_t(b.itemsize));
    for (size_t at = 0; unit && at < size_t(b.itemsize); at += unit) std::reverse(out + at, out + at + unit);
    return out + b.itemsize;
  }
  for (Py_ssize_t i = 0; i < b.shape[axis]; ++i, from += b.strides[axis]) out = copy_out(b, axis + 1, from, unit, out);
  return out;
}

}  // namespace

Tensor from_buffer(PyObject* o, Sharing sharing, const char* where) {
  auto held = std::make_unique<Held>();
  Py_buffer& b = held->view;
  if (PyObject_GetBuffer(o, &b, PyBUF_FULL_RO) < 0) {
    b.obj = nullptr;
    PyErr_Clear();
    raise_type(
        std::string(where) + ": a " + Py_TYPE(o)->tp_name +
        " does not show its memory; arrays of objects, text or dates have no numbers. Convert it to numbers first.");
  }
  bool swapped;
  DType dtype = format_type(b.format, b.itemsize, &swapped);
  if (dtype == DType::none)
    raise_type(std::string(where) + ": elements of the format '" + (b.format ? b.format : "") + "' of " +
               std::to_string(b.itemsize) + " bytes are no numbers that Oarlock has. Convert the array first.");
  if (b.ndim > kMaxRank)
    raise_value(std::string(where) + ": the array has " + std::to_string(b.ndim) + " axes. Give at most " +
                std::to_string(kMaxRank) + ".");
  Shape shape;
  int64_t strides[kMaxRank];
  std::string why;
  for (int i = 0; i < b.ndim; ++i) {
    shape.push(b.shape[i]);
    strides[i] = b.strides[i] / b.itemsize;
    if (b.strides[i] < 0) why = "axis " + std::to_string(i) + " runs backwards";
    else if (b.strides[i] % b.itemsize) why = "axis " + std::to_string(i) + " steps by a fraction of an element";
  }
  if (swapped) why = "its bytes are in the other order";
  if (b.readonly) why = "it may not be written to";
  if (b.suboffsets)
    for (int i = 0; i < b.ndim; ++i)
      if (b.suboffsets[i] >= 0) raise_type(std::string(where) + ": an array of pointers. Copy it to one block first.");
  if (reinterpret_cast<uintptr_t>(b.buf) % uintptr_t(std::min<Py_ssize_t>(b.itemsize, 8)))
    why = "its memory is not aligned";
  if (count(shape) == 0) return Tensor::empty(shape, dtype);
  if (sharing == Sharing::always && !why.empty())
    raise_value(std::string(where) + ": the array's memory can't be shared: " + why +
                ". Use oarlock.tensor, which copies.");
  if (sharing != Sharing::never && why.empty()) {
    void* data = b.buf;
    return Tensor::borrow(data, shape, dtype, strides, release_held, held.release());
  }
  Tensor t = Tensor::empty(shape, dtype);
  size_t unit = swapped ? size_t(set_of(dtype) & kComplex ? b.itemsize / 2 : b.itemsize) : 0;
  bool plain = !unit && PyBuffer_IsContiguous(&b, 'C');
  if (plain) std::memcpy(t.data(), b.buf, size_t(b.len));
  else copy_out(b, 0, static_cast<const char*>(b.buf), unit, static_cast<char*>(t.data()));
  return t;
}

// What an exported buffer needs while someone looks at it: the tensor may have been rebound in between.
struct Exported {
  Tensor tensor;
  Py_ssize_t shape[kMaxRank], strides[kMaxRank];
};

int tensor_getbuffer(PyObject* self, Py_buffer* out, int flags) {
  return guarded_int([&] {
    out->obj = nullptr;
    const Tensor& t = *tensor_of(self);
    const char* format = format_of(t.dtype());
    if (!format)
      raise(PyExc_BufferError, std::string("buffer: there is no buffer format for ") + python_name(t.dtype()) +
                                   ". Cast to float32, or use numpy() with ml_dtypes installed.");
    if (!t.device().is_host())
      raise(PyExc_BufferError, "buffer: the tensor is on " + t.device().name() + ". Use numpy(), which copies.");
    bool read_only = t.requires_grad();
    if (read_only && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE)
      raise(PyExc_BufferError,
            "buffer: the tensor requires a gradient, so its memory is read-only here. Use detach().");
    bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!strided && !t.is_contiguous())
      raise(PyExc_BufferError, "buffer: the tensor is not contiguous. Use contiguous().");
    auto* e = new Exported{t, {}, {}};
    Py_ssize_t size = Py_ssize_t(info(t.dtype()).bits / 8);
    for (int i = 0; i < t.rank(); ++i) {
      e->shape[i] = t.shape()(i);
      e->strides[i] = t.strides()[i] * size;
    }
    static char nothing[16];
    out->buf = t.element_count() ? t.data() : nothing;
    out->len = t.element_count() * size;
    out->readonly = read_only;
    out->itemsize = size;
    out->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    out->ndim = t.rank();
    out->shape = (flags & PyBUF_ND) == PyBUF_ND ? e->shape : nullptr;
    out->strides = strided ? e->strides : nullptr;
    out->suboffsets = nullptr;
    out->internal = e;
    Py_INCREF(self);
    out->obj = self;
    return 0;
  });
}
void tensor_releasebuffer(PyObject*, Py_buffer* b) { delete static_cast<Exported*>(b->internal); }

}  // namespace oarlock::python
