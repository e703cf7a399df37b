// Graph plugins and the core: claims judged, groups compiled and launched between what the host runs, blobs kept and refused.
// The npu does it right; odd_graph does wrong what it is told to.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include <oarlock/base/op.h>

#include "core/dispatch/recorder.h"
#include "core/graph/compiled_group.h"
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

DeviceState& npu() {
  Result<PluginInfo> p = load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/npu/liboarlock_npu.so");
  throw_if(p.status());
  return *device_named("npu");
}
struct Odd {
  explicit Odd(const char* mode) {
    throw_if(load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/abi/odd_graph/libodd_graph.so").status());
    setenv("OARLOCK_ODD_GRAPH", mode, 1);
  }
  ~Odd() { unsetenv("OARLOCK_ODD_GRAPH"); }
};

std::vector<std::string> ops_of(const Program& p, const Group& g) {
  std::vector<std::string> out;
  for (int n : g.nodes) out.push_back(p.body.nodes[size_t(n)].def().def->name);
  return out;
}
std::string all_text(const Program& p, const Claims& c) {
  std::string out;
  for (const Refusal& r : c.refusals) out += to_text(p.body, r) + "\n";
  return out;
}

// Runs a program with groups by hand: a group once all its inputs are there, other nodes by dispatch on the host.
std::vector<Tensor> run_mixed(const Program& p, const Claims& claims, const std::vector<Tensor>& inputs,
                              Device device) {
  std::vector<std::unique_ptr<CompiledGroup>> compiled;
  std::vector<int> owner(p.body.nodes.size(), -1);
  for (const Group& g : claims.groups) {
    Result<std::unique_ptr<CompiledGroup>> made = CompiledGroup::compile(p, p.body, g);
    throw_if(made.status());
    for (int n : g.nodes) owner[size_t(n)] = int(compiled.size());
    compiled.push_back(std::move(*made));
  }
  std::map<ValueId, Tensor> have;
  for (size_t i = 0; i < inputs.size(); ++i) have[p.body.parameters[i]] = inputs[i];
  auto value = [&](ValueId v) {
    Kind k = p[v].kind;
    return k == Kind::constant || k == Kind::state ? p[v].data.detach() : have.contains(v) ? have[v] : Tensor();
  };
  auto ready = [&](const std::vector<ValueId>& list) {
    return std::all_of(list.begin(), list.end(), [&](ValueId v) { return v == kNone || value(v).defined(); });
  };
  auto launch = [&](const Group& g, CompiledGroup& c) {
    std::vector<Tensor> in, out;
    std::vector<const oar_view_t*> in_views, out_views;
    for (ValueId v : g.ends.inputs) in.push_back(value(v).to(device).contiguous());
    for (const GroupOperand& o : c.outputs()) out.push_back(Tensor::empty(o.shape, o.dtype, device));
    for (const Tensor& t : in) in_views.push_back(&t.impl()->view);
    for (const Tensor& t : out) out_views.push_back(&t.impl()->view);
    throw_if(c.launch(in_views, out_views, current_stream(device_at(device.index()))));
    for (size_t i = 0; i < out.size(); ++i) have[g.ends.outputs[i]] = out[i].to(Device());
  };
  std::vector<char> done(p.body.nodes.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < p.body.nodes.size(); ++i) {
      const Node& n = p.body.nodes[i];
      if (done[i]) continue;
      if (owner[i] >= 0) {
        const Group& g = claims.groups[size_t(owner[i])];
        if (!ready(g.ends.inputs)) continue;
        launch(g, *compiled[size_t(owner[i])]);
        for (int node : g.nodes) done[size_t(node)] = 1;
      } else {
        if (!ready(n.inputs)) continue;
        std::vector<Tensor> in;
        for (ValueId v : n.inputs) in.push_back(v == kNone ? Tensor() : value(v));
        op::Attrs a = n.attrs.view();
        std::vector<Tensor> out = call_op(n.def().def->name, in, std::vector<oar_attr_t>(a.v, a.v + a.n));
        for (size_t k = 0; k < out.size() && k < n.outputs.size(); ++k)
          if (n.outputs[k] != kNone) have[n.outputs[k]] = out[k];
        done[i] = 1;
      }
      moved = true;
    }
  }
  std::vector<Tensor> results;
  for (ValueId v : p.body.results) results.push_back(value(v));
  return results;
}

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(got[i].defined()) << "result " << i << " was never made";
    ASSERT_EQ(to_string(got[i].shape()), to_string(want[i].shape()));
    Tensor a = got[i].contiguous(), b = want[i].contiguous();
    for (int64_t k = 0; k < a.element_count(); ++k)
      ASSERT_NEAR(a.data_as<float>()[k], b.data_as<float>()[k], tolerance) << "result " << i << ", element " << k;
  }
}

// Half of it the npu's: gelu and layer_norm are not.
struct Mixed {
  Tensor w = uniform({6, 3, 3, 3}, 1), b = uniform({6}, 2), v = uniform({54, 10}, 3), s = uniform({6, 1, 1}, 4);
  std::vector<Tensor> operator()(std::span<const Tensor> x) const {
    Tensor h = add(multiply(conv(x[0], w, b), s), s);
    h = max_pool(relu(h), {2, 2}, {2, 2});
    h = gelu(h);
    Tensor y = matmul(reshape(h, {x[0].shape()[0], 54}), v);
    Tensor z = layer_norm(y, Tensor(), Tensor());
    return {softmax(add(y, z), 1), permute(y, {1, 0}), h};
  }
};

TEST(Claim, HalfOnTheNpuHalfOnTheHost) {
  DeviceState& d = npu();
  Mixed mixed;
  Program p = capture(mixed, {{{"2", "3", "8", "8"}}});
  Claims c = claim(p, p.body, d);
  ASSERT_EQ(c.groups.size(), 3u) << all_text(p, c);
  EXPECT_EQ(ops_of(p, c.groups[0]), (std::vector<std::string>{"conv", "multiply", "add", "relu", "max_pool"}));
  EXPECT_EQ(ops_of(p, c.groups[1]), (std::vector<std::string>{"reshape", "matmul", "permute"}));
  EXPECT_EQ(ops_of(p, c.groups[2]), (std::vector<std::string>{"add", "softmax"}));
  for (const Group& g : c.groups) EXPECT_GT(g.cost_ns, 0u);
  EXPECT_EQ(c.refusals.size(), 2u);
  EXPECT_NE(all_text(p, c).find("npu: its graph table does not have this op"), std::string::npos) << all_text(p, c);
  std::vector<Tensor> x{uniform({2, 3, 8, 8}, 9)};
  expect_near(run_mixed(p, c, x, Device(d.index)), mixed(x), 1e-5);
}

TEST(Claim, AGroupHasItsEndsInOrder) {
  Program p = capture(
      [](std::span<const Tensor> x) {
        Tensor a = add(x[1], x[0]), b = multiply(a, x[1]);
        return std::vector<Tensor>{b, a};
      },
      {{{"2", "3"}}, {{"2", "3"}}});
  Claims c = claim(p, p.body, npu());
  ASSERT_EQ(c.groups.size(), 1u);
  const Ends& e = c.groups[0].ends;
  EXPECT_EQ(e.inputs, (std::vector<ValueId>{p.body.parameters[1], p.body.parameters[0]}));
  EXPECT_EQ(e.outputs, (std::vector<ValueId>{p.body.nodes[0].outputs[0], p.body.nodes[1].outputs[0]}));
  EXPECT_TRUE(e.constants.empty());
}

TEST(Claim, ConstantsAreCopiedAtCompile) {
  Tensor two = Tensor::of<float>({2, 2, 2, 2, 2}, {5});
  Program p = capture([&](std::span<const Tensor> x) { return std::vector<Tensor>{add(relu(x[0]), two)}; }, {{{"5"}}});
  for (Value& v : p.values)
    if (v.kind == Kind::state) v.kind = Kind::constant;
  Claims c = claim(p, p.body, npu());
  ASSERT_EQ(c.groups.size(), 1u) << all_text(p, c);
  EXPECT_EQ(c.groups[0].ends.constants.size(), 1u);
  EXPECT_EQ(c.groups[0].ends.inputs, p.body.parameters);
  std::vector<Tensor> x{Tensor::of<float>({-1, 0, 1, 2, 3}, {5})};
  expect_near(run_mixed(p, c, x, Device(npu().index)), {Tensor::of<float>({2, 2, 3, 4, 5}, {5})}, 0);
}

TEST(Claim, BytesWrapAsOnTheHost) {
  auto f = [](std::span<const Tensor> x) {
    Tensor y = matmul(x[0], x[1]);
    return std::vector<Tensor>{add(cast(y, DType::i32), cast(maximum(y, y), DType::i32)), multiply(y, y)};
  };
  Program p = capture(f, {{{"3", "4"}, DType::i8}, {{"4", "5"}, DType::i8}});
  Claims c = claim(p, p.body, npu());
  ASSERT_EQ(c.groups.size(), 1u) << all_text(p, c);
  EXPECT_EQ(c.groups[0].nodes.size(), p.body.nodes.size());
  std::vector<Tensor> in{cast(uniform({3, 4}, 1, -128, 127), DType::i8),
                         cast(uniform({4, 5}, 2, -128, 127), DType::i8)};
  expect_same(run_mixed(p, c, in, Device(npu().index)), f(in), "npu");
}

TEST(Claim, EachRefusalSaysWhy) {
  Program p = capture(
      [](std::span<const Tensor> x) {
        Tensor wide = reshape(x[0], {2, 2, 2, 2, 1});
        return std::vector<Tensor>{relu(wide), add(cast(x[0], DType::f64), cast(x[0], DType::f64)),
                                   max_pool(reshape(x[0], {1, 1, 4, 4}), {3, 3}, {2, 2}, {0, 0}, {1, 1}, true),
                                   exp(x[1])};
      },
      {{{"16"}}, {{"N"}}});
  Claims c = claim(p, p.body, npu());
  std::string text = all_text(p, c);
  EXPECT_NE(text.find("it has rank 5, the npu takes 4"), std::string::npos) << text;
  EXPECT_NE(text.find("its graph table does not take f64 in this op"), std::string::npos) << text;
  EXPECT_NE(text.find("ceil_mode is not there on the npu"), std::string::npos) << text;
  EXPECT_NE(text.find("is known only while it runs"), std::string::npos) << text;
  size_t refused = c.refusals.size();
  for (const Group& g : c.groups) refused += g.nodes.size();
  EXPECT_EQ(refused, p.body.nodes.size()) << text;
}

TEST(Claim, AWriteIsNotCrossed) {
  Odd odd("all");
  Tensor state = uniform({4}, 1);
  Program p = capture(
      [&](std::span<const Tensor> x) {
        Tensor before = exp(state);
        assign(state, x[0]);
        return std::vector<Tensor>{add(before, exp(state))};
      },
      {{{"4"}}});
  Claims c = claim(p, p.body, host_device());
  EXPECT_TRUE(c.groups.empty());
  EXPECT_NE(all_text(p, c).find("(assign) has to run after some of them and before others"), std::string::npos)
      << all_text(p, c);
}

struct Oddity {
  const char *mode, *text;
};
class OddClaim : public testing::TestWithParam<Oddity> {};
TEST_P(OddClaim, IsDroppedWithAReason) {
  Odd odd(GetParam().mode);
  Program p =
      capture([](std::span<const Tensor> x) { return std::vector<Tensor>{exp(sin(exp(x[0])))}; }, {{{"2", "3"}}});
  Claims c = claim(p, p.body, host_device());
  std::string text = all_text(p, c);
  EXPECT_NE(text.find(GetParam().text), std::string::npos) << text;
  for (const Group& g : c.groups) EXPECT_EQ(g.nodes, std::vector<int>{0});
  EXPECT_LT(c.refusals.size(), 20u);
}
INSTANTIATE_TEST_SUITE_P(
    Of, OddClaim,
    testing::Values(Oddity{"all", "node 1 (sin) has to run after some of them and before others"},
                    Oddity{"overlaps", "node 0 (exp) is in a group of odd_graph already"},
                    Oddity{"out_of_range", "it names node 3, there are 3"},
                    Oddity{"names_one_twice", "it names node 0 (exp) twice"},
                    Oddity{"too_many", "a group of 4294967295 nodes is dropped: there are 3 nodes"},
                    Oddity{"takes_what_it_can_not_read", "node 1 (sin): its graph table does not have this op"},
                    Oddity{"floods", "it took more groups than there are nodes"},
                    Oddity{"floods", "it refused node 8 of 3"}, Oddity{"refuses", "it gave no reason"},
                    Oddity{"fails_in_claim", "the compiler is not installed (its code 7)"}));

class OddCompile : public testing::TestWithParam<Oddity> {};
TEST_P(OddCompile, IsRefusedWithASentence) {
  Odd odd(GetParam().mode);
  Program p = capture([](std::span<const Tensor> x) { return std::vector<Tensor>{exp(x[0])}; }, {{{"2", "3"}}});
  Claims c = claim(p, p.body, host_device());
  ASSERT_EQ(c.groups.size(), 1u) << all_text(p, c);
  Result<std::unique_ptr<CompiledGroup>> g = CompiledGroup::compile(p, p.body, c.groups[0]);
  ASSERT_FALSE(g);
  EXPECT_NE(g.status().text().find(GetParam().text), std::string::npos) << g.status().text();
  EXPECT_NE(g.status().text().find("odd_graph"), std::string::npos) << g.status().text();
}
INSTANTIATE_TEST_SUITE_P(
    Of, OddCompile,
    testing::Values(Oddity{"compile_fails", "the compiler ran out of memory (its code 12)"},
                    Oddity{"compile_refuses", "it has grown too large"},
                    Oddity{"compile_refuses_silently", "it gave no reason"},
                    Oddity{"compile_writes_struct_size", "struct_size 3"},
                    Oddity{"compile_outgrows_the_room", "struct_size 520"},
                    Oddity{"compile_wants_a_huge_workspace", "a workspace of 4611686018427387904 bytes"},
                    Oddity{"compile_wants_a_crooked_workspace", "a workspace aligned to 3 bytes"},
                    Oddity{"compile_wants_another_space", "output 0: it wants memory space 1"},
                    Oddity{"compile_wants_a_layout_of_its_own", "output 0: it answers with a layout of its own"},
                    Oddity{"compile_overlaps_strides", "its strides leave gaps or overlap in [2, 3]"},
                    Oddity{"compile_wants_a_crooked_operand", "an alignment of 48 bytes"},
                    Oddity{"compile_leaves_out_an_input", "it won't read some inputs"}));

TEST(CompiledGroup, AChosenOrderOfAxesIsTheOutputs) {
  Odd odd("compile_turns_the_output");
  Program p = capture([](std::span<const Tensor> x) { return std::vector<Tensor>{exp(x[0])}; }, {{{"2", "3"}}});
  Claims c = claim(p, p.body, host_device());
  ASSERT_EQ(c.groups.size(), 1u);
  Result<std::unique_ptr<CompiledGroup>> g = CompiledGroup::compile(p, p.body, c.groups[0]);
  ASSERT_TRUE(g) << g.status().text();
  EXPECT_EQ((*g)->outputs()[0].strides, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ((*g)->inputs()[0].strides, (std::vector<int64_t>{3, 1}));
  Tensor x = uniform({2, 3}, 1), out = uniform({2, 3}, 1);
  const oar_view_t *in = &x.impl()->view, *to = &out.impl()->view;
  Status wrong = (*g)->launch({&in, 1}, {&to, 1}, nullptr);
  EXPECT_NE(wrong.text().find("output 0 is of stride 3 in axis 0, it was compiled for stride 1"), std::string::npos)
      << wrong.text();
}

TEST(CompiledGroup, ScratchIsReusedByLifetime) {
  Program p = capture(
      [](std::span<const Tensor> x) {
        Tensor h = x[0];
        for (int i = 0; i < 9; ++i) h = tanh(h);
        return std::vector<Tensor>{h};
      },
      {{{"256"}}});
  Claims c = claim(p, p.body, npu());
  Result<std::unique_ptr<CompiledGroup>> g = CompiledGroup::compile(p, p.body, c.groups[0]);
  ASSERT_TRUE(g) << g.status().text();
  EXPECT_EQ((*g)->workspace_bytes(), 2u * 256 * 4);
}

TEST(CompiledGroup, TooMuchScratchIsRefused) {
  Program p =
      capture([](std::span<const Tensor> x) { return std::vector<Tensor>{add(add(relu(x[0]), tanh(x[0])), x[0])}; },
              {{{"3000", "3000"}}});
  Claims c = claim(p, p.body, npu());
  ASSERT_EQ(c.groups.size(), 1u) << all_text(p, c);
  Result<std::unique_ptr<CompiledGroup>> g = CompiledGroup::compile(p, p.body, c.groups[0]);
  ASSERT_FALSE(g);
  EXPECT_EQ(g.status().code(), Code::refused);
  EXPECT_NE(g.status().text().find("bytes of scratch, the npu has 67108864"), std::string::npos) << g.status().text();
}

TEST(CompiledGroup, LaunchChecksItsOperands) {
  DeviceState& d = npu();
  Program p = capture([](std::span<const Tensor> x) { return std::vector<Tensor>{relu(x[0])}; }, {{{"4"}}});
  Claims c = claim(p, p.body, d);
  Result<std::unique_ptr<CompiledGroup>> g = CompiledGroup::compile(p, p.body, c.groups[0]);
  ASSERT_TRUE(g) << g.status().text();
  Stream* s = current_stream(d);
  Tensor good = uniform({4}, 1).to(Device(d.index)), longer = uniform({5}, 1).to(Device(d.index));
  const oar_view_t *ok = &good.impl()->view, *bad = &longer.impl()->view, *none = nullptr;
  EXPECT_EQ((*g)->launch({&bad, 1}, {&ok, 1}, s).text(),
            "group on npu:0: input 0 is f32[5], it was compiled for f32[4].");
  EXPECT_EQ((*g)->launch({&ok, 1}, {&none, 1}, s).text(),
            "group on npu:0: output 0 is missing, it was compiled for f32[4].");
  EXPECT_EQ((*g)->launch({}, {&ok, 1}, s).text(), "group on npu:0: given 0 inputs and 1 outputs, it has 1 and 1.");
}

struct Saved {
  Mixed mixed;
  Program p = capture(mixed, {{{"2", "3", "8", "8"}}});
  Claims c = claim(p, p.body, npu());
  std::unique_ptr<CompiledGroup> group = CompiledGroup::compile(p, p.body, c.groups[0]).take();
  std::string blob = group->save("mixed/0").take();
};

TEST(GroupBlob, ComesBackTheSame) {
  Saved s;
  EXPECT_EQ(check_blob(s.group->pack(), s.blob, "mixed/0").answer, BlobVerdict::ok);
  Result<std::unique_ptr<CompiledGroup>> g = CompiledGroup::load(s.group->pack(), s.blob, "mixed/0");
  ASSERT_TRUE(g) << g.status().text();
  EXPECT_EQ((*g)->save("mixed/0").take(), s.blob);
  Device device(npu().index);
  std::vector<Tensor> in;
  for (const GroupOperand& o : s.group->inputs()) in.push_back(uniform(o.shape, int64_t(in.size())).to(device));
  std::vector<std::string> results;
  for (CompiledGroup* each : {s.group.get(), g->get()}) {
    Tensor out = Tensor::empty(each->outputs()[0].shape, DType::f32, device);
    std::vector<const oar_view_t*> views;
    for (const Tensor& t : in) views.push_back(&t.impl()->view);
    const oar_view_t* to = &out.impl()->view;
    Status done = each->launch(views, {&to, 1}, current_stream(npu()));
    ASSERT_TRUE(done.ok()) << done.text();
    results.push_back(bytes(out));
  }
  EXPECT_TRUE(results[0] == results[1]);
}

TEST(GroupBlob, EveryTruncationIsRefused) {
  Saved s;
  for (size_t n = 0; n < s.blob.size(); n += n < 4096 ? 1 : 97) {
    std::string_view part(s.blob.data(), n);
    BlobVerdict v = check_blob(s.group->pack(), part, "mixed/0");
    ASSERT_EQ(v.answer, BlobVerdict::refused) << n;
    ASSERT_FALSE(v.text.empty()) << n;
  }
  Result<std::unique_ptr<CompiledGroup>> g =
      CompiledGroup::load(s.group->pack(), std::string_view(s.blob).substr(0, 100), "mixed/0");
  ASSERT_FALSE(g);
  EXPECT_EQ(g.status().code(), Code::refused);
  EXPECT_NE(g.status().text().find("it has 100 bytes, it says "), std::string::npos) << g.status().text();
}

TEST(GroupBlob, EveryChangedByteIsNoticed) {
  Saved s;
  for (size_t at = 0; at < s.blob.size(); at += at < 2048 ? 1 : 131) {
    std::string bad = s.blob;
    bad[at] = char(bad[at] ^ 0x10);
    ASSERT_EQ(check_blob(s.group->pack(), bad, "mixed/0").answer, BlobVerdict::refused) << at;
  }
}

TEST(GroupBlob, OfAnotherProgramIsCompiledAgain) {
  Saved s;
  BlobVerdict v = check_blob(s.group->pack(), s.blob, "another");
  EXPECT_EQ(v.answer, BlobVerdict::recompile);
  EXPECT_EQ(v.text, "blob: it is of another program. Compile it again.");
}

}  // namespace
}  // namespace oarlock::graph
