#include "core/op/attrs.h"

#include <gtest/gtest.h>

#include "core/op/words.h"
#include "tests/core/op/infer_run.h"

namespace oarlock::op {
namespace {

using Given = std::vector<oar_attr_t>;
std::string complaint(const char* name, const Shape* first, const Given& given) {
  AttrScratch scratch;
  Status s = normalise(*op_at(find_op(name)).def, first, given.data(), uint32_t(given.size()), scratch);
  return std::string(s.text());
}
const OpDef& made() {
  static const OpDef& def = [&]() -> const OpDef& {
    static MadeOp m("made_attributes");
    m.def.inputs = {{"x", "[*S]"}};
    m.def.outputs = {{"out", "[*S]"}};
    m.def.attributes = {choice("mode", "nearest|linear"), integers("stride", 2).at_least(1), real("scale").or_none(),
                        integer("count", 3).at_most(9),   dtype("type", DType::f16),         flag("fast", true)};
    return m.def;
  }();
  return def;
}

TEST(Attributes, DefaultsAreFilledIn) {
  AttrScratch scratch;
  Shape s{2, 3};
  ASSERT_TRUE(normalise(made(), &s, nullptr, 0, scratch).ok());
  Attrs a(scratch.values, 6);
  EXPECT_EQ(a.text(0), "nearest");
  EXPECT_EQ(a.integers(1).size(), 1u);
  EXPECT_EQ(a.at(1, 5, 0), 2) << "one entry repeats";
  EXPECT_TRUE(a.none(2));
  EXPECT_EQ(a.integer(3), 3);
  EXPECT_EQ(a.dtype(4), DType::f16);
  EXPECT_TRUE(a.flag(5));
}

TEST(Attributes, AxesComeOutNonNegativeAndNoneMeansAll) {
  AttrScratch scratch;
  Shape s{2, 3, 4};
  int64_t axes[] = {-1, 0};
  Given given{attr_integers(axes)};
  const OpDef& sum = *op_at(find_op("sum")).def;
  ASSERT_TRUE(normalise(sum, &s, given.data(), 1, scratch).ok());
  auto got = Attrs(scratch.values, 2).integers(0);
  EXPECT_EQ(std::vector<int64_t>(got.begin(), got.end()), (std::vector<int64_t>{2, 0}));
  ASSERT_TRUE(normalise(sum, &s, nullptr, 0, scratch).ok());
  got = Attrs(scratch.values, 2).integers(0);
  EXPECT_EQ(std::vector<int64_t>(got.begin(), got.end()), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Attributes, ADefaultAxisIsCountedToo) {
  AttrScratch scratch;
  Shape s{2, 3, 4};
  ASSERT_TRUE(normalise(*op_at(find_op("softmax")).def, &s, nullptr, 0, scratch).ok());
  EXPECT_EQ(Attrs(scratch.values, 1).integer(0), 2);
}

TEST(Attributes, ErrorsSayTheValueAndTheRemedy) {
  Shape s{2, 3}, scalar;
  int64_t three[] = {3}, twice[] = {1, -1};
  EXPECT_EQ(complaint("sum", &s, {attr_integers(three)}),
            "sum: attribute axes is [3], but x is [2, 3] (rank 2). Give -2 to 1.");
  EXPECT_EQ(complaint("sum", &s, {attr_integers(twice)}),
            "sum: attribute axes is [1, -1]: axis 1 is there twice. Give each once.");
  EXPECT_EQ(complaint("softmax", &scalar, {}), "softmax: attribute axis is -1, but x is [] (rank 0), without axes.");
  EXPECT_EQ(complaint("reshape", &s, {}), "reshape: attribute shape is missing. Give it: sizes.");
  EXPECT_EQ(complaint("sum", &s, {attr_text("all")}), "sum: attribute axes is \"all\", needs axes.");
  EXPECT_EQ(complaint("dropout", &s, {attr_real(1.5)}), "dropout: attribute rate is 1.5, needs 0 to 1.");
  EXPECT_EQ(complaint("dropout", &s, {attr_real(NAN)}), "dropout: attribute rate is nan, needs 0 to 1.");
  EXPECT_EQ(complaint("cast", &s, {attr_dtype(DType::c64)}),
            "cast: attribute dtype is c64, which is no dtype of tensors.");
  EXPECT_EQ(complaint("cast", &s, {{OAR_ATTR_DTYPE, 1, 1, {.i = 999}}}),
            "cast: attribute dtype is 999, which is no dtype of tensors.");
  EXPECT_EQ(complaint("add", &s, {attr_flag(true)}), "add: 1 attributes given, but it has 0.");
  EXPECT_EQ(complaint("arange", nullptr, {attr_integer(-1)}),
            "arange: attribute length is -1: a size is not negative.");
  EXPECT_EQ(complaint("reshape", &s, {{OAR_ATTR_INTS, 1, 3, {.ints = nullptr}}}),
            "reshape: attribute shape has 3 entries but a null pointer.");
  std::vector<int64_t> many(17, 1);
  EXPECT_EQ(complaint("reshape", &s, {attr_integers(many)}),
            "reshape: attribute shape is [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]: at most 16 entries.");
}

TEST(Attributes, ChoicesAndLimitsOfLists) {
  AttrScratch scratch;
  Shape s{2};
  Given linear{attr_text("linear")}, lin{attr_text("lin")}, both{attr_text("nearest|linear")};
  EXPECT_TRUE(normalise(made(), &s, linear.data(), 1, scratch).ok());
  EXPECT_EQ(normalise(made(), &s, lin.data(), 1, scratch).text(),
            "made_attributes: attribute mode is \"lin\", needs one of nearest|linear.");
  EXPECT_FALSE(normalise(made(), &s, both.data(), 1, scratch).ok());
  int64_t strides[] = {2, 0};
  Given stride{attr_text("linear"), attr_integers(strides)};
  EXPECT_EQ(normalise(made(), &s, stride.data(), 2, scratch).text(),
            "made_attributes: attribute stride is [2, 0], needs at least 1 everywhere.");
  Given whole{attr_text("linear"), attr_none(0), attr_integer(2), attr_integer(10)};
  EXPECT_EQ(normalise(made(), &s, whole.data(), 4, scratch).text(),
            "made_attributes: attribute count is 10, needs at most 9.");
  ASSERT_TRUE(normalise(made(), &s, whole.data(), 3, scratch).ok());
  EXPECT_EQ(scratch.values[2].type, uint32_t(OAR_ATTR_FLOAT)) << "an integer will do for a number";
  EXPECT_EQ(scratch.values[2].value.f, 2.0);
}

TEST(Attributes, OwnedCopiesOutliveWhatTheyCameFrom) {
  OwnedAttrs owned;
  {
    std::vector<int64_t> ints{4, 5, 6};
    std::vector<double> reals{0.5};
    std::string text = "a text of more than eight bytes";
    Given given{attr_integers(ints), attr_text(text), attr_integer(7), attr_reals(reals), attr_none(OAR_ATTR_INTS)};
    owned = OwnedAttrs(Attrs(given.data(), uint32_t(given.size())));
    std::fill(ints.begin(), ints.end(), 0);
    std::fill(text.begin(), text.end(), '?');
    reals[0] = 0;
  }
  OwnedAttrs moved = std::move(owned);
  Attrs a = moved.view();
  EXPECT_EQ(a.integers(0)[2], 6);
  EXPECT_EQ(a.text(1), "a text of more than eight bytes");
  EXPECT_EQ(a.integer(2), 7);
  EXPECT_EQ(a.reals(3)[0], 0.5);
  EXPECT_TRUE(a.none(4));
}

TEST(Attributes, NumbersPrintInTheirShortestForm) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e-5), "1e-05");
  EXPECT_EQ(number_text(3), "3");
  EXPECT_EQ(number_text(1.0 / 3), "0.3333333333333333");
}

}  // namespace
}  // namespace oarlock::op
