// What our own ops don't use yet, on ops made for the test: versions, sizes known only afterwards, outputs whose number the
// call decides, and .saves that forget something.
#include <gtest/gtest.h>

#include <oarlock/base/autograd.h>
#include <oarlock/base/op.h>
#include <oarlock/base/ops.h>

#include "core/dispatch/call.h"
#include "core/op/calls.h"
#include "core/op/element.h"
#include "tests/core/op/infer_run.h"

namespace oarlock::op {
namespace {

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out(size_t(t.element_count()));
  if (!out.empty()) cast(t, DType::f64).copy_to_host(out.data());
  return out;
}
using Values = std::vector<double>;
void add_once(MadeOp& m) {
  Result<OpId> id = register_op(&m.def);
  ASSERT_TRUE(id.ok()) << id.status().text();
}

// Version 1 had "factor" alone and meant (x - 1) * factor; version 2 means x * factor + shift.
const OpDef& affine() {
  static MadeOp m("made_affine");
  m.def.version = 2;
  m.def.inputs = {{"x", "[...]"}};
  m.def.outputs = {{"out", "[...]"}};
  m.def.types = {{"T", kFloat}};
  m.def.attributes = {real("factor"), real("shift", 0).from_version(2)};
  m.def.no_gradient = nullptr;
  m.def.reference = nullptr;
  m.def.decompose = +[](RuleCall& c) {
    auto number = [&](double v) { return full({}, v, c.in(0).dtype()); };
    c.set(0, add(multiply(c.in(0), number(c.attrs.real(0))), number(c.attrs.real(1))));
  };
  m.def.upgrade = +[](UpgradeCall& c) {
    EXPECT_EQ(c.from, 1);
    oar_attr_t now[] = {attr_real(c.attrs.real(0)), attr_real(-c.attrs.real(0))};
    c.set(0, call_op("made_affine", c.inputs, now)[0]);
  };
  static bool once = (add_once(m), true);
  (void)once;
  return m.def;
}

TEST(Versions, OldCallsMeanWhatTheyMeant) {
  affine();
  std::vector<Tensor> x{Tensor::of<double>({1, 2, 5}, {3})};
  oar_attr_t old[] = {attr_real(10)}, today[] = {attr_real(10), attr_real(1)};
  EXPECT_EQ(numbers(call_op("made_affine", x, old)[0]), (Values{10, 20, 50})) << "today's, with its default";
  EXPECT_EQ(numbers(call_op("made_affine", x, today)[0]), (Values{11, 21, 51}));
  EXPECT_EQ(numbers(call_op("made_affine", x, old, {.version = 1})[0]), (Values{0, 10, 40}));
  EXPECT_EQ(numbers(call_op("made_affine", x, today, {.version = 2})[0]), (Values{11, 21, 51}));
  EXPECT_THROW(call_op("made_affine", x, today, {.version = 3}), Error);
  EXPECT_EQ(op_info("made_affine").attributes.at(1).since, 2);
}

TEST(Versions, UpgradedCallsAreDifferentiated) {
  affine();
  Tensor x = Tensor::of<double>({1, 2}, {2}).set_requires_grad();
  oar_attr_t old[] = {attr_real(10)};
  sum(call_op("made_affine", std::vector<Tensor>{x}, old, {.version = 1})[0]).backward();
  EXPECT_EQ(numbers(x.grad()), (Values{10, 10}));
}

TEST(UnknownSizes, TheKernelAllocates) {
  static MadeOp m("made_nonzero");
  m.def.inputs = {{"x", "[*S]"}};
  m.def.outputs = {{"out", "i64[?N, #S]"}};
  m.def.reference = +[](KernelCall& c) {
    const oar_view_t& x = c.in(0);
    int64_t n = 0;
    for (Walk w(x); w.more(); w.next()) n += load<double>(x, offset(x, w.index, x.n_dims)) != 0;
    const oar_view_t* out = c.allocate(0, {n, x.n_dims});
    if (!out) return;
    int64_t row = 0;
    for (Walk w(x); w.more(); w.next()) {
      if (load<double>(x, offset(x, w.index, x.n_dims)) == 0) continue;
      for (int i = 0; i < x.n_dims; ++i) store<int64_t>(*out, row * out->strides[0] + i * out->strides[1], w.index[i]);
      ++row;
    }
  };
  add_once(m);
  Tensor x = Tensor::of<float>({0, 3, 0, 4, 5, 0}, {2, 3});
  Tensor places = call_op("made_nonzero", std::vector<Tensor>{x})[0];
  EXPECT_EQ(to_string(places.shape()), "[3, 2]");
  EXPECT_EQ(numbers(places), (Values{0, 1, 1, 0, 1, 1}));
  x = Tensor::of<float>({0, 0, 0, 0, 0, 9}, {2, 3});
  EXPECT_EQ(numbers(call_op("made_nonzero", std::vector<Tensor>{x})[0]), (Values{1, 2}))
      << "the same signature, another size";
  EXPECT_EQ(to_string(call_op("made_nonzero", std::vector<Tensor>{Tensor::of<float>({0}, {1})})[0].shape()), "[0, 1]");
}

TEST(VariadicOutputs, TheRuleSaysHowMany) {
  static MadeOp m("made_split");
  m.def.inputs = {{"x", "[*_]"}};
  m.def.outputs = {{"parts", "[*_]", variadic}};
  m.def.attributes = {dims("sizes"), axis("axis", 0)};
  m.def.no_gradient = nullptr;
  m.def.reference = nullptr;
  m.def.infer = +[](InferCall& c) {
    auto sizes = c.attrs.dims(0);
    Dim total = 0;
    for (Dim d : sizes) total = total + d;
    if (!c.agree(c.in[0]->d[c.attrs.integer(1)], total, "sizes", -1, -1)) return;
    c.out_count = int(sizes.size());
    for (int i = 0; i < c.out_count; ++i) {
      c.out[i] = *c.in[0];
      c.out[i].d[c.attrs.integer(1)] = sizes[size_t(i)];
      c.out_type[i] = c.in_type[0];
    }
  };
  m.def.decompose = +[](RuleCall& c) {
    Shape starts, sizes = c.in(0).shape();
    for (int i = 0; i < sizes.rank; ++i) starts.push(0);
    int64_t a = c.attrs.integer(1);
    for (size_t i = 0; i < c.attrs.dims(0).size(); ++i) {
      sizes.d[a] = c.attrs.dims(0)[i];
      c.set(int(i), slice(c.in(0), starts, sizes));
      starts.d[a] = starts.d[a] + sizes[int(a)];
    }
  };
  add_once(m);
  Tensor x = Tensor::of<double>({1, 2, 3, 4, 5}, {5}).set_requires_grad();
  Shape sizes{2, 0, 3}, wrong{2, 2};
  oar_attr_t attrs[] = {attr_dims(sizes)}, bad[] = {attr_dims(wrong)};
  auto parts = call_op("made_split", std::vector<Tensor>{x}, attrs);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(numbers(parts[0]), (Values{1, 2}));
  EXPECT_EQ(numbers(parts[1]), (Values{}));
  EXPECT_EQ(numbers(parts[2]), (Values{3, 4, 5}));
  sum(multiply(parts[2], parts[2])).backward();
  EXPECT_EQ(numbers(x.grad()), (Values{0, 0, 6, 8, 10}));
  try {
    call_op("made_split", std::vector<Tensor>{x}, bad);
    FAIL();
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "made_split: sizes disagrees: 4, not 5; expects x [*_]."); }
}

TEST(Saves, WhatWasNotNamedIsGone) {
  static MadeOp m("made_forgetful");
  m.def.inputs = {{"x", "[...]"}};
  m.def.outputs = {{"out", "[...]"}};
  m.def.types = {{"T", kFloat}};
  m.def.no_gradient = nullptr;
  m.def.gradient = +[](GradientCall& c) { c.set(0, multiply(c.dout(0), c.in(0))); };
  m.def.reference = +[](KernelCall& c) {
    for (Walk w(c.out(0)); w.more(); w.next()) store<double>(c.out(0), offset(c.out(0), w.index, c.out(0).n_dims), 1);
  };
  add_once(m);
  Tensor x = Tensor::of<double>({1, 2}, {2}).set_requires_grad();
  Tensor y = sum(call_op("made_forgetful", std::vector<Tensor>{x})[0]);
  try {
    y.backward();
    FAIL() << "x was not saved";
  } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find(".saves"), std::string::npos) << e.what(); }
}

// A hidden output is made only for the gradient, and the gradient can read it.
TEST(Hidden, IsAbsentWhenNobodyDifferentiates) {
  static MadeOp m("made_hidden");
  static int made = 0;
  m.def.inputs = {{"x", "[...]"}};
  m.def.outputs = {{"out", "[...]"}, {"slope", "[...]", hidden}};
  m.def.types = {{"T", kFloat}};
  m.def.no_gradient = nullptr;
  m.def.saves = {{"slope"}};
  m.def.gradient = +[](GradientCall& c) { c.set(0, multiply(c.dout(0), c.out(1))); };
  m.def.reference = +[](KernelCall& c) {  // out = x^2, slope = 2 x
    const oar_view_t& x = c.in(0);
    for (Walk w(x); w.more(); w.next()) {
      double v = load<double>(x, offset(x, w.index, x.n_dims));
      store<double>(c.out(0), offset(c.out(0), w.index, x.n_dims), v * v);
      if (c.outputs[1]) store<double>(c.out(1), offset(c.out(1), w.index, x.n_dims), 2 * v);
    }
    made += c.outputs[1] != nullptr;
  };
  add_once(m);
  Tensor x = Tensor::of<double>({3, -1}, {2});
  EXPECT_EQ(numbers(call_op("made_hidden", std::vector<Tensor>{x})[0]), (Values{9, 1}));
  EXPECT_EQ(made, 0);
  x.set_requires_grad();
  sum(call_op("made_hidden", std::vector<Tensor>{x})[0]).backward();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(numbers(x.grad()), (Values{6, -2}));
}

}  // namespace
}  // namespace oarlock::op
