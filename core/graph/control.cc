#include "core/graph/control.h"

#include <algorithm>

#include <oarlock/base/autograd.h>

#include "core/autograd/tape.h"
#include "core/dispatch/role.h"
#include "core/graph/control_record.h"
#include "core/op/calls.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

class EagerCall : public op::ControlCall {
 public:
  EagerCall(const op::OpDef& def, op::Attrs attrs, std::span<const Tensor> inputs,
            std::span<const op::RegionFunction> regions, const op::ControlTypes& types)
      : ControlCall(def, attrs, inputs), regions_(regions), types_(types) {}
  std::vector<Tensor> call(int region, std::span<const Tensor> parameters) override {
    std::vector<Tensor> out = regions_[size_t(region)](parameters);
    check_given(def, region, out);
    return out;
  }
  size_t output_count() override { return outputs_of_nothing().size(); }
  Tensor empty(int i) override {
    const op::ValueType& t = outputs_of_nothing()[size_t(i)];
    return Tensor::empty(t.shape, t.dtype, device());
  }

 private:
  Device device() const {
    for (const Tensor& t : inputs)
      if (!t.device().is_host()) return t.device();
    return inputs.empty() ? current_device() : Device();
  }
  // By calling the functions on stand-ins.
  const std::vector<op::ValueType>& outputs_of_nothing() {
    if (!types_.results.empty()) return types_.outputs;
    NoGrad off;
    Program p;
    Recording recording(p, p.body.nodes, device());
    for (size_t k = 0; k < regions_.size(); ++k) {
      std::vector<Tensor> given;
      for (const op::ValueType& t : types_.parameters[k]) given.push_back(recording.add_input("", t.dtype, t.shape));
      std::vector<op::ValueType>& results = types_.results.emplace_back();
      for (const Tensor& t : call(int(k), given)) results.push_back({t.dtype(), t.shape()});
    }
    throw_if(check_types(types_));
    return types_.outputs;
  }
  std::span<const op::RegionFunction> regions_;
  op::ControlTypes types_;
};

}  // namespace

void check_given(const op::OpDef& def, int region, std::span<const Tensor> given) {
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i].defined())
      throw_if(invalid(std::string(def.name) + ": " + def.regions[region].name + " gives no value for result " +
                       std::to_string(i) + ". Return a tensor for each."));
}

Status check_types(op::ControlTypes& c) {
  c.def.types_of(c);
  return c.error.empty() ? Status() : invalid(c.error);
}

std::vector<Tensor> call_control(op::OpId id, std::span<const Tensor> inputs, std::span<const oar_attr_t> given,
                                 std::span<const op::RegionFunction> regions) {
  const op::OpDef& def = *op::op_at(id).def;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      throw_if(invalid(std::string(def.name) + ": operand " + std::to_string(i) + " has no value."));
  for (int k = 0; k < def.regions.count; ++k)
    if (!regions[size_t(k)]) throw_if(invalid(std::string(def.name) + ": " + def.regions[k].name + " is empty."));
  op::AttrScratch scratch;
  throw_if(
      op::normalise(def, inputs.empty() ? nullptr : &inputs[0].shape(), given.data(), uint32_t(given.size()), scratch));
  op::Attrs attrs(scratch.values, uint32_t(def.attributes.count));
  auto* recording = dynamic_cast<Recording*>(dispatch::recorder());
  std::vector<op::ValueType> types;
  for (const Tensor& t : inputs) types.push_back({t.dtype(), t.shape(), recording && recording->is_host(t)});
  op::ControlTypes c(def, attrs, types);
  throw_if(check_types(c));
  if (recording) return record_control(*recording, id, inputs, c, regions);
  EagerCall call(def, attrs, inputs, regions, c);
  def.run(call);
  return std::move(call.outputs);
}

}  // namespace oarlock::graph
