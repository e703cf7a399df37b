// Calls of ops from Python. The generated table describes every parameter; one reader serves all ops, so that positions,
// keywords, defaults, plain numbers and error texts are the same everywhere.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "convert.h"

namespace oarlock::python {

enum class Kind : uint8_t { tensor, tensors, flag, integer, real, text, integers, reals, dim, dims, axis, axes, dtype };

struct Parameter {
  const char* name;
  Kind kind;
  bool required = true;
  int8_t type = -1;           // operands: the type variable that their dtypes share
  DType dtype = DType::none;  // operands: the one dtype they may have
  mutable PyObject* interned = nullptr;
};

class Arguments;
struct Function {
  const char* name;
  const Parameter* parameters;
  int count;
  void (*run)(Arguments&);
  const char* const* outputs;  // names, where there are several
  int output_count;            // -1: the call decides
  const char* result_name;     // of the named tuple
  mutable PyTypeObject* result_type = nullptr;
};

inline constexpr int kMostParameters = 24;

// One call: what was given, its conversions, and what came out.
class Arguments {
 public:
  explicit Arguments(const Function& f) : function_(f) {
    for (int i = 0; i < f.count; ++i) raw_[i] = nullptr;
  }
  ~Arguments() { end(); }
  // Places the arguments; throws Raised. self: stands before them, or null.
  void place(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names);

  // Conversions, by the parameter's place; all before begin().
  const Tensor& tensor(int i);
  Tensors tensors(int i);
  bool given(int i) const { return raw_[i] && raw_[i] != Py_None; }
  bool flag(int i, bool otherwise = false);
  int64_t integer(int i, int64_t otherwise = 0);
  double real(int i, double otherwise = 0);
  std::string_view text(int i, std::string_view otherwise = {});
  Integers integers(int i);
  Reals reals(int i);
  Shape dims(int i);
  DType dtype(int i, DType otherwise = DType::none);
  std::optional<bool> maybe_flag(int i) { return given(i) ? std::optional(flag(i)) : std::nullopt; }
  std::optional<int64_t> maybe_integer(int i) { return given(i) ? std::optional(integer(i)) : std::nullopt; }
  std::optional<double> maybe_real(int i) { return given(i) ? std::optional(real(i)) : std::nullopt; }
  std::optional<std::string_view> maybe_text(int i) { return given(i) ? std::optional(text(i)) : std::nullopt; }
  std::optional<DType> maybe_dtype(int i) { return given(i) ? std::optional(dtype(i)) : std::nullopt; }
  std::optional<Shape> maybe_dims(int i) { return given(i) ? std::optional(dims(i)) : std::nullopt; }
  std::optional<Dim> maybe_dim(int i) { return given(i) ? std::optional(Dim(integer(i))) : std::nullopt; }

  // From here on no Python: the lock is given up where the call is a long one.
  void begin() {
    if (work_ >= kLongCall) state_ = PyEval_SaveThread();
  }
  void end() {
    if (state_) PyEval_RestoreThread(std::exchange(state_, nullptr));
  }
  void give(Tensor t) { out_[outs_++] = std::move(t); }
  void give(std::vector<Tensor> list) { list_ = std::move(list); }
  PyObject* result();

 private:
  [[noreturn]] void wrong(int i, const char* expects);
  Tensor converted(int i, PyObject* o);

  const Function& function_;
  PyObject* raw_[kMostParameters];
  Tensor made_[4];
  int made_count_ = 0;
  std::vector<Tensor> more_;  // operands of variadic parameters
  std::vector<std::vector<int64_t>> lists_;
  std::vector<double> reals_;
  int64_t few_[16];
  int few_count_ = 0;
  int64_t work_ = 0;
  PyThreadState* state_ = nullptr;
  Ref packed_;
  Tensor out_[8];
  int outs_ = 0;
  std::vector<Tensor> list_;
};

PyObject* invoke(const Function& f, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) noexcept;

// Generated: every op as a function of the module and as a method of tensors, and what the table has of the operators.
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Unary = Tensor (*)(const Tensor&);
extern PyMethodDef op_functions[];
extern PyMethodDef op_methods[];
extern const Function* const all_functions[];
// Null where the table has no such op.
Binary binary_op(std::string_view name);
Unary unary_op(std::string_view name);
void add_ops(PyObject* module);

}  // namespace oarlock::python
