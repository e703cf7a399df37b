#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <oarlock/oarlock.h>

#include "core/dispatch/entry.h"
#include "core/op/calls.h"
#include "core/op/element.h"
#include "core/op/table.h"

namespace oarlock {
namespace {

// ---- ops of the test's own: what no op of the house has yet ----------------------------------------------------------

// Version 2 of "test_scale" brought `by`; version 1 always doubled. Its hidden output is what the gradient reads.
int hidden_made = 0;
void scale_gradient(op::GradientCall& c) { c.set(0, multiply(c.dout(0), c.out(1))); }
void scale_reference(op::KernelCall& c) {
  for (op::Walk w(c.out(0)); w.more(); w.next()) {
    double x = op::load<double>(c.in(0), op::offset(c.in(0), w.index, c.out(0).n_dims));
    op::store<double>(c.out(0), op::offset(c.out(0), w.index, c.out(0).n_dims), x * c.attrs.real(0));
    if (c.outputs[1]) op::store<double>(c.out(1), op::offset(c.out(1), w.index, c.out(1).n_dims), c.attrs.real(0));
  }
  hidden_made += c.outputs[1] != nullptr;
}
void scale_upgrade(op::UpgradeCall& c) {
  oar_attr_t by = op::attr_real(2);
  c.set(0, call_op("test_scale", c.inputs, {&by, 1})[0]);
}
constexpr op::OpDef make_scale() {
  op::OpDef d;
  d.name = "test_scale";
  d.version = 2;
  d.summary = "x times a number.";
  d.source = "this test";
  d.inputs = {{"x", "[*S]"}};
  d.outputs = {{"out", "[*S]"}, {"factor", "[*S]", op::hidden}};
  d.types = {{"T", kFloat}};
  d.attributes = {op::real("by").from_version(2)};
  d.gradient = scale_gradient;
  d.saves = {{"factor"}};
  d.reference = scale_reference;
  d.upgrade = scale_upgrade;
  d.cases = {{"any", "S=2"}};
  return d;
}
const op::OpDef scale = make_scale();

// Elements above 0: how many there are, only the kernel knows.
void positive_reference(op::KernelCall& c) {
  int64_t n = 0;
  for (op::Walk w(c.in(0)); w.more(); w.next()) n += op::load<double>(c.in(0), op::offset(c.in(0), w.index, 1)) > 0;
  const oar_view_t* out = c.allocate(0, {n});
  if (!out) return;
  n = 0;
  for (op::Walk w(c.in(0)); w.more(); w.next()) {
    double x = op::load<double>(c.in(0), op::offset(c.in(0), w.index, 1));
    if (x > 0) op::store<double>(*out, n++, x);
  }
}
constexpr op::OpDef make_positive() {
  op::OpDef d;
  d.name = "test_positive";
  d.summary = "The elements above 0.";
  d.source = "this test";
  d.inputs = {{"x", "[N]"}};
  d.outputs = {{"out", "[?P]"}};
  d.types = {{"T", kFloat}};
  d.no_gradient = "a test";
  d.reference = positive_reference;
  d.cases = {{"any", "N=2"}};
  return d;
}
const op::OpDef positive = make_positive();

void register_all() {
  static bool once = [] { return op::register_op(&scale).ok() && op::register_op(&positive).ok(); }();
  ASSERT_TRUE(once);
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

// ---- tests -----------------------------------------------------------------------------------------------------------

TEST(Dispatch, MixedDtypesPromoteByTheArrayApi) {
  Tensor i = Tensor::of<int32_t>({1, 2}, {2}), f = Tensor::of<float>({0.5f, 0.25f}, {2});
  EXPECT_EQ(add(i, f).dtype(), DType::f32);
  EXPECT_EQ(add(i, Tensor::of<int8_t>({1, 2}, {2})).dtype(), DType::i32);
  EXPECT_EQ(add(Tensor::of<uint8_t>({1, 2}, {2}), Tensor::of<int8_t>({1, 2}, {2})).dtype(), DType::i16);
  EXPECT_EQ(divide(i, i).dtype(), DType::f32);
  EXPECT_EQ(add(f, Tensor::of<double>({1, 2}, {2})).dtype(), DType::f64);
  EXPECT_FLOAT_EQ(add(i, f).data_as<float>()[1], 2.25f);
}

TEST(Dispatch, ErrorsNameTheOpBothValuesAndTheRemedy) {
  Tensor a = Tensor::empty({2, 3, 4}), b = Tensor::empty({5, 6});
  EXPECT_EQ(error_of([&] { matmul(a, b); }),
            "matmul: K disagrees: a is [2, 3, 4] (K=4), b is [5, 6] (K=5); expects a [..., M, K], b [..., K, N].");
  EXPECT_NE(error_of([&] { add(a, Tensor()); }).find("add: b has no value"), std::string::npos);
  EXPECT_NE(error_of([&] { call_op("add", std::vector<Tensor>{a}); }).find("add: takes 2 operands, given 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { call_op("nothing", std::vector<Tensor>{a}); }).find("there is no \"nothing\""),
            std::string::npos);
  EXPECT_NE(error_of([&] { Device("warp:9"); }).find("There are: cpu"), std::string::npos);
}

TEST(Dispatch, HiddenOutputsAreMadeOnlyForAGradient) {
  register_all();
  oar_attr_t by = op::attr_real(3);
  Tensor x = Tensor::of<double>({1, 2}, {2});
  hidden_made = 0;
  std::vector<Tensor> out = call_op("test_scale", std::vector<Tensor>{x}, {&by, 1});
  EXPECT_EQ(hidden_made, 0);
  EXPECT_EQ(out[0].data_as<double>()[1], 6);
  x.set_requires_grad();
  out = call_op("test_scale", std::vector<Tensor>{x}, {&by, 1});
  EXPECT_EQ(hidden_made, 1);
  sum(out[0]).backward();
  EXPECT_EQ(x.grad().data_as<double>()[0], 3);
  NoGrad off;
  call_op("test_scale", std::vector<Tensor>{x}, {&by, 1});
  EXPECT_EQ(hidden_made, 1);
}

TEST(Dispatch, CallsOfAnOlderVersionAreUpgraded) {
  register_all();
  Tensor x = Tensor::of<double>({1, 2}, {2});
  Tensor old = call_op("test_scale", std::vector<Tensor>{x}, {}, {.version = 1})[0];
  EXPECT_EQ(old.data_as<double>()[1], 4);
  EXPECT_NE(
      error_of([&] { call_op("test_scale", std::vector<Tensor>{x}, {}, {.version = 9}); }).find("newer than this core"),
      std::string::npos);
  EXPECT_NE(error_of([&] { call_op("test_scale", std::vector<Tensor>{x}); }).find("attribute by is missing"),
            std::string::npos);
}

TEST(Dispatch, OutputsOfUnknownSize) {
  register_all();
  Tensor out = call_op("test_positive", std::vector<Tensor>{Tensor::of<float>({-1, 2, 0, 3}, {4})})[0];
  ASSERT_EQ(out.shape(), Shape({2}));
  EXPECT_EQ(out.data_as<float>()[1], 3);
  EXPECT_EQ(call_op("test_positive", std::vector<Tensor>{Tensor::of<float>({-1}, {1})})[0].shape(), Shape({0}));
  EXPECT_EQ(call_op("test_positive", std::vector<Tensor>{Tensor::empty({0})})[0].shape(), Shape({0}));
}

TEST(Dispatch, TheCacheOfAThreadIsBounded) {
  std::thread t([] {  // a fresh thread has a cache of its own
    for (int64_t n = 1; n < 3000; ++n) negative(Tensor::empty({n}));
    size_t entries = 0;
    dispatch::Cache::of_thread().each([&](const dispatch::Entry&) { ++entries; });
    EXPECT_GT(entries, 100u);
    EXPECT_LE(entries, 1024u);
  });
  t.join();
}

TEST(Dispatch, PlacementTellsRouteAndCount) {
  reset_placement();
  Tensor x = Tensor::of<double>({1, -2}, {2});
  for (int i = 0; i < 5; ++i) erf(x);
  relu(x);
  uint64_t erf_calls = 0;
  bool relu_decomposed = false;
  for (const PlacementRow& r : placement()) {
    if (r.op == "erf") {
      erf_calls += r.calls;
      EXPECT_EQ(r.device, "cpu");
    }
    relu_decomposed |= r.op == "relu" && r.route == "decomposition";
  }
  EXPECT_EQ(erf_calls, 5u);
  EXPECT_TRUE(relu_decomposed) << [] {
    std::string all;
    for (const PlacementRow& r : placement()) all += r.op + " " + r.route + " " + r.plugin + " " + r.reason + "\n";
    return all;
  }();
  reset_placement();
  for (const PlacementRow& r : placement()) EXPECT_NE(r.op, "erf");
}

TEST(Dispatch, AssignWritesThroughAViewAndRaisesTheVersion) {
  Tensor base = full({4, 4}, 0);
  Tensor view = slice(base, {1, 1}, {2, 2});
  assign(view, Tensor::of<float>({1, 2, 3, 4}, {2, 2}));
  const float* p = base.data_as<float>();
  EXPECT_EQ(p[5], 1);
  EXPECT_EQ(p[6], 2);
  EXPECT_EQ(p[9], 3);
  EXPECT_EQ(p[10], 4);
  EXPECT_EQ(p[0] + p[4] + p[7] + p[15], 0);
  // J11 of the cases: copying into a non-contiguous view changes only the view.
  Tensor wide = full({8, 6}, 0);
  assign(slice(wide, {0, 0}, {8, 4}), full({8, 4}, 1));
  EXPECT_EQ(sum(wide).item(), 32);
  // Overlap: the value is read before anything is written.
  Tensor row = Tensor::of<float>({1, 2, 3, 4}, {4});
  assign(slice(row, {1}, {3}), slice(row, {0}, {3}));
  EXPECT_EQ(row.data_as<float>()[1], 1);
  EXPECT_EQ(row.data_as<float>()[3], 3);
  EXPECT_NE(error_of([&] { assign(row, full({3}, 0)); }).find("assign:"), std::string::npos);
}

TEST(Dispatch, ManyThreadsAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        Tensor a = full({t + 1, 3}, i), b = full({3}, 1);
        a.set_requires_grad();
        Tensor s = sum(multiply(add(a, b), a));
        s.backward();
        if (s.item() != double(i + 1) * i * 3 * (t + 1) || a.grad().data_as<float>()[0] != 2.f * float(i) + 1) ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Elementwise calls see operands that lie dense in another order of axes as row-major, and answer in that order.
TEST(Order, ChannelsLastGoesThroughElementwiseCalls) {
  Tensor base = reshape(arange(2 * 3 * 4 * 5), {2, 4, 5, 3});  // N, H, W, C in memory
  Tensor x = permute(cast(base, DType::f32), {0, 3, 1, 2});
  ASSERT_EQ(x.strides()[1], 1);
  Tensor bias = reshape(cast(arange(3), DType::f32), {3, 1, 1});
  for (Tensor y : {x + x, x * 2.0, x + bias, bias - x, maximum(x, x), exp(x), cast(x, DType::f64)}) {
    ASSERT_EQ(y.shape(), x.shape());
    EXPECT_TRUE(std::equal(x.strides(), x.strides() + 4, y.strides()));
  }
  Tensor got = (bias - x * x).contiguous(), want = bias - x.contiguous() * x.contiguous();
  ASSERT_TRUE(want.is_contiguous());
  EXPECT_TRUE(std::equal(want.data_as<float>(), want.data_as<float>() + 120, got.data_as<float>()));
  // A select of two dtypes, with a mask in the same order.
  Tensor mask = less(x, full({}, 50, DType::f32));
  Tensor chosen = where(mask, x, bias);
  EXPECT_EQ(chosen.strides()[1], 1);
  EXPECT_EQ(slice(chosen, {1, 2, 3, 4}, {1, 1, 1, 1}).item(), 2);
}

TEST(Order, DisagreementsAndGapsGiveRowMajor) {
  Tensor a = reshape(cast(arange(12), DType::f32), {3, 4});
  Tensor t = matrix_transpose(a), b = reshape(cast(arange(12), DType::f32), {4, 3});
  EXPECT_EQ((t + t).strides()[0], 1);
  EXPECT_TRUE((t + b).is_contiguous());
  Tensor gap = slice(permute(reshape(a, {2, 3, 2}), {2, 1, 0}), {0, 0, 0}, {2, 2, 2});
  EXPECT_TRUE((gap * 2.0).is_contiguous());
  EXPECT_EQ(slice(gap * 2.0, {1, 1, 1}, {1, 1, 1}).item(), 18);
  // Repeated by a stride of 0: not dense.
  EXPECT_TRUE((expand(reshape(a, {12, 1}), {12, 2}) + 1.0).is_contiguous());
}

TEST(Order, AxesOfOneDisturbNothing) {
  Tensor x = permute(reshape(cast(arange(12), DType::f32), {1, 3, 1, 4}), {0, 3, 2, 1});  // [1, 4, 1, 3]
  Tensor y = x + x;
  EXPECT_EQ(y.strides()[1], 1);
  EXPECT_EQ(y.strides()[3], 4);
  EXPECT_EQ(slice(y, {0, 3, 0, 2}, {1, 1, 1, 1}).item(), 22);
}

TEST(Order, ALeafOwnsAGradientThatLiesAsItDoes) {
  Tensor w = full({3, 4}, 2, DType::f32).set_requires_grad();
  Tensor x = matrix_transpose(reshape(cast(arange(12), DType::f32), {4, 3}));
  sum(w * x * x).backward();
  EXPECT_TRUE(w.grad().is_contiguous());
  EXPECT_EQ(w.grad().data_as<float>()[1], 9);  // x[0][1] is 3
}

TEST(Dispatch, ShapesOfRank16AndOverflow) {
  Shape s;
  for (int i = 0; i < 16; ++i) s.push(i == 3 ? 2 : 1);
  Tensor x = full(s, 3);
  EXPECT_EQ(sum(x).item(), 6);
  EXPECT_EQ(add(x, x).shape(), s);
  EXPECT_NE(error_of([&] { full({int64_t(1) << 40, int64_t(1) << 40}, 0); }).find("full"), std::string::npos);
  EXPECT_NE(error_of([&] { full({-3}, 0); }).find("full"), std::string::npos);
  Tensor none = full({0, 5}, 1);
  EXPECT_EQ(sum(none).item(), 0);
  EXPECT_EQ(matmul(full({2, 0}, 1), full({0, 3}, 1)).shape(), Shape({2, 3}));
  EXPECT_EQ(sum(matmul(full({2, 0}, 1), full({0, 3}, 1))).item(), 0);
}

// In a child: the kernel of the plugin would answer the other tests too.
TEST(Dispatch, DeterministicMeansKernelsThatPromiseIt) {
  // The reason for which it refuses; "takes it" if it doesn't. Other tests' plugins may have this op as well.
  auto restless = [] {
    Tensor x = full({3}, 0.5);
    for (const Candidate& c : explain("tanh", std::span(&x, 1)))
      if (c.plugin == "restless") return c.reason.empty() ? std::string("takes it") : c.reason;
    return std::string("is not asked");
  };
  auto check = [&] {
    Result<PluginInfo> p = load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/abi/restless/librestless.so");
    if (!p) return 1;
    if (restless() != "takes it") return 2;
    if (!set_setting("deterministic", "1").ok()) return 3;
    if (restless().find("other bits from run to run") == std::string::npos) return 4;
    if (!set_setting("deterministic", "0").ok() || restless() != "takes it") return 5;
    return 0;
  };
  EXPECT_EXIT(_exit(check()), testing::ExitedWithCode(0), "");
}

// ---- on a device: sim, loaded into this process
Device sim() {
  Result<PluginInfo> p = load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/sim/liboarlock_sim.so");
  throw_if(p.status());
  return Device("sim");
}

TEST(OnADevice, OperandsOfTwoDevicesAreAnErrorWithARemedy) {
  Tensor here = full({3}, 1), there = full({3}, 1).to(sim());
  EXPECT_EQ(error_of([&] { add(here, there); }),
            "add: devices disagree: a is on cpu, b is on sim:0. Move one of them with .to(...). The setting "
            "across_devices=allow copies them by itself.");
  Tensor on_device = Tensor::of<int64_t>({1, 2}, {2}).to(sim());
  EXPECT_NE(error_of([&] { random_uniform(on_device, {3}); }).find("it is a host argument"), std::string::npos);
  EXPECT_NE(error_of([&] { there.data(); }).find("the host can't read memory of sim:0"), std::string::npos);
}

TEST(OnADevice, StridedOperandsAreMadeContiguousWhereTheKernelAsks) {
  Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5}, {2, 3}, sim());
  Tensor product = matmul(permute(x, {1, 0}), x);
  std::vector<float> got(9);
  product.copy_to_host(got.data());
  EXPECT_EQ(got, (std::vector<float>{9, 12, 15, 12, 17, 22, 15, 22, 29}));
  std::vector<float> column(2);
  slice(x, {0, 1}, {2, 1}).copy_to_host(column.data());
  EXPECT_EQ(column, (std::vector<float>{1, 4}));
}

TEST(OnADevice, FallbackFollowsItsPolicy) {
  register_all();
  oar_attr_t by = op::attr_real(3);
  std::vector<Tensor> in{Tensor::of<float>({1, 2}, {2}, sim())};
  auto call = [&] { return call_op("test_scale", in, {&by, 1})[0]; };
  ASSERT_TRUE(set_setting("fallback", "off").ok());
  EXPECT_NE(error_of(call).find("Setting fallback is off"), std::string::npos) << error_of(call);
  ASSERT_TRUE(set_setting("fallback", "erf,log").ok());
  EXPECT_NE(error_of(call).find("allows only: erf,log"), std::string::npos);
  ASSERT_TRUE(set_setting("fallback", "erf,test_scale").ok());
  reset_placement();
  Tensor out = call();
  EXPECT_EQ(out.device(), sim());
  EXPECT_EQ(sum(out).item(), 9);
  bool told = false;
  for (const PlacementRow& r : placement())
    told |= r.op == "test_scale" && r.device == "sim:0" && r.route == "fallback";
  EXPECT_TRUE(told);
  ASSERT_TRUE(set_setting("fallback", "warn").ok());
  EXPECT_EQ(error_of(call), "no error");
  in[0].set_requires_grad();  // a training step must not be slow in secret
  EXPECT_NE(error_of(call).find("While gradients are recorded nothing falls back"), std::string::npos);
}

TEST(OnADevice, AFailureOnTheQueueSurfacesWhereSomebodyWaits) {
  Tensor x = Tensor::of<float>({1, 2, 3}, {3}, sim()), index = Tensor::of<int64_t>({7}, {1}, sim());
  Tensor bad = gather(x, index);  // only the running kernel sees the index
  std::string e = error_of([&] { bad.item(); });
  EXPECT_NE(e.find("sim"), std::string::npos) << e;
  EXPECT_NE(e.find("7"), std::string::npos) << e;
  EXPECT_EQ(sum(x).item(), 6);  // told once, the stream goes on
}

}  // namespace
}  // namespace oarlock
