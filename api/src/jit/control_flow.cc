#include <oarlock/control_flow.h>

#include "core/graph/control.h"
#include "ops/ids.gen.h"

namespace oarlock::jit {

std::vector<Tensor> cond(const Tensor& pred, const BranchFunction& true_fn, const BranchFunction& false_fn) {
  auto region = [](const BranchFunction& f) {
    return f ? op::RegionFunction([&f](std::span<const Tensor>) { return f(); }) : op::RegionFunction();
  };
  const op::RegionFunction regions[] = {region(true_fn), region(false_fn)};
  return graph::call_control(op::id::cond, {&pred, 1}, {}, regions);
}

std::vector<Tensor> while_loop(const LoopCondition& cond_fn, const LoopBody& body_fn,
                               std::span<const Tensor> loop_vars) {
  op::RegionFunction condition;
  if (cond_fn) condition = [&](std::span<const Tensor> vars) { return std::vector<Tensor>{cond_fn(vars)}; };
  const op::RegionFunction regions[] = {condition, body_fn};
  return graph::call_control(op::id::while_loop, loop_vars, {}, regions);
}

Scanned scan(const ScanFunction& f, std::span<const Tensor> init, std::span<const Tensor> xs,
             const ScanOptions& options) {
  op::RegionFunction region;
  if (f)
    region = [&](std::span<const Tensor> given) {
      Scanned out = f(given.first(init.size()), given.subspan(init.size()));
      if (out.carry.size() != init.size())
        throw Error(Code::invalid_argument, "scan: f gives " + std::to_string(out.carry.size()) + " of the " +
                                                std::to_string(init.size()) +
                                                " values that are carried. Give each its next one.");
      out.carry.insert(out.carry.end(), out.ys.begin(), out.ys.end());
      return std::move(out.carry);
    };
  std::vector<Tensor> operands(init.begin(), init.end());
  operands.insert(operands.end(), xs.begin(), xs.end());
  const oar_attr_t attrs[] = {op::attr_integer(int64_t(init.size())), op::attr_flag(options.reverse),
                              options.length == Dim(-1) ? op::attr_none(OAR_ATTR_INT) : op::attr_dim(options.length)};
  std::vector<Tensor> out = graph::call_control(op::id::scan, operands, attrs, {&region, 1});
  auto carried = out.begin() + int64_t(init.size());
  return {{out.begin(), carried}, {carried, out.end()}};
}

}  // namespace oarlock::jit
