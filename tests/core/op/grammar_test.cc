// Shape strings that a schema may not have, told at load.
#include <gtest/gtest.h>

#include "core/op/table.h"
#include "tests/core/op/infer_run.h"

namespace oarlock::op {
namespace {

std::string complaint(const OpDef& def) {
  Result<OpId> r = register_op(&def);
  return r.ok() ? "" : std::string(r.status().text());
}

struct Wrong {
  const char *input, *output, *says;
};
class WrongString : public testing::TestWithParam<Wrong> {};

TEST_P(WrongString, IsRefusedWithASentence) {
  MadeOp m("made_wrong");
  m.def.inputs = {{"x", GetParam().input}};
  m.def.outputs = {{"out", GetParam().output}};
  EXPECT_EQ(complaint(m.def), std::string("made_wrong: ") + GetParam().says + ".");
}
INSTANTIATE_TEST_SUITE_P(
    Grammar, WrongString,
    testing::Values(
        Wrong{"[N", "[N]", "shape string: ',' or one final ']' expected"},
        Wrong{"N]", "[N]", "shape string: '[' expected"},
        Wrong{"[N]]", "[N]", "shape string: ',' or one final ']' expected"},
        Wrong{"[..]", "[]", "shape string: write '...'"}, Wrong{"[*]", "[]", "shape string: a name is missing"},
        Wrong{"[(N]", "[]", "shape string: ')' is missing"},
        Wrong{"[N|2]", "[N]", "shape string: only '|1' may follow a dimension"},
        Wrong{"[*S, ...]", "[]", "shape string: an input may hold only one of '...' and '*S'"},
        Wrong{"[?N]", "[]", "shape string: '?' is for outputs"},
        Wrong{"[k]", "[]", "shape string: a lower-case word is neither an attribute of this op nor a dtype"},
        Wrong{"float[N]", "[N]", "shape string: a lower-case word is neither an attribute of this op nor a dtype"},
        Wrong{"[N, *N]", "[]", "shape string: one name is both a dimension and a pack"},
        Wrong{"[N]", "[M]", "an output has a dimension that no required input or attribute gives: write .infer"},
        Wrong{"[N]", "[2*M]", "an output expression has a dimension that nothing gives"},
        Wrong{"[N|1]", "[N]", "an output has a dimension that no required input or attribute gives: write .infer"},
        Wrong{"A[]", "B[]", "an output has a dtype that nothing gives"},
        Wrong{"[A,B,C,D,E,F,G,H,I,J,K,L,M,N,O]", "[]", "shape string: too many names in one op"}));

TEST(Grammar, MissingPartsAreNamed) {
  MadeOp none("made_none");
  none.def.cases = {};
  EXPECT_EQ(complaint(none.def), "made_none: op needs .name, .summary, .source and .cases.");
  MadeOp empty("made_empty");
  empty.def.reference = nullptr;
  EXPECT_EQ(complaint(empty.def), "made_empty: op needs .reference, .decompose or .view.");
  MadeOp rough("made_rough");
  rough.def.no_gradient = nullptr;
  EXPECT_EQ(complaint(rough.def), "made_rough: primitive needs .gradient, or .no_gradient = \"why\".");
  MadeOp saved("made_saved");
  saved.def.saves = {{"y"}};
  EXPECT_EQ(complaint(saved.def), "made_saved: .saves names neither an input nor an output.");
  MadeOp typed("made_typed");
  typed.def.types = {{"U", kFloat}};
  EXPECT_EQ(complaint(typed.def), "made_typed: .types names a variable that no string has.");
  MadeOp many("made_many");
  many.def.inputs = {{"xs", "[N]", variadic}, {"y", "[N]"}};
  EXPECT_EQ(complaint(many.def), "made_many: only the last input may be variadic.");
  EXPECT_EQ(std::string(register_op(nullptr).status().text()),
            "an op without a name: its definition is a null pointer.");
}

TEST(Grammar, ANameIsTakenOnce) {
  static MadeOp again("add");
  EXPECT_EQ(complaint(again.def), "add: there is an op of that name already.");
}

TEST(Grammar, ARegisteredOpIsFoundAndRuns) {
  static MadeOp m("made_conv");
  m.def.inputs = {{"x", "[N, C]"}, {"w", "[O, C/groups]"}, {"bias", "[O]", optional}};
  m.def.outputs = {{"out", "[N, O]"}, {"state", "i64[2*O + #S, *S]"}, {"kept", "[N]", hidden}};
  m.def.inputs.item[3] = {"s", "[*S]"};
  m.def.inputs.count = 4;
  m.def.attributes = {integer("groups", 1).at_least(1)};
  Result<OpId> id = register_op(&m.def);
  ASSERT_TRUE(id.ok()) << id.status().text();
  const Op& op = op_at(*id);
  EXPECT_EQ(find_op("made_conv"), *id);
  EXPECT_EQ(op.required_inputs, 4);
  EXPECT_EQ(op.visible_outputs, 2);
  EXPECT_FALSE(op.broadcasts);
  InferRun r = run_infer(op, {{{5, 6}}, {{4, 3}}, {{}, DType::f32, true}, {{7, 8, 9}}}, {attr_integer(2)});
  ASSERT_TRUE(r.ok) << r.error;
  EXPECT_EQ(to_string(r.shapes[0]), "[5, 4]");
  EXPECT_EQ(to_string(r.shapes[1]), "[11, 7, 8, 9]");
  EXPECT_EQ(r.dtypes[1], DType::i64);
}

TEST(Table, IsSortedAndKnowsItsRoles) {
  auto ops = builtin_ops();
  ASSERT_GT(ops.size(), 25u);
  for (size_t i = 1; i < ops.size(); ++i) EXPECT_LT(std::string_view(ops[i - 1]->name), ops[i]->name);
  for (int role = 1; role < int(Role::count); ++role) EXPECT_NE(op_of(Role(role)), kNoOp) << role;
  EXPECT_EQ(find_op("no_such_op"), kNoOp);
  const Op& sgd = op_at(find_op("sgd_update"));
  EXPECT_EQ(sgd.mutated, 5u);
  EXPECT_EQ(sgd.host_inputs, 8u);
  EXPECT_EQ(sgd.differentiable, 0u);
  EXPECT_EQ(op_at(find_op("concat")).differentiable, ~0ull);
  EXPECT_EQ(op_at(find_op("where")).differentiable, 6u);
  EXPECT_TRUE(op_at(find_op("random_uniform")).host_only);
}

}  // namespace
}  // namespace oarlock::op
