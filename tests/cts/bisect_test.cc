// The parts of bisect by themselves: layouts, shrinking, reading.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include <gtest/gtest.h>

#include <oarlock/base/op.h>

#include "api/cts/emit.h"
#include "api/cts/number.h"
#include "api/cts/op_call.h"
#include "api/cts/record.h"
#include "api/cts/shrink.h"
#include "api/cts/trial.h"

namespace oarlock::cts {
namespace {

Operand counting(std::vector<int64_t> shape, DType dtype = DType::f32) {
  Operand o;
  o.shape = std::move(shape);
  o.dtype = dtype;
  o.bytes.resize(size_t(size_bytes(dtype, uint64_t(o.count()))));
  for (int64_t i = 0; i < o.count(); ++i) put_number(o.bytes.data(), dtype, i, double(i + 1));
  return o;
}

Recorded call_of(const std::string& op, std::vector<Operand> inputs) {
  Recorded r;
  r.op = op;
  r.plugin = "toy";
  r.path = "/nowhere/libtoy.so";
  r.device = "cpu";
  r.route = "kernel";
  r.draw.inputs = std::move(inputs);
  for (const OpAttribute& a : op_info(op).attributes) {
    AttrValue v;
    v.type = a.default_value.type;
    v.is_set = a.default_value.is_set;
    v.i = v.type == OAR_ATTR_INT || v.type == OAR_ATTR_BOOL ? a.default_value.value.i : 0;
    r.draw.attrs.push_back(v);
  }
  return r;
}

// The tensor of an operand with strides has these strides and the operand's elements.
void expect_lies(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  Operand o = counting(shape);
  o.strides = strides;
  if (std::find(strides.begin(), strides.end(), 0) != strides.end())  // what repeats is the same everywhere
    for (int64_t i = 0; i < o.count(); ++i) put_number(o.bytes.data(), o.dtype, i, double(i % o.shape.back()));
  ASSERT_TRUE(strided_block(o));
  Random random(1);
  Tensor t = make_tensor(o, Device(), Layout::contiguous, random);
  ASSERT_EQ(t.shape(), Shape(shape));
  for (size_t i = 0; i < shape.size(); ++i) EXPECT_TRUE(shape[i] <= 1 || t.strides()[i] == strides[i]) << i;
  std::vector<uint8_t> got(o.bytes.size());
  t.copy_to_host(got.data());
  EXPECT_EQ(got, o.bytes);
}

TEST(Layout, IsThatOfTheCapturedOperand) {
  expect_lies({3, 4}, {1, 3});         // turned
  expect_lies({3, 4}, {10, 1});        // rows of a wider matrix
  expect_lies({3, 4}, {8, 2});         // every second element
  expect_lies({2, 3, 4}, {12, 1, 3});  // two axes turned
  expect_lies({2, 3, 4}, {1, 2, 6});   // all of them
  expect_lies({5, 4}, {0, 1});         // one row, five times
  expect_lies({2, 1, 3}, {7, 99, 2});  // an axis of one has no stride
}

TEST(Layout, OverlappingWindowsCantBeMade) {
  Operand o = counting({4, 3});
  o.strides = {1, 1};
  EXPECT_FALSE(strided_block(o));
}

// Wrong is whatever has five terms or more and a negative number somewhere.
TEST(Shrink, KeepsOnlyWhatIsNeeded) {
  Recorded call = call_of("matmul", {counting({3, 6, 9}), counting({3, 9, 7})});
  put_number(call.draw.inputs[0].bytes.data(), DType::f32, 100, -3.75);
  auto holds = [](const Recorded& c) {
    const Operand& a = c.draw.inputs[0];
    bool negative = false;
    for (int64_t i = 0; i < a.count(); ++i) negative |= get_number(a.bytes.data(), a.dtype, i) < 0;
    return a.shape.back() >= 5 && negative;
  };
  Shrunk s = shrink(call, holds, 30);
  EXPECT_EQ(s.call.draw.inputs[0].shape, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(s.call.draw.inputs[1].shape, (std::vector<int64_t>{5, 1}));
  double sum = 0;
  for (int64_t i = 0; i < 5; ++i) sum += get_number(s.call.draw.inputs[0].bytes.data(), DType::f32, i);
  EXPECT_EQ(sum, -4) << "one number is left, and it is whole";
  EXPECT_GT(s.taken, 3);
}

TEST(Shrink, TakesAwayOptionalOperandsAndAttributes) {
  Recorded call = call_of("clip", {counting({4})});
  Schema schema(op_info("clip"));
  for (size_t i = 1; i < schema.info.inputs.size(); ++i) call.draw.inputs.push_back(counting({}));
  Shrunk s = shrink(
      call, [](const Recorded& c) { return c.draw.inputs[0].count() >= 2; }, 30);
  EXPECT_EQ(s.call.draw.inputs[0].shape, (std::vector<int64_t>{2}));
  for (size_t i = 1; i < s.call.draw.inputs.size(); ++i)
    EXPECT_FALSE(schema.input(i).optional && s.call.draw.inputs[i].present) << i;
}

TEST(Record, ComesBackAsItWas) {
  char path[] = "/tmp/oarlock-record-XXXXXX";
  int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  Recorded call = call_of("softmax", {counting({2, 3}, DType::bf16)});
  call.draw.inputs[0].strides = {1, 2};
  call.results.push_back({Shape({2, 3}), DType::bf16, call.draw.inputs[0].bytes});
  call.results.emplace_back();
  ASSERT_TRUE(write_record(file, call));
  ASSERT_TRUE(write_record(file, call));
  ::lseek(file, 0, SEEK_SET);
  Reader reader(file);
  for (int i = 0; i < 2; ++i) {
    auto back = reader.next();
    ASSERT_TRUE(back);
    EXPECT_EQ(back->op, "softmax");
    EXPECT_EQ(back->draw.inputs[0].bytes, call.draw.inputs[0].bytes);
    EXPECT_EQ(back->draw.inputs[0].strides, call.draw.inputs[0].strides);
    EXPECT_EQ(back->draw.attrs[0].to_string(), call.draw.attrs[0].to_string());
    ASSERT_EQ(back->results.size(), 2u);
    EXPECT_EQ(back->results[0].bytes, call.results[0].bytes);
    EXPECT_EQ(back->results[1].dtype, DType::none);
  }
  EXPECT_FALSE(reader.next());
  ::close(file);
  ::unlink(path);
}

TEST(Record, WhatIsNoneIsRefused) {
  for (const char* text :
       {"no json\n", "{\"attributes\":[],\"operands\":[{\"dtype\":\"f32\",\"shape\":[-1],\"bytes\":4}]}\nabcd",
        "{\"attributes\":[],\"operands\":[{\"dtype\":\"f32\",\"shape\":[2],\"bytes\":4}]}\nabcd",
        "{\"attributes\":[],\"operands\":[{\"dtype\":\"f32\",\"shape\":[1],\"bytes\":4}],\"results\":[]}\nab",
        "{\"attributes\":3}\n", "[]\n", "half a line"}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], text, strlen(text)), ssize_t(strlen(text)));
    ::close(ends[1]);
    Reader reader(ends[0]);
    EXPECT_THROW(reader.next(), std::runtime_error) << text;
    ::close(ends[0]);
  }
}

TEST(Judge, KnowsRightFromWrong) {
  Operand a = counting({2, 3}), b = counting({3, 2});
  Recorded call = call_of("matmul", {a, b});
  Schema schema(op_info("matmul"));
  HostTensor right{Shape({2, 2}), DType::f32, std::vector<uint8_t>(16)};
  double want[] = {22, 28, 49, 64};
  for (int64_t i = 0; i < 4; ++i) put_number(right.bytes.data(), DType::f32, i, want[i]);
  EXPECT_FALSE(judge(schema, call.draw, {right}).wrong);
  put_number(right.bytes.data(), DType::f32, 3, 64.1);
  Judged j = judge(schema, call.draw, {right});
  ASSERT_TRUE(j.wrong);
  EXPECT_EQ(j.wrong->substr(0, 36), "element [1, 1] is 64.0999985, want 6");
  EXPECT_EQ(j.oracle.tolerance.reads, 6);  // three of each operand
  std::string c = c_program(call, j.oracle, *j.wrong);
  EXPECT_NE(c.find("static const float a_values[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};"), c.npos) << c;
}

}  // namespace
}  // namespace oarlock::cts
