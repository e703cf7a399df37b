// What the rules of an op are given. Rules compute with the typed functions of <oarlock/base/ops.h>; those throw Error,
// and the core turns that back into a Status at the rule's border.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <oarlock/base/ops.h>
#include <oarlock/base/tensor.h>

#include "core/op/attrs.h"
#include "core/op/infer.h"
#include "core/op/table.h"

namespace oarlock::op {

// `void gradient(GradientCall& c)`: sets the gradient of each wanted input from those of the outputs. Not setting one
// means zero. Sizes that were broadcast by "..." or "|1" are summed away by the core afterwards.
struct GradientCall {
  std::span<const Tensor> inputs, outputs;  // what .saves didn't name has a shape and a dtype but no elements
  std::span<const Tensor> doutputs;         // no value: a zero that was never made; not all of them
  uint64_t wanted;
  Attrs attrs;
  std::vector<Tensor>& gradients;  // one per input
  const Op* op = nullptr;          // whose: for rules that serve several
  const Tensor& in(int i) const { return inputs[size_t(i)]; }
  const Tensor& out(int i) const { return outputs[size_t(i)]; }
  const Tensor& dout(int i) const { return doutputs[size_t(i)]; }
  int count() const { return int(inputs.size()); }
  bool wants(int i) const { return i < 64 ? (wanted >> i & 1) != 0 : (wanted >> 63 & 1) != 0; }
  void set(int i, Tensor t) { gradients[size_t(i)] = std::move(t); }
};

// `void decompose(RuleCall& c)`: fills the outputs with other ops.
struct RuleCall {
  std::span<const Tensor> inputs;
  Attrs attrs;
  std::vector<Tensor>& outputs;
  const Tensor& in(int i) const { return inputs[size_t(i)]; }
  bool has(int i) const { return size_t(i) < inputs.size() && inputs[size_t(i)].defined(); }
  int count() const { return int(inputs.size()); }
  void set(int i, Tensor t) {
    if (outputs.size() <= size_t(i)) outputs.resize(size_t(i) + 1);
    outputs[size_t(i)] = std::move(t);
  }
};

// `void upgrade(UpgradeCall& c)`: a call written for version `from`, done with today's ops.
struct UpgradeCall {
  int from;
  std::span<const Tensor> inputs;
  Attrs attrs;  // those of version `from`
  std::vector<Tensor>& outputs;
  const Tensor& in(int i) const { return inputs[size_t(i)]; }
  void set(int i, Tensor t) {
    if (outputs.size() <= size_t(i)) outputs.resize(size_t(i) + 1);
    outputs[size_t(i)] = std::move(t);
  }
};

// `void reference(KernelCall& c)`: plain loops on the host, the widest accumulator, any strides. Elements are read and
// written with core/op/element.h.
struct KernelCall {
  std::span<const oar_view_t* const> inputs;  // an absent optional input is null
  std::span<const oar_view_t*> outputs;       // an output nobody wants is null
  Attrs attrs;
  Status status{};
  // Gives an output of unknown size ("?N") its shape and memory; afterwards out(i) is there. Null on failure.
  const oar_view_t* (*allocate_output)(void* context, int output, const Shape& shape) = nullptr;
  void* context = nullptr;
  const oar_view_t& in(int i) const { return *inputs[size_t(i)]; }
  const oar_view_t& out(int i) const { return *outputs[size_t(i)]; }
  bool has(int i) const { return size_t(i) < inputs.size() && inputs[size_t(i)]; }
  int count() const { return int(inputs.size()); }
  const oar_view_t* allocate(int i, const Shape& shape) {
    return outputs[size_t(i)] = allocate_output(context, i, shape);
  }
  void fail(std::string text) {
    if (status.ok()) status = invalid(std::move(text));
  }
};

}  // namespace oarlock::op
