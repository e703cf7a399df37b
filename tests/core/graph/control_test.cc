// cond, while_loop and scan in programs: interpreted as called, and what programs refuse.
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

using jit::cond;
using jit::scan;
using jit::while_loop;
using Tensors = std::vector<Tensor>;
using Given = std::span<const Tensor>;

Tensor number(double v, const Tensor& x) { return full({}, v, x.dtype()); }
Tensor positive(const Tensor& x) { return greater(sum(x), number(0, x)); }

// In whole programs and on both devices.
void expect_as_called(const Function& f, const std::vector<In>& inputs, const std::vector<Tensors>& calls) {
  for (Device device : {Device(), sim()}) {
    Program p = capture(f, inputs, device);
    Status s = verify(p);
    ASSERT_TRUE(s.ok()) << s.text();
    for (const Tensors& in : calls) expect_alike(f, p, in, device);
  }
}
std::string refused(const Function& f, const std::vector<In>& inputs) {
  return error_of([&] { capture(f, inputs); });
}

TEST(Control, CondTakesTheBranchThatHolds) {
  expect_as_called(
      [](Given x) {
        return cond(
            positive(x[0]),
            [&] {
              return Tensors{multiply(x[0], x[0]), x[0]};
            },
            [&] {
              return Tensors{negative(x[0]), x[1]};
            });
      },
      {{{"N", "3"}}, {{"N", "3"}}},
      {{uniform({2, 3}, 1, 0, 1), uniform({2, 3}, 2)}, {uniform({4, 3}, 1, -1, 0), uniform({4, 3}, 2)}});
}

TEST(Control, WhileLoopKeepsItsVariables) {
  Function halve = [](Given x) {
    return while_loop([](Given v) { return greater(max(abs(v[0])), number(0.1, v[0])); },
                      [&](Given v) {
                        return Tensors{multiply(v[0], x[1]), add(v[1], full({}, 1, DType::i64))};
                      },
                      Tensors{x[0], full({}, 0, DType::i64)});
  };
  expect_as_called(halve, {{{"N"}}, {{}}},
                   {{uniform({3}, 1), full({}, 0.5)},            // some rounds
                    {full({2}, 0.01), full({}, 0.5)},            // none
                    {uniform({5}, 2, 20, 30), full({}, 0.9)}});  // many
}

TEST(Control, ScanStacksRowsBothWays) {
  for (bool reverse : {false, true})
    expect_as_called(
        [=](Given x) {
          auto out = scan(
              [&](Given c, Given row) {
                Tensor next = tanh(add(multiply(c[0], x[2]), row[0]));
                return jit::Scanned{{next}, {add(next, row[0]), sum(next)}};
              },
              {{x[0]}}, {{x[1]}}, {.reverse = reverse});
          out.carry.insert(out.carry.end(), out.ys.begin(), out.ys.end());
          return out.carry;
        },
        {{{"3"}}, {{"T", "3"}}, {{"3"}}},
        {{uniform({3}, 1), uniform({5, 3}, 2), uniform({3}, 3)},
         {uniform({3}, 1), uniform({1, 3}, 2), uniform({3}, 3)},
         {uniform({3}, 1), uniform({0, 3}, 2), uniform({3}, 3)},
         {uniform({3}, 1), uniform({300, 3}, 2), uniform({3}, 3)}});
}

TEST(Control, OneInsideTheOther) {
  expect_as_called(
      [](Given x) {
        return while_loop([](Given v) { return less(v[1], full({}, 3, DType::i64)); },
                          [&](Given v) {
                            Tensor next = cond(
                                positive(v[0]),
                                [&] {
                                  return scan(
                                             [&](Given c, Given row) {
                                               return jit::Scanned{{subtract(c[0], multiply(row[0], v[0]))}, {}};
                                             },
                                             {{v[0]}}, {{x[1]}})
                                      .carry;
                                },
                                [&] { return Tensors{add(v[0], x[0])}; })[0];
                            return Tensors{next, add(v[1], full({}, 1, DType::i64))};
                          },
                          Tensors{x[0], full({}, 0, DType::i64)});
      },
      {{{"N"}}, {{"T", "N"}}},
      {{uniform({2}, 1, 0, 1), uniform({4, 2}, 2, 0, 2)}, {uniform({3}, 1, -1, 0), uniform({2, 3}, 2)}});
}

TEST(Control, HostValuesStayThere) {
  expect_as_called(
      [](Given x) {
        return while_loop([](Given v) { return less(v[1], Tensor::scalar(3)); },
                          [](Given v) {
                            return Tensors{multiply(v[0], v[0]), add(v[1], Tensor::scalar(1))};
                          },
                          Tensors{x[0], Tensor::scalar(0)});
      },
      {{{"2"}}}, {{uniform({2}, 1)}});
}

TEST(Control, NamedSizesAreComparedWhenTheyAreKnown) {
  Program p = capture(
      [](Given x) {
        return cond(
            positive(x[0]), [&] { return Tensors{x[0]}; }, [&] { return Tensors{x[1]}; });
      },
      {{{"N"}}, {{"M"}}});
  ASSERT_TRUE(verify(p).ok());
  Executable e(std::make_shared<Program>(p), Device());
  Result<Outcome> same = e.run({{uniform({3}, 1, -1, 0), uniform({3}, 2)}});
  ASSERT_TRUE(same) << same.status().text();
  expect_same(same->results[0], uniform({3}, 2), "of one size");
  Result<Outcome> other = e.run({{uniform({3}, 1), uniform({4}, 2)}});
  ASSERT_FALSE(other);
  EXPECT_NE(other.status().text().find("true_fn gives f32[N], false_fn f32[M]"), std::string::npos)
      << other.status().text();
  EXPECT_NE(other.status().text().find("3 and 4"), std::string::npos) << other.status().text();
}

TEST(Control, ScanWithoutRowsOfItsOwnCounts) {
  expect_as_called(
      [](Given x) {
        return scan(
                   [&](Given c, Given) {
                     return jit::Scanned{{add(c[0], x[0])}, {c[0]}};
                   },
                   {{x[0]}}, {}, {.length = 4})
            .ys;
      },
      {{{"2"}}}, {{uniform({2}, 1)}});
}

// What a state was when the loop read it, though the program writes to it afterwards; and no result shares its elements.
TEST(Control, WritesOutsideLeaveResultsAlone) {
  Tensor state = full({2}, 1);
  Program p = capture(
      [&](Given x) {
        Tensors out = cond(
            positive(x[0]), [&] { return Tensors{state}; }, [&] { return Tensors{x[0]}; });
        assign(state, add(state, x[0]));
        out.push_back(add(state, out[0]));
        return out;
      },
      {{{"2"}}});
  ASSERT_TRUE(verify(p).ok());
  Result<Outcome> got = interpret(p, {{full({2}, 3)}}, Device());
  ASSERT_TRUE(got) << got.status().text();
  expect_same(got->results[0], full({2}, 1), "the state before");
  expect_same(got->results[1], full({2}, 5), "the state after, and before");
  expect_same(state, full({2}, 4), "the state");
}

// A size that only the round knows is another one in each.
TEST(Control, SizesMadeInRoundsBelongToThem) {
  expect_as_called(
      [](Given x) {
        return scan(
                   [](Given, Given row) {
                     return jit::Scanned{{}, {sum(nonzero(greater(row[0], number(0, row[0]))))}};
                   },
                   {}, {{x[0]}})
            .ys;
      },
      {{{"T", "6"}}}, {{uniform({5, 6}, 3)}});
}

TEST(Control, RefusesWhatDisagrees) {
  auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  auto given = [](Tensor t) { return [t] { return Tensors{t}; }; };
  auto branches = [&](DType a, const Shape& shape, DType b, const Shape& other) {
    return refused([&](Given x) { return cond(positive(x[0]), given(full(shape, 0, a)), given(full(other, 0, b))); },
                   {{{"2"}}});
  };
  says(branches(DType::f32, {2}, DType::f32, {3}), "true_fn gives f32[2], false_fn f32[3]");
  says(branches(DType::f32, {2}, DType::i64, {2}), "true_fn gives f32[2], false_fn i64[2]");
  says(refused([&](Given x) { return cond(positive(x[0]), given(x[0]), [] { return Tensors{}; }); }, {{{"2"}}}),
       "true_fn gives 1 results, false_fn 0");
  for (bool captured : {false, true}) {
    auto run = [&](const Function& f, const Tensor& x) {
      return captured ? refused(f, {{{"2"}, x.dtype()}}) : error_of([&] { f({&x, 1}); });
    };
    Tensor x = full({2}, 1), flags = full({2}, 1, DType::boolean);
    says(run([&](Given v) { return cond(v[0], given(v[0]), given(v[0])); }, x),
         "the condition is f32[2], not one bool");
    says(run([&](Given v) { return cond(v[0], given(v[0]), given(v[0])); }, flags), "bool[2], not one bool");
    says(
        run([&](Given v) { return while_loop([](Given w) { return w[0]; }, [](Given w) { return Tensors{w[0]}; }, v); },
            x),
        "what cond_fn gives is f32[2], not one bool");
    says(run(
             [&](Given v) {
               return while_loop([](Given w) { return positive(w[0]); }, [](Given w) { return Tensors{sum(w[0])}; }, v);
             },
             x),
         "value 0 was f32[2], body_fn gives f32[]");
    says(run(
             [&](Given v) {
               return while_loop([](Given w) { return positive(w[0]); }, [](Given) { return Tensors{}; }, v);
             },
             x),
         "body_fn gives 0 of the 1 values");
    says(run(
             [&](Given v) {
               return scan([](Given c, Given) { return jit::Scanned{{cast(c[0], DType::f64)}, {}}; }, v, v).carry;
             },
             x),
         "value 0 was f32[2], f gives f64[2]");
    says(run(
             [&](Given v) {
               return scan([](Given c, Given) { return jit::Scanned{{c[0]}, {}}; }, v, {{v[0], full({3}, 0)}}).carry;
             },
             x),
         "the rows disagree: xs[0] has 2, xs[1] has 3");
    says(run(
             [&](Given v) {
               return scan([](Given c, Given) { return jit::Scanned{{c[0]}, {}}; }, v, {}).carry;
             },
             x),
         "neither xs nor length");
    says(run([&](Given v) { return scan([](Given, Given) { return jit::Scanned{}; }, v, v).carry; }, x),
         "f gives 0 of the 1 values");
    says(run([&](Given v) { return cond(positive(v[0]), given(Tensor()), given(Tensor())); }, x),
         "true_fn gives no value");
    says(run([&](Given v) { return cond(positive(v[0]), {}, given(v[0])); }, x), "true_fn is empty");
  }
}

TEST(Control, RefusesWhatABodyMustNotDo) {
  auto in_branch = [](const std::function<void(Given)>& act) {
    return refused(
        [&](Given x) {
          auto branch = [&] {
            act(x);
            return Tensors{x[0]};
          };
          return cond(positive(x[0]), branch, branch);
        },
        {{{"2"}}});
  };
  auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  Tensor counter = full({}, 0), state = full({2}, 0);
  says(in_branch([&](Given) { assign(counter, full({}, 1)); }), "older than the function");
  says(in_branch([&](Given x) { assign(state, x[0]); }), "older than the function");
  says(in_branch([&](Given x) { assign(x[0], state); }), "older than the function");
  says(in_branch([](Given x) { dropout(x[0], default_generator().next(), 0.5); }), "a random draw");
  EXPECT_EQ(in_branch([](Given x) {
              Tensor own = add(x[0], x[0]);
              assign(own, x[0]);
            }),
            "no error");
  says(refused(
           [](Given x) {
             return while_loop([](Given v) { return positive(v[0]); },
                               [](Given v) {
                                 NoGrad off;
                                 assign(v[0], negative(v[0]));
                                 return Tensors{v[0]};
                               },
                               x);
           },
           {{{"2"}}}),
       "older than the function");
  says(refused(
           [](Given x) {
             Tensor kept;
             auto branch = [&] { return Tensors{kept = add(x[0], x[0])}; };
             cond(positive(x[0]), branch, branch);
             return Tensors{negative(kept)};
           },
           {{{"2"}}}),
       "Return it from that function");
  const Tensor x = full({}, 1, DType::boolean);
  says(error_of([&] { call_op("cond", {{x}}); }), "jit::cond");
  says(error_of([&] { explain("cond", {{x}}); }), "jit::cond");
}

TEST(Control, IsVerified) {
  auto broken = [](auto change, const std::string& part) {
    Program p = capture(
        [](Given x) {
          return scan(
                     [](Given c, Given row) {
                       return jit::Scanned{{add(c[0], row[0])}, {row[0]}};
                     },
                     {{x[0]}}, {{x[1]}})
              .ys;
        },
        {{{"3"}}, {{"T", "3"}}});
    ASSERT_TRUE(verify(p).ok());
    change(p, p.body.nodes[0]);
    Status s = verify(p);
    ASSERT_FALSE(s.ok()) << part;
    EXPECT_NE(s.text().find(part), std::string_view::npos) << s.text();
  };
  broken([](Program&, Node& n) { n.bodies.clear(); }, "0 bodies, expected 1");
  broken(
      [](Program& p, Node& n) {
        Value more = p[n.bodies[0].parameters[0]];
        n.bodies[0].parameters.push_back(p.add(more));
      },
      "3 parameters, its rule gives 2");
  broken([](Program&, Node& n) { n.bodies[0].results.clear(); }, "f gives 0 of the 1 values");
  broken([](Program&, Node& n) { n.outputs.pop_back(); }, "1 outputs, its rule gives 2");
  broken(
      [](Program& p, Node& n) {
        Body& b = n.bodies[0];
        for (ValueId v : {b.parameters[0], b.parameters[1], b.nodes[0].outputs[0]}) p[v].dtype = DType::f64;
      },
      "is declared f64[3]");
  broken([](Program& p, Node& n) { p[n.outputs[1]].shape = {3}; }, "is declared f32[3]");
  broken([](Program& p, Node& n) { p.body.results[0] = n.bodies[0].nodes[0].outputs[0]; }, "outside the body");
  broken([](Program&, Node& n) { n.attrs = {}; }, "0 attributes, expected 3");
  broken(
      [](Program& p, Node& n) {  // a write to what is older than the body
        Node write;
        write.op = op::op_of(op::Role::assign);
        write.version = op::op_at(write.op).def->version;
        write.inputs = {p.body.parameters[0], n.bodies[0].parameters[1]};
        Value after = p[p.body.parameters[0]];
        after.name.clear();
        after.kind = Kind::computed;
        write.outputs = {p.add(after)};
        p.body.nodes[0].bodies[0].nodes.push_back(write);
      },
      "older than the body");
}

}  // namespace
}  // namespace oarlock::graph
