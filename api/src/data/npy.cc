#include <oarlock/data/npy.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "api/src/data/element_bytes.h"
#include "api/src/data/file.h"
#include "api/src/data/npy_source.h"

namespace oarlock::data {
namespace {

struct Header {
  std::string descr;
  bool fortran = false;
  Shape shape;
};

// The header's dict literal: exactly the three keys, in any order.
class Dict {
 public:
  Dict(std::string_view text, const std::string& name) : s_(text), name_(name) {}

  Header parse() {
    Header h;
    bool have[3] = {};
    want('{');
    while (!take('}')) {
      std::string key = string();
      want(':');
      int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0) fail("has an unknown key '" + key + "'");
      if (have[which]) fail("has '" + key + "' twice");
      have[which] = true;
      if (which == 0) h.descr = descr();
      if (which == 1) h.fortran = boolean();
      if (which == 2) h.shape = tuple();
      if (take('}')) break;
      want(',');
    }
    skip();
    if (at_ != s_.size()) fail("goes on behind its dict");
    if (!have[0] || !have[1] || !have[2]) fail("lacks one of descr, fortran_order and shape");
    return h;
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    throw Error(Code::bad_data, "read_npy: the header of " + name_ + " " + what + ".");
  }
  void skip() {
    while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '\n' || s_[at_] == '\t' || s_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }
  void want(char c) {
    if (!take(c))
      fail(std::string("is no dict of descr, fortran_order and shape: '") + c + "' is missing at byte " +
           std::to_string(at_));
  }
  std::string string() {
    skip();
    if (at_ >= s_.size() || (s_[at_] != '\'' && s_[at_] != '"')) fail("is no dict of descr, fortran_order and shape");
    char quote = s_[at_++];
    size_t end = s_.find(quote, at_);
    if (end == std::string_view::npos || end - at_ > 64) fail("has text without an end");
    std::string text(s_.substr(at_, end - at_));
    at_ = end + 1;
    return text;
  }
  std::string descr() {
    skip();
    if (at_ < s_.size() && s_[at_] == '[')
      fail("describes structures, which no tensor holds. Save each field by itself");
    return string();
  }
  bool boolean() {
    skip();
    if (s_.substr(at_, 4) == "True") return at_ += 4, true;
    if (s_.substr(at_, 5) == "False") return at_ += 5, false;
    fail("has a fortran_order that is neither True nor False");
  }
  Shape tuple() {
    Shape shape;
    want('(');
    while (!take(')')) {
      skip();
      int64_t n = 0;
      size_t from = at_;
      for (; at_ < s_.size() && s_[at_] >= '0' && s_[at_] <= '9'; ++at_)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, s_[at_] - '0', &n))
          fail("has a size that is too large");
      if (at_ == from) fail("has a shape that is no tuple of sizes");
      if (at_ < s_.size() && s_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
      if (shape.rank == kMaxRank) fail("has more than " + std::to_string(kMaxRank) + " sizes");
      shape.push(n);
      if (take(')')) break;
      want(',');
    }
    return shape;
  }

  std::string_view s_;
  const std::string& name_;
  size_t at_ = 0;
};

struct Element {
  DType dtype;
  uint64_t part;  // bytes of what is swapped as one
  bool swap;
};
Element element(const std::string& descr, const std::string& name) {
  auto fail = [&](const std::string& why) {
    throw Error(Code::unsupported, "read_npy: " + name + " has elements '" + descr + "': " + why);
  };
  std::string_view d = descr;
  bool big = false;
  if (!d.empty() && (d[0] == '<' || d[0] == '>' || d[0] == '|' || d[0] == '=')) {
    big = d[0] == '>';
    d.remove_prefix(1);
  }
  char kind = d.empty() ? 0 : d[0];
  if (kind == 'O') fail("objects are pickled Python, which runs code when read. Save arrays of numbers.");
  if (kind == 'S' || kind == 'U' || kind == 'a') fail("text is no number.");
  if (kind == 'V') fail("raw bytes without a meaning (bfloat16 is saved so too). Convert to float32 before saving.");
  if (kind == 'M' || kind == 'm') fail("dates and durations are no numbers. Convert to int64 before saving.");
  static const std::pair<const char*, DType> known[] = {
      {"b1", DType::boolean}, {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32},  {"i8", DType::i64},
      {"u1", DType::u8},      {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64},  {"f2", DType::f16},
      {"f4", DType::f32},     {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128}};
  for (auto& [text, dtype] : known)
    if (d == text) {
      uint64_t bytes = info(dtype).bits / 8;
      return {dtype, kind == 'c' ? bytes / 2 : bytes, big};
    }
  fail("there is no such dtype here; known are b1, i1-i8, u1-u8, f2-f8, c8 and c16.");
  return {};
}

// Copies column-major elements to row-major ones.
void transpose(const char* from, char* to, const Shape& shape, uint64_t bytes) {
  int rank = shape.rank;
  int64_t index[kMaxRank] = {}, step[kMaxRank];
  int64_t stride = 1;
  for (int i = 0; i < rank; ++i) step[i] = stride, stride *= shape(i);
  int64_t at = 0;
  for (int64_t left = stride; left > 0; --left, to += bytes) {
    std::memcpy(to, from + uint64_t(at) * bytes, bytes);
    for (int i = rank - 1; i >= 0; --i) {
      at += step[i];
      if (++index[i] < shape(i)) break;
      at -= step[i] * shape(i);
      index[i] = 0;
    }
  }
}

}  // namespace

Tensor parse_npy(NpySource& in, const std::string& name) {
  auto fail = [&](const std::string& text) { throw Error(Code::bad_data, "read_npy: " + name + " " + text); };
  unsigned char head[12];
  if (in.read(head, 10) != 10) fail("is cut short: an npy file begins with 10 bytes.");
  if (std::memcmp(head, "\x93NUMPY", 6)) fail("is no npy file: it does not begin with \\x93NUMPY.");
  int major = head[6];
  if (major < 1 || major > 3 || head[7])
    fail("is npy version " + std::to_string(major) + "." + std::to_string(head[7]) + "; known are 1.0, 2.0 and 3.0.");
  uint64_t size = head[8] | uint64_t(head[9]) << 8;
  if (major > 1) {
    if (in.read(head + 10, 2) != 2) fail("is cut short within its header's length.");
    size |= uint64_t(head[10]) << 16 | uint64_t(head[11]) << 24;
  }
  if (size > in.left || size > 1 << 20)
    fail("claims a header of " + std::to_string(size) + " bytes, more than there are.");
  std::string text(size, 0);
  if (in.read(text.data(), size) != size) fail("is cut short within its header.");
  Header h = Dict(text, name).parse();
  Element e = element(h.descr, name);
  uint64_t each = info(e.dtype).bits / 8;
  unsigned __int128 bytes = each;
  bool empty = false;
  for (int i = 0; i < h.shape.rank; ++i) {
    empty |= h.shape(i) == 0;
    if (bytes <= in.left) bytes *= uint64_t(h.shape(i));
  }
  if (empty) bytes = 0;
  if (bytes != in.left)
    fail("has shape " + to_string(h.shape) + " of " + std::string(to_string(e.dtype)) + ", which " +
         (bytes > in.left ? "is more than" : "is less than") + " the " + std::to_string(in.left) +
         " bytes of its data.");
  Tensor out = Tensor::empty(h.shape, e.dtype);
  uint64_t want = uint64_t(bytes);
  if (!want) return out;
  char* to = static_cast<char*>(out.data());
  std::string columns;
  bool turn = h.fortran && h.shape.rank > 1;
  if (turn) {
    columns.resize(want);
    to = columns.data();
  }
  if (in.read(to, want) != want) fail("is cut short within its data.");
  if (e.swap) swap_bytes(to, want / e.part, e.part);
  if (e.dtype == DType::boolean)
    for (uint64_t i = 0; i < want; ++i) to[i] = to[i] != 0;
  if (turn) transpose(columns.data(), static_cast<char*>(out.data()), h.shape, each);
  return out;
}

namespace {

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "|b1";
    case DType::i8: return "|i1";
    case DType::u8: return "|u1";
    case DType::i16: return "<i2";
    case DType::u16: return "<u2";
    case DType::f16: return "<f2";
    case DType::i32: return "<i4";
    case DType::u32: return "<u4";
    case DType::f32: return "<f4";
    case DType::i64: return "<i8";
    case DType::u64: return "<u8";
    case DType::f64: return "<f8";
    case DType::c64: return "<c8";
    case DType::c128: return "<c16";
    default: return nullptr;
  }
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  NpySource in{bytes, bytes.size()};
  return parse_npy(in, name);
}
Tensor read_npy(const std::string& path) {
  std::string all = read_file("read_npy", path);
  return parse_npy(bytes_of(all), path);
}

std::string format_npy(const Tensor& x) {
  if (!x) throw Error(Code::invalid_argument, "write_npy: the tensor has no value.");
  const char* descr = descr_of(x.dtype());
  if (!descr)
    throw Error(Code::unsupported, "write_npy: NumPy has no " + std::string(to_string(x.dtype())) + ". Cast to f32.");
  std::string shape = "(";
  for (int i = 0; i < x.rank(); ++i)
    shape += std::to_string(x.shape()(i)) + (i + 1 < x.rank() ? ", " : x.rank() == 1 ? "," : "");
  std::string dict = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + "), }";
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string all("\x93NUMPY\x01\x00", 8);
  all.push_back(char(dict.size()));
  all.push_back(char(dict.size() >> 8));
  all += dict;
  size_t start = all.size();
  uint64_t bytes = size_bytes(x.dtype(), uint64_t(x.element_count()));
  all.resize(start + bytes);
  if (bytes) x.copy_to_host(all.data() + start);
  return all;
}
void write_npy(const std::string& path, const Tensor& x) { write_file("write_npy", path, format_npy(x)); }

}  // namespace oarlock::data
