// Programs as text and as bytes: what is written reads back the same, and damage is an error with its place.
#include "core/graph/form/form.h"

#include <gtest/gtest.h>

#include "core/graph/form/protobuf.h"
#include "core/op/calls.h"
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

Program network() {
  static const Tensor w = uniform({6, 3, 3, 3}, 1), b = uniform({6}, 2), v = uniform({10, 6}, 3);
  return capture(
      [](std::span<const Tensor> x) {
        Tensor h = max_pool(relu(conv(x[0], w, b)), {2, 2}, {2, 2});  // floors: H and W are names
        h = mean(h, {2, 3});
        return std::vector<Tensor>{softmax(matmul(h, matrix_transpose(v)), 1), h + x[1], h * 0.5};
      },
      {{{"N", "3", "H", "W"}}, {{"M", "6"}}});
}
// A step that writes to its states, draws random numbers and leaves gradients.
Program step() {
  static nn::Linear linear(4, 3);
  static nn::Dropout dropout(0.25);
  static Tensor running = full({3}, 0.0);
  Program p;
  Recording recording(p, p.body.nodes, Device());
  Tensor x = recording.add_input("x", DType::f32, {p.symbols.name("N"), 4});
  p.body.parameters = {recording.value(x)};
  recording.add_state(linear.parameters()[0], "linear.weight");
  recording.add_state(running, "running");
  Tensor y = dropout(linear(x));
  Tensor loss = sum(y * y);
  loss.backward();
  running.set_data(running * 0.9 + mean(y.detach(), {0}) * 0.1);
  p.body.results = {recording.value(loss)};
  p.result_names = {"the loss"};
  recording.finish();
  return p;
}
// Bodies in bodies, which read what stands around them.
Program flow() {
  using Given = std::span<const Tensor>;
  NoGrad off;
  return capture(
      [](Given x) {
        return jit::while_loop(
            [&](Given v) { return less(sum(v[0]), full({}, 100)); },
            [&](Given v) {
              return jit::scan(
                         [&](Given c, Given row) {
                           auto grow = [&] { return std::vector<Tensor>{c[0] * 2.0 + row[0]}; };
                           auto keep = [&] { return std::vector<Tensor>{c[0] + x[0]}; };
                           return jit::Scanned{jit::cond(greater(sum(row[0]), full({}, 0)), grow, keep), {}};
                         },
                         {{v[0]}}, {{x[1]}}, {.reverse = true})
                  .carry;
            },
            {{x[0]}});
      },
      {{{"N"}}, {{"T", "N"}}});
}
std::vector<Program> programs() {
  std::vector<Program> all;
  all.push_back(flow());
  all.push_back(network());
  all.push_back(step());
  for (Program& p : all) compact(p);  // numbers are kept where no value is missing
  return all;
}
std::string wire(const Program& p) { return to_wire(p).take(); }
std::string text(const Program& p) { return to_text(p).take(); }

TEST(ProgramForm, BothReadBackWhatWasWritten) {
  for (const Program& p : programs()) {
    Program from_bytes = from_wire(wire(p)).take(), from_words = from_text(text(p)).take();
    EXPECT_EQ(wire(from_bytes), wire(p));
    EXPECT_EQ(text(from_bytes), text(p));
    EXPECT_EQ(text(from_words), text(p));
    EXPECT_EQ(wire(from_words).size(), wire(p).size());
    EXPECT_EQ(from_words.guards.size(), p.guards.size());
    EXPECT_EQ(from_words.updates.size(), p.updates.size());
    EXPECT_EQ(from_words.gradients.size(), p.gradients.size());
  }
}

TEST(ProgramForm, WhatWasReadRunsAsWhatWasWritten) {
  Program p = network();
  for (Program q : {from_wire(wire(p)).take(), from_text(text(p)).take()}) {
    for (size_t i = 0; i < p.values.size(); ++i)
      if (p.values[i].kind == Kind::state) q.values[i].data = p.values[i].data;
    std::vector<Tensor> in{uniform({2, 3, 9, 8}, 4), uniform({2, 6}, 5)};
    Result<Outcome> want = interpret(p, in, Device());
    Result<Outcome> got = Executable(std::make_shared<Program>(q), Device()).run(in);
    ASSERT_TRUE(want && got) << want.status().text() << got.status().text();
    expect_same(got->results, want->results, "read back");
  }
}

TEST(ProgramForm, ConstantsKeepEveryBit) {
  std::vector<float> odd{0.1f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, 3.4028235e38f};
  uint32_t message = 0x7fc00001;
  for (int i = 0; i < 64; ++i) {
    DType t = DType(i);
    if (t == DType::none || t == DType::string || info(t).text.empty()) continue;
    for (int64_t n : {0, 1, 3, 40}) {
      std::vector<unsigned char> bytes(size_bytes(t, uint64_t(n)));
      for (size_t k = 0; k < bytes.size(); ++k)
        bytes[k] = t == DType::boolean ? k % 2 : static_cast<unsigned char>(k * 37 + 1);
      if (t == DType::f32 && n == 1) std::memcpy(bytes.data(), &message, 4);
      Program p;
      Value v;
      v.kind = Kind::constant;
      v.dtype = t;
      v.shape = Shape{n};
      v.data = Tensor::from_host(bytes.data(), v.shape, t);
      p.body.results.push_back(p.add(std::move(v)));
      p.result_names = {"c"};
      for (Program q : {from_wire(wire(p)).take(), from_text(text(p)).take()}) {
        const Value& c = q[q.body.results[0]];
        ASSERT_TRUE(c.data.defined() && c.dtype == t && c.data.shape() == Shape{n}) << to_string(t);
        EXPECT_TRUE(n == 0 || std::memcmp(c.data.data(), bytes.data(), bytes.size()) == 0) << text(p);
      }
    }
  }
  Program p;
  Value v{.kind = Kind::constant, .dtype = DType::f32, .shape = Shape{7}};
  v.data = Tensor::from_host(odd.data(), v.shape, v.dtype);
  p.body.results.push_back(p.add(std::move(v)));
  p.result_names = {""};
  EXPECT_NE(text(p).find("[0.1, -0, inf, -inf, nan, 1e-45, 3.4028235e+38]"), std::string::npos) << text(p);
  Program q = from_text(text(p)).take();
  EXPECT_EQ(std::memcmp(q[0].data.data(), odd.data(), 28), 0);
}

TEST(ProgramForm, TextIsWhatTheManualShows) {
  Program p = capture([](std::span<const Tensor> x) { return std::vector<Tensor>{relu(matmul(x[0], x[1]))}; },
                      {{{"N", "4"}}, {{"4", "3"}}});
  for (Node& n : p.body.nodes) n.where = "net.py:12";
  p.result_names = {"y"};
  EXPECT_EQ(text(p),
            "program \"main\" 1 {\n"
            "  size N\n"
            "  input x0: f32[N, 4]\n"
            "  input x1: f32[4, 3]\n"
            "  %2: f32[N, 3] = matmul@1(x0, x1) at \"net.py:12\"\n"
            "  %3: f32[N, 3] = relu@1(%2) at \"net.py:12\"\n"
            "  return y = %3\n"
            "}\n");
  // By hand: comments, names, defaults left out.
  Program q = from_text(
                  "program \"by hand\" 1 {  # a comment\n  input x: f32[N, 4]\n  input w: f32[4, 3]\n"
                  "h: f32[N, 3] = matmul@1(x, w)\n soft: f32[N, 3] = softmax@1(h; axis = -1)\n return soft }")
                  .take();
  EXPECT_EQ(q.body.nodes[1].attrs.view().integer(0), 1) << "axes count from the front";
  EXPECT_EQ(q.name, "by hand");
}

TEST(ProgramForm, ErrorsOfTextNameTheLine) {
  auto expect = [](const std::string& body, const std::string& part) {
    Result<Program> p = from_text("program \"p\" 1 {\n input x: f32[N, 4]\n" + body + "\n}");
    ASSERT_FALSE(p) << body;
    EXPECT_NE(p.status().text().find(part), std::string_view::npos) << body << ": " << p.status().text();
  };
  expect("y: f32[N, 4] = rleu@1(x)\n return y", "line 3: no op is called rleu");
  expect("y: f32[N, 4] = relu@99(x)\n return y", "line 3: relu: version 99");
  expect("y: f32[N, 4] = relu@1(z)\n return y", "line 3: z is not defined");
  expect("y: f32[N, 4] = relu@1(x; slope = 1)\n return y", "line 3: relu has no attribute slope");
  expect("y: f32[N, 4] = softmax@1(x; axis = two)\n return y", "\"two\" is no number");
  expect("y: f32[N, 4] = softmax@1(x; axis = 7)\n return y", "line 3: softmax: attribute axis is 7");
  expect("y: f33[N, 4] = relu@1(x)\n return y", "no dtype is called f33");
  expect("y: f32[N, 4 = relu@1(x)\n return y", "size \"4 = relu@1(x)\"");
  expect("y: f32[N+, 4] = relu@1(x)\n return y", "size \"N+\": expected a size at 2");
  expect("y: f32[N, 5] = relu@1(x)\n return y", "the op's rule gives");
  expect("x: f32[N, 4] = relu@1(x)\n return x", "x is there twice");
  expect("%x: f32[N, 4] = relu@1(x)\n return %x", "what follows % is a number");
  expect("y: f32[N, 4] = relu@1(x) at \"a\n return y", "a quoted text does not end");
  expect("y: f32[N, 4] = relu@1(x)", "expected");
  expect("return x\n update x = x", "no state");
  expect("constant c: f32[2] = [1, 2, 3]\n return c", "with 12 bytes");
  expect("constant c: bf16[1] = [1]\n return c", "written as x");
  expect("constant c: u8[1] = [256]\n return c", "no number that fits");
  EXPECT_NE(from_text("program \"p\" 2 {}").status().text().find("format 2"), std::string_view::npos);
}

TEST(ProgramForm, NamesThatAreWordsOfTheLanguageAreQuoted) {
  for (const char* name :
       {"return", "none", "host", "at", "random", "update", "guard", "_", "size", "input", "x", "0.w"}) {
    Program p = capture(
        [](std::span<const Tensor> x) {
          return std::vector<Tensor>{relu(x[0]), relu(relu(x[0]))};
        },
        {{{"3"}}});
    for (ValueId which : {0, 1, 2}) {
      Program named = p;
      named[which].name = name;
      named.result_names = {name, "\"\\\n\x01"};
      Result<Program> back = from_text(text(named));
      ASSERT_TRUE(back) << name << " " << back.status().text() << "\n" << text(named);
      EXPECT_EQ(wire(*back), wire(named)) << name;
    }
  }
}

// ---- bytes that nobody vouches for

TEST(ProgramForm, CutAtEveryLength) {
  for (const Program& p : programs()) {
    const std::string bytes = wire(p), words = text(p);
    for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(from_wire(std::string_view(bytes).substr(0, n))) << n;
    for (size_t n = 0; n + 2 < words.size(); ++n) EXPECT_FALSE(from_text(std::string_view(words).substr(0, n))) << n;
  }
}

TEST(ProgramForm, FlippedBitsNeverDoHarm) {
  for (const Program& p : programs()) {
    for (bool binary : {true, false}) {
      std::string good = binary ? wire(p) : text(p);
      int refused = 0;
      int tried = 0;
      for (size_t i = 0; i < good.size(); i += 3)
        for (int bit = 0; bit < 8; bit += 3) {
          std::string bad = good;
          bad[i] = char(bad[i] ^ 1 << bit);
          Result<Program> r = binary ? from_wire(bad) : from_text(bad);
          refused += !r;
          ++tried;
          EXPECT_TRUE(!r || verify(*r).ok());
        }
      EXPECT_GT(refused, tried / 3) << "of " << tried;
    }
  }
}

TEST(ProgramForm, NewerFilesReadAsFarAsTheyAreUnderstood) {
  const std::string bytes = wire(network());
  WireWriter more;
  more.bytes = bytes;
  more.text(900, "a field of later builds");
  more.number(901, 7);
  more.real(902, 1);
  EXPECT_EQ(wire(from_wire(more.bytes).take()), bytes);
  more.number(1, 2);  // the last one counts
  EXPECT_NE(from_wire(more.bytes).status().text().find("format 2, this build reads up to 1"), std::string_view::npos);
  EXPECT_NE(from_wire("").status().text().find("no format"), std::string_view::npos);
  EXPECT_FALSE(from_wire("PK\x03\x04 a zip file"));
}

TEST(ProgramForm, UnknownOpsAreNamed) {
  std::string bytes = wire(network());
  bytes.replace(bytes.find("softmax"), 7, "softmix");
  Result<Program> p = from_wire(bytes);
  ASSERT_FALSE(p);
  EXPECT_NE(p.status().text().find("softmix"), std::string_view::npos) << p.status().text();
  EXPECT_NE(p.status().text().find("Load the plugin"), std::string_view::npos) << p.status().text();
}

TEST(ProgramForm, WhatIsNestedTooDeepIsRefused) {
  std::string body;
  for (int i = 0; i < 1000; ++i) {
    WireWriter node, outer;
    node.number(1, 1);
    node.piece(5, body);
    outer.piece(2, node.bytes);
    body = outer.bytes;
  }
  WireWriter p, use;
  p.number(1, 1);
  use.text(1, "relu");
  use.number(2, 1);
  p.piece(6, use.bytes);
  p.piece(8, body);
  p.number(100, 1);
  EXPECT_NE(from_wire(p.bytes).status().text().find("bodies"), std::string_view::npos);
  std::string deep = "program \"p\" 1 {\n size " + std::string(3000, '(');
  EXPECT_FALSE(from_text(deep));
  std::string floors = "N";
  for (int i = 0; i < 100; ++i) floors = "floor((" + floors + ")/(2))";
  EXPECT_NE(from_text("program \"p\" 1 {\n size " + floors + "\n return }").status().text().find("less nesting"),
            std::string_view::npos);
}

TEST(ProgramForm, CountsLargerThanTheFileAllocateNothing) {
  WireWriter v, p;
  v.number(1, 3);
  v.text(2, "f32");
  v.packed(3, std::vector<int64_t>{INT64_MAX, INT64_MAX}, [](int64_t n) { return WireWriter::fold(n); });
  v.piece(7, "1234");
  p.number(1, 1);
  p.piece(7, v.bytes);
  p.number(100, 1);
  Result<Program> r = from_wire(p.bytes);
  ASSERT_FALSE(r);
  EXPECT_NE(r.status().text().find("with 4 bytes"), std::string_view::npos) << r.status().text();
  EXPECT_FALSE(from_wire(std::string("\x42\xff\xff\xff\xff\x7f", 6)));
}

// ---- ops that change

void doubled(op::UpgradeCall& c) { c.set(0, c.in(0) + c.in(0)); }
void scaled(op::RuleCall& c) { c.set(0, multiply(c.in(0), Tensor::scalar(c.attrs.real(0)))); }
constinit const op::OpDef scaled_def = op::define({.name = "test_scaled",
                                                   .version = 2,
                                                   .summary = "x times factor; version 1 had none and doubled.",
                                                   .source = "Oarlock",
                                                   .inputs = {{"x", "[...]"}},
                                                   .outputs = {{"out", "[...]"}},
                                                   .types = {{"T", kFloat}},
                                                   .attributes = {op::real("factor", 1).from_version(2)},
                                                   .decompose = scaled,
                                                   .upgrade = doubled,
                                                   .cases = {{"any", "...=2"}}});
TEST(ProgramForm, NodesOfOlderVersionsAreBroughtUpToDate) {
  static const op::OpId id = *op::register_op(&scaled_def);
  ASSERT_NE(id, op::kNoOp);
  Program p = from_text(
                  "program \"old\" 1 {\n input x: f32[N]\n"
                  "y: f32[N] = test_scaled@1(x)\n z: f32[N] = relu@1(y)\n return z }")
                  .take();
  ASSERT_EQ(p.body.nodes.size(), 2u);
  EXPECT_STREQ(p.body.nodes[0].def().def->name, "add");
  EXPECT_EQ(p.name_of(p.body.nodes[0].outputs[0]), "y");
  Tensor x = uniform({5}, 1);
  Result<Outcome> out = interpret(p, std::vector<Tensor>{x}, Device());
  ASSERT_TRUE(out) << out.status().text();
  expect_same(out->results, {relu(x + x)}, "upgraded");
}

}  // namespace
}  // namespace oarlock::graph
