// Level 3: the graph table. Claims are sane, what is compiled agrees with the host, blobs come back, damaged ones don't.
#include <oarlock/base/op.h>

#include <math.h>

#include <algorithm>
#include <set>

#include "api/cts/level2.h"
#include "api/cts/level3.h"
#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

// Elementwise ops that are nowhere steep, so that a chain of them keeps its errors small.
const std::vector<std::string> kTame = {"add", "subtract", "multiply", "maximum", "minimum", "relu", "tanh", "sigmoid"};

struct Listed {
  std::string op;
  DTypeSet dtypes;
};
std::vector<Listed> listed(const GraphRig& rig, const Options& options) {
  std::vector<Listed> all;
  std::vector<std::string> known = op_names();
  for (uint32_t i = 0; i < rig.table().n_ops; ++i) {
    std::string op(view(rig.table().ops[i]->op));
    bool asked = options.ops.empty() || std::count(options.ops.begin(), options.ops.end(), op);
    if (asked && std::binary_search(known.begin(), known.end(), op)) all.push_back({op, rig.table().ops[i]->dtypes});
  }
  return all;
}

void table(Check& check, const Options& options) {
  GraphRig rig(check, options.plugin);
  const oar_graph_table_t& t = rig.table();
  check.need(t.n_ops == 0 || t.ops, "the graph table lists {} ops and no array", t.n_ops);
  std::vector<std::string> known = op_names();
  std::set<std::string> seen;
  for (uint32_t i = 0; i < t.n_ops; ++i) {
    check.need(t.ops[i] != nullptr, "op {} is NULL", i);
    const oar_op_range_t& r = *t.ops[i];
    check.need(OAR_HAS(&r, dtypes), "op {}: struct_size is {}", i, r.struct_size);
    std::string op(view(r.op));
    bool own = op.find('.') != std::string::npos;
    check.expect(own || std::binary_search(known.begin(), known.end(), op), "op {}: there is no op \"{}\"", i, op);
    check.expect(seen.insert(op).second, "{} is listed twice", op);
    check.expect(r.op_min >= 1 && r.op_min <= r.op_max, "{}: op versions {} to {}", op, r.op_min, r.op_max);
    check.expect(r.dtypes != 0, "{}: its mask is empty, so no call can ever fit", op);
  }
  bool any = OAR_FIELD(&t, save) || OAR_FIELD(&t, load) || OAR_FIELD(&t, check_blob);
  check.expect(!any || rig.saves(), "save, load and check_blob come together");
}

void claims(Check& check, const Options& options, Random& random) {
  GraphRig rig(check, options.plugin);
  Graph nothing;
  check.expect(rig.claim(nothing).groups.empty(), "takes groups of a graph without nodes");
  std::vector<std::string> ops, all = kTame;
  for (const Listed& l : listed(rig, options)) ops.push_back(l.op);
  if (ops.empty()) check.skip("its graph table lists none of these ops");
  for (const char* stranger : {"sin", "floor", "exp"}) all.push_back(stranger);
  int drawn = 0;
  for (int i = 0; i < 10 * options.cases; ++i) {
    std::optional<Graph> g = draw_chain(random.chance(0.5) ? ops : all, all, DType::f32, random);
    if (!g) continue;
    ++drawn;
    Claimed once = rig.claim(*g), again = rig.claim(*g);
    check.expect(once.groups == again.groups, "{}: asked twice, it takes other groups", g->to_string());
  }
  check.need(drawn > 0, "no graph could be drawn");
}

// Sizes beyond all reason, and ones that are known only at run time: an answer, never a crash.
void odd_graphs(Check& check, const Options& options) {
  GraphRig rig(check, options.plugin);
  for (const Listed& l : listed(rig, options)) {
    const OpInfo& info = op_info(l.op);
    if (!info.attributes.empty() || info.inputs.empty() || info.inputs.back().variadic) continue;
    std::vector<std::vector<int64_t>> shapes = {
        std::vector<int64_t>(20, 1), {0}, {-1, 3}, {int64_t(1) << 40, int64_t(1) << 40}, {INT64_MAX, 2},
        std::vector<int64_t>(16, 16)};
    for (const std::vector<int64_t>& shape : shapes) {
      Graph plain;
      Graph::Call call{l.op, {}, {}, {}};
      for (size_t i = 0; i < info.inputs.size() + info.outputs.size(); ++i) {
        (i < info.inputs.size() ? call.inputs : call.outputs).push_back(int(i));
        (i < info.inputs.size() ? plain.inputs : plain.outputs).push_back(int(i));
        plain.values.push_back({DType(__builtin_ctzll(l.dtypes)), shape, {}, false, false});
      }
      plain.calls.push_back(call);
      rig.claim(plain);
    }
  }
}

// Whether a group that was claimed gives what the host gave.
void compare_group(Check& check, GraphRig& rig, const Graph& g, const Program& p) {
  double most = 0;
  for (const Graph::Value& v : g.values)
    for (int64_t i = 0; is_float(v.dtype) && i < v.tensor().count(); ++i) {
      double x = std::fabs(get_number(v.bytes.data(), v.dtype, i));
      if (std::isfinite(x)) most = std::max(most, x);
    }
  std::vector<HostTensor> got = rig.run(g, p);
  for (size_t k = 0; k < got.size(); ++k) {
    HostTensor want = g.values[size_t(g.outputs[k])].tensor(), scale = want;
    for (int64_t i = 0; is_float(want.dtype) && i < want.count(); ++i)
      put_number(scale.bytes.data(), want.dtype, i, most);
    // Every step rounds, and what one gave is a later one's operand.
    auto wrong = compare(got[k], want, &scale, {.ulps = 8.0 * double(g.calls.size()), .reads = 64});
    check.expect(!wrong, "{}: output {}: {}", g.to_string(), k, wrong.value_or(""));
  }
}

void each_op(Check& check, const Options& options, Random& random) {
  GraphRig rig(check, options.plugin);
  std::set<std::string> compiled;
  for (const Listed& l : listed(rig, options)) {
    Schema schema(op_info(l.op));
    Generator generator(schema);
    bool writes = std::any_of(schema.info.inputs.begin(), schema.info.inputs.end(), [](auto& o) { return o.mutated; });
    for (auto& [variable, dtype] : type_choices(schema)) {
      if (writes || (dtype != DType::none && !(l.dtypes & set_of(dtype)))) continue;
      Wishes wishes;
      wishes.mix = false;
      if (!variable.empty()) wishes.types[variable] = dtype;
      for (int i = 0; i < options.cases; ++i) {
        std::optional<Draw> draw = generator.draw(random, wishes);
        if (!draw) break;
        Graph g;
        Oracle oracle;
        try {
          g = graph_of(schema, *draw, random);
          oracle = oracle_of(schema, *draw);
        } catch (const RefusedCall&) { continue; }  // spelt out, it takes more memory than there is
        Claimed claimed = rig.claim(g);
        std::string why;
        std::optional<Program> p = claimed.groups.empty() ? std::nullopt : rig.compile(g, why);
        if (!p) {
          ++check.numbers["refused"];
          check.note = l.op + ": " + (claimed.groups.empty() ? claimed.refused[0].text : why);
          continue;
        }
        std::vector<HostTensor> got = rig.run(g, *p);
        rig.release(*p);
        got.resize(oracle.want.size());
        auto wrong = compare_all(oracle, got);
        check.expect(!wrong, "{}: {}", g.to_string(), wrong.value_or(""));
        ++check.numbers["compiled"];
        compiled.insert(l.op);
      }
    }
    if (!compiled.count(l.op)) check.note = l.op + " was compiled for no call; " + check.note;
  }
  if (compiled.empty()) check.skip("it compiled none: " + check.note);
}

// Random programs, every group that is claimed compiled, launched twice.
template <class See>
void each_group(Check& check, GraphRig& rig, const Options& options, Random& random, int graphs, const See& see) {
  std::vector<std::string> first, then, beside = kTame;
  DTypeSet dtypes = 0;
  for (const Listed& l : listed(rig, options)) {
    first.push_back(l.op);
    dtypes |= l.dtypes;
  }
  if (first.empty()) check.skip("its graph table lists none of these ops");
  beside.push_back("sin");
  std::vector<DType> choices;
  for (DType t : {DType::f32, DType::i32, DType::i8, DType::f16, DType::bf16})
    if (dtypes & set_of(t)) choices.push_back(t);
  if (choices.empty()) check.skip("it takes none of f32, i32, i8, f16 and bf16");
  int groups = 0;
  for (int i = 0; i < graphs; ++i) {
    DType t = random.of(choices);
    then.clear();
    for (const std::string& op : random.chance(0.7) ? first : beside)
      if (std::count(beside.begin(), beside.end(), op)) {
        Schema schema(op_info(op));
        if (!schema.type_names.empty() && schema.types_of(schema.type_names[0]) & set_of(t)) then.push_back(op);
      }
    if (then.empty()) then = {"add"};
    std::optional<Graph> g = draw_chain(first, then, t, random);
    if (!g) continue;
    for (const std::vector<uint32_t>& nodes : rig.claim(*g).groups) {
      Graph part = g->part(nodes);
      std::string why;
      std::optional<Program> p = rig.compile(part, why);
      if (!p) {
        ++check.numbers["refused"];
        check.note = part.to_string() + ": " + why;
        continue;
      }
      ++groups;
      check.numbers["nodes"] += double(part.calls.size());
      see(part, *p);
      rig.release(*p);
    }
  }
  check.numbers["groups"] = groups;
  if (!groups) check.skip("it compiled no group: " + check.note);
}

void programs(Check& check, const Options& options, Random& random) {
  GraphRig rig(check, options.plugin);
  each_group(check, rig, options, random, 10 * options.cases, [&](const Graph& g, const Program& p) {
    compare_group(check, rig, g, p);
    compare_group(check, rig, g, p);
  });
}

// Many programs at once, launched in turns and released in another order than they were made.
void releases(Check& check, const Options& options, Random& random) {
  GraphRig rig(check, options.plugin);
  std::vector<std::pair<Graph, Program>> held;
  each_group(check, rig, options, random, 2 * options.cases, [&](const Graph& g, const Program&) {
    std::string why;
    if (std::optional<Program> twin = rig.compile(g, why)) held.emplace_back(g, *twin);
  });
  for (int round = 0; round < 2; ++round)
    for (auto& [g, p] : held) compare_group(check, rig, g, p);
  random.shuffle(held);
  while (!held.empty()) {
    rig.release(held.back().second);
    held.pop_back();
    if (!held.empty()) compare_group(check, rig, held.front().first, held.front().second);
  }
}

void blobs(Check& check, const Options& options, Random& random) {
  GraphRig rig(check, options.plugin);
  if (!rig.saves()) check.skip("it saves nothing");
  each_group(check, rig, options, random, 3 * options.cases, [&](const Graph& g, const Program& p) {
    std::string blob = rig.save(p), why;
    oar_status_t status = rig.check_blob(blob, why);
    check.expect(status == OAR_OK, "{}: check_blob of what save just wrote gave {}: {}", g.to_string(), status, why);
    std::optional<Program> back = rig.load(g, blob, status, why);
    if (!check.expect(back.has_value(), "{}: load of what save just wrote gave {}: {}", g.to_string(), status, why))
      return;
    std::vector<HostTensor> want = rig.run(g, p), got = rig.run(g, *back);
    for (size_t k = 0; k < want.size(); ++k)
      check.expect(got[k].bytes == want[k].bytes, "{}: loaded again, output {} has other bits", g.to_string(), k);
    rig.release(*back);
  });
}

void damaged_blobs(Check& check, const Options& options, Random& random) {
  GraphRig rig(check, options.plugin);
  if (!rig.saves()) check.skip("it saves nothing");
  constexpr size_t kEach = 4096;
  Graph graph;
  std::string good;
  each_group(check, rig, options, random, 2 * options.cases, [&](const Graph& g, const Program& p) {
    std::string blob = rig.save(p);
    if (good.empty() || (blob.size() <= kEach && blob.size() > good.size())) good = blob, graph = g;
  });
  // What comes of bytes: nothing, or a program, which is released and never launched.
  auto taken = [&](const std::string& blob) {
    // In memory of its own, so that a read behind it can be seen.
    std::vector<char> exact(blob.begin(), blob.end());
    std::string_view bytes(exact.data(), exact.size());
    std::string why;
    oar_status_t checked = rig.check_blob(bytes, why), loaded = OAR_OK;
    check.expect(checked == OAR_OK || checked == OAR_RECOMPILE || checked == OAR_REFUSED || checked == OAR_BAD_DATA,
                 "check_blob of a damaged blob gave {}: {}", checked, why);
    check.expect(checked == OAR_OK || !why.empty(), "check_blob gave {} and no reason", checked);
    std::optional<Program> p = rig.load(graph, bytes, loaded, why);
    if (p) rig.release(*p);
    return checked == OAR_OK && p.has_value();
  };
  for (size_t n = 0; n < std::min(good.size(), kEach); ++n)
    if (!check.expect(!taken(good.substr(0, n)), "the first {} of {} bytes of a blob are taken", n, good.size())) break;
  for (int i = 0; i < 1000; ++i) {
    std::string bad = good;
    for (int64_t k = random.chance(0.7) ? 1 : random.between(2, 16); k > 0; --k)
      bad[size_t(random.between(0, int64_t(bad.size()) - 1))] ^= char(1 << random.between(0, 7));
    check.numbers["changed and taken"] += taken(bad);
  }
  for (int i = 0; i < 100; ++i) {
    std::string noise(size_t(random.between(0, 600)), '\0');
    for (char& c : noise) c = char(random.bits());
    check.expect(!taken(noise), "{} bytes of noise are taken for a blob", noise.size());
    check.expect(!taken(good + noise) || noise.empty(), "a blob with {} bytes behind it is taken", noise.size());
  }
}

}  // namespace

std::vector<Test> level3(const Options& options) {
  std::vector<Test> tests;
  auto add = [&](const char* name, auto body) {
    tests.push_back({"L3", name, [options, name, body](Check& check) {
                       Random random(seed_of(options.seed, name));
                       if constexpr (std::is_invocable_v<decltype(body), Check&, const Options&>) body(check, options);
                       else body(check, options, random);
                     }});
  };
  add("table", table);
  add("claims", claims);
  add("odd graphs", odd_graphs);
  add("each op", each_op);
  add("programs", programs);
  add("releases", releases);
  add("blobs", blobs);
  add("damaged blobs", damaged_blobs);
  return tests;
}

}  // namespace oarlock::cts
