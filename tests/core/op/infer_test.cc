// Shapes and dtypes that follow, on numbers and on names, and the sentences where nothing does.
#include "core/op/infer.h"

#include <gtest/gtest.h>

#include "core/op/symbol.h"
#include "tests/core/op/infer_run.h"

namespace oarlock::op {
namespace {

std::string shape_of(const InferRun& r) { return r.ok ? to_string(r.shapes[0]) : r.error; }
constexpr DType f16 = DType::f16, bf16 = DType::bf16, f32 = DType::f32, f64 = DType::f64, u8 = DType::u8,
                i8 = DType::i8, i32 = DType::i32, boolean = DType::boolean;

TEST(Infer, ShapesFollow) {
  EXPECT_EQ(shape_of(run_infer("matmul", {{{2, 3, 4}}, {{4, 5}}})), "[2, 3, 5]");
  EXPECT_EQ(shape_of(run_infer("matmul", {{{7, 1, 3, 4}}, {{6, 4, 5}}})), "[7, 6, 3, 5]");
  EXPECT_EQ(shape_of(run_infer("add", {{{3, 1}}, {{4}}})), "[3, 4]");
  EXPECT_EQ(shape_of(run_infer("add", {{{}}, {{0, 2}}})), "[0, 2]");
  EXPECT_EQ(shape_of(run_infer("where", {{{3, 1, 1}, boolean}, {{4, 1}}, {{5}}})), "[3, 4, 5]");
  EXPECT_EQ(shape_of(run_infer("gather", {{{9, 3}}, {{2, 4}, i32}})), "[2, 4, 3]");
  EXPECT_EQ(shape_of(run_infer("one_hot", {{{2, 3}, i32}}, {attr_dim(7)})), "[2, 3, 7]");
  int64_t axes[] = {-1, 0};
  EXPECT_EQ(shape_of(run_infer("sum", {{{2, 3, 4}}}, {attr_integers(axes)})), "[3]");
  EXPECT_EQ(shape_of(run_infer("sum", {{{2, 3, 4}}}, {attr_integers(axes), attr_flag(true)})), "[1, 3, 1]");
  EXPECT_EQ(shape_of(run_infer("sum", {{{2, 3, 4}}})), "[]");
}

TEST(Infer, ErrorsNameBothOperandsAndWhatIsExpected) {
  EXPECT_EQ(run_infer("matmul", {{{2, 3, 4}}, {{5, 6}}}).error,
            "matmul: K disagrees: a is [2, 3, 4] (K=4), b is [5, 6] (K=5); expects a [..., M, K], b [..., K, N].");
  EXPECT_EQ(run_infer("matmul", {{{4}}, {{4, 6}}}).error,
            "matmul: rank disagrees: a is [4] (rank 1), needs at least 2; expects a [..., M, K], b [..., K, N].");
  EXPECT_EQ(run_infer("add", {{{2, 3}}, {{2, 4}}}).error,
            "add: shapes do not broadcast, 3 against 4: a is [2, 3], b is [2, 4]; expects a [...], b [...].");
  EXPECT_EQ(run_infer("where", {{{1}, boolean}, {{3}}, {{4}}}).error,
            "where: shapes do not broadcast, 3 against 4: a is [3], b is [4]; expects condition bool[...], a [...], b "
            "[...].");
  EXPECT_EQ(run_infer("assign", {{{2, 3}}, {{2, 3, 1}}}).error,
            "assign: S disagrees: target is [2, 3], value is [2, 3, 1]; expects target [*S], value [*S].");
  EXPECT_EQ(run_infer("add", {{{2}}}).error, "add: b has no value; expects a [...], b [...].");
  EXPECT_EQ(run_infer("add", {{{2}}, {{2}}, {{2}}}).error,
            "add: 3 operands given, it takes 2; expects a [...], b [...].");
}

// The expression, the attribute and its value, and the inputs that gave the names.
TEST(Infer, ExpressionsNameWhereTheirNamesComeFrom) {
  static MadeOp m("made_groups");
  m.def.inputs = {{"x", "[N, C]"}, {"w", "[O, C/groups]"}, {"t", "[(N+1)*2]"}};
  m.def.outputs = {{"out", "[N, O]"}};
  m.def.attributes = {integer("groups", 1).at_least(1)};
  Result<OpId> id = register_op(&m.def);
  ASSERT_TRUE(id.ok()) << id.status().text();
  const Op& op = op_at(*id);
  EXPECT_EQ(run_infer(op, {{{1, 5}}, {{4, 3}}, {{4}}}, {attr_integer(2)}).error,
            "made_groups: C/groups is not whole: 5 is not a multiple of 2: x is [1, 5] (C=5), groups=2, w is [4, 3]; "
            "expects x "
            "[N, C], w [O, C/groups], t [(N+1)*2].");
  EXPECT_EQ(run_infer(op, {{{1, 4}}, {{4, 3}}, {{4}}}, {attr_integer(2)}).error,
            "made_groups: C/groups disagrees: x is [1, 4] (C=4), groups=2 (C/groups=2), w is [4, 3] (C/groups=3); "
            "expects x [N, C], "
            "w [O, C/groups], t [(N+1)*2].");
  EXPECT_EQ(run_infer(op, {{{2, 4}}, {{4, 2}}, {{5}}}, {attr_integer(2)}).error,
            "made_groups: (N + 1)*2 disagrees: x is [2, 4] (N=2) ((N + 1)*2=6), t is [5] ((N + 1)*2=5); expects x [N, "
            "C], w [O, "
            "C/groups], t [(N+1)*2].");
  EXPECT_EQ(run_infer(op, {{{1, 4}}, {{4, 3}}, {{4}}}, {attr_integer(0)}).error,
            "made_groups: attribute groups is 0, needs at least 1.");
}

TEST(Infer, OneUnboundNameIsSolvedFor) {
  static MadeOp m("made_lstm");
  m.def.inputs = {{"w", "[4*H, D]"}, {"mask", "[H|1, 3]"}};
  m.def.outputs = {{"out", "[D, H]"}};
  Result<OpId> id = register_op(&m.def);
  ASSERT_TRUE(id.ok()) << id.status().text();
  const Op& op = op_at(*id);
  EXPECT_EQ(shape_of(run_infer(op, {{{8, 5}}, {{1, 3}}})), "[5, 2]");
  EXPECT_EQ(shape_of(run_infer(op, {{{8, 5}}, {{2, 3}}})), "[5, 2]");
  EXPECT_EQ(run_infer(op, {{{6, 5}}, {{1, 3}}}).error,
            "made_lstm: 4*H is not whole: 6 is not a multiple of 4: w is [6, 5]; expects w [4*H, D], mask [H|1, 3].");
  EXPECT_EQ(run_infer(op, {{{8, 5}}, {{3, 3}}}).error,
            "made_lstm: H disagrees: w is [8, 5] (H=2), mask is [3, 3] (H=3); expects w [4*H, D], mask [H|1, 3].");
  EXPECT_EQ(run_infer(op, {{{8, 5}}, {{1, 4}}}).error,
            "made_lstm: a size disagrees: mask is [1, 4] (4, not 3); expects w [4*H, D], mask [H|1, 3].");
}

TEST(Infer, DtypesMixByTheArrayApi) {
  auto type = [](const char* op, DType a, DType b) {
    InferRun r = run_infer(op, {{{2}, a}, {{2}, b}});
    return r.ok ? std::string(to_string(r.dtypes[0])) : r.error;
  };
  EXPECT_EQ(type("add", f32, f64), "f64");
  EXPECT_EQ(type("add", f16, bf16), "f32");
  EXPECT_EQ(type("add", u8, i8), "i16");
  EXPECT_EQ(type("add", DType::i64, f16), "f16");
  EXPECT_EQ(type("divide", i32, i8), "f32");
  EXPECT_EQ(type("divide", i32, f64), "f64");
  EXPECT_EQ(type("equal", boolean, boolean), "bool");
  EXPECT_EQ(type("less", f32, f64), "bool");
  EXPECT_EQ(run_infer("less", {{{2}, f32}, {{2}, f64}}).var_type[0], f64);
  EXPECT_EQ(type("add", f32, boolean),
            "add: dtypes disagree: a is f32, b is bool. Cast one of them; expects a [...], b [...].");
  EXPECT_EQ(type("add", DType::u64, DType::i64),
            "add: dtypes disagree: a is u64, b is i64. Cast one of them; expects a [...], b [...].");
  EXPECT_EQ(type("assign", f32, f64),
            "assign: dtypes disagree: target is f32, value is f64. Cast one of them; expects target [*S], value [*S].");
  EXPECT_EQ(run_infer("exp", {{{2}, i32}}).error, "exp: x is i32, which exp does not take. Cast it; expects x [...].");
  EXPECT_EQ(run_infer("where", {{{2}, f32}, {{2}}, {{2}}}).error,
            "where: condition is f32, needs bool. Cast it; expects condition bool[...], a [...], b [...].");
}

TEST(Infer, SizesThatCannotBe) {
  Symbols none;  // those of the thread may hold a name by the number -7
  SymbolScope scope(none);
  Shape huge{int64_t(1) << 62, 1}, wide{1, 4};
  EXPECT_EQ(run_infer("add", {{huge}, {wide}}).error,
            "add: the result would be [4611686018427387904, 4] of f32, more bytes than 64 bits can count; expects a "
            "[...], b [...].");
  EXPECT_FALSE(run_infer("full", {}, {attr_dims(Shape{int64_t(1) << 40, int64_t(1) << 40}), attr_real(0)}).ok);
  EXPECT_EQ(run_infer("full", {}, {attr_dims(Shape{2, -7}), attr_real(0)}).error,
            "full: attribute shape is [2, -7]: sizes are not negative.");
  EXPECT_EQ(run_infer("full", {}, {attr_dims(Shape{2, -1}), attr_real(0)}).error,
            "full: the result would be [2, -1], but sizes are not negative.");
  Shape deep;
  for (int i = 0; i < kMaxRank; ++i) deep.push(1);
  EXPECT_TRUE(run_infer("add", {{deep}, {deep}}).ok);
  EXPECT_EQ(run_infer("gather", {{{2, 3}}, {deep, i32}}).error,
            "gather: the result has rank 17, at most 16 is possible; expects x [V, *R], index I[*J].");
  EXPECT_FALSE(run_infer("unsqueeze", {{deep}}, {attr_integers(std::vector<int64_t>{0})}).ok);
}

TEST(Infer, NamesWorkLikeNumbers) {
  Symbols symbols;
  SymbolScope scope(symbols);
  Dim b = symbols.name("B"), s = symbols.name("S"), k = symbols.name("K");
  EXPECT_EQ(shape_of(run_infer("matmul", {{{b, s, k}}, {{k, 5}}})), "[B, S, 5]");
  EXPECT_EQ(shape_of(run_infer("reshape", {{{b, s, 768}}}, {attr_dims(Shape{b * s, 12, 64})})), "[B*S, 12, 64]");
  EXPECT_EQ(shape_of(run_infer("reshape", {{{b, s, 768}}}, {attr_dims(Shape{b * s, -1})})), "[B*S, 768]");
  EXPECT_EQ(shape_of(run_infer("add", {{{b, 1}}, {{s}}})), "[B, S]");
  EXPECT_EQ(shape_of(run_infer("concat", {{{b, 2}}, {{s, 2}}, {{3, 2}}})), "[B + S + 3, 2]");
}

TEST(Infer, UndecidedSizesBecomeGuardsWithTheSameText) {
  Symbols symbols;
  SymbolScope scope(symbols);
  Dim k = symbols.name("K");
  InferRun r = run_infer("matmul", {{{2, k}}, {{5, 3}}});
  ASSERT_TRUE(r.ok);
  ASSERT_EQ(r.guards.size(), 1u);
  EXPECT_EQ(r.guards[0].text,
            "matmul: K disagrees: a is [2, K] (K=K), b is [5, 3] (K=5); expects a [..., M, K], b [..., K, N].");
  r = run_infer("add", {{{k}}, {{4}}});
  ASSERT_TRUE(r.ok);
  EXPECT_EQ(to_string(r.shapes[0]), "[4]") << "the number goes on";
  ASSERT_EQ(r.guards.size(), 1u);
  EXPECT_TRUE(r.guards[0].or_one);
}

TEST(Infer, EqualElementwiseOperandsNeedNoMatching) {
  const Op& less = op_at(find_op("less"));
  Shape s{2, 3}, t{2, 4};
  const Shape *same[] = {&s, &s}, *other[] = {&s, &t};
  DType types[] = {f32, f32}, mixed[] = {f32, f64}, wrong[] = {boolean, boolean}, out;
  EXPECT_TRUE(infer_elementwise(less.rule, 2, same, types, out));
  EXPECT_EQ(out, boolean);
  EXPECT_FALSE(infer_elementwise(less.rule, 2, other, types, out));
  EXPECT_FALSE(infer_elementwise(less.rule, 2, same, mixed, out));
  EXPECT_FALSE(infer_elementwise(less.rule, 2, same, wrong, out));
}

}  // namespace
}  // namespace oarlock::op
