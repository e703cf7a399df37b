// Values of ops that move elements or name places, from NumPy 2 and the ONNX specification.
#include "core/op/attrs.h"
#include "tests/ops/expect.h"

namespace oarlock::test {
namespace {

Tensor indices(std::initializer_list<int64_t> v, const Shape& s) { return Tensor::of<int64_t>(v, s); }

// ---- shape
TEST(Place, SplitsAndStacks) {
  Tensor x = count_up({2, 5});
  auto parts = split(x, {2, 0, 3}, 1);
  ASSERT_EQ(parts.size(), 3u);
  expect_values(parts[0], {0, 1, 5, 6});
  EXPECT_EQ(text(parts[1]), "[2, 0]");
  expect_values(parts[2], {2, 3, 4, 7, 8, 9});
  EXPECT_TRUE(says(complaint([&] { split(x, {2, 2}, 1); }), "the sum of sizes disagrees"));
  EXPECT_TRUE(says(complaint([&] { split(x, {7, -1}, 1); }), "sizes has a -1"));
  auto halves = chunk(count_up({4}), 2);
  expect_values(halves[1], {2, 3});
  EXPECT_TRUE(says(complaint([&] { chunk(x, 2, 1); }), "axis 1 does not divide into 2 parts"));
  auto columns = unstack(x, 1);
  ASSERT_EQ(columns.size(), 5u);
  expect_values(columns[3], {3, 8});
  EXPECT_TRUE(unstack(full({0, 2}, 1)).empty());
  Tensor a = f64({1, 2}), b = f64({3, 4});
  expect_values(stack({a, b}), {1, 2, 3, 4});
  expect_values(stack({a, b}, -1), {1, 3, 2, 4});
  expect_values(concat({full({0}, 1, DType::f64), a}), {1, 2});
  EXPECT_TRUE(says(complaint([&] { stack({a, f64({1})}); }), "axis 0 disagrees"));
}

TEST(Place, MovesWholeAxes) {
  Tensor x = count_up({2, 3});
  expect_values(flip(x), {5, 4, 3, 2, 1, 0});
  expect_values(flip(x, {1}), {2, 1, 0, 5, 4, 3});
  expect_values(roll(x, {1}, {1}), {2, 0, 1, 5, 3, 4});
  expect_values(roll(x, {-1, 4}, {0, 1}), {5, 3, 4, 2, 0, 1});
  expect_values(tile(f64({1, 2}), {2, 2}), {1, 2, 1, 2, 1, 2, 1, 2});
  EXPECT_EQ(text(tile(x, {2})), "[2, 6]");
  EXPECT_EQ(text(tile(x, {0, 1})), "[0, 3]");
  expect_values(repeat(x, 2, 1), {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  EXPECT_EQ(text(flatten(count_up({2, 3, 4}), 1)), "[2, 12]");
  EXPECT_EQ(text(moveaxis(full({2, 3, 4}, 1), {0}, {-1})), "[3, 4, 2]");
  EXPECT_EQ(text(moveaxis(full({2, 3, 4, 5}, 1), {3, 0}, {0, 1})), "[5, 2, 3, 4]");
}

TEST(Place, Triangles) {
  Tensor x = count_up({3, 3});
  expect_values(tril(x), {0, 0, 0, 3, 4, 0, 6, 7, 8});
  expect_values(triu(x, 1), {0, 1, 2, 0, 0, 5, 0, 0, 0});
  expect_values(tril(x, INT64_MAX), numbers(x));
  expect_values(triu(x, INT64_MIN), numbers(x));
  expect_values(tril(x, INT64_MIN), Values(9, 0));
  expect_values(eye(2, 3, 1), {0, 1, 0, 0, 0, 1});
  expect_values(eye(2), {1, 0, 0, 1});
  expect_values(diag(f64({1, 2}), -1), {0, 0, 0, 1, 0, 0, 0, 2, 0});
  expect_values(linspace(-1, 2, 7, true, DType::f64), {-1, -0.5, 0, 0.5, 1, 1.5, 2});
  expect_values(linspace(0, 1, 4, false), {0, 0.25, 0.5, 0.75});
  expect_values(linspace(0.1, 0.7, 3, true, DType::f64), {0.1, 0.4, 0.7}, 1e-15);
  EXPECT_EQ(numbers(linspace(0.1, 0.7, 23, true, DType::f64)).back(), 0.7);
}

TEST(Place, PadsWithWhatIsThere) {
  Tensor x = count_up({3});
  expect_values(pad_edges(x, {7}, {8}), {1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2});
  expect_values(pad_edges(x, {4}, {7}, "circular"), {2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0});
  expect_values(pad_edges(x, {2}, {1}, "replicate"), {0, 0, 0, 1, 2, 2});
  expect_values(pad_edges(f64({5}), {1}, {1}), {5, 5, 5});
  EXPECT_TRUE(says(complaint([] { pad_edges(full({0}, 1), {1}, {0}); }), "axis 0 has no element to repeat"));
  EXPECT_EQ(text(pad_edges(full({8, 20, 17, 13}, 1, DType::u8), {3, 0, 4, 1}, {11, 1, 8, 0})), "[22, 21, 29, 14]");
  EXPECT_TRUE(says(complaint([&] { pad_edges(x, {1}, {1}, "mirror"); }), "reflect|replicate|circular"));
}

TEST(Place, Meshgrid) {
  Tensor a = f64({1, 2}), b = f64({3, 4, 5});
  auto xy = meshgrid({a, b}), ij = meshgrid({a, b}, "ij");
  EXPECT_EQ(text(xy[0]), "[3, 2]");
  expect_values(xy[0], {1, 2, 1, 2, 1, 2});
  expect_values(xy[1], {3, 3, 4, 4, 5, 5});
  expect_values(ij[0], {1, 1, 1, 2, 2, 2});
  expect_values(ij[1], {3, 4, 5, 3, 4, 5});
}

// ---- places
TEST(Place, NegativeIndicesCountFromTheEndAndOthersAreErrors) {
  Tensor x = count_up({3, 4});
  expect_values(gather(x, i64({-1})), {8, 9, 10, 11});
  expect_values(take(x, i64({-1, 0}), 1), {3, 0, 7, 4, 11, 8});
  expect_values(take_along_axis(x, indices({-1, 0, 1}, {3, 1}), 1), {3, 4, 9});
  expect_values(gather_nd(x, indices({-1, -4}, {1, 2})), {8});
  for (int64_t bad : {3, -4, 1000}) {
    std::string n = std::to_string(bad);
    EXPECT_TRUE(says(complaint([&] { gather(x, i64({0, bad})); }), "gather: index " + n + " at position [1]"));
    EXPECT_TRUE(
        says(complaint([&] {
               take_along_axis(x, indices({bad}, {1, 1}), 0);
             }),
             "take_along_axis: index " + n + " at position [0, 0] is out of range: axis 0 of x has 3 elements"));
    EXPECT_TRUE(says(complaint([&] {
                       put_along_axis(x, indices({bad}, {1, 1}), shaped({1}, {1, 1}), 0);
                     }),
                     "put_along_axis: index " + n));
    EXPECT_TRUE(says(complaint([&] {
                       gather_nd(x, indices({0, 0, bad, 0}, {2, 2}));
                     }),
                     "gather_nd: index " + n + " at position [1, 0]"));
    EXPECT_TRUE(says(complaint([&] {
                       scatter_nd(x, indices({bad}, {1, 1}), shaped({1, 1, 1, 1}, {1, 4}));
                     }),
                     "scatter_nd: index " + n));
    EXPECT_TRUE(says(complaint([&] { take(count_up({4, 3}), i64({bad}), 1); }), "index " + n));
  }
  EXPECT_TRUE(says(complaint([&] {
                     take_along_axis(x, Tensor::of<uint64_t>({UINT64_MAX}, {1, 1}), 0);
                   }),
                   "18446744073709551615"));
}

TEST(Place, IndicesOfRankTwoIntoATable) {
  Tensor table = count_up({4, 2}), ids = indices({0, 3, 1, 1, 2, 0}, {2, 3});
  EXPECT_EQ(text(gather(table, ids)), "[2, 3, 2]");
  expect_values(gather(table, ids), {0, 1, 6, 7, 2, 3, 2, 3, 4, 5, 0, 1});
  EXPECT_EQ(text(take(count_up({2, 4, 3}), ids, 1)), "[2, 2, 3, 3]");
  expect_values(take(count_up({2, 3}), indices({2, 0, 1, 1}, {2, 2}), 1), {2, 0, 1, 1, 5, 3, 4, 4});
}

TEST(Place, ScatterOfPairsAndRows) {
  Tensor x = full({3, 4}, 1, DType::f64);
  expect_values(scatter_nd(x, indices({0, 1, 2, 3}, {2, 2}), f64({10, 20})), {1, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 20});
  expect_values(scatter_nd(x, indices({-1}, {1, 1}), shaped({5, 6, 7, 8}, {1, 4})),
                {1, 1, 1, 1, 1, 1, 1, 1, 5, 6, 7, 8});
  Tensor row = full({2}, 3, DType::f64), twice = indices({1, 1}, {2, 1}), two = f64({2, 5});
  expect_values(scatter_nd(row, twice, two, "add"), {3, 10});
  expect_values(scatter_nd(row, twice, two, "multiply"), {3, 30});
  expect_values(scatter_nd(row, twice, two, "maximum"), {3, 5});
  expect_values(scatter_nd(row, twice, two, "minimum"), {3, 2});
  expect_values(scatter_nd(row, twice, two), {3, 5});
  expect_values(scatter_nd(row, twice, f64({5, 2})), {3, 2});
  EXPECT_TRUE(says(complaint([&] { scatter_nd(x, indices({0, 0, 0}, {1, 3}), f64({1})); }), "index has 3 places"));
}

TEST(Place, ScatterAlongAnAxisTakesMoreThanThereAre) {
  Tensor x = f64({1, 2}),
         many = indices({0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, {24});
  expect_values(put_along_axis(x, many, count_up({24}), 0), {22, 23});
  expect_values(put_along_axis(x, many, count_up({24}), 0, "add"), {133, 146});
  expect_values(put_along_axis(x, many, count_up({24}), 0, "maximum"), {22, 23});
  expect_values(put_along_axis(x, many, count_up({24}), 0, "minimum"), {0, 1});
  expect_values(put_along_axis(x, i64({0, 0}), f64({kNan, 3}), 0, "maximum"), {kNan, 2});
  // ONNX ScatterElements, its example with axis 1
  expect_values(put_along_axis(shaped({1, 2, 3, 4, 5}, {1, 5}), indices({1, 3}, {1, 2}), shaped({1.5, 2.5}, {1, 2}), 1),
                {1, 1.5, 3, 2.5, 5});
  Tensor table = count_up({2, 3});
  expect_values(put_along_axis(table, argmax(table, 1, true), full({2, 1}, -1, DType::f64), 1), {0, 1, -1, 3, 4, -1});
}

TEST(Place, OfUpdatesThatMeetTheLastHasTheGradient) {
  Tensor x = f64({1, 2, 3}).set_requires_grad(), u = f64({10, 20, 30}).set_requires_grad();
  sum(multiply(put_along_axis(x, i64({1, 1, 2}), u), f64({1, 2, 3}))).backward();
  expect_values(x.grad(), {1, 0, 0});
  expect_values(u.grad(), {0, 2, 3});
}

TEST(Place, SumsAtPlaces) {
  expect_values(index_add(full({2, 3}, 0, DType::f64), i64({2, 2}), shaped({1, 2, 3, 4}, {2, 2}), 1),
                {0, 0, 3, 0, 0, 7});
  expect_values(bincount(i64({2, 0, 2}), 4), {1, 0, 2, 0});
  expect_values(bincount(i64({2, 0, 2}), 3, f64({0.5, 1, 2}), DType::f64), {1, 0, 2.5});
  EXPECT_TRUE(says(complaint([] { bincount(i64({-1}), 4); }), "out of range"));
  EXPECT_TRUE(says(complaint([] { bincount(i64({4}), 4); }), "out of range"));
}

TEST(Place, Masks) {
  Tensor x = count_up({2, 3}), mask = Tensor::of<bool>({true, false, true}, {3});
  expect_values(masked_fill(x, mask, full({}, -1, DType::f64)), {-1, 1, -1, -1, 4, -1});
  expect_values(masked_select(x, mask), {0, 2, 3, 5});
  EXPECT_EQ(text(masked_select(x, Tensor::of<bool>({false}, {}))), "[0]");
  EXPECT_EQ(text(masked_select(full({0, 3}, 1), mask)), "[0]");
  expect_values(nonzero(shaped({0, kNan, 3, 0}, {2, 2})), {0, 1, 1, 0});
  EXPECT_EQ(text(nonzero(full({}, 1))), "[1, 0]");
  EXPECT_EQ(text(nonzero(full({}, 0))), "[0, 0]");
  EXPECT_EQ(text(nonzero(full({2, 0}, 1))), "[0, 2]");
}

// ---- order
TEST(Place, TopkCountsNanAsTheGreatest) {
  Tensor x = f64({1, kNan, 3, kInf, -kInf, 2});
  auto high = topk(x, 3), low = topk(x, 3, false);
  expect_values(high.values, {kNan, kInf, 3});
  expect_values(high.indices, {1, 3, 2});
  expect_values(low.values, {-kInf, 1, 2});
  expect_values(low.indices, {4, 0, 5});
  expect_values(topk(f64({2, 2, 2, 1}), 2).indices, {0, 1});
  expect_values(topk(f64({2, 1, 1, 1}), 2, false).indices, {1, 2});
  EXPECT_TRUE(says(complaint([&] { topk(x, 7); }), "topk: k is 7, x is [6] (N=6). Give at most 6"));
}

TEST(Place, SortIsStableBothWays) {
  Tensor x = f64({2, kNan, 1, 2, kNan, 1});
  auto up = sort(x), down = sort(x, 0, true);
  expect_values(up.values, {1, 1, 2, 2, kNan, kNan});
  expect_values(up.indices, {2, 5, 0, 3, 1, 4});
  expect_values(down.values, {kNan, kNan, 2, 2, 1, 1});
  expect_values(down.indices, {1, 4, 0, 3, 2, 5});
  expect_values(argsort(shaped({3, 1, 2, 0, 5, 4}, {3, 2}), 0), {1, 1, 0, 0, 2, 2});
  expect_values(search_sorted(f64({1, 2, 2, 3, kNan}), f64({0, 2, 2.5, 4, kNan})), {0, 1, 3, 4, 4});
  expect_values(search_sorted(f64({1, 2, 2, 3, kNan}), f64({0, 2, 2.5, 4, kNan}), "right"), {0, 3, 3, 4, 5});
  auto different = unique(shaped({3, 1, 3, kNan, 1, kNan}, {2, 3}));
  expect_values(different.values, {1, 3, kNan, kNan});
  expect_values(different.indices, {1, 0, 3, 5});
  expect_values(different.inverse, {1, 0, 1, 2, 0, 3});
  expect_values(different.counts, {2, 2, 1, 1});
  EXPECT_EQ(text(unique(full({0}, 1)).values), "[0]");
}

}  // namespace
}  // namespace oarlock::test
