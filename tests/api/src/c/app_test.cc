// The C interface, above all what it answers to nonsense.
#include <gtest/gtest.h>

#include <oarlock/app.h>

#include <string_view>
#include <vector>

namespace {

oar_tensor_t* make(std::initializer_list<float> values, std::initializer_list<int64_t> shape) {
  oar_tensor_t* t = nullptr;
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, int32_t(shape.size()), shape.begin(), values.begin(), 0, &t), OAR_OK)
      << oar_error_text();
  return t;
}

TEST(App, MultiplyAndDifferentiate) {
  oar_tensor_t *a = make({1, 2, 3, 4}, {2, 2}), *b = make({1, 0, 0, 1}, {2, 2}), *c = nullptr, *s = nullptr,
               *g = nullptr;
  ASSERT_EQ(oar_tensor_set_requires_grad(a, 1), OAR_OK);
  ASSERT_EQ(oar_matmul(a, b, &c), OAR_OK) << oar_error_text();
  ASSERT_EQ(oar_sum(c, nullptr, &s), OAR_OK) << oar_error_text();
  ASSERT_EQ(oar_backward(&s, nullptr, 1, 0), OAR_OK) << oar_error_text();
  ASSERT_EQ(oar_tensor_grad(a, &g), OAR_OK);
  float values[4];
  ASSERT_EQ(oar_tensor_read(g, values, sizeof values), OAR_OK);
  for (float v : values) EXPECT_EQ(v, 1);
  double item = 0;
  ASSERT_EQ(oar_tensor_item(s, &item), OAR_OK);
  EXPECT_EQ(item, 10);
  for (oar_tensor_t* t : {a, b, c, s, g}) EXPECT_EQ(oar_tensor_release(t), OAR_OK);
}

TEST(App, FreedForeignAndNullHandlesAreErrors) {
  oar_tensor_t *a = make({1}, {1}), *out = nullptr;
  ASSERT_EQ(oar_tensor_release(a), OAR_OK);
  EXPECT_EQ(oar_tensor_release(a), OAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(oar_error_text()).find("not alive"), std::string::npos);
  EXPECT_EQ(oar_add(a, a, &out), OAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(oar_error_text()).find("add: the handle of a is not alive"), std::string::npos)
      << oar_error_text();
  oar_tensor_t* b = make({2}, {1});  // may get the slot of a, never its number
  EXPECT_NE(a, b);
  EXPECT_EQ(oar_tensor_release(a), OAR_INVALID_ARGUMENT);
  for (uint64_t made_up : {1ull, 0xdeadbeefull, 0x7fffffffffffull, ~0ull, 1ull << 63}) {
    auto* t = reinterpret_cast<oar_tensor_t*>(made_up);
    uint32_t dtype;
    EXPECT_EQ(oar_tensor_dtype(t, &dtype), OAR_INVALID_ARGUMENT);
    EXPECT_EQ(oar_exp(t, &out), OAR_INVALID_ARGUMENT);
    EXPECT_EQ(oar_tensor_release(t), OAR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(oar_exp(nullptr, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_exp(b, nullptr), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_release(nullptr), OAR_OK);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(oar_tensor_release(b), OAR_OK);
}

TEST(App, NullsWhereNoneIsAllowed) {
  EXPECT_EQ(oar_device_count(nullptr), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_device_find(oar_text("cpu"), nullptr), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, 1, nullptr, nullptr, 0, nullptr), OAR_INVALID_ARGUMENT);
  oar_tensor_t* t = nullptr;
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, 1, nullptr, nullptr, 0, &t), OAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(oar_error_text()).find("shape is NULL"), std::string::npos);
  EXPECT_EQ(oar_backward(nullptr, nullptr, 1, 0), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_plugin_load(oar_text(nullptr)), OAR_BAD_DATA);
  size_t n = 0;
  EXPECT_EQ(oar_op_call(oar_text("add"), nullptr, 2, nullptr, 0, nullptr, 0, &n), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_setting_set(oar_text(nullptr), oar_text(nullptr)), OAR_INVALID_ARGUMENT);
}

// Lists and texts that are null though their length is not, in typed functions and by name.
TEST(App, NullListsAreErrorsNotReads) {
  oar_tensor_t *t = make({1, 2}, {2}), *out = nullptr;
  oar_sum_options_t options = OAR_SUM_OPTIONS_INIT;
  options.n_axes = 3;
  EXPECT_EQ(oar_sum(t, &options, &out), OAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(oar_error_text()).find("null pointer"), std::string::npos) << oar_error_text();
  EXPECT_EQ(oar_reshape(t, nullptr, 3, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_full(nullptr, 2, 1, nullptr, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_concat(nullptr, 2, nullptr, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_concat(&t, 0, nullptr, &out), OAR_INVALID_ARGUMENT);
  std::vector<oar_tensor_t*> many(1000, t);
  EXPECT_EQ(oar_concat(many.data(), many.size(), nullptr, &out), OAR_INVALID_ARGUMENT);
  oar_attr_t null_list = {OAR_ATTR_INTS, 1, 5, {.ints = nullptr}},
             null_text = {OAR_ATTR_STRING, 1, 9, {.str = nullptr}};
  oar_tensor_t* results[1];
  size_t n = 0;
  EXPECT_EQ(oar_op_call(oar_text("sum"), &t, 1, &null_list, 1, results, 1, &n), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_op_call(oar_text("permute"), &t, 1, &null_list, 1, results, 1, &n), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_op_call(oar_text("sum"), &t, 1, &null_text, 1, results, 1, &n), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(oar_tensor_release(t), OAR_OK);
}

TEST(App, SizesThatCannotBe) {
  oar_tensor_t* t = nullptr;
  int64_t negative[] = {2, -5}, huge[] = {int64_t(1) << 62, 8};
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, 2, negative, nullptr, 0, &t), OAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(oar_error_text()).find("size -5 of axis 1 is negative"), std::string::npos);
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, 2, huge, nullptr, 0, &t), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, 17, negative, nullptr, 0, &t), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, -1, negative, nullptr, 0, &t), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_create(21, 0, nullptr, nullptr, 0, &t), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_create(4'000'000'000u, 0, nullptr, nullptr, 0, &t), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, 0, nullptr, nullptr, 77, &t), OAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(oar_error_text()).find("there is no device 77"), std::string::npos);
  EXPECT_EQ(t, nullptr);
}

TEST(App, TextsNeedNoEndingZero) {
  const char text[] = {'c', 'p', 'u', 'X', 'Y'};
  oar_str_t name = {text, 3};
  int32_t device = -1;
  EXPECT_EQ(oar_device_find(name, &device), OAR_OK);
  EXPECT_EQ(device, 0);
  name.size = 5;
  EXPECT_EQ(oar_device_find(name, &device), OAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(oar_error_text()).find("\"cpuXY\""), std::string::npos);
  char small[3];
  size_t size = 0;
  EXPECT_EQ(oar_device_name(0, small, sizeof small, &size), OAR_OK);
  EXPECT_STREQ(small, "cp");
  EXPECT_EQ(size, 3u);
}

TEST(App, ReadChecksItsRoom) {
  oar_tensor_t* t = make({1, 2, 3}, {3});
  float out[3] = {9, 9, 9};
  EXPECT_EQ(oar_tensor_read(t, out, 8), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(out[0], 9);
  EXPECT_EQ(oar_tensor_read(t, nullptr, 12), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_tensor_read(t, out, 12), OAR_OK);
  EXPECT_EQ(out[2], 3);
  int32_t rank = 0;
  int64_t shape[1] = {0};
  EXPECT_EQ(oar_tensor_shape(t, 1, shape, &rank), OAR_OK);
  EXPECT_EQ(rank, 1);
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(oar_tensor_release(t), OAR_OK);
}

TEST(App, OpsByName) {
  oar_tensor_t* in[] = {make({1, 2}, {2}), make({3, 4}, {2})};
  oar_tensor_t* out[1] = {nullptr};
  size_t n = 0;
  ASSERT_EQ(oar_op_call(oar_text("add"), in, 2, nullptr, 0, out, 1, &n), OAR_OK) << oar_error_text();
  EXPECT_EQ(n, 1u);
  EXPECT_EQ(oar_op_call(oar_text("add"), in, 2, nullptr, 0, nullptr, 0, &n), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_op_call(oar_text("no_such_op"), in, 2, nullptr, 0, out, 1, &n), OAR_INVALID_ARGUMENT);
  for (oar_tensor_t* t : {in[0], in[1], out[0]}) EXPECT_EQ(oar_tensor_release(t), OAR_OK);
}

TEST(App, StatsRespectAnOlderCallersStruct) {
  oar_memory_stats_t stats;
  memset(&stats, 0x55, sizeof stats);
  stats.struct_size = 16;  // ends before peak_bytes
  ASSERT_EQ(oar_device_memory(0, &stats), OAR_OK);
  EXPECT_EQ(stats.peak_bytes, 0x5555555555555555ull);
}

TEST(App, PlacementByRows) {
  int32_t current = -1;
  ASSERT_EQ(oar_device_current(&current), OAR_OK);
  EXPECT_EQ(current, 0);
  EXPECT_EQ(oar_device_current(nullptr), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_placement(nullptr, nullptr), OAR_INVALID_ARGUMENT);
  ASSERT_EQ(oar_placement_reset(), OAR_OK);
  oar_tensor_t *a = make({1, 2}, {2}), *out = nullptr;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(oar_exp(a, &out), OAR_OK);
    EXPECT_EQ(oar_tensor_release(out), OAR_OK);
  }
  uint64_t calls = 0;
  ASSERT_EQ(oar_placement(
                [](void* context, const oar_placement_row_t* row) {
                  EXPECT_EQ(row->struct_size, sizeof *row);
                  if (std::string_view(row->op.data, row->op.size) != "exp") return;
                  EXPECT_EQ(std::string_view(row->device.data, row->device.size), "cpu");
                  EXPECT_EQ(std::string_view(row->route.data, row->route.size), "reference");
                  EXPECT_GT(row->reason.size, 0u);
                  *static_cast<uint64_t*>(context) += row->calls;
                },
                &calls),
            OAR_OK);
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(oar_tensor_release(a), OAR_OK);
}

}  // namespace
