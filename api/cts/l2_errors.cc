// Level 2: what an op says of a call that is wrong in one place.
#include <oarlock/base/op.h>

#include <algorithm>
#include <functional>

#include "api/cts/level2.h"

namespace oarlock::cts {

namespace {

Tensor placeholder(const Operand& o) {
  if (!o.present) return {};
  std::vector<uint8_t> zeros(size_t(size_bytes(o.dtype, uint64_t(o.count()))) + 8);
  return Tensor::from_host(o.host && !o.bytes.empty() && o.count() * info(o.dtype).bits / 8 <= int64_t(o.bytes.size())
                               ? o.bytes.data()
                               : zeros.data(),
                           Shape(o.shape), o.dtype);
}

// The text of the Error that the call throws; fails the test if it doesn't.
std::string error_of(Check& check, const Schema& schema, const Draw& draw, const std::string& what) {
  std::vector<Tensor> inputs;
  for (const Operand& o : draw.inputs) inputs.push_back(placeholder(o));
  try {
    call_op(schema.info.name, inputs, draw.wire());
  } catch (const Error& e) {
    std::string text = e.what();
    check.expect(e.code() == Code::invalid_argument, "{}: {} is reported as '{}': {}", draw.to_string(schema), what,
                 name(e.code()), text);
    check.expect(text.starts_with(schema.info.name + ": "), "{}: the text for {} doesn't begin with '{}: ': {}",
                 draw.to_string(schema), what, schema.info.name, text);
    return text;
  }
  check.fail(fmt::format("{}: {} is no error", draw.to_string(schema), what));
  return {};
}

void expect_both(Check& check, const Draw& draw, const Schema& schema, const std::string& text, int64_t a, int64_t b) {
  if (text.empty()) return;
  check.expect(text.find(std::to_string(a)) != std::string::npos && text.find(std::to_string(b)) != std::string::npos,
               "{}: the text doesn't show both {} and {}: {}", draw.to_string(schema), a, b, text);
}

// Where in each present input a name stands: {input, axis}. Packs count by their first dimension.
std::vector<std::pair<size_t, size_t>> places(const Schema& schema, const Draw& draw, const std::string& name) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t i = 0; i < draw.inputs.size(); ++i) {
    if (!draw.inputs[i].present) continue;
    const Spec& spec = schema.input_spec(i);
    int64_t wide = int64_t(draw.inputs[i].shape.size()) - int64_t(spec.items.size()) + 1;  // of the one pack, if any
    int64_t axis = 0;
    for (const Item& item : spec.items) {
      bool many = item.kind == Item::batch || item.kind == Item::pack || item.kind == Item::any_pack ||
                  item.kind == Item::attribute_pack;
      if (item.text == name && !item.or_one && axis < int64_t(draw.inputs[i].shape.size()) && (!many || wide > 0))
        found.emplace_back(i, size_t(item.kind == Item::batch ? axis + wide - 1 : axis));
      axis += many ? wide : 1;
    }
  }
  return found;
}

}  // namespace

void level2_errors(const Options& options, const std::string& op, std::vector<Test>& tests) {
  std::string name = op + " errors";
  tests.push_back(
      {"L2", name, [options, op, name](Check& check) {
         if (options.plugin != "host") check.skip("texts are the core's; tested once, on the host");
         Schema schema(op_info(op));
         if (schema.info.inputs.empty()) check.skip("it has no operands");
         Random random(seed_of(options.seed, name));
         Generator generator(schema);
         Wishes wishes;
         wishes.sizes = {2, 3, 5};
         wishes.weights = {0.3, 0.3, 0.4};
         wishes.mix = false;
         for (const std::string& variable : schema.type_names)
           wishes.types[variable] = plain_dtype(schema.types_of(variable));
         int broken = 0;
         std::vector<std::string> names = {"..."};
         for (const Spec& spec : schema.inputs)
           for (const Item& item : spec.items)
             if ((item.kind == Item::name || item.kind == Item::pack) &&
                 std::find(names.begin(), names.end(), item.text) == names.end())
               names.push_back(item.text);
         std::optional<Draw> any;
         for (const std::string& dimension : names)
           for (int round = 0; round < 12; ++round) {
             auto draw = generator.draw(random, wishes);
             if (!draw) continue;
             any = draw;
             auto found = places(schema, *draw, dimension);
             if (found.size() < 2) continue;
             auto [one, one_axis] = found[0];
             auto [two, two_axis] = found[size_t(random.between(1, int64_t(found.size()) - 1))];
             int64_t want = draw->inputs[one].shape[one_axis];
             if (dimension == "..." && (want == 1 || draw->inputs[two].shape[two_axis] == 1)) continue;
             int64_t wrong = want + 2;
             draw->inputs[two].shape[two_axis] = wrong;
             expect_both(check, *draw, schema,
                         error_of(check, schema, *draw, fmt::format("{} of {} and {}", dimension, want, wrong)), want,
                         wrong);
             ++broken;
             break;
           }
         check.need(any.has_value() || !schema.info.cases.empty(), "no generator: {}", generator.reason());
         for (size_t i = 0; !any && i < schema.info.cases.size(); ++i) {
           wishes.a_case = &schema.info.cases[i];
           any = generator.draw(random, wishes);
         }
         check.need(any.has_value(), "no legal call to spoil: {}", generator.reason());
         // A fixed size.
         for (size_t i = 0; i < any->inputs.size(); ++i) {
           const Spec& spec = schema.input_spec(i);
           for (size_t k = 0; k < spec.items.size() && any->inputs[i].present; ++k) {
             const Item& item = spec.items[k];
             if (item.kind != Item::expression || item.text.find_first_not_of("0123456789") != std::string::npos)
               continue;
             Draw bad = *any;
             int64_t want = bad.inputs[i].shape[k];
             bad.inputs[i].shape[k] = want + 7;
             bad.inputs[i].bytes.assign(size_t(size_bytes(bad.inputs[i].dtype, uint64_t(bad.inputs[i].count()))), 0);
             expect_both(check, bad, schema, error_of(check, schema, bad, fmt::format("a size of {}", want + 7)), want,
                         want + 7);
             ++broken;
           }
         }
         // A dtype outside the set.
         if (!schema.inputs.empty() && schema.inputs[0].type == Spec::variable) {
           DTypeSet missing = kAny & ~schema.types_of(schema.inputs[0].type_name);
           std::string mixing = schema.mixing_of(schema.inputs[0].type_name);
           DType t = plain_dtype(missing);
           if (missing && any->inputs[0].present) {
             Draw bad = *any;
             for (size_t i = 0; i < bad.inputs.size(); ++i)
               if (schema.input_spec(i).type == Spec::variable &&
                   schema.input_spec(i).type_name == schema.inputs[0].type_name)
                 bad.inputs[i].dtype = t;
             std::string text = error_of(check, schema, bad, fmt::format("a dtype of {}", to_string(t)));
             if (!text.empty())
               check.expect(text.find(to_string(t)) != std::string::npos, "the text doesn't show {}: {}", to_string(t),
                            text);
             ++broken;
           }
         }
         // A required operand that is not there.
         if (!schema.info.inputs[0].optional && !schema.info.inputs[0].variadic) {
           Draw bad = *any;
           bad.inputs[0].present = false;
           std::string text = error_of(check, schema, bad, "a missing operand");
           if (!text.empty())
             check.expect(text.find(schema.info.inputs[0].name) != std::string::npos, "the text doesn't name {}: {}",
                          schema.info.inputs[0].name, text);
           ++broken;
         }
         if (!broken) check.skip("nothing in its strings can disagree");
       }});
}

}  // namespace oarlock::cts
