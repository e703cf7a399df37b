// What the rules of ops with regions are given. Such an op calls functions: the user's own while eager, bodies of a program
// where one runs. Its rules say how often, with what, and what comes of it; they hold for all three of calls, programs, gradients.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <oarlock/base/tensor.h>

#include "core/op/attrs.h"
#include "core/op/infer.h"

namespace oarlock::op {

struct ValueType {
  DType dtype = DType::none;
  Shape shape{};
  bool host = false;  // in host memory wherever the program runs
};
inline std::string to_text(const ValueType& t) { return std::string(to_string(t.dtype)) + to_string(t.shape); }

// `void types(ControlTypes& c)`: what each region takes; then, once `results` holds what the regions give, what the op gives.
struct ControlTypes {
  const OpDef& def;
  Attrs attrs;
  std::span<const ValueType> inputs;
  std::vector<std::vector<ValueType>> parameters, results;  // per region; results: empty at the first time
  std::vector<ValueType> outputs{};
  std::vector<Guard> guards{};
  std::string error{};  // the first one, with the op in front

  ControlTypes(const OpDef& def, Attrs attrs, std::span<const ValueType> inputs)
      : def(def), attrs(attrs), inputs(inputs), parameters(size_t(def.regions.count)) {}
  bool results_known() const { return !results.empty(); }
  // "<op>: " is put in front and "." behind; returns false.
  bool fail(const std::string& what) {
    if (error.empty()) error = std::string(def.name) + ": " + what + ".";
    return false;
  }
  // True if b may be what a is; sizes that can't be compared yet are guarded. a_name: "then gives f32[2] as result 0".
  bool agree(const ValueType& a, const ValueType& b, const std::string& text) {
    bool same = a.dtype == b.dtype && a.shape.rank == b.shape.rank && a.host == b.host;
    for (int i = 0; same && i < a.shape.rank; ++i) {
      Dim x = a.shape[i], y = b.shape[i];
      if (x == y) continue;
      if (x.known() && y.known()) same = false;
      else guards.push_back({x, y, false, std::string(def.name) + ": " + text + "."});
    }
    if (same) return true;
    return fail(text + (a.host != b.host && a.dtype == b.dtype && a.shape == b.shape
                            ? std::string("; one is on the host, the other one is not")
                            : ""));
  }
};

// `void run(ControlCall& c)`: calls the regions' functions and fills outputs. Rules throw Error.
class ControlCall {
 public:
  ControlCall(const OpDef& def, Attrs attrs, std::span<const Tensor> inputs) : def(def), attrs(attrs), inputs(inputs) {}
  virtual ~ControlCall() = default;
  virtual std::vector<Tensor> call(int region, std::span<const Tensor> parameters) = 0;
  // Where nothing is called: how many outputs there are, and one that has no elements.
  virtual size_t output_count() = 0;
  virtual Tensor empty(int i) = 0;

  const OpDef& def;
  const Attrs attrs;
  const std::span<const Tensor> inputs;
  std::vector<Tensor> outputs;
};

using RegionFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

// `void control_gradient(ControlGradientCall& c)`, while a program is captured: the gradients of the operands and of `around`,
// which is what the regions read that is neither operand nor parameter. What it calls becomes part of the program.
class ControlGradientCall {
 public:
  virtual ~ControlGradientCall() = default;
  // A region once more, on other parameters.
  virtual std::vector<Tensor> call(int region, std::span<const Tensor> parameters) = 0;
  // The gradients of its parameters, then of `around`; no value: zero. dresults: one per result, of those that have one.
  virtual std::vector<Tensor> differentiate(int region, std::span<const Tensor> parameters,
                                            std::span<const Tensor> dresults) = 0;
  // Does a parameter or, behind them, one of `around` get a gradient from the region? Does a result have one to give?
  virtual bool reaches(int region, size_t parameter) const = 0;
  virtual bool gives(int region, size_t result) const = 0;
  // An op with regions.
  virtual std::vector<Tensor> control(std::string_view op, std::span<const Tensor> inputs,
                                      std::span<const oar_attr_t> attrs, std::span<const RegionFunction> regions) = 0;

  Attrs attrs;
  std::span<const Tensor> inputs, outputs;
  std::vector<Tensor> doutputs;  // no value: zero
  std::vector<ValueType> around;
  std::vector<Tensor> gradients;  // per operand, then per `around`; no value: zero
};

}  // namespace oarlock::op
