// Runs normalise and inference of one op on shapes, without tensors.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "core/op/infer.h"
#include "core/op/table.h"

namespace oarlock::op {

struct InferRun {
  bool ok = false;
  std::string error;
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  DType var_type[Rule::kTypes];
  std::vector<Guard> guards;
};
struct Operand {
  Shape shape;
  DType dtype = DType::f32;
  bool absent = false;
};

inline InferRun run_infer(const Op& op, const std::vector<Operand>& operands, std::vector<oar_attr_t> given = {}) {
  InferRun out;
  std::vector<const Shape*> in;
  std::vector<DType> types;
  for (auto& x : operands) {
    in.push_back(x.absent ? nullptr : &x.shape);
    types.push_back(x.dtype);
  }
  AttrScratch scratch;
  Status s = normalise(*op.def, in.empty() ? nullptr : in[0], given.data(), uint32_t(given.size()), scratch);
  if (!s.ok()) {
    out.error = s.text();
    return out;
  }
  Report report;
  Shape shapes[InferCall::kMaxOutputs];
  DType dtypes[InferCall::kMaxOutputs]{};
  InferCall call(*op.def, op.rule, Attrs(scratch.values, uint32_t(op.def->attributes.count)), int(in.size()), in.data(),
                 types.data(), op.def->outputs.count, shapes, dtypes, out.var_type, report);
  out.ok = call.run();
  out.error = report.error;
  out.guards = report.guards;
  out.shapes.assign(shapes, shapes + call.out_count);
  out.dtypes.assign(dtypes, dtypes + call.out_count);
  return out;
}
inline InferRun run_infer(const char* name, const std::vector<Operand>& operands, std::vector<oar_attr_t> given = {}) {
  return run_infer(op_at(find_op(name)), operands, std::move(given));
}

// An op made for a test: strings only.
struct MadeOp {
  OpDef def{};
  explicit MadeOp(const char* name) {
    def.name = name;
    def.summary = "For a test.";
    def.source = "Oarlock";
    def.no_gradient = "for a test";
    def.reference = +[](KernelCall&) {};
    def.cases = {{"one"}};
  }
};

}  // namespace oarlock::op
