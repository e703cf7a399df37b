// The wire format of protobuf (https://protobuf.dev/programming-guides/encoding): as much of it as program.proto needs. A
// library of our own would have to be linked into liboarlock whole, where a second one in the process can't meet it.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <oarlock/base/status.h>

namespace oarlock::graph {

class WireWriter {
 public:
  std::string bytes;

  void number(int field, uint64_t v) {
    if (v) member(field, v);
  }
  void member(int field, uint64_t v) {  // of a oneof: even 0
    key(field, 0);
    varint(v);
  }
  void zigzag(int field, int64_t v) { number(field, fold(v)); }
  void real(int field, double v) {  // always, even 0
    key(field, 1);
    put(v);
  }
  void text(int field, std::string_view v) {
    if (!v.empty()) piece(field, v);
  }
  void piece(int field, std::string_view v) {  // always, even if empty
    key(field, 2);
    varint(v.size());
    bytes += v;
  }
  template <class List, class F>
  void packed(int field, const List& list, F as_number) {
    if (std::begin(list) == std::end(list)) return;
    WireWriter w;
    for (const auto& v : list) w.varint(as_number(v));
    piece(field, w.bytes);
  }
  void put(double v) {
    char raw[8];
    std::memcpy(raw, &v, 8);
    bytes.append(raw, 8);
  }
  static uint64_t fold(int64_t v) { return (uint64_t(v) << 1) ^ uint64_t(v >> 63); }

 private:
  void key(int field, unsigned type) { varint(uint64_t(field) << 3 | type); }
  void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes += char(v | 0x80);
    bytes += char(v);
  }
};

// Fields in the order they come in; those that nobody knows are passed over.
class WireReader {
 public:
  // whole: what places in errors are counted in.
  WireReader(std::string_view whole, std::string_view bytes) : whole_(whole), left_(bytes) {}

  int field = 0;
  Status status;

  // Goes to the next field. False at the end and on damage: see status.
  bool next() {
    if (left_.empty() || !status.ok()) return false;
    uint64_t k = varint();
    type_ = unsigned(k & 7);
    if (k >> 3 == 0 || k >> 3 > INT32_MAX) fail("a field number that does not exist");
    field = int(k >> 3);
    number_ = 0;
    piece_ = {};
    if (type_ == 0) number_ = varint();
    else if (type_ == 1) piece_ = take(8);
    else if (type_ == 2) piece_ = take(varint());
    else if (type_ == 5) piece_ = take(4);
    else fail("a field of unknown type");
    return status.ok();
  }
  uint64_t number() { return want(0) ? number_ : 0; }
  int64_t zigzag() { return unfold(number()); }
  double real() { return want(1) ? get(piece_) : 0; }
  std::string_view piece() { return want(2) ? piece_ : std::string_view(); }
  WireReader inner() { return {whole_, piece()}; }
  // Each number of a repeated field, however it is written.
  template <class F>
  void numbers(F see) {
    if (type_ == 0) return see(number_);
    if (!want(2)) return;
    WireReader list(whole_, piece_);
    while (!list.left_.empty() && list.status.ok()) {
      uint64_t v = list.varint();
      if (list.status.ok()) see(v);
    }
    if (!list.status.ok()) status = std::move(list.status);
  }
  template <class F>
  void reals(F see) {
    if (type_ == 1) return see(get(piece_));
    if (!want(2)) return;
    if (piece_.size() % 8) return fail("a list of numbers that ends within one");
    for (size_t i = 0; i < piece_.size(); i += 8) see(get(piece_.substr(i)));
  }
  static int64_t unfold(uint64_t v) { return int64_t(v >> 1) ^ -int64_t(v & 1); }
  void fail(const std::string& what) {
    if (status.ok()) status = {Code::bad_data, "damaged at byte " + std::to_string(place()) + ": " + what + "."};
  }

 private:
  size_t place() const { return size_t(left_.data() - whole_.data()); }
  bool want(unsigned type) {
    if (type_ != type && status.ok()) fail("field " + std::to_string(field) + " is of another type");
    return status.ok();
  }
  uint64_t varint() {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return fail("it ends within a number"), 0;
      auto c = static_cast<unsigned char>(left_[0]);
      left_.remove_prefix(1);
      v |= uint64_t(c & 0x7f) << shift;
      if (c < 0x80) return v;
    }
    return fail("a number of more than ten bytes"), 0;
  }
  std::string_view take(uint64_t n) {
    if (!status.ok()) return {};
    if (n > left_.size())
      return fail("a field of " + std::to_string(n) + " bytes, where " + std::to_string(left_.size()) + " are left"),
             std::string_view();
    std::string_view out = left_.substr(0, size_t(n));
    left_.remove_prefix(size_t(n));
    return out;
  }
  static double get(std::string_view raw) {
    double v;
    std::memcpy(&v, raw.data(), 8);
    return v;
  }

  std::string_view whole_, left_, piece_;
  unsigned type_ = 0;
  uint64_t number_ = 0;
};

}  // namespace oarlock::graph
