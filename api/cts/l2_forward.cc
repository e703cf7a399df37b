// Level 2: every op and every dtype, random calls, by every route there is.
#include <oarlock/base/op.h>
#include <oarlock/base/plugin.h>

#include <algorithm>

#include "api/cts/level2.h"

namespace oarlock::cts {

std::vector<std::string> chosen_ops(const Options& options) {
  if (options.ops.empty()) return options.own_only ? std::vector<std::string>() : op_names();
  for (const std::string& op : options.ops) op_info(op);  // throws for a name that is none
  return options.ops;
}

std::vector<std::pair<std::string, DType>> type_choices(const Schema& schema) {
  std::vector<std::pair<std::string, DType>> all;
  auto add = [&](const std::string& name, DTypeSet set) {
    for (int i = 1; i < 64; ++i)
      if (set >> i & 1) all.emplace_back(name, DType(i));
  };
  for (const std::string& name : schema.type_names) add(name, schema.types_of(name) & kAny);
  for (const OpAttribute& a : schema.info.attributes)
    if (a.kind == "dtype") add(a.name, kAny);
  if (all.empty()) all.emplace_back();
  return all;
}

static bool has_tensor_operand(const Schema& schema) {
  return std::any_of(schema.info.inputs.begin(), schema.info.inputs.end(), [](const OpOperand& o) { return !o.host; });
}

bool concerns(const Target& target, const Schema& schema, std::string& out_why) {
  if (target.plugin.empty()) return true;
  if (target.own_device && !has_tensor_operand(schema)) {
    out_why = "it has no operand that could lie on the device";
    return false;
  }
  if (target.has_kernels(schema.info.name)) return true;
  out_why = target.plugin + " declares no kernel for " + schema.info.name;
  if (!target.own_device) return false;
  if (schema.info.has_decomposition || schema.info.is_view) return true;  // its other kernels carry it
  return false;
}

namespace {

// The oracle, or the reason why the reference does not take this call.
void against(Check& check, const Oracle& oracle, const std::vector<HostTensor>& got, const std::string& what,
             const std::string& call) {
  auto wrong = compare_all(oracle, got);
  check.expect(!wrong, "{} by {}: {}", call, what, wrong.value_or(""));
}

// Does the target declare a kernel of this op that has to do with this dtype?
bool declared(const Target& target, const std::string& op, DType dtype) {
  if (target.plugin.empty()) return false;
  for (const KernelInfo& k : kernels_of(op))
    if (k.plugin == target.plugin && std::any_of(k.dtypes.begin(), k.dtypes.end(),
                                                 [&](DTypeSet s) { return dtype == DType::none || s & set_of(dtype); }))
      return true;
  return false;
}

}  // namespace

Ran check_call(Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random) {
  Ran ran;
  const OpInfo& op = schema.info;
  std::string call = draw.to_string(schema);
  Oracle oracle;
  try {
    oracle = oracle_of(schema, draw);
  } catch (const RefusedCall& refused) {  // spelt out, it takes more memory than there is
    ran.refusal = refused.reason;
    return ran;
  }

  // What the rule promises against what was made.
  std::vector<Tensor> placeholders;
  for (const Operand& o : draw.inputs)
    placeholders.push_back(!o.present ? Tensor() : Tensor::from_host(o.bytes.data(), Shape(o.shape), o.dtype));
  Inferred inferred = infer_op(op.name, placeholders, draw.wire());
  for (size_t i = 0; i < inferred.shapes.size() && i < oracle.want.size(); ++i) {
    bool open = false;
    for (const Item& item : schema.outputs[std::min(i, schema.outputs.size() - 1)].items)
      open |= item.kind == Item::fresh;
    if (open || oracle.want[i].dtype == DType::none || op.outputs[std::min(i, op.outputs.size() - 1)].hidden) continue;
    check.expect(inferred.shapes[i] == oracle.want[i].shape, "{}: output {} is {}, the rule says {}", call, i,
                 to_string(oracle.want[i].shape), to_string(inferred.shapes[i]));
    check.expect(inferred.dtypes[i] == oracle.want[i].dtype, "{}: output {} is {}, the rule says {}", call, i,
                 to_string(oracle.want[i].dtype), to_string(inferred.dtypes[i]));
  }

  CallOptions options;
  if (!target.plugin.empty() && target.has_kernels(op.name)) {
    options.route = Route::kernel;
    options.plugin = target.plugin;
    try {
      against(check, oracle, run_call(schema, draw, target.device, options, &random), "the kernel of " + target.plugin,
              call);
      ++ran.compared;
      ran.by_kernel = true;
    } catch (const RefusedCall& refused) { ran.refusal = refused.reason; }
    options = {};
  }
  bool everything = target.plugin.empty() || target.own_device;
  if (everything) {
    try {
      against(check, oracle, run_call(schema, draw, target.device, options, &random),
              "dispatch on " + target.device.name(), call);
      if (target.plugin.empty() || !target.has_kernels(op.name)) ++ran.compared;
    } catch (const RefusedCall& refused) {
      if (ran.refusal.empty()) ran.refusal = refused.reason;
    }
    if (op.has_decomposition && !op.is_view && (oracle.independent || target.own_device)) {
      options.route = Route::decomposition;
      try {
        against(check, oracle, run_call(schema, draw, target.device, options, &random),
                "the decomposition on " + target.device.name(), call);
        ++ran.compared;
      } catch (const RefusedCall& refused) {
        if (ran.refusal.empty()) ran.refusal = refused.reason;
      }
    }
    if (target.plugin.empty() && op.has_reference) {  // any strides in
      options.route = Route::reference;
      against(check, oracle, run_call(schema, draw, Device(), options, &random), "the reference on strided operands",
              call);
    }
  }
  return ran;
}

void level2_forward(const Options& options, const std::string& op, std::vector<Test>& tests) {
  Schema schema(op_info(op));
  for (auto& [variable, dtype] : type_choices(schema)) {
    std::string name = op;
    if (!variable.empty()) name += fmt::format(" {}={}", variable, to_string(dtype));
    tests.push_back({"L2", name, [options, op, variable = variable, dtype = dtype, name](Check& check) {
                       const Target& target = target_of(options.plugin);
                       Schema schema(op_info(op));
                       std::string why;
                       if (!concerns(target, schema, why)) check.skip(why);
                       Random random(seed_of(options.seed, name));
                       Generator generator(schema);
                       Wishes wishes;
                       if (!variable.empty()) wishes.types[variable] = dtype;
                       wishes.devices = {0, target.device.index()};
                       int compared = 0, drawn = 0;
                       std::string& refusal = check.note;
                       check.numbers["declared"] = declared(target, op, dtype);
                       for (int i = 0; i < options.cases; ++i) {
                         auto draw = generator.draw(random, wishes);
                         if (!draw) break;
                         ++drawn;
                         Ran ran = check_call(check, schema, *draw, target, random);
                         compared += ran.compared;
                         if (!ran.refusal.empty()) refusal = ran.refusal;
                         ++check.numbers[ran.by_kernel ? "kernel" : "refused"];
                         check.numbers["elsewhere"] += ran.compared > 0 && !ran.by_kernel;
                       }
                       // An op that no random call fits still has its cases.
                       check.need(drawn > 0 || !schema.info.cases.empty(), "no generator: {}", generator.reason());
                       if (!drawn && generator.reason().find(fmt::format(": dtype is {}, needs ", to_string(dtype))) !=
                                         std::string::npos)
                         check.skip("the op has no such dtype");
                       if (!drawn) check.skip("no legal call was found, its cases only: " + generator.reason());
                       if (!compared) check.skip("kernel refused: " + refusal);
                     }});
  }
}

void level2_cases(const Options& options, const std::string& op, std::vector<Test>& tests) {
  for (const OpCase& c : op_info(op).cases) {
    std::string name = fmt::format("{} case '{}'", op, c.name);
    tests.push_back(
        {"L2", name, [options, op, c, name](Check& check) {
           const Target& target = target_of(options.plugin);
           Schema schema(op_info(op));
           std::string why;
           if (!concerns(target, schema, why)) check.skip(why);
           Random random(seed_of(options.seed, name));
           Generator generator(schema);
           Wishes wishes;
           wishes.a_case = &c;
           wishes.mix = false;
           // One float and one integer dtype, where the op has both.
           std::vector<DType> dtypes{DType::none};
           if (!schema.type_names.empty()) {
             DTypeSet set = schema.types_of(schema.type_names[0]);
             dtypes = {plain_dtype(set)};
             bool literal = c.values.find_first_of(".") != std::string::npos ||
                            c.values.find("nan") != std::string::npos || c.values.find("inf") != std::string::npos;
             if (!literal && (set & kInt) && plain_dtype(set & kInt) != dtypes[0])
               dtypes.push_back(plain_dtype(set & kInt));
           }
           int compared = 0;
           std::string refusal;
           for (DType t : dtypes) {
             if (t != DType::none) wishes.types[schema.type_names[0]] = t;
             auto draw = generator.draw(random, wishes);
             if (!draw && t != dtypes[0]) continue;  // a case for the first dtype alone
             check.need(draw.has_value(), "the case fits no legal call: {}", generator.reason());
             Ran ran = check_call(check, schema, *draw, target, random);
             compared += ran.compared;
             if (!ran.refusal.empty()) refusal = ran.refusal;
           }
           bool special = c.values.find("nan") != std::string::npos || c.values.find("inf") != std::string::npos;
           bool smooth = c.values.find("not ") != std::string::npos || c.values.find("distinct") != std::string::npos;
           if (smooth && !special && schema.info.no_gradient.empty() && !schema.type_names.empty() &&
               schema.types_of(schema.type_names[0]) & set_of(DType::f64)) {
             wishes.types[schema.type_names[0]] = DType::f64;
             if (auto draw = generator.draw(random, wishes)) {
               try {
                 check_gradient(check, schema, *draw, target, random);
               } catch (const Error& e) {
                 if (e.code() != Code::unsupported && e.code() != Code::refused) throw;
               }
             }
           }
           if (!compared) check.skip("kernel refused: " + refusal);
         }});
  }
}

std::vector<Test> level2(const Options& options) {
  std::vector<Test> tests;
  if (options.plugin != "host")
    tests.push_back({"L2", "load",
                     [options](Check& check) {
                       const Target& target = target_of(options.plugin);
                       for (const PluginInfo& info : plugins())
                         if (info.name == target.plugin) {
                           check.expect(info.state == PluginState::loaded, "{}", info.reason);
                           for (const std::string& w : info.warnings) check.fail("the loader warns: " + w);
                         }
                     },
                     true});
  for (const std::string& op : options.own) level2_own(options, op, tests);
  for (const std::string& op : chosen_ops(options)) {
    level2_forward(options, op, tests);
    level2_cases(options, op, tests);
    level2_gradient(options, op, tests);
    level2_errors(options, op, tests);
  }
  return tests;
}

}  // namespace oarlock::cts
