// Words, numbers and quoted texts of a program's text. After the first failure nothing is taken any more.
#pragma once
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <oarlock/base/status.h>

namespace oarlock::graph {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { skip(); }
  bool good() const { return status_.ok(); }
  Status& status() { return status_; }
  bool end() const { return at_ == text_.size(); }
  int line() const { return line_; }

  void fail(const std::string& what, int line = 0) {
    if (good()) status_ = {Code::bad_data, "line " + std::to_string(line ? line : line_) + ": " + what + "."};
  }
  void expected(const std::string& what) {
    std::string_view here =
        text_.substr(at_, std::min<size_t>(text_.find_first_of(" \n", at_ + 1), text_.size()) - at_);
    fail("expected " + what + ", found " + (end() ? "the end" : std::string(here.substr(0, 40))));
  }
  // What comes next: a word whole, else these characters.
  bool at(std::string_view what) const {
    std::string_view left = text_.substr(at_);
    return left.starts_with(what) &&
           (!in_word(what.back()) || left.size() == what.size() || !in_word(left[what.size()]));
  }
  // That word, and then an opening parenthesis.
  bool opens(std::string_view word) const {
    if (!at(word)) return false;
    size_t next = text_.find_first_not_of(' ', at_ + word.size());
    return next != text_.npos && text_[next] == '(';
  }
  bool take(std::string_view what) {
    if (!good() || !at(what)) return false;
    at_ += what.size();
    skip();
    return true;
  }
  void need(std::string_view what) {
    if (good() && !take(what)) expected(std::string(what));
  }
  // A word or a quoted text.
  std::string name() {
    if (at("\"")) return quoted();
    std::string out(word());
    if (out.empty()) expected("a name");
    return out;
  }
  int64_t integer() {
    int64_t v = 0;
    number(v);
    return v;
  }
  double real() {
    double v = 0;
    number(v);
    return v;
  }
  template <class T>
  void number(T& out) {
    std::string_view w = word();
    auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), out);
    if (w.empty() || error != std::errc() || end != w.data() + w.size())
      fail("\"" + std::string(w.substr(0, 40)) + "\" is no number that fits here");
  }
  std::string quoted() {
    std::string out;
    if (good() && !at("\"")) expected("a quoted text");
    if (!good()) return out;
    for (++at_;; ++at_) {
      if (end() || text_[at_] == '\n') return fail("a quoted text does not end"), out;
      char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        if (++at_ == text_.size()) return fail("a quoted text does not end"), out;
        char e = text_[at_];
        if (e == 'n') c = '\n';
        else if (e == 'x' && at_ + 2 < text_.size() && digit(text_[at_ + 1]) >= 0 && digit(text_[at_ + 2]) >= 0) {
          c = char(digit(text_[at_ + 1]) << 4 | digit(text_[at_ + 2]));
          at_ += 2;
        } else if (e == '"' || e == '\\') c = e;
        else return fail(std::string("\\") + e + " in a quoted text"), out;
      }
      out += c;
    }
    ++at_;
    skip();
    return out;
  }
  // x"0a1b"
  std::string hexadecimal() {
    std::string out;
    if (good() && !text_.substr(at_).starts_with("x\"")) expected("x\"");
    if (!good()) return out;
    for (at_ += 2; at_ + 1 < text_.size() && text_[at_] != '"'; at_ += 2) {
      int high = digit(text_[at_]), low = digit(text_[at_ + 1]);
      if (high < 0 || low < 0) return fail("bytes are pairs of 0 to 9 and a to f"), out;
      out += char(high << 4 | low);
    }
    need("\"");
    return out;
  }
  // Up to the comma or bracket after it.
  std::string_view size_text() { return until(",]\n"); }
  std::string_view rest_of_line() { return until("#\n"); }

 private:
  static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '%' || c == '+' || c == '-';
  }
  static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }
  std::string_view word() {
    if (!good()) return {};
    size_t from = at_;
    while (!end() && in_word(text_[at_])) ++at_;
    std::string_view out = text_.substr(from, at_ - from);
    skip();
    return out;
  }
  std::string_view until(std::string_view stops) {
    if (!good()) return {};
    size_t to = std::min(text_.find_first_of(stops, at_), text_.size());
    std::string_view out = text_.substr(at_, to - at_);
    while (!out.empty() && out.back() == ' ') out.remove_suffix(1);
    at_ = to;
    skip();
    return out;
  }
  void skip() {
    for (; !end(); ++at_) {
      char c = text_[at_];
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (end()) return;
      if (text_[at_] == '\n') ++line_;
      else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r') return;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  Status status_;
};

}  // namespace oarlock::graph
