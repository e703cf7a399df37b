// Sizes that are not numbers yet: polynomials with whole coefficients over named sizes, interned, so that B*4 and 4*B are
// the same Dim and B*S*768/(B*S) is 768.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <oarlock/base/shape.h>
#include <oarlock/base/status.h>

namespace oarlock::op {

// The sizes of one program. Not for several threads at once: each thread works with its own, or with the one that a
// SymbolScope put in its place.
class Symbols {
 public:
  Symbols();
  static Symbols& current();

  Dim name(std::string_view name);   // the same name is the same Dim
  Dim fresh(std::string_view stem);  // a new one: "N", then "N1", "N2", ...
  // a op b for + - * /. Whole results that are not negative come back as numbers. A division that does not come out
  // exactly as a polynomial is an opaque floor, equal only to the same division. By zero: 0.
  Dim combine(Dim a, Dim b, char op);
  std::string text(Dim d) const;  // "4*B + 1"
  // Reads what text() writes; new names become sizes. The error says where it stops.
  Result<Dim> parse(std::string_view text);
  // The named sizes and opaque floors that these speak of, oldest first. Symbols that parse them in this order write every
  // one of `sizes` as these do.
  std::vector<Dim> atoms(std::span<const Dim> sizes) const;
  // Is it a number or one of ours? Never true of -1, which people write for "the rest", nor of kRest.
  bool has(Dim d) const { return d.n >= 0 || (d.n <= -2 && d.n >= -int64_t(expressions_.size())); }
  // Its value where size_of gives each named size; a negative result or a name without a value gives -1.
  int64_t evaluate(Dim d, const std::function<int64_t(std::string_view name)>& size_of) const;

 private:
  friend class SizeParser;
  using Monomial = std::vector<std::pair<int, int>>;  // (atom, power), atoms ascending; {} is the constant term
  using Polynomial = std::map<Monomial, int64_t>;     // no zero coefficients
  struct Atom {
    std::string name;  // empty: floor(dividend / divisor)
    Dim dividend, divisor;
  };
  Polynomial polynomial(Dim d) const;
  Dim intern(const Polynomial& p);
  int atom(Atom a);
  Dim opaque_floor(Dim a, Dim b);
  void mark_atoms(Dim d, std::vector<bool>& seen) const;
  static void add(Polynomial& to, const Polynomial& p, bool negated);
  static Polynomial multiply(const Polynomial& a, const Polynomial& b);
  static bool divide(Polynomial a, const Polynomial& b, Polynomial& out_quotient);

  std::vector<Atom> atoms_;
  std::map<std::string, int, std::less<>> by_name_;
  std::map<std::pair<int64_t, int64_t>, int> by_division_;
  std::vector<Polynomial> expressions_;  // Dim n is expressions_[-n-1]; the first stays unused, see has()
  std::map<Polynomial, int64_t> known_;
};

// While one lives, the thread's sizes are those of `symbols`. Nests.
class SymbolScope {
 public:
  explicit SymbolScope(Symbols& symbols);
  ~SymbolScope();
  SymbolScope(const SymbolScope&) = delete;
  SymbolScope& operator=(const SymbolScope&) = delete;

 private:
  Symbols* before_;
};

}  // namespace oarlock::op
