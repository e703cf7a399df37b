#include "core/op/infer.h"

#include <algorithm>

#include "core/op/symbol.h"

namespace oarlock::op {
namespace {
std::string dtype_text(DType t) { return std::string(to_string(t)); }
}  // namespace

// ---- texts, built only on failure ---------------------------------------------------------------------------------------
std::string InferCall::expects() const {
  std::string t;
  for (auto& x : def.inputs) t += (t.empty() ? "; expects " : ", ") + std::string(x.name) + " " + x.spec;
  return t + ".";
}

std::string InferCall::input_text(int j) const { return std::string(name_of(j)) + " is " + to_string(*in[j]); }

bool InferCall::fail(std::string what) {
  if (!failed) report.error = std::string(def.name) + ": " + std::move(what) + expects();
  failed = true;
  return false;
}

std::string InferCall::expression_text(const Item& it) const {
  struct Part {
    std::string text;
    int rank;  // how tightly it binds: 0 sum, 1 product, 2 a single word
  };
  std::vector<Part> stack;
  for (int t = it.first; t < it.first + it.count; ++t) {
    Token k = r.token[t];
    switch (k.op) {
      case 'n': stack.push_back({std::to_string(k.value), 2}); break;
      case 'v': stack.push_back({std::string(r.names[k.value]), 2}); break;
      case '#': stack.push_back({"#" + std::string(r.names[k.value]), 2}); break;
      case 'a': stack.push_back({def.attributes[k.value].name, 2}); break;
      default: {
        int rank = k.op == '*' || k.op == '/';
        Part b = std::move(stack.back());
        stack.pop_back();
        Part& a = stack.back();
        if (a.rank < rank) a.text = std::string("(") + a.text + ")";
        if (b.rank < rank || (b.rank == rank && (k.op == '/' || k.op == '-'))) b.text = std::string("(") + b.text + ")";
        a = {rank ? a.text + k.op + b.text : a.text + " " + k.op + " " + b.text, rank};
      }
    }
  }
  return stack.empty() ? "" : stack[0].text;
}

// "x is [1, 5, 8, 8] (C=5), groups=2": where the names of an expression have their values from.
std::string InferCall::bound_text(const Item& it) const {
  std::string out;
  for (int t = it.first; t < it.first + it.count; ++t) {
    Token k = r.token[t];
    std::string part;
    if (k.op == 'a') part = std::string(def.attributes[k.value].name) + "=" + to_string(attrs.dim(k.value));
    if ((k.op == 'v' || k.op == '#') && (bound >> k.value & 1)) {
      const Shape& v = value[k.value];
      std::string name = (k.op == '#' ? "#" : "") + std::string(r.names[k.value]);
      part = name + "=" + (k.op == '#' ? std::to_string(v.rank) : to_string(v[0]));
      if (by[k.value] >= 0) part = input_text(by[k.value]) + " (" + part + ")";
    }
    if (!part.empty() && out.find(part) == out.npos) out += (out.empty() ? "" : ", ") + part;
  }
  return out;
}

// ---- matching -----------------------------------------------------------------------------------------------------------
bool InferCall::agree(Dim want, Dim got, std::string_view what, int j, int from, bool or_one) {
  if (want == got || (or_one && got.n == 1)) return true;
  bool other = from >= 0 && from != j;
  std::string n(what), text = n + " disagrees: ";
  if (other) text += input_text(from) + " (" + n + "=" + to_string(want) + "), ";
  if (j >= 0) text += input_text(j) + " (" + n + "=" + to_string(got) + ")" + (other ? "" : ", not " + to_string(want));
  else text += to_string(got) + ", not " + to_string(want);
  if (want.known() && got.known()) return fail(text);
  report.guards.push_back({want, got, or_one, def.name + (": " + text) + expects()});
  return true;
}

void InferCall::bind(int slot, const Dim* from, int n, int j) {
  Shape& v = value[slot];
  v.rank = 0;
  v.push(from, n);
  by[slot] = int8_t(std::min(j, 127));
  bound |= 1u << slot;
}

InferCall::Value InferCall::eval(const Item& it) {
  Value st[16];
  int n = 0;
  for (int t = it.first; t < it.first + it.count; ++t) {
    Token k = r.token[t];
    switch (k.op) {
      case 'v':
        if (bound >> k.value & 1) st[n++] = {value[k.value][0], 1, 0, 0};
        else st[n++] = {1, 1, 1, k.value};
        break;
      case 'n': st[n++] = {k.value, 1, 0, 0}; break;
      case 'a': st[n++] = {attrs.dim(k.value), 1, 0, 0}; break;
      case '#': st[n++] = {value[k.value].rank, 1, 0, 0}; break;
      default: {
        Value b = st[--n], &a = st[n - 1];
        if (k.op == '*') a = {a.mul * b.mul, a.div * b.div, a.unknowns + b.unknowns, a.unknowns ? a.slot : b.slot};
        else if (k.op == '/') a = {a.mul * b.div, a.div * b.mul, a.unknowns + 2 * b.unknowns, a.slot};
        else {
          Dim x = a.mul / a.div, y = b.mul / b.div;
          a = {k.op == '+' ? x + y : x - y, 1, 2 * (a.unknowns + b.unknowns), 0};
        }
      }
    }
  }
  return st[0];
}

bool InferCall::divides(const Value& v, const Item& it, int j) {
  if (!v.mul.known() || !v.div.known() || (v.div.n && v.mul.n % v.div.n == 0)) return true;
  std::string from = bound_text(it);
  std::string own = j >= 0 && from.find(input_text(j)) == from.npos ? input_text(j) : "";
  return fail(expression_text(it) + " is not whole: " + to_string(v.mul) + " is not a multiple of " + to_string(v.div) +
              ": " + from + (from.empty() || own.empty() ? "" : ", ") + own);
}

bool InferCall::broadcast(const Dim* d, int width, int j) {
  Shape b;
  b.rank = std::max(batch.rank, width);
  for (int i = 0; i < b.rank; ++i) {
    int l = batch.rank - b.rank + i, q = width - b.rank + i;
    Dim x = l < 0 ? Dim(1) : batch[l], y = q < 0 ? Dim(1) : d[q];
    if (x.n != y.n && x.n != 1 && y.n != 1) {
      if (x.known() && y.known()) {
        int from = 0;  // the input that gave x
        for (int k = 0; k < j; ++k) {
          const Spec& p = r.in[spec_of(k)];
          if (!in[k] || p.pack < 0 || r.item[p.first + p.pack].kind != Item::batch) continue;
          int at = in[k]->rank - p.count + p.pack + 1 - (b.rank - i);  // that axis there
          if (at >= p.pack && in[k]->d[at].n == x.n) from = k;
        }
        return fail("shapes do not broadcast, " + to_string(x) + " against " + to_string(y) + ": " +
                    (j != from ? input_text(from) + ", " : "") + input_text(j));
      }
      agree(x, y, "broadcast size", j, 0, true);
    }
    b.d[i] = x.n == 1 || (!x.known() && y.known() && y.n != 1) ? y : x;
  }
  batch = b;
  return true;
}

bool InferCall::match(int j, bool last) {
  const Spec& p = r.in[spec_of(j)];
  const Shape& s = *in[j];
  int fixed = p.count - (p.pack >= 0), width = s.rank - fixed, at = 0;
  if (p.pack >= 0 ? width < 0 : width != 0)
    return fail("rank disagrees: " + input_text(j) + " (rank " + std::to_string(s.rank) + "), needs " +
                (p.pack >= 0 ? "at least " : "") + std::to_string(fixed));
  for (int k = 0; k < p.count; ++k) {
    const Item& it = r.item[p.first + k];
    int n = k == p.pack ? width : 1;
    switch (it.kind) {
      case Item::name:
      case Item::pack: {
        Shape& v = value[it.slot];
        if (!(bound >> it.slot & 1)) {
          if (!it.or_one || last) bind(it.slot, s.d + at, n, j);
          break;
        }
        if (v.rank != n)
          return fail(std::string(r.names[it.slot]) + " disagrees: " + input_text(by[it.slot]) + ", " + input_text(j));
        for (int i = 0; i < n; ++i)
          if (v.d[i].n != s[at + i].n) {
            if (!agree(v.d[i], s[at + i], r.names[it.slot], j, by[it.slot], it.or_one)) return false;
            if (s[at + i].known() && !it.or_one) v.d[i] = s[at + i];  // a number beats the symbol it must equal
          }
        break;
      }
      case Item::expr: {
        Value e = eval(it);
        if (e.unknowns == 0) {
          if (!divides(e, it, j)) return false;
          Dim want = e.mul / e.div;
          if (want == s[at] || (it.or_one && s[at].n == 1)) break;
          if (want.known() && s[at].known()) {
            std::string what = expression_text(it), from = bound_text(it), size = "(" + what + "=";
            if (it.count == 1 && r.token[it.first].op == 'n')
              return fail("a size disagrees: " + input_text(j) + " (" + to_string(s[at]) + ", not " + to_string(want) +
                          ")");
            return fail(what + " disagrees: " + from + (it.count > 1 ? " " + size + to_string(want) + ")" : "") + ", " +
                        input_text(j) + " " + size + to_string(s[at]) + ")");
          }
          agree(want, s[at], expression_text(it), j, -1, it.or_one);
        } else if (e.unknowns == 1) {
          Value x{s[at] * e.div, e.mul, 0, 0};
          if (x.div.known() && x.div.n == 0) break;  // 0 * N tells nothing of N
          if (!divides(x, it, j)) return false;
          Dim d = x.mul / x.div;
          bind(e.slot, &d, 1, j);
        } else if (last) {
          return fail(expression_text(it) + " cannot be solved for its names: " + input_text(j));
        }
        break;
      }
      case Item::batch:
        if (last && !broadcast(s.d + at, width, j)) return false;
        break;
      case Item::attr_pack: {
        auto dims = attrs.dims(it.slot);
        const char* name = def.attributes[it.slot].name;
        if (int(dims.size()) != n)
          return fail(std::string(name) + " disagrees: it has " + std::to_string(dims.size()) + " sizes, " +
                      input_text(j) + " needs " + std::to_string(n));
        for (int i = 0; i < n; ++i)
          if (!agree(dims[size_t(i)], s[at + i], name, j, -1)) return false;
        break;
      }
      case Item::any:
      case Item::any_pack:
      case Item::fresh: break;
    }
    at += n;
  }
  return true;
}

bool InferCall::types() {
  std::fill_n(var_type, Rule::kTypes, DType::none);
  int first_of[Rule::kTypes];
  for (int j = 0; j < count; ++j) {
    if (!in[j]) continue;
    const Spec& p = r.in[spec_of(j)];
    DType d = in_type[j];
    if (p.type == 'f' && d != DType(p.type_slot))
      return fail(name_of(j) + (" is " + dtype_text(d)) + ", needs " + dtype_text(DType(p.type_slot)) + ". Cast it");
    if (p.type == 'a' && d != attrs.dtype(p.type_slot))
      return fail(name_of(j) + (" is " + dtype_text(d)) + ", but " + def.attributes[p.type_slot].name + " is " +
                  dtype_text(attrs.dtype(p.type_slot)) + ". Cast it");
    if (p.type != 'v' || p.wide) continue;
    const TypeVar* var = nullptr;
    for (auto& v : def.types)
      if (r.types[p.type_slot] == v.name) var = &v;
    DType& u = var_type[p.type_slot];
    if (u == DType::none) first_of[p.type_slot] = j;
    DType before = u, mixed = u == DType::none || u == d    ? d
                              : !var || var->mixing == same ? DType::none
                                                            : promote(u, d);
    if (mixed == DType::none) {
      int f = first_of[p.type_slot];
      return fail("dtypes disagree: " + std::string(name_of(f)) + " is " + dtype_text(before) + ", " + name_of(j) +
                  " is " + dtype_text(d) + ". Cast one of them");
    }
    u = mixed;
    DTypeSet set = var ? var->set : kAny;
    if (var && var->mixing == promotes_to_float && (set_of(u) & kInt)) u = DType::f32;
    if (!(set & set_of(u)))
      return fail(name_of(j) + (" is " + dtype_text(d)) + ", which " + def.name + " does not take. Cast it");
  }
  for (int j = 0; j < count; ++j) {  // once the variables are known
    const Spec& p = r.in[spec_of(j)];
    if (!in[j] || !p.wide) continue;
    DType want = at_least_f32(var_type[p.type_slot]);
    if (in_type[j] != want)
      return fail(name_of(j) + (" is " + dtype_text(in_type[j])) + ", needs " + dtype_text(want) + ". Cast it");
  }
  for (int i = 0; i < out_count; ++i) {
    const Spec& p = r.out[std::min(i, def.outputs.count - 1)];
    out_type[i] = p.type == 'f' ? DType(p.type_slot) : p.type == 'a' ? attrs.dtype(p.type_slot) : var_type[p.type_slot];
    if (p.wide) out_type[i] = at_least_f32(out_type[i]);
  }
  return true;
}

bool InferCall::fill(int i, int o) {
  Shape& s = out[i];
  s.rank = 0;
  int wanted = 0;
  auto push = [&](const Dim* d, int n) {
    wanted += n;
    s.push(d, n);
  };
  for (int k = r.out[o].first; k < r.out[o].first + r.out[o].count; ++k) {
    const Item& it = r.item[k];
    switch (it.kind) {
      case Item::batch: push(batch.d, batch.rank); break;
      case Item::name:
      case Item::pack:
        if (!(bound >> it.slot & 1)) return fail("nothing gives " + std::string(r.names[it.slot]));
        push(value[it.slot].d, value[it.slot].rank);
        break;
      case Item::attr_pack: push(attrs.dims(it.slot).data(), int(attrs.dims(it.slot).size())); break;
      case Item::expr: {
        Value e = eval(it);
        if (!divides(e, it, -1)) return false;
        Dim d = e.mul / e.div;
        push(&d, 1);
        break;
      }
      case Item::fresh: {
        Dim d = Symbols::current().fresh(r.names[it.slot]);
        push(&d, 1);
        break;
      }
      case Item::any:
      case Item::any_pack: break;
    }
  }
  if (wanted > kMaxRank)
    return fail("the result has rank " + std::to_string(wanted) + ", at most " + std::to_string(kMaxRank) +
                " is possible");
  return true;
}

bool InferCall::bind_output(int i, const int64_t* sizes, int rank, const std::string& who) {
  const Spec& p = r.out[i];
  auto wrong = [&](const std::string& why) {
    std::string text;
    for (int k = 0; k < rank; ++k) text += (k ? ", " : "") + std::to_string(sizes[k]);
    return fail(who + " says that " + def.outputs[i].name + " is [" + text + "]: " + why);
  };
  for (int k = 0; k < rank; ++k)
    if (sizes[k] < 0) return wrong("sizes are not negative");
  auto is_bound = [&](const Item& it) { return (bound >> it.slot & 1) != 0; };
  int known = 0, open_pack = -1;
  for (int k = 0; k < p.count; ++k) {
    const Item& it = r.item[p.first + k];
    if (it.kind == Item::pack && !is_bound(it)) {
      if (open_pack >= 0) return wrong("two packs of its string are open");
      open_pack = k;
    } else {
      known += it.kind == Item::batch       ? batch.rank
               : it.kind == Item::pack      ? value[it.slot].rank
               : it.kind == Item::attr_pack ? int(attrs.dims(it.slot).size())
                                            : 1;
    }
  }
  if (open_pack >= 0 ? rank < known : rank != known)
    return wrong("its string " + std::string(def.outputs[i].spec) + " gives it rank " + std::to_string(known));
  for (int k = 0, at = 0; k < p.count; ++k) {
    const Item& it = r.item[p.first + k];
    const Dim* want = nullptr;
    Dim one;
    int n = 1;
    if (it.kind == Item::batch) want = batch.d, n = batch.rank;
    else if (it.kind == Item::attr_pack) want = attrs.dims(it.slot).data(), n = int(attrs.dims(it.slot).size());
    else if (it.kind == Item::name || it.kind == Item::pack) {
      if (is_bound(it)) {
        want = value[it.slot].d, n = value[it.slot].rank;
      } else {
        n = k == open_pack ? rank - known : 1;
        bound |= 1u << it.slot;
        by[it.slot] = -1;
        value[it.slot].rank = 0;
        for (int a = 0; a < n; ++a) value[it.slot].push(Dim(sizes[at + a]));
      }
    } else if (it.kind == Item::expr) {
      Value e = eval(it);
      one = e.mul / e.div;
      if (e.unknowns == 0) want = &one;
    }
    for (int a = 0; want && a < n; ++a)
      if (want[a].known() && want[a].n != sizes[at + a])
        return wrong("its string " + std::string(def.outputs[i].spec) + " makes axis " + std::to_string(at + a) + " " +
                     to_string(want[a]));
    at += n;
  }
  return true;
}

bool InferCall::sound(int i) {
  const Shape& s = out[i];
  int64_t n = std::max(1, int(info(out_type[i]).bits) / 8);
  bool overflow = false;
  for (Dim d : s) {
    if (d.n < 0 && !Symbols::current().has(d))
      return fail("the result would be " + to_string(s) + ", but sizes are not negative");
    if (d.known() && d.n > 1) overflow |= __builtin_mul_overflow(n, d.n, &n);
  }
  return !overflow || fail("the result would be " + to_string(s) + " of " + dtype_text(out_type[i]) +
                           ", more bytes than 64 bits can count");
}

bool InferCall::run() {
  for (int j = 0; j < std::max(count, def.inputs.count); ++j) {
    int flags = def.inputs.count ? def.inputs[spec_of(j)].flags : 0;
    if (j >= def.inputs.count && !(flags & variadic))
      return fail(std::to_string(count) + " operands given, it takes " + std::to_string(def.inputs.count));
    if ((j >= count || !in[j]) && !(flags & optional) && (j < count || !(flags & variadic)))
      return fail(std::string(name_of(j)) + " has no value");
  }
  if (!types()) return false;
  for (uint32_t before = ~0u; !r.one_pass && bound != before;) {
    before = bound;
    for (int j = 0; j < count; ++j)
      if (in[j] && !match(j, false)) return false;
  }
  for (int j = 0; j < count; ++j)
    if (in[j] && !match(j, true)) return false;
  if (def.view) {
    ViewCall v{def, attrs, *in[0], nullptr};
    v.guards = &report.guards;
    def.view(v);
    if (!v.status.ok()) {
      if (!failed) report.error = std::string(v.status.text());
      failed = true;
      return false;
    }
    out[0] = v.out;
    return sound(0);
  }
  if (def.infer) {
    def.infer(*this);
    if (failed) return false;
  }
  for (int i = 0; i < out_count; ++i) {
    int o = std::min(i, def.outputs.count - 1);
    if (def.outputs[o].flags & variadic) {  // .infer filled it and may have changed how many there are
      if (out_type[i] == DType::none) out_type[i] = var_type[r.out[o].type_slot];
    } else if (!fill(i, o)) {
      return false;
    }
    if (!sound(i)) return false;
  }
  return true;
}

bool ViewCall::agree(Dim want, Dim got, const std::string& text) {
  if (want == got) return true;
  if (want.known() && got.known()) return fail(text);
  if (guards) guards->push_back({want, got, false, std::string(def.name) + ": " + text + "."});
  return true;
}

bool ViewCall::fail(std::string what) {
  if (status.ok()) status = invalid(std::string(def.name) + ": " + std::move(what) + ".");
  return false;
}

}  // namespace oarlock::op
