// Level 2: gradients against central finite differences in f64, second order once; on a plugin, against the host's.
#include <oarlock/base/autograd.h>
#include <oarlock/base/op.h>

#include <algorithm>
#include <cmath>

#include "api/cts/level2.h"
#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

using Numbers = std::vector<double>;

bool wants_gradient(const Schema& schema, const Draw& draw, size_t i) {
  const OpOperand& info = schema.input(i);
  return draw.inputs[i].present && !info.constant && !info.host && !info.mutated && is_float(draw.inputs[i].dtype);
}

Numbers numbers_of(const Tensor& t) {
  std::vector<uint8_t> bytes(size_t(size_bytes(t.dtype(), uint64_t(t.element_count()))));
  if (!bytes.empty()) t.copy_to_host(bytes.data());
  Numbers n(static_cast<size_t>(t.element_count()));
  for (size_t i = 0; i < n.size(); ++i) n[i] = get_number(bytes.data(), t.dtype(), int64_t(i));
  return n;
}

Tensor tensor_of(const Numbers& n, const Shape& shape, DType dtype, const Device& device) {
  std::vector<uint8_t> bytes(size_t(size_bytes(dtype, n.size())) + 1);
  for (size_t i = 0; i < n.size(); ++i) put_number(bytes.data(), dtype, int64_t(i), n[i]);
  return Tensor::from_host(bytes.data(), shape, dtype, device);
}

// A drawn call as a function of its float inputs: L = sum of outputs * seeds.
class Function {
 public:
  Function(const Schema& schema, const Draw& draw, const Device& device, uint64_t seed)
      : schema_(schema), draw_(draw), device_(device), seed_(seed) {
    Random layouts(seed);
    for (size_t i = 0; i < draw.inputs.size(); ++i) {
      const Operand& o = draw.inputs[i];
      inputs_.push_back(!o.present ? Tensor()
                                   : make_tensor(o, o.host ? Device() : device, Layout::contiguous, layouts));
      if (wants_gradient(schema, draw, i)) wanted_.push_back(i);
    }
  }
  size_t wanted() const { return wanted_.size(); }
  int64_t count(size_t k) const { return draw_.inputs[wanted_[k]].count(); }
  const Shape shape(size_t k) const { return Shape(draw_.inputs[wanted_[k]].shape); }
  DType dtype(size_t k) const { return draw_.inputs[wanted_[k]].dtype; }
  std::string name(size_t k) const { return schema_.input(wanted_[k]).name; }

  // The outputs that a gradient can come from, on leaves of their own, with their seeds.
  struct Run {
    std::vector<Tensor> leaves, outputs, seeds;
  };
  Run run(const std::vector<Numbers>* shift = nullptr, double h = 0) const {
    Run r;
    std::vector<Tensor> inputs = inputs_;
    for (size_t k = 0; k < wanted_.size(); ++k) {
      Numbers x = numbers_of(inputs_[wanted_[k]]);
      for (size_t i = 0; shift && i < x.size(); ++i) x[i] += h * (*shift)[k][i];
      Tensor leaf = tensor_of(x, shape(k), dtype(k), device_);
      leaf.set_requires_grad();
      inputs[wanted_[k]] = leaf;
      r.leaves.push_back(leaf);
    }
    Random random(seed_);
    for (Tensor& out : call_op(schema_.info.name, inputs, draw_.wire())) {
      if (!out || !is_float(out.dtype()) || !out.requires_grad()) continue;
      Numbers s(static_cast<size_t>(out.element_count()));
      for (double& x : s) x = std::round(random.real(0.5, 1.5) * 64) / 64 * (random.chance(0.5) ? 1 : -1);
      r.seeds.push_back(tensor_of(s, out.shape(), out.dtype(), device_));
      r.outputs.push_back(out);
    }
    return r;
  }
  double loss(const std::vector<Numbers>& shift, double h) const {
    Run r = run(&shift, h);
    double sum = 0;
    for (size_t i = 0; i < r.outputs.size(); ++i) {
      Numbers a = numbers_of(r.outputs[i]), s = numbers_of(r.seeds[i]);
      for (size_t k = 0; k < a.size(); ++k) sum += a[k] * s[k];
    }
    return sum;
  }
  // Per wanted input; zeros where none arrives. Empty: no output can be differentiated.
  std::vector<Numbers> gradient(const std::vector<Numbers>* shift = nullptr, double h = 0) const {
    Run r = run(shift, h);
    if (r.outputs.empty()) return {};
    std::vector<Tensor> g = gradients(r.outputs, r.leaves, r.seeds);
    std::vector<Numbers> all;
    for (size_t k = 0; k < g.size(); ++k) {
      all.push_back(g[k] ? numbers_of(g[k]) : Numbers(size_t(count(k)), 0.0));
      if (g[k] && (!(g[k].shape() == shape(k)) || g[k].dtype() != dtype(k)))
        throw std::runtime_error(fmt::format("the gradient of {} is {}{}, the input {}{}", name(k),
                                             to_string(g[k].dtype()), to_string(g[k].shape()), to_string(dtype(k)),
                                             to_string(shape(k))));
    }
    return all;
  }
  // The gradient of sum(gradient * weights): second order.
  std::vector<Numbers> second(const std::vector<Numbers>& weights) const {
    Run r = run();
    if (r.outputs.empty()) return {};
    std::vector<Tensor> g = gradients(r.outputs, r.leaves, r.seeds, true, true);
    std::vector<Tensor> reached, seeds;
    for (size_t k = 0; k < g.size(); ++k)
      if (g[k] && g[k].requires_grad()) {
        reached.push_back(g[k]);
        seeds.push_back(tensor_of(weights[k], shape(k), dtype(k), device_));
      }
    std::vector<Numbers> all;
    std::vector<Tensor> h;
    if (!reached.empty()) h = gradients(reached, r.leaves, seeds);
    for (size_t k = 0; k < wanted_.size(); ++k)
      all.push_back(k < h.size() && h[k] ? numbers_of(h[k]) : Numbers(size_t(count(k)), 0.0));
    return all;
  }

 private:
  const Schema& schema_;
  const Draw& draw_;
  Device device_;
  uint64_t seed_;
  std::vector<Tensor> inputs_;
  std::vector<size_t> wanted_;
};

double dot(const std::vector<Numbers>& a, const std::vector<Numbers>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    for (size_t i = 0; i < a[k].size(); ++i) sum += a[k][i] * b[k][i];
  return sum;
}
double norm(const std::vector<Numbers>& a) {
  double sum = 0;
  for (const Numbers& n : a)
    for (double x : n) sum += std::fabs(x);
  return sum;
}

std::vector<Numbers> direction(const Function& f, Random& random, int64_t only = -1) {
  std::vector<Numbers> d;
  int64_t at = 0;
  for (size_t k = 0; k < f.wanted(); ++k) {
    d.emplace_back(size_t(f.count(k)), 0.0);
    for (double& x : d.back()) x = only < 0 ? (random.chance(0.5) ? 1 : -1) : at++ == only;
  }
  return d;
}

constexpr double kStep = 1e-5, kSlack = 2e-6;
// In f32 a smaller step would drown in rounding.
constexpr double kCoarseStep = 1.0 / 128, kCoarseSlack = 2e-3;

void first_order(Check& check, const Schema& schema, const Draw& draw, const Function& f, Random& random,
                 double step = kStep, double slack = kSlack) {
  std::vector<Numbers> g = f.gradient();
  int64_t all = 0;
  for (size_t k = 0; k < f.wanted(); ++k) all += f.count(k);
  // Element by element where there are few, else in random directions.
  int64_t rounds = std::min<int64_t>(all, 12);
  for (int64_t i = 0; i < rounds; ++i) {
    auto d = direction(f, random, all <= 12 ? i : random.chance(0.5) ? random.between(0, all - 1) : -1);
    double up = f.loss(d, step), down = f.loss(d, -step);
    if (!std::isfinite(up) || !std::isfinite(down)) continue;  // outside the domain: log of a negative number
    double want = (up - down) / (2 * step), got = dot(g, d);
    double allowed = slack * (1 + std::fabs(want) + std::min(norm(g), 100.0) + std::fabs(up));
    if (std::fabs(got - want) > allowed) {  // near a pole the difference itself is uncertain: by what a wider one says
      double wide = (f.loss(d, 2 * step) - f.loss(d, -2 * step)) / (4 * step);
      if (std::isfinite(wide)) allowed += std::fabs(wide - want);
    }
    check.expect(std::fabs(got - want) <= allowed,
                 "{}: its gradient gives {:.9g} in one direction, finite differences {:.9g}", draw.to_string(schema),
                 got, want);
  }
}

void second_order(Check& check, const Schema& schema, const Draw& draw, const Function& f, Random& random) {
  auto weights = direction(f, random);
  auto h = f.second(weights);
  if (h.empty()) return;
  for (int i = 0; i < 3; ++i) {
    auto d = direction(f, random);
    auto up = f.gradient(&d, kStep), down = f.gradient(&d, -kStep);
    double a = dot(up, weights), b = dot(down, weights);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    double want = (a - b) / (2 * kStep), got = dot(h, d);
    double allowed = 10 * kSlack * (1 + std::fabs(want) + std::min(norm(h), 100.0) + std::fabs(a));
    check.expect(std::fabs(got - want) <= allowed,
                 "{}: its second-order gradient gives {:.9g} in one direction, finite differences {:.9g}",
                 draw.to_string(schema), got, want);
  }
}

Draw as_f64(Draw draw) {
  for (Operand& o : draw.inputs) {
    if (!is_float(o.dtype) || o.host || o.dtype == DType::f64 || !o.present) continue;
    std::vector<uint8_t> wide(size_t(o.count()) * 8);
    for (int64_t i = 0; i < o.count(); ++i)
      put_number(wide.data(), DType::f64, i, get_number(o.bytes.data(), o.dtype, i));
    o.bytes = std::move(wide);
    o.dtype = DType::f64;
  }
  return draw;
}

}  // namespace

// Rounded to what the target is to compute in.
static Draw narrowed(const Schema& schema, Draw draw, DType dtype) {
  for (size_t k = 0; k < draw.inputs.size(); ++k) {
    Operand& o = draw.inputs[k];
    DType to = schema.input_spec(k).wide && info(dtype).bits < 32 ? DType::f32 : dtype;
    if (!is_float(o.dtype) || o.host || !o.present || info(o.dtype).bits <= info(to).bits) continue;
    std::vector<uint8_t> bytes(size_t(size_bytes(to, uint64_t(o.count()))));
    for (int64_t i = 0; i < o.count(); ++i) put_number(bytes.data(), to, i, get_number(o.bytes.data(), o.dtype, i));
    o.bytes = std::move(bytes);
    o.dtype = to;
  }
  return draw;
}

bool check_gradient(Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random,
                    DType dtype) {
  uint64_t seed = random.bits();
  if (target.plugin.empty() && dtype == DType::none) {
    Function f(schema, draw, Device(), seed);
    if (f.wanted() == 0 || f.run().outputs.empty()) return false;
    first_order(check, schema, draw, f, random);
    return true;
  }
  if (dtype == DType::none) dtype = DType::f32;  // a device need not have f64
  Draw narrow = narrowed(schema, draw, dtype);
  Draw wide = as_f64(narrow);
  Function f(schema, narrow, target.device, seed), reference(schema, wide, Device(), seed);
  if (f.wanted() == 0) return false;
  auto want = reference.gradient();
  if (want.empty()) return false;
  auto got = f.gradient();
  check.need(got.size() == want.size(), "{}: {} gradients on {}, {} on the host", draw.to_string(schema), got.size(),
             target.device.name(), want.size());
  double largest = 0, n = 0, end = cts::largest(dtype);
  for (const Numbers& w : want)
    for (double x : w)
      if (std::fabs(x) <= end) largest = std::max(largest, std::fabs(x)), ++n;
  // Each step of a rule rounds; of halves that are fewer digits than the margin of f32 would leave.
  double margin = dtype == DType::f32 ? 16 : dtype == DType::f64 ? 64 : 2;
  double allowed =
      margin * schema.info.tolerance_ulps * epsilon(dtype) * std::sqrt(std::max(n, 1.0)) * std::max(largest, 1.0);
  for (size_t k = 0; k < want.size(); ++k)
    for (size_t i = 0; i < want[k].size(); ++i) {
      double w = want[k][i], g = got[k][i];
      if (!std::isfinite(w) || (std::fabs(w) > end && std::isinf(g) && std::signbit(g) == std::signbit(w))) continue;
      if (!check.expect(std::fabs(g - w) <= allowed, "{}: the gradient of {} on {} is {:.9g} at {}, on the host {:.9g}",
                        draw.to_string(schema), f.name(k), target.device.name(), g, i, w))
        return true;
    }
  return true;
}

bool check_by_differences(Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random,
                          bool in_f64) {
  Function f(schema, draw, target.device, random.bits());
  if (f.wanted() == 0 || f.run().outputs.empty()) return false;
  first_order(check, schema, draw, f, random, in_f64 ? kStep : kCoarseStep, in_f64 ? kSlack : kCoarseSlack);
  return true;
}

void level2_gradient(const Options& options, const std::string& op, std::vector<Test>& tests) {
  auto add = [&](const std::string& what, int rounds, auto body) {
    std::string name = op + " " + what;
    tests.push_back({"L2", name, [options, op, name, rounds, body](Check& check) {
                       const Target& target = target_of(options.plugin);
                       Schema schema(op_info(op));
                       if (!schema.info.no_gradient.empty()) check.skip("no gradient: " + schema.info.no_gradient);
                       std::string why;
                       if (!concerns(target, schema, why)) check.skip(why);
                       Random random(seed_of(options.seed, name));
                       Generator generator(schema);
                       Wishes wishes;
                       wishes.sizes = {1, 2, 3};
                       wishes.weights = {0.2, 0.4, 0.4};
                       wishes.max_elements = 24;
                       wishes.max_total = 48;
                       wishes.max_rank = 2;
                       wishes.smooth = true;
                       wishes.mix = false;
                       for (const std::string& variable : schema.type_names)
                         if (schema.types_of(variable) & set_of(DType::f64)) wishes.types[variable] = DType::f64;
                       for (const OpAttribute& a : schema.info.attributes)
                         if (a.kind == "dtype") wishes.types[a.name] = DType::f64;
                       int compared = 0, drawn = 0;
                       std::string refusal;
                       for (int i = 0; i < rounds; ++i)
                         if (auto draw = generator.draw(random, wishes)) {
                           ++drawn;
                           try {
                             compared += body(check, schema, *draw, target, random);
                           } catch (const Error& e) {
                             if (e.code() != Code::unsupported && e.code() != Code::refused) throw;
                             refusal = e.what();
                           }
                         }
                       if (!drawn) {  // the cases are then all there is
                         for (const OpCase& c : schema.info.cases) {
                           wishes.a_case = &c;
                           wishes.max_elements = wishes.max_total = 200;
                           if (auto draw = generator.draw(random, wishes))
                             compared += body(check, schema, *draw, target, random);
                         }
                         check.need(compared > 0, "no generator: {}", generator.reason());
                       }
                       if (!compared)
                         check.skip(refusal.empty() ? "no float operand that can have a gradient"
                                                    : "kernel refused: " + refusal);
                     }});
  };
  add("gradient", std::max(2, options.cases / 2),
      [](Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random) {
        return check_gradient(check, schema, draw, target, random);
      });
  Schema schema(op_info(op));
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    if (dtype == DType::f32 && options.plugin != "host") continue;  // that is the one before, on a plugin
    bool takes = !schema.type_names.empty() && schema.info.no_gradient.empty();
    for (const std::string& variable : schema.type_names)
      takes &= !(schema.types_of(variable) & set_of(DType::f64)) || (schema.types_of(variable) & set_of(dtype));
    if (!takes) continue;
    add(fmt::format("gradient of {}", to_string(dtype)), 2,
        [dtype](Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random) {
          return check_gradient(check, schema, draw, target, random, dtype);
        });
  }
  if (options.plugin == "host")
    add("second order", 1, [](Check& check, const Schema& schema, const Draw& draw, const Target&, Random& random) {
      Function f(schema, draw, Device(), random.bits());
      if (f.wanted() == 0 || f.run().outputs.empty()) return false;
      second_order(check, schema, draw, f, random);
      return true;
    });
}

}  // namespace oarlock::cts
