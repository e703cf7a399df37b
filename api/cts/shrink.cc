// Without knowing the op: sizes that are equal belong together, whatever the strings call them; infer_op says what is legal.
#include "api/cts/shrink.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

#include <oarlock/base/op.h>

#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

bool legal(const Recorded& c) {
  std::vector<Tensor> operands;
  for (const Operand& o : c.draw.inputs)
    operands.push_back(!o.present ? Tensor()
                       : o.host   ? Tensor::from_host(o.bytes.data(), Shape(o.shape), o.dtype)
                                  : Tensor::empty(Shape(o.shape), o.dtype));
  try {
    infer_op(c.op, operands, c.draw.wire());
    return true;
  } catch (const std::exception&) { return false; }
}

// Axis of an operand cut to its first or last elements; where it lay is kept.
void cut(Operand& o, size_t axis, int64_t to, bool last) {
  int64_t from = o.shape[axis], inner = info(o.dtype).bits / 8, outer = 1;
  for (size_t i = axis + 1; i < o.shape.size(); ++i) inner *= o.shape[i];
  for (size_t i = 0; i < axis; ++i) outer *= o.shape[i];
  std::vector<uint8_t> bytes(size_t(outer * to * inner));
  for (int64_t i = 0; i < outer && to * inner > 0; ++i)
    memcpy(&bytes[size_t(i * to * inner)], &o.bytes[size_t((i * from + (last ? from - to : 0)) * inner)],
           size_t(to * inner));
  o.bytes = std::move(bytes);
  o.shape[axis] = to;
}

// Places that index into an axis stay inside it.
void keep_inside(const Schema& schema, Recorded& c, int64_t from, int64_t to) {
  for (size_t i = 0; i < c.draw.inputs.size(); ++i) {
    Operand& o = c.draw.inputs[i];
    if (!o.present || !is_integer(o.dtype) || schema.input(i).range.empty()) continue;
    for (int64_t k = 0; k < o.count(); ++k) {
      double x = get_number(o.bytes.data(), o.dtype, k);
      if (x >= double(to) && x < double(from)) put_number(o.bytes.data(), o.dtype, k, double(to - 1));
    }
  }
}

class Shrinker {
 public:
  Shrinker(const Recorded& call, const std::function<bool(const Recorded&)>& holds, double seconds)
      : schema_(op_info(call.op)),
        holds_(holds),
        end_(Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1000))) {
    best_.call = call;
  }
  Shrunk run() {
    bool more = true;
    while (more && !late()) {
      more = sizes();
      more |= operands();
      more |= attributes();
      more |= layouts();
      more |= ranks();
      more |= values();
    }
    return std::move(best_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool late() const { return Clock::now() > end_; }
  bool take(Recorded&& candidate) {
    if (late() || !legal(candidate)) return false;
    ++best_.tried;
    if (!holds_(candidate)) return false;
    ++best_.taken;
    best_.call = std::move(candidate);
    return true;
  }
  std::vector<Operand>& now() { return best_.call.draw.inputs; }

  // All axes of one size, or one of them, cut to `to`; attributes that say the same size follow.
  bool resize(int64_t from, int64_t to, bool last, int only_input, int only_axis, bool with_attributes) {
    Recorded c = best_.call;
    bool any = false;
    for (size_t i = 0; i < c.draw.inputs.size(); ++i) {
      Operand& o = c.draw.inputs[i];
      if (!o.present || o.host || (only_input >= 0 && int(i) != only_input)) continue;
      for (size_t a = 0; a < o.shape.size(); ++a)
        if (o.shape[a] == from && (only_axis < 0 || int(a) == only_axis)) cut(o, a, to, last), any = true;
    }
    if (with_attributes) {
      bool changed = false;
      for (size_t a = 0; a < c.draw.attrs.size(); ++a) {
        const std::string& kind = schema_.info.attributes[a].kind;
        AttrValue& v = c.draw.attrs[a];
        if (!v.is_set || kind == "axis" || kind == "axes" || kind == "flag" || kind == "dtype") continue;
        if (v.type == OAR_ATTR_INT && v.i == from) v.i = to, changed = true;
        if (v.type == OAR_ATTR_INTS)
          for (int64_t& n : v.ints)
            if (n == from) n = to, changed = true;
      }
      if (!changed) return false;
    }
    if (!any && !with_attributes) return false;
    keep_inside(schema_, c, from, to);
    return take(std::move(c));
  }

  bool sizes() {
    bool more = false;
    for (;;) {
      std::set<int64_t, std::greater<>> extents;
      for (const Operand& o : now())
        if (o.present && !o.host)
          for (int64_t n : o.shape)
            if (n > 1) extents.insert(n);
      bool once = false;
      for (int64_t from : extents) {
        std::vector<int64_t> goals = {1, 2, from / 4, from / 2, from - from / 4, from - 1};
        std::vector<int64_t> done;
        for (int64_t to : goals) {
          if (to < 1 || to >= from || once || late()) continue;
          if (std::find(done.begin(), done.end(), to) != done.end()) continue;
          done.push_back(to);
          for (bool last : {false, true})
            for (bool follow : {false, true}) {
              if (once) break;
              once = resize(from, to, last, -1, -1, follow);
              for (size_t i = 0; i < now().size() && !once; ++i)
                for (size_t a = 0; now()[i].present && a < now()[i].shape.size() && !once; ++a) {
                  if (now()[i].shape[a] != from) continue;
                  // In one operand, or at one place of all.
                  once = resize(from, to, last, int(i), int(a), follow) ||
                         (i == 0 && resize(from, to, last, -1, int(a), follow));
                }
            }
        }
        if (once) break;
      }
      if (!once) return more;
      more = true;
    }
  }

  bool operands() {
    bool more = false;
    for (size_t i = now().size(); i-- > 0;) {
      Recorded c = best_.call;
      if (schema_.input(i).variadic && c.draw.inputs.size() > 1 && i + 1 >= schema_.info.inputs.size()) {
        c.draw.inputs.erase(c.draw.inputs.begin() + int64_t(i));
        more |= take(std::move(c));
      } else if (schema_.input(i).optional && c.draw.inputs[i].present) {
        c.draw.inputs[i] = Operand();
        c.draw.inputs[i].present = false;
        more |= take(std::move(c));
      }
    }
    return more;
  }

  bool attributes() {
    bool more = false;
    for (size_t a = 0; a < best_.call.draw.attrs.size(); ++a) {
      const OpAttribute& info = schema_.info.attributes[a];
      AttrValue plain;
      plain.type = best_.call.draw.attrs[a].type;
      const oar_attr_t& def = info.default_value;
      if (info.may_be_none) plain.is_set = false;
      else if (info.required || !def.is_set || def.type != plain.type) continue;
      else if (plain.type == OAR_ATTR_FLOAT) plain.f = def.value.f;
      else if (plain.type == OAR_ATTR_STRING) plain.text.assign(def.value.str, def.count);
      else if (plain.type == OAR_ATTR_INTS) plain.ints.assign(def.value.ints, def.value.ints + def.count);
      else if (plain.type == OAR_ATTR_FLOATS) plain.floats.assign(def.value.floats, def.value.floats + def.count);
      else plain.i = def.value.i;
      if (plain.to_string() == best_.call.draw.attrs[a].to_string()) continue;
      Recorded c = best_.call;
      c.draw.attrs[a] = plain;
      more |= take(std::move(c));
    }
    return more;
  }

  bool layouts() {
    Recorded c = best_.call;
    bool any = false;
    for (Operand& o : c.draw.inputs) any |= !o.strides.empty(), o.strides.clear();
    if (!any) return false;
    if (take(std::move(c))) return true;
    bool more = false;
    for (size_t i = 0; i < now().size(); ++i) {
      if (now()[i].strides.empty()) continue;
      c = best_.call;
      c.draw.inputs[i].strides.clear();
      more |= take(std::move(c));
    }
    return more;
  }

  // An axis of size 1 that all operands of the highest rank have at the same place.
  bool ranks() {
    bool more = false;
    for (size_t axis = 0; axis < size_t(kMaxRank);) {
      size_t rank = 0;
      for (const Operand& o : now())
        if (o.present && !o.host) rank = std::max(rank, o.shape.size());
      if (axis >= rank) break;
      Recorded c = best_.call;
      bool fits = true;
      for (Operand& o : c.draw.inputs) {
        if (!o.present || o.host || o.shape.size() != rank) continue;
        fits &= o.shape[axis] == 1;
        o.shape.erase(o.shape.begin() + int64_t(axis));
        if (!o.strides.empty()) o.strides.erase(o.strides.begin() + int64_t(axis));
      }
      for (size_t a = 0; a < c.draw.attrs.size(); ++a) {
        AttrValue& v = c.draw.attrs[a];
        const std::string& kind = schema_.info.attributes[a].kind;
        if (kind == "axis" && v.i > int64_t(axis)) --v.i;
        if (kind == "axes") {
          v.ints.erase(std::remove(v.ints.begin(), v.ints.end(), int64_t(axis)), v.ints.end());
          for (int64_t& n : v.ints) n -= n > int64_t(axis);
        }
      }
      if (fits && take(std::move(c))) more = true;
      else ++axis;
    }
    return more;
  }

  // Plain numbers: zeros, ones, whole numbers; first all of an operand, then one by one where there are few.
  bool values() {
    bool more = false;
    auto rewrite = [&](size_t i, int64_t first, int64_t end, auto f) {
      Recorded c = best_.call;
      Operand& o = c.draw.inputs[i];
      bool changed = false;
      for (int64_t k = first; k < end; ++k) {
        double x = get_number(o.bytes.data(), o.dtype, k), y = f(x, k);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        put_number(o.bytes.data(), o.dtype, k, y);
        changed = true;
      }
      return changed && take(std::move(c));
    };
    for (size_t i = 0; i < now().size(); ++i) {
      if (!now()[i].present || now()[i].host) continue;
      int64_t n = now()[i].count();
      auto simpler = [&](int64_t first, int64_t end) {
        auto constant = [&](double v) { return rewrite(i, first, end, [v](double, int64_t) { return v; }); };
        auto all_are = [&](double v) {
          for (int64_t k = first; k < end; ++k)
            if (get_number(now()[i].bytes.data(), now()[i].dtype, k) != v) return false;
          return true;
        };
        if (all_are(0)) return false;
        if (constant(0)) return true;
        if (all_are(1)) return false;
        if (constant(1)) return true;
        return is_float(now()[i].dtype) &&
               (rewrite(i, first, end, [](double x, int64_t) { return std::isfinite(x) ? std::nearbyint(x) : x; }) ||
                rewrite(i, first, end,
                        [](double x, int64_t) { return std::isfinite(x) ? std::nearbyint(x * 4) / 4 : x; }));
      };
      if (!values_done_) more |= simpler(0, n);
      // Halves, quarters ... down to elements, as long as there are not too many.
      for (int64_t piece = n / 2; piece >= 1 && n / piece <= 64; piece /= 2)
        for (int64_t at = 0; at < n && !late(); at += piece) more |= simpler(at, std::min(n, at + piece));
    }
    return more && !std::exchange(values_done_, true);
  }

  Schema schema_;
  const std::function<bool(const Recorded&)>& holds_;
  Clock::time_point end_;
  Shrunk best_;
  bool values_done_ = false;
};

}  // namespace

Shrunk shrink(const Recorded& call, const std::function<bool(const Recorded&)>& holds, double seconds) {
  return Shrinker(call, holds, seconds).run();
}

}  // namespace oarlock::cts
