// The text of plugins' schemas: what it is read as, and what is said of text that is wrong.
#include <gtest/gtest.h>

#include <thread>

#include <oarlock/base/op.h>

#include "core/device/device.h"
#include "core/op/schema.h"

namespace oarlock::op {
namespace {

oar_str_t str(std::string_view s) { return {s.data(), s.size()}; }
oar_op_schema_t schema(std::string_view name, std::string_view signature, std::string_view gradient = {}) {
  oar_op_schema_t s{};
  s.struct_size = sizeof s;
  s.version = 1;
  s.name = str(name);
  s.signature = str(signature);
  s.gradient = str(gradient);
  return s;
}
Plugin& acme() {
  static Plugin* p = [] {
    auto* made = new Plugin;
    made->info.name = "acme";
    return made;
  }();
  return *p;
}
std::string refusal(const oar_op_schema_t* s, Plugin& by = acme()) {
  Result<OpId> id = register_schema(by, s);
  return id ? "" : std::string(id.status().text());
}

TEST(Schema, IsReadAsOurOwnOps) {
  oar_op_schema_t s =
      schema("acme.everything",
             "(x: T[N, C], optional w: T [C], host seed: i64[2], constant index: I [*J],"
             " axis: axis = -1, mode: choice = nearest|linear, rate: real = 0.5 >= 0 <= 1,"
             " steps: integers = 2, shape: dims = none, groups: integer = 1 >= 1 since 2, to: dtype = f32,"
             " exact: flag = true) -> (y: T[N, C/groups], hidden kept: to[N]) where T: float promotes, I: i32 i64");
  s.version = 2;
  s.summary = str("Does it all, naïvely.");
  ASSERT_EQ(refusal(&s), "");
  const OpInfo& op = op_info("acme.everything");
  EXPECT_EQ(op.plugin, "acme");
  EXPECT_EQ(op.version, 2);
  EXPECT_EQ(op.summary, "Does it all, naïvely.");
  ASSERT_EQ(op.inputs.size(), 4u);
  EXPECT_TRUE(op.inputs[1].optional && op.inputs[2].host && op.inputs[3].constant);
  EXPECT_EQ(op.inputs[0].spec, "T[N, C]");
  ASSERT_EQ(op.outputs.size(), 2u);
  EXPECT_TRUE(op.outputs[1].hidden);
  ASSERT_EQ(op.attributes.size(), 8u);
  std::vector<std::string> kinds, defaults;
  for (auto& a : op.attributes) kinds.push_back(a.kind), defaults.push_back(a.default_text);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"axis", "choice", "real", "integers", "dims", "integer", "dtype", "flag"}));
  EXPECT_EQ(defaults, (std::vector<std::string>{"-1", "nearest", "0.5", "2", "", "1", "f32", "true"}));
  EXPECT_EQ(op.attributes[1].choices, (std::vector<std::string>{"nearest", "linear"}));
  EXPECT_EQ(op.attributes[2].high, 1.0);
  EXPECT_TRUE(op.attributes[4].may_be_none);
  EXPECT_EQ(op.attributes[5].since, 2);
  ASSERT_EQ(op.types.size(), 2u);
  EXPECT_EQ(op.types[0].set, kFloat);
  EXPECT_EQ(op.types[0].mixing, "promotes");
  EXPECT_EQ(op.types[1].set, set_of(DType::i32) | set_of(DType::i64));
}

struct Wrong {
  const char *name, *signature, *gradient, *says;
};
class WrongSchema : public testing::TestWithParam<Wrong> {};
TEST_P(WrongSchema, IsRefusedWithAReason) {
  const Wrong& w = GetParam();
  int before = op_count();
  oar_op_schema_t s = schema(w.name, w.signature, w.gradient);
  EXPECT_NE(refusal(&s).find(w.says), std::string::npos) << refusal(&s);
  EXPECT_EQ(op_count(), before);
}
INSTANTIATE_TEST_SUITE_P(
    Schema, WrongSchema,
    testing::Values(
        Wrong{"swish", "(x: T[N]) -> (y: T[N])", "", "called vendor.name"},
        Wrong{"a.b.c", "(x: T[N]) -> (y: T[N])", "", "called vendor.name"},
        Wrong{".swish", "(x: T[N]) -> (y: T[N])", "", "small letters"},
        Wrong{"acme.", "(x: T[N]) -> (y: T[N])", "", "small letters"},
        Wrong{"Acme.swish", "(x: T[N]) -> (y: T[N])", "", "small letters"},
        Wrong{"acme.lambda", "(x: T[N]) -> (y: T[N])", "", "means something else"},
        Wrong{"acme.sw\x01ish", "(x: T[N]) -> (y: T[N])", "", "printable ASCII"},
        Wrong{"acme.w", "", "", "(...) -> (...)"}, Wrong{"acme.w", "(x: T[N]", "", "(...) -> (...)"},
        Wrong{"acme.w", "(x: T[N])", "", "\"->\" is missing"}, Wrong{"acme.w", "(x: T[N]) -> ()", "", "gives nothing"},
        Wrong{"acme.w", "(x: T[N]) -> (y: T[N]) whatever", "", "only \"where\""},
        Wrong{"acme.w", "(x T[N]) -> (y: T[N])", "", "write name: what it is"},
        Wrong{"acme.w", "(: T[N]) -> (y: T[N])", "", "has no name"},
        Wrong{"acme.w", "(x: T[N],) -> (y: T[N])", "", "comma"},
        Wrong{"acme.w", "(x: T[N], x: T[N]) -> (y: T[N])", "", "twice"},
        Wrong{"acme.w", "(x: T[N]) -> (x: T[N])", "", "twice"},
        Wrong{"acme.w", "(sometimes x: T[N]) -> (y: T[N])", "", "\"sometimes\" before x"},
        Wrong{"acme.w", "(hidden x: T[N]) -> (y: T[N])", "", "\"hidden\" before x"},
        Wrong{"acme.w", "(x: T[N]) -> (host y: T[N])", "", "of outputs there is only hidden"},
        Wrong{"acme.w", "(x: T[N]) -> (hidden a: T[N], y: T[N])", "", "hidden outputs come last"},
        Wrong{"acme.w", "(variadic xs: T[N], y: T[N]) -> (z: T[N])", "", "only the last input may be variadic"},
        Wrong{"acme.w", "(x: T[N) -> (y: T[N])", "", "']' expected"},
        Wrong{"acme.w", "(x: T[..., ...]) -> (y: T[...])", "", "only one of"},
        Wrong{"acme.w", "(x: T[k]) -> (y: T[k])", "", "neither an attribute"},
        Wrong{"acme.w", "(x: T[N]) -> (y: T[M])", "", "write .infer"},
        Wrong{"acme.w", "(x: T[N]) -> (y: U[N])", "", "dtype that nothing gives"},
        Wrong{"acme.w", "(x: T[99999999999999]) -> (y: T[1])", "", "above 32767"},
        Wrong{"acme.w", "(x: T[((((((((((((((((((((((((N))))))))))))))))))))))))]) -> (y: T[1])", "",
              "nested too deep"},
        Wrong{"acme.w", "(x: T[A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P]) -> (y: T[A])", "", "too many names"},
        Wrong{"acme.w",
              "(a: T[], b: T[], c: T[], d: T[], e: T[], f: T[], g: T[], h: T[], i: T[], j: T[], k: T[]) -> (y: T[])",
              "", "more than 10 inputs"},
        Wrong{"acme.w", "(x: T[]) -> (a: T[], b: T[], c: T[], d: T[], e: T[], f: T[], g: T[])", "",
              "more than 6 outputs"},
        Wrong{"acme.w",
              "(x: T[], a: flag, b: flag, c: flag, d: flag, e: flag, f: flag, g: flag, h: flag, i: flag, j: flag, k: "
              "flag)"
              " -> (y: T[])",
              "", "more than 10 attributes"},
        Wrong{"acme.w", "(x: T[], k: tensor) -> (y: T[])", "", "of kind \"tensor\""},
        Wrong{"acme.w", "(x: T[], k: integer = one) -> (y: T[])", "", "no whole number"},
        Wrong{"acme.w", "(x: T[], k: integer = 99999999999999999999) -> (y: T[])", "", "no whole number"},
        Wrong{"acme.w", "(x: T[], k: real = nan) -> (y: T[])", "", "no number"},
        Wrong{"acme.w", "(x: T[], k: flag = maybe) -> (y: T[])", "", "true or false"},
        Wrong{"acme.w", "(x: T[], k: dtype = f33) -> (y: T[])", "", "no dtype"},
        Wrong{"acme.w", "(x: T[], k: choice) -> (y: T[])", "", "write its choices"},
        Wrong{"acme.w", "(x: T[], k: choice = a||b) -> (y: T[])", "", "empty choice"},
        Wrong{"acme.w", "(x: T[], k: reals = 1) -> (y: T[])", "", "no other default"},
        Wrong{"acme.w", "(x: T[], k: integer = 1 since 7) -> (y: T[])", "", "the op is of version 1"},
        Wrong{"acme.w", "(x: T[], k: integer =) -> (y: T[])", "", "nothing follows"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[]) where T", "", "write T: f32 f64"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[]) where T: f33", "", "neither a dtype"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[]) where T: promotes", "", "no dtype is left"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[]) where Q: f32", "", "names a variable that no string has"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "acme.nobody(grad y) -> (grad x)", "no op acme.nobody"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "multiply", "(...) -> (...)"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "multiply(grad y, z) -> (grad x)", "\"z\" is neither"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "multiply(grad x, x) -> (grad x)", "\"grad x\" is neither"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "multiply(grad y, x) -> (x)", "neither grad of an input"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "multiply(grad y, x) -> (_)", "no result is the gradient"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "multiply(grad y) -> (grad x)", "needs its input b"},
        Wrong{"acme.w", "(x: T[]) -> (y: T[])", "multiply(grad y, x, x) -> (grad x)", "takes 2 inputs, given 3"},
        Wrong{"acme.w", "(x: T[], w: T[]) -> (y: T[])", "multiply(grad y, x) -> (grad x, grad w)", "gives 1 outputs"},
        Wrong{"acme.w", "(x: T[], w: T[]) -> (y: T[])", "multiply(grad y, x) -> (grad x, grad x)", "two results"},
        Wrong{"acme.w", "(x: T[], host s: i64[]) -> (y: T[])", "multiply(grad y, x) -> (grad s)", "gets none"},
        Wrong{"acme.w", "(x: T[], optional w: T[]) -> (y: T[])", "multiply(grad y, w) -> (grad x)", "w is optional"},
        Wrong{"acme.w", "(x: T[N]) -> (y: T[N])", "pad(grad y) -> (grad x)", "requires the attribute"},
        Wrong{"acme.w", "(x: T[N], axis: real = 0) -> (y: T[N])", "cumsum(grad y) -> (grad x)", "of another kind"},
        Wrong{"acme.w", "(variadic xs: T[N]) -> (y: T[N])", "multiply(grad y, xs) -> (grad xs)", "variadic input"}));

TEST(Schema, NullPointersAndForeignBytes) {
  EXPECT_NE(refusal(nullptr).find("null pointer"), std::string::npos);
  oar_op_schema_t s{};
  EXPECT_NE(refusal(&s).find("struct_size is 0"), std::string::npos);
  s = schema("acme.w", "(x: T[]) -> (y: T[])");
  s.struct_size = 0xffffffff;
  EXPECT_NE(refusal(&s).find("struct_size"), std::string::npos);
  s.struct_size = sizeof s;
  s.signature = {nullptr, 40};
  EXPECT_NE(refusal(&s).find("null pointer"), std::string::npos);
  s.signature = {"x", size_t(-1)};
  EXPECT_NE(refusal(&s).find("at most 4096"), std::string::npos);
  s.name = {nullptr, 0};
  EXPECT_NE(refusal(&s).find("vendor.name"), std::string::npos);
  s = schema("acme.w", "(x: T[\xff]) -> (y: T[])");
  EXPECT_NE(refusal(&s).find("the byte 255"), std::string::npos);
  s = schema("acme.w", std::string_view("(x: T[]) -> (y: T[])\0(", 22));
  EXPECT_NE(refusal(&s).find("the byte 0"), std::string::npos);
  s = schema("acme.w", "(x: T[]) -> (y: T[])");
  s.version = 0;
  EXPECT_NE(refusal(&s).find("count from 1"), std::string::npos);
  s.version = 1;
  for (const char* summary : {"\xc3", "\xff\xfe", "\xe2\x82", "\xc0\xaf"}) {
    s.summary = str(summary);
    EXPECT_NE(refusal(&s).find("not UTF-8"), std::string::npos) << summary;
  }
  std::string deep(4096, '(');
  s = schema("acme.w", deep);
  EXPECT_NE(refusal(&s), "");
}

TEST(Schema, TheSameAgainIsFineAnotherIsNot) {
  Plugin other;
  other.info.name = "other";
  oar_op_schema_t s = schema("acme.twice", "(x: T [*S]) -> (y: T [*S])");
  ASSERT_EQ(refusal(&s), "");
  OpId id = find_op("acme.twice");
  oar_op_schema_t spaced = schema("acme.twice", "  (x:   T [*S])\n  -> (y: T [*S]) ");
  EXPECT_EQ(refusal(&spaced, other), "");
  EXPECT_EQ(find_op("acme.twice"), id);
  EXPECT_EQ(ops_of(other), std::vector<std::string>{"acme.twice"});
  oar_op_schema_t different = schema("acme.twice", "(x: T [N]) -> (y: T [N])");
  EXPECT_EQ(
      refusal(&different, other),
      "acme.twice: acme registered it already, with (x: T [*S]) -> (y: T [*S]). Two of one name have to be equal.");
  s.version = 2;
  EXPECT_NE(refusal(&s).find("with version 1"), std::string::npos);
}

TEST(Schema, ManyThreadsRegisterTheSame) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  std::vector<OpId> ids(8 * 20);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        std::string name = "acme.thread" + std::to_string(i);
        oar_op_schema_t s = schema(name, "(x: T [...], w: T [...]) -> (y: T [...])");
        Result<OpId> id = register_schema(acme(), &s);
        failures += !id;
        if (id) ids[size_t(t * 20 + i)] = *id;
        failures += op_at(ids[size_t(t * 20 + i)]).def->name != name;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(failures, 0);
  for (int t = 1; t < 8; ++t)
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ids[size_t(t * 20 + i)], ids[size_t(i)]);
}

}  // namespace
}  // namespace oarlock::op
