// Sizes as text, read back.
#include <charconv>

#include "core/op/symbol.h"

namespace oarlock::op {

// sum = ["-"] product {("+" | "-") product}; product = factor {"*" factor};
// factor = number | name | "floor((" sum ")/(" sum "))".
class SizeParser {
 public:
  SizeParser(Symbols& symbols, std::string_view text) : symbols_(symbols), text_(text) {}
  Result<Dim> all() {
    if (text_.size() > kMaxLength)
      return invalid("a size of " + std::to_string(text_.size()) + " characters. At most " +
                     std::to_string(kMaxLength) + " are read.");
    Polynomial p = sum(0);
    spaces();
    if (at_ != text_.size()) fail("an operator or the end");
    if (good_) return symbols_.intern(p);
    return invalid("size \"" + std::string(text_.substr(0, 80)) + "\": expected " + want_ + " at " +
                   std::to_string(at_) + ". Sizes are like 4*N + 1.");
  }

 private:
  using Polynomial = Symbols::Polynomial;
  static constexpr size_t kMaxLength = 4096;
  static constexpr int kMaxDepth = 32;

  void fail(const char* want) {
    if (good_) want_ = want;
    good_ = false;
  }
  void spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view what) {
    if (!good_) return false;
    spaces();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void need(const char* what) {
    if (!take(what)) fail(what);
  }
  Polynomial sum(int depth) {
    Polynomial out;
    bool negated = take("-");
    do {
      Symbols::add(out, product(depth), negated);
      negated = take("-");
    } while (negated || take("+"));
    return out;
  }
  Polynomial product(int depth) {
    Polynomial out = factor(depth);
    while (take("*")) out = Symbols::multiply(out, factor(depth));
    return out;
  }
  Polynomial factor(int depth) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (depth == kMaxDepth) fail("less nesting");
    if (take("floor((")) {
      Polynomial above = sum(depth + 1);
      need(")/(");
      Polynomial below = sum(depth + 1);
      need("))");
      if (!good_) return {};
      return symbols_.polynomial(symbols_.opaque_floor(symbols_.intern(above), symbols_.intern(below)));
    }
    spaces();
    const size_t from = at_;
    if (good_ && at_ < text_.size() && digit(text_[at_])) {
      int64_t n = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
      if (error != std::errc()) fail("a number below 2^63");
      else at_ = size_t(end - text_.data());
      return n ? Polynomial{{Symbols::Monomial{}, n}} : Polynomial{};
    }
    while (good_ && at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) ++at_;
    if (at_ == from) fail("a size");
    return good_ ? symbols_.polynomial(symbols_.name(text_.substr(from, at_ - from))) : Polynomial{};
  }

  Symbols& symbols_;
  std::string_view text_;
  size_t at_ = 0;
  bool good_ = true;
  const char* want_ = "";
};

Result<Dim> Symbols::parse(std::string_view text) { return SizeParser(*this, text).all(); }

void Symbols::mark_atoms(Dim d, std::vector<bool>& seen) const {
  if (d.known() || !has(d)) return;
  for (auto& [monomial, coefficient] : expressions_[size_t(-d.n - 1)])
    for (auto [atom, power] : monomial) {
      if (seen[size_t(atom)]) continue;
      seen[size_t(atom)] = true;
      const Atom& a = atoms_[size_t(atom)];
      if (!a.name.empty()) continue;
      mark_atoms(a.dividend, seen);
      mark_atoms(a.divisor, seen);
    }
}

std::vector<Dim> Symbols::atoms(std::span<const Dim> sizes) const {
  std::vector<bool> seen(atoms_.size());
  for (Dim d : sizes) mark_atoms(d, seen);
  std::vector<Dim> out;
  for (size_t i = 0; i < seen.size(); ++i)
    if (seen[i])
      if (auto it = known_.find(Polynomial{{Monomial{{int(i), 1}}, 1}}); it != known_.end()) {
        out.emplace_back();
        out.back().n = it->second;
      }
  return out;
}

}  // namespace oarlock::op
