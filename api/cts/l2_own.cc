// Level 2 for the ops that the plugin defines. Nobody else knows what is right for them, so a call is compared with itself
// on operands that lie otherwise, with the plugin's kernels on the host where it has both, and gradients with finite
// differences.
#include <oarlock/base/op.h>
#include <oarlock/base/plugin.h>

#include <algorithm>

#include "api/cts/level2.h"

namespace oarlock::cts {

namespace {

bool has_kernel_on(const Target& target, const std::string& op, const std::string& kind) {
  for (const KernelInfo& k : kernels_of(op))
    if (k.plugin == target.plugin && k.device_kind == kind) return true;
  return false;
}

Oracle same_as(std::vector<HostTensor> want) {
  Oracle oracle;
  oracle.want = std::move(want);
  return oracle;
}

// Draws calls of every dtype and hands what the plugin's kernel gives for each to `body`. Skips where none is taken.
template <class Body>
void draw_calls(Check& check, const Options& options, const std::string& op, const std::string& name, Body body) {
  const Target& target = target_of(options.plugin);
  Schema schema(op_info(op));
  if (!target.has_kernels(op)) check.skip(target.plugin + " defines it and declares no kernel for it");
  CallOptions by_kernel;
  by_kernel.route = Route::kernel;
  by_kernel.plugin = target.plugin;
  Random random(seed_of(options.seed, name));
  Generator generator(schema);
  int taken = 0;
  std::string refusal = generator.reason();
  for (auto& [variable, dtype] : type_choices(schema)) {
    Wishes wishes;
    if (!variable.empty()) wishes.types[variable] = dtype;
    wishes.mix = false;
    for (int i = 0; i < options.cases; ++i) {
      auto draw = generator.draw(random, wishes);
      if (!draw) break;
      try {
        body(schema, target, *draw, run_call(schema, *draw, target.device, by_kernel, nullptr), by_kernel, random);
        ++taken;
      } catch (const RefusedCall& refused) { refusal = refused.reason; }
    }
  }
  if (!taken) check.skip(refusal.empty() ? "no generator: " + generator.reason() : "kernel refused: " + refusal);
}

void calls(Check& check, const Options& options, const std::string& op, const std::string& name) {
  draw_calls(
      check, options, op, name,
      [&](const Schema& schema, const Target& target, const Draw& draw, std::vector<HostTensor> got,
          const CallOptions& by_kernel, Random& random) {
        std::vector<Tensor> in;
        for (const Operand& o : draw.inputs)
          in.push_back(
              o.present ? Tensor::from_host(o.bytes.data(), Shape(o.shape), o.dtype, o.host ? Device() : target.device)
                        : Tensor());
        Inferred rule = infer_op(op, in, draw.wire());
        for (size_t i = 0; i < rule.shapes.size() && i < got.size(); ++i) {
          if (schema.outputs[i].has(Item::fresh)) continue;
          check.expect(got[i].shape == rule.shapes[i] && got[i].dtype == rule.dtypes[i],
                       "{}: output {} is {}{}, the rule says {}{}", draw.to_string(schema), i, to_string(got[i].dtype),
                       to_string(got[i].shape), to_string(rule.dtypes[i]), to_string(rule.shapes[i]));
        }
        auto wrong = compare_all(same_as(got), run_call(schema, draw, target.device, by_kernel, &random));
        check.expect(!wrong, "{} on operands that lie otherwise: {}", draw.to_string(schema), wrong.value_or(""));
      });
}

void elsewhere(Check& check, const Options& options, const std::string& op, const std::string& name) {
  const Target& target = target_of(options.plugin);
  if (!target.own_device || !has_kernel_on(target, op, "cpu"))
    check.skip("excluded: only kernels of " + target.plugin +
               " on one device compute it, so nothing says what is right");
  draw_calls(check, options, op, name,
             [&](const Schema& schema, const Target&, const Draw& draw, std::vector<HostTensor> got,
                 const CallOptions& by_kernel, Random&) {
               auto wrong = compare_all(same_as(run_call(schema, draw, Device(), by_kernel, nullptr)), got);
               check.expect(!wrong, "{} against the host: {}", draw.to_string(schema), wrong.value_or(""));
             });
}

void gradient(Check& check, const Options& options, const std::string& op, const std::string& name) {
  const Target& target = target_of(options.plugin);
  Schema schema(op_info(op));
  if (!schema.info.has_gradient) check.skip("no gradient: its schema names none");
  if (!target.has_kernels(op)) check.skip(target.plugin + " defines it and declares no kernel for it");
  Random random(seed_of(options.seed, name));
  Generator generator(schema);
  int compared = 0;
  std::string refusal;
  for (DType dtype : {DType::f64, DType::f32}) {
    Wishes wishes;
    wishes.sizes = {1, 2, 3};
    wishes.weights = {0.2, 0.4, 0.4};
    wishes.max_elements = 24;
    wishes.max_total = 48;
    wishes.max_rank = 2;
    wishes.smooth = true;
    wishes.mix = false;
    for (const std::string& variable : schema.type_names)
      if (schema.types_of(variable) & set_of(dtype)) wishes.types[variable] = dtype;
    for (int i = 0; i < std::max(2, options.cases / 2); ++i)
      if (auto draw = generator.draw(random, wishes)) {
        CallOptions by_kernel;
        by_kernel.route = Route::kernel;
        by_kernel.plugin = target.plugin;
        try {
          run_call(schema, *draw, target.device, by_kernel, nullptr);
        } catch (const RefusedCall& refused) {
          refusal = refused.reason;
          continue;
        }
        compared += check_by_differences(check, schema, *draw, target, random, dtype == DType::f64);
      }
    if (compared) return;
  }
  check.skip(refusal.empty() ? "no float operand that can have a gradient" : "kernel refused: " + refusal);
}

}  // namespace

void level2_own(const Options& options, const std::string& op, std::vector<Test>& tests) {
  auto add = [&](const char* what, auto body) {
    std::string name = op + " " + what;
    tests.push_back({"L2", name, [=](Check& check) { body(check, options, op, name); }});
  };
  add("calls", calls);
  add("elsewhere", elsewhere);
  add("gradient", gradient);
}

}  // namespace oarlock::cts
