// A node with a body, for tests: an op that is only looked at, never run.
#pragma once
#include "core/op/calls.h"
#include "tests/core/graph/compiled.h"

namespace oarlock::graph {

inline op::OpId op_with_body() {
  static const op::OpDef def{.name = "test_with_body",
                             .summary = "For tests.",
                             .source = "Oarlock",
                             .inputs = {{"x", "f32[*S]"}},
                             .outputs = {{"out", "f32[*S]"}},
                             .regions = {{"body", "of x"}},
                             .no_gradient = "it is for tests",
                             .reference = +[](op::KernelCall&) {},
                             .cases = {{"never run"}}};
  static const op::OpId id = [] {
    op::OpId known = op::find_op(def.name);
    if (known != op::kNoOp) return known;
    Result<op::OpId> made = op::register_op(&def);
    throw_if(made.status());
    return *made;
  }();
  return id;
}
// y = exp(x); out = with_body(x) {inside(x, y)}: the program's result.
inline Program with_body(const std::function<Tensor(const Tensor& x, const Tensor& y)>& inside) {
  Program p;
  Recording recording(p, p.body.nodes, Device());
  Tensor x = recording.add_input("x", DType::f32, {3}), y = exp(x);
  p.body.parameters = {recording.value(x)};
  Node n;
  n.op = op_with_body();
  n.version = 1;
  n.inputs = {recording.value(x)};
  Body& body = n.bodies.emplace_back();
  recording.begin_body(body);
  Tensor given = recording.add_input("", DType::f32, {3}, Kind::parameter);
  body.parameters = {recording.value(given)};
  body.results = {recording.value(inside(given, y))};
  recording.end_body();
  Value out;
  out.dtype = DType::f32;
  out.shape = {3};
  n.outputs = {p.add(out)};
  p.body.results = n.outputs;
  p.result_names = {"out"};
  p.body.nodes.push_back(std::move(n));
  return p;
}

}  // namespace oarlock::graph
