// The small language of an op's cases: sizes, attributes, values.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "api/cts/draw.h"
#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

std::vector<std::string> split(std::string_view text, std::string_view at) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (at.find(c) != std::string_view::npos) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  int depth = 0;
  std::string word;
  for (char c : std::string(text) + " ") {
    depth += (c == '[') - (c == ']');
    if (c == ' ' && depth == 0) {
      if (!word.empty()) all.push_back(std::exchange(word, {}));
    } else if (c != ' ') {
      word += c;
    }
  }
  return all;
}

int64_t to_integer(const std::string& s) {
  size_t used = 0;
  int64_t v = 0;
  try {
    v = std::stoll(s, &used);
  } catch (const std::exception&) {}
  if (used != s.size() || s.empty()) throw std::runtime_error("case: '" + s + "' is no whole number");
  return v;
}
double to_real(const std::string& s) {
  size_t used = 0;
  double v = 0;
  try {
    v = std::stod(s, &used);  // takes nan, inf and -inf as well
  } catch (const std::exception&) {}
  if (used != s.size() || s.empty()) throw std::runtime_error("case: '" + s + "' is no number");
  return v;
}

// "2x3", "[2, 3]", "2,3"; nothing or "[]": none.
std::vector<std::string> list(std::string s) {
  if (!s.empty() && s.front() == '[') s = s.substr(1, s.size() - 2);
  if (s.empty() || s == "none") return {};
  return split(s, "x,");
}

}  // namespace

std::map<std::string, std::vector<std::vector<int64_t>>> parse_dims(std::string_view text) {
  std::map<std::string, std::vector<std::vector<int64_t>>> all;
  for (const std::string& word : words(text)) {
    size_t equal = word.find('=');
    if (equal == std::string::npos) throw std::runtime_error("case: '" + word + "' says no size");
    std::string name = word.substr(0, equal);
    if (name[0] == '*') name.erase(0, 1);
    for (const std::string& one : split(std::string_view(word).substr(equal + 1), "|")) {
      std::vector<int64_t> sizes;
      for (const std::string& n : list(one)) sizes.push_back(to_integer(n));
      all[name].push_back(sizes);
    }
  }
  return all;
}

std::map<size_t, AttrValue> parse_attributes(const Schema& schema, std::string_view text) {
  std::map<size_t, AttrValue> all;
  for (const std::string& word : words(text)) {
    size_t equal = word.find('=');
    std::string name = word.substr(0, equal), value = equal == std::string::npos ? "true" : word.substr(equal + 1);
    int which = schema.attribute(name);
    if (which < 0) throw std::runtime_error(schema.info.name + " has no attribute '" + name + "'");
    const std::string& kind = schema.info.attributes[size_t(which)].kind;
    AttrValue v;
    v.is_set = value != "none";
    if (kind == "flag") v.type = OAR_ATTR_BOOL, v.i = value == "true" || value == "1";
    else if (kind == "integer" || kind == "dim" || kind == "axis")
      v.type = OAR_ATTR_INT, v.i = v.is_set ? to_integer(value) : 0;
    else if (kind == "real") v.type = OAR_ATTR_FLOAT, v.f = v.is_set ? to_real(value) : 0;
    else if (kind == "choice" || kind == "text") v.type = OAR_ATTR_STRING, v.text = value;
    else if (kind == "dtype") {
      v.type = OAR_ATTR_DTYPE;
      v.i = int64_t(dtype_from(value));
      if (!v.i) throw std::runtime_error("'" + value + "' is no dtype");
    } else if (kind == "reals") {
      v.type = OAR_ATTR_FLOATS;
      for (const std::string& n : list(value)) v.floats.push_back(to_real(n));
    } else {
      v.type = OAR_ATTR_INTS;
      for (const std::string& n : list(value)) v.ints.push_back(to_integer(n));
    }
    all[size_t(which)] = std::move(v);
  }
  return all;
}

bool case_values(const OpCase& c, const std::string& input, Operand& o, Random& random) {
  // "x: -1..1 not 0 by 0.1; y: distinct": the words after this input's name.
  std::vector<std::string> mine;
  std::string current;
  std::string text = c.values;
  std::replace(text.begin(), text.end(), ';', ' ');
  std::replace(text.begin(), text.end(), ',', ' ');
  for (const std::string& word : words(text)) {
    if (word.back() == ':') current = word.substr(0, word.size() - 1);
    else if (current.empty()) throw std::runtime_error("case: values begin with an input's name and ':'");
    else if (current == input) mine.push_back(word);
  }
  if (mine.empty()) return false;
  double low = 0, high = 0, hole = NAN, width = 0;
  bool range = false, distinct = false;
  std::vector<double> literal;
  for (size_t i = 0; i < mine.size(); ++i) {
    const std::string& word = mine[i];
    size_t dots = word.find("..");
    auto next = [&](size_t k) { return i + k < mine.size() ? mine[i + k] : std::string(); };
    if (dots != std::string::npos) {
      range = true;
      low = to_real(word.substr(0, dots));
      high = to_real(word.substr(dots + 2));
    } else if (word == "not") {
      hole = to_real(next(1));
      ++i;
    } else if (word == "by") {
      width = to_real(next(1));
      ++i;
    } else if (word == "distinct") {
      distinct = true;
    } else {
      literal.push_back(to_real(word));
    }
  }
  int64_t n = o.count();
  std::vector<double> grid;
  if (distinct) {
    double from = range               ? low
                  : is_float(o.dtype) ? -2
                                      : 0,
           step = range               ? (high - low) / double(std::max<int64_t>(n, 1))
                  : is_float(o.dtype) ? 0.25
                                      : 1;
    for (int64_t i = 0; i < n; ++i) grid.push_back(from + step * double(i));
    random.shuffle(grid);
  }
  for (int64_t i = 0; i < n; ++i) {
    double x = 0;
    if (!literal.empty()) x = literal[size_t(i) % literal.size()];
    else if (distinct) x = grid[size_t(i)];
    else if (is_float(o.dtype)) do
        x = random.real(low, high);
      while (!std::isnan(hole) && std::fabs(x - hole) <= width);
    else do
        x = double(random.between(int64_t(low), int64_t(high)));
      while (!std::isnan(hole) && std::fabs(x - hole) <= width && high > low);
    put_number(o.bytes.data(), o.dtype, i, x);
  }
  return true;
}

}  // namespace oarlock::cts
