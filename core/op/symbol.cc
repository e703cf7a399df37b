#include "core/op/symbol.h"

#include <algorithm>

namespace oarlock::op {
namespace {
thread_local Symbols* t_current = nullptr;

int64_t times(int64_t a, int64_t b) {
  int64_t n;
  return __builtin_mul_overflow(a, b, &n) ? ((a < 0) != (b < 0) ? INT64_MIN + 1 : INT64_MAX) : n;
}
int64_t plus(int64_t a, int64_t b) {
  int64_t n;
  return __builtin_add_overflow(a, b, &n) ? (a < 0 ? INT64_MIN + 1 : INT64_MAX) : n;
}
}  // namespace

Symbols::Symbols() : expressions_(1) {}

Symbols& Symbols::current() {
  static thread_local Symbols own;
  return t_current ? *t_current : own;
}
SymbolScope::SymbolScope(Symbols& symbols) : before_(t_current) { t_current = &symbols; }
SymbolScope::~SymbolScope() { t_current = before_; }

int Symbols::atom(Atom a) {
  atoms_.push_back(std::move(a));
  return int(atoms_.size()) - 1;
}

Dim Symbols::name(std::string_view name) {
  auto it = by_name_.find(name);
  if (it == by_name_.end()) it = by_name_.emplace(std::string(name), atom({std::string(name), 0, 0})).first;
  return intern({{Monomial{{it->second, 1}}, 1}});
}

Dim Symbols::fresh(std::string_view stem) {
  std::string name(stem);
  for (int i = 1; by_name_.count(name); ++i) name = std::string(stem) + std::to_string(i);
  return this->name(name);
}

Symbols::Polynomial Symbols::polynomial(Dim d) const {
  if (d.known()) return d.n ? Polynomial{{Monomial{}, d.n}} : Polynomial{};
  return has(d) ? expressions_[size_t(-d.n - 1)] : Polynomial{};
}

Dim Symbols::intern(const Polynomial& p) {
  if (p.empty()) return 0;
  if (p.size() == 1 && p.begin()->first.empty() && p.begin()->second >= 0) return p.begin()->second;
  auto [it, added] = known_.emplace(p, -int64_t(expressions_.size()) - 1);
  if (added) expressions_.push_back(p);
  Dim d;
  d.n = it->second;
  return d;
}

void Symbols::add(Polynomial& to, const Polynomial& p, bool negated) {
  for (auto& [m, c] : p) {
    int64_t& sum = to[m];
    if ((sum = plus(sum, negated ? -c : c)) == 0) to.erase(m);
  }
}

Symbols::Polynomial Symbols::multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (auto& [m, x] : a)
    for (auto& [n, y] : b) {
      Monomial product;
      for (size_t i = 0, k = 0; i < m.size() || k < n.size();) {
        if (k == n.size() || (i < m.size() && m[i].first < n[k].first)) product.push_back(m[i++]);
        else if (i == m.size() || n[k].first < m[i].first) product.push_back(n[k++]);
        else product.push_back({m[i].first, m[i].second + n[k].second}), ++i, ++k;
      }
      int64_t& c = out[product];
      c = plus(c, times(x, y));
    }
  std::erase_if(out, [](auto& term) { return term.second == 0; });
  return out;
}

// Long division by lexicographic order, the lowest atom first; true if it leaves nothing.
bool Symbols::divide(Polynomial a, const Polynomial& b, Polynomial& out_quotient) {
  auto greater = [](const Monomial& m, const Monomial& n) {
    for (size_t i = 0;; ++i) {
      if (i == n.size()) return i < m.size();
      if (i == m.size()) return false;
      if (m[i].first != n[i].first) return m[i].first < n[i].first;
      if (m[i].second != n[i].second) return m[i].second > n[i].second;
    }
  };
  auto leading = [&](const Polynomial& p) {
    auto best = p.begin();
    for (auto it = p.begin(); it != p.end(); ++it)
      if (greater(it->first, best->first)) best = it;
    return *best;
  };
  auto [divisor, divisor_factor] = leading(b);
  while (!a.empty()) {
    auto [m, factor] = leading(a);
    if (factor % divisor_factor) return false;
    Monomial ratio;
    size_t k = 0;
    for (auto [atom, power] : m) {
      if (k < divisor.size() && divisor[k].first < atom) return false;
      int left = power - (k < divisor.size() && divisor[k].first == atom ? divisor[k++].second : 0);
      if (left < 0) return false;
      if (left) ratio.push_back({atom, left});
    }
    if (k < divisor.size()) return false;
    Polynomial step{{ratio, factor / divisor_factor}};
    for (auto& [n, x] : multiply(step, b)) {
      int64_t& c = a[n];
      if ((c = plus(c, -x)) == 0) a.erase(n);
    }
    out_quotient[ratio] = factor / divisor_factor;
  }
  return true;
}

Dim Symbols::opaque_floor(Dim a, Dim b) {
  auto [it, added] = by_division_.emplace(std::pair(a.n, b.n), 0);
  if (added) it->second = atom({"", a, b});
  return intern({{Monomial{{it->second, 1}}, 1}});
}

Dim Symbols::combine(Dim a, Dim b, char op) {
  Polynomial x = polynomial(a), y = polynomial(b);
  if (op == '*') return intern(multiply(x, y));
  if (op == '/') {
    if (y.empty()) return 0;
    Polynomial quotient;
    if (divide(x, y, quotient)) return intern(quotient);
    return opaque_floor(a, b);
  }
  add(x, y, op == '-');
  return intern(x);
}

std::string Symbols::text(Dim d) const {
  if (d.known()) return std::to_string(d.n);
  if (d.n == kRest || d.n == -1) return "-1";
  if (!has(d)) return std::to_string(d.n);
  std::string out;
  const Polynomial& p = expressions_[size_t(-d.n - 1)];
  auto write = [&](const Monomial& m, int64_t c) {
    out += out.empty() ? (c < 0 ? "-" : "") : c < 0 ? " - " : " + ";
    uint64_t size = c < 0 ? -uint64_t(c) : uint64_t(c);
    std::string factors;
    for (auto [atom, power] : m)
      for (int i = 0; i < power; ++i) {
        const Atom& a = atoms_[size_t(atom)];
        factors += (factors.empty() ? "" : "*") +
                   (!a.name.empty() ? a.name : "floor((" + text(a.dividend) + ")/(" + text(a.divisor) + "))");
      }
    if (factors.empty() || size != 1) factors = std::to_string(size) + (factors.empty() ? "" : "*" + factors);
    out += factors;
  };
  for (auto& [m, c] : p)
    if (!m.empty()) write(m, c);
  if (auto it = p.find(Monomial{}); it != p.end()) write(Monomial{}, it->second);
  return out;
}

int64_t Symbols::evaluate(Dim d, const std::function<int64_t(std::string_view)>& size_of) const {
  if (d.known()) return d.n;
  if (!has(d)) return -1;
  int64_t sum = 0;
  for (auto& [m, c] : expressions_[size_t(-d.n - 1)]) {
    int64_t product = c;
    for (auto [atom, power] : m) {
      const Atom& a = atoms_[size_t(atom)];
      int64_t x;
      if (!a.name.empty()) x = size_of(a.name);
      else {
        int64_t below = evaluate(a.divisor, size_of), above = evaluate(a.dividend, size_of);
        x = below < 0 || above < 0 ? -1 : below ? above / below : 0;
      }
      if (x < 0) return -1;
      for (int i = 0; i < power; ++i) product = times(product, x);
    }
    sum = plus(sum, product);
  }
  return std::max<int64_t>(sum, -1);
}

}  // namespace oarlock::op
