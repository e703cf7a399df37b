// Shows that level 2 can fail: outputs are spoilt by 1 % on purpose, and the comparison must notice.
#include <algorithm>
#include <cmath>
#include <string.h>

#include "api/cts/level2.h"
#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

constexpr double kSpoilt = 0.01;  // far above rounding in f32 and f64, far below anything a user would call close

double at(const HostTensor& t, int64_t i) { return get_number(t.bytes.data(), t.dtype, i); }

// True if the two differ somewhere by more than 1 %.
bool differs(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].dtype == DType::none || !(a[k].shape == b[k].shape)) continue;
    double largest = 0;
    for (int64_t i = 0; i < b[k].count(); ++i)
      if (std::isfinite(at(b[k], i))) largest = std::max(largest, std::fabs(at(b[k], i)));
    for (int64_t i = 0; i < a[k].count(); ++i) {
      double x = at(a[k], i), y = at(b[k], i);
      if (std::isnan(x) != std::isnan(y)) return true;
      if (std::fabs(x - y) > kSpoilt * std::max(std::fabs(y), largest)) return true;
    }
  }
  return false;
}

// One wrong element: the largest, so that no cancellation hides it. Where all elements are what is left of much larger
// terms, it is wrong by a share of those.
bool wrong_element(std::vector<HostTensor>& got, const Oracle& oracle) {
  const std::vector<HostTensor>& want = oracle.want;
  for (size_t k = 0; k < got.size(); ++k) {
    HostTensor& t = got[k];
    if (t.dtype == DType::none || t.count() == 0) continue;
    int64_t most = 0;
    for (int64_t i = 0; i < t.count(); ++i) {
      double x = at(want[k], i), best = at(want[k], most);
      if (std::isfinite(x) && (!std::isfinite(best) || std::fabs(x) > std::fabs(best))) most = i;
    }
    double x = at(want[k], most);
    if (t.dtype == DType::boolean) x = x == 0;
    else if (!is_float(t.dtype)) {  // by bits: a double does not hold every i64
      t.bytes[size_t(most * info(t.dtype).bits / 8)] ^= 1;
      return true;
    } else if (!std::isfinite(x)) {
      x = 0;
    } else {
      double terms = k < oracle.scale.size() && oracle.scale[k].dtype != DType::none ? at(oracle.scale[k], most) : 0;
      x = x == 0 ? 1 : x + std::copysign(kSpoilt * std::max(std::fabs(x), std::isfinite(terms) ? 0.1 * terms : 0), x);
    }
    put_number(t.bytes.data(), t.dtype, most, x);
    return true;
  }
  return false;
}

// The elements as if two axes had been taken for each other.
bool swapped_axis(std::vector<HostTensor>& got) {
  bool any = false;
  for (HostTensor& t : got) {
    if (t.dtype == DType::none) continue;
    std::vector<int> wide;
    for (int i = 0; i < t.shape.rank; ++i)
      if (t.shape(i) > 1) wide.push_back(i);
    if (wide.size() < 2) continue;
    int a = wide[wide.size() - 2], b = wide.back(), rank = t.shape.rank;
    std::vector<int64_t> turned(static_cast<size_t>(rank)), stride(size_t(rank), 1);
    for (int i = 0; i < rank; ++i) turned[size_t(i)] = t.shape(i == a ? b : i == b ? a : i);
    for (int i = rank - 1; i-- > 0;) stride[size_t(i)] = stride[size_t(i) + 1] * turned[size_t(i) + 1];
    std::vector<uint8_t> bytes(t.bytes.size());
    int64_t width = info(t.dtype).bits / 8;
    for (int64_t i = 0; i < t.count(); ++i) {
      int64_t rest = i, to = 0;
      for (int k = rank - 1; k >= 0; --k) {
        to += rest % t.shape(k) * stride[size_t(k == a ? b : k == b ? a : k)];
        rest /= t.shape(k);
      }
      memcpy(&bytes[size_t(to * width)], &t.bytes[size_t(i * width)], size_t(width));
    }
    t.bytes = std::move(bytes);
    any = true;
  }
  return any;
}

// An operand with one element made zero, as if its term had been left out.
bool drop_term(Draw& draw, Random& random) {
  std::vector<size_t> can;
  for (size_t i = 0; i < draw.inputs.size(); ++i)
    if (draw.inputs[i].present && !draw.inputs[i].host && draw.inputs[i].count() > 0) can.push_back(i);
  if (can.empty()) return false;
  Operand& o = draw.inputs[random.of(can)];
  int64_t i = random.between(0, o.count() - 1);
  if (get_number(o.bytes.data(), o.dtype, i) == 0) return false;
  put_number(o.bytes.data(), o.dtype, i, 0);
  return true;
}

}  // namespace

std::vector<Test> mutations(const Options& options) {
  std::vector<Test> tests;
  for (const std::string& op : chosen_ops(options))
    for (const char* kind : {"wrong element", "dropped term", "swapped axis"}) {
      std::string name = op + ": " + kind;
      tests.push_back({"M", name, [options, op, name, kind = std::string(kind)](Check& check) {
                         const Target& target = target_of(options.plugin);
                         Schema schema(op_info(op));
                         std::string why;
                         if (!concerns(target, schema, why)) check.skip(why);
                         Random random(seed_of(options.seed, name));
                         Generator generator(schema);
                         Wishes wishes;
                         wishes.sizes = {1, 2, 3, 5, 17};
                         wishes.weights = {0.1, 0.3, 0.3, 0.2, 0.1};
                         wishes.mix = false;
                         for (const std::string& variable : schema.type_names)
                           wishes.types[variable] = plain_dtype(schema.types_of(variable));
                         for (const OpAttribute& a : schema.info.attributes)
                           if (a.kind == "dtype") wishes.types[a.name] = DType::f32;
                         int shown = 0, caught = 0, drawn = 0;
                         std::string survivor, refusal;
                         size_t cases = schema.info.cases.size(), rounds = 24;
                         for (size_t i = 0; i < rounds + cases && shown < 8; ++i) {
                           if (i >= rounds && drawn > 0) break;  // cases only where chance finds nothing
                           wishes.a_case = i < rounds ? nullptr : &schema.info.cases[i - rounds];
                           auto draw = generator.draw(random, wishes);
                           if (!draw) {
                             if (i < rounds) i = rounds - 1;
                             continue;
                           }
                           ++drawn;
                           Oracle oracle;
                           CallOptions how;
                           if (target.has_kernels(op)) {
                             how.route = Route::kernel;
                             how.plugin = target.plugin;
                           }
                           std::vector<HostTensor> got;
                           try {
                             oracle = oracle_of(schema, *draw);
                             got = run_call(schema, *draw, target.device, how, nullptr);
                             if (kind == "dropped term") {
                               Draw less = *draw;
                               if (!drop_term(less, random)) continue;
                               got = run_call(schema, less, target.device, how, nullptr);
                             }
                           } catch (const RefusedCall& refused) {
                             refusal = refused.reason;
                             continue;
                           } catch (const Error&) {
                             if (kind == "dropped term") continue;  // zero is no legal value there
                             throw;
                           }
                           bool spoilt = kind == "dropped term"    ? true
                                         : kind == "wrong element" ? wrong_element(got, oracle)
                                                                   : swapped_axis(got);
                           if (!spoilt || (kind != "wrong element" && !differs(got, oracle.want))) continue;
                           ++shown;
                           if (compare_all(oracle, got)) ++caught;
                           else survivor = draw->to_string(schema);
                         }
                         check.need(drawn > 0, "no generator: {}", generator.reason());
                         if (!shown)
                           check.skip(refusal.empty() ? "its outputs can't show it" : "kernel refused: " + refusal);
                         bool all = kind == "wrong element";
                         check.expect(all ? caught == shown : caught > 0, "survived: {} of {} were noticed; not in {}",
                                      caught, shown, survivor);
                       }});
    }
  return tests;
}

}  // namespace oarlock::cts
