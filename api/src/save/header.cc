// Reads the header with a handler of JSON events: whatever the format does not know is refused where it stands, nothing is
// built first, and a name that comes twice is seen.
#include "api/src/save/header.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include <nlohmann/json.hpp>

namespace oarlock::safetensors {
namespace {

struct Name {
  DType dtype;
  const char* text;
};
constexpr Name kNames[] = {{DType::boolean, "BOOL"},    {DType::u8, "U8"},          {DType::i8, "I8"},
                           {DType::i16, "I16"},         {DType::u16, "U16"},        {DType::f16, "F16"},
                           {DType::bf16, "BF16"},       {DType::i32, "I32"},        {DType::u32, "U32"},
                           {DType::f32, "F32"},         {DType::f64, "F64"},        {DType::i64, "I64"},
                           {DType::u64, "U64"},         {DType::c64, "C64"},        {DType::f8_e4m3, "F8_E4M3"},
                           {DType::f8_e5m2, "F8_E5M2"}, {DType::f8_e8m0, "F8_E8M0"}};

std::string cited(std::string_view s) {  // names may be long and strange
  std::string out = "\"";
  for (char c : s.substr(0, 80)) out += static_cast<unsigned char>(c) < 32 ? '?' : c;
  return out + (s.size() > 80 ? "...\"" : "\"");
}

class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Handler(Header& h) : header_(h) {}
  std::string problem;

  bool null() override { return no("a null"); }
  bool boolean(bool) override { return no("a boolean"); }
  bool number_integer(number_integer_t) override { return no("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return no("a number that is not whole"); }
  bool binary(binary_t&) override { return no("binary data"); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v > uint64_t(INT64_MAX)) return no("a number above 2^63");
    if (at_ == At::shape) {
      if (entry_.shape.rank == kMaxRank)
        return fail(cited(entry_.name) + " has more than " + std::to_string(kMaxRank) + " sizes");
      entry_.shape.push(int64_t(v));
      return true;
    }
    if (at_ == At::offsets) {
      if (n_offsets_ == 2) return fail("data_offsets of " + cited(entry_.name) + " has more than two numbers");
      (n_offsets_++ ? entry_.end : entry_.begin) = v;
      return true;
    }
    return no("a number");
  }
  bool string(string_t& v) override {
    if (at_ == At::metadata) {
      header_.metadata[key_] = v;
      return true;
    }
    if (at_ != At::entry || field_ != 1) return no("a text");
    for (const Name& n : kNames)
      if (v == n.text) {
        entry_.dtype = n.dtype;
        return true;
      }
    return fail(cited(entry_.name) + " has dtype " + cited(v) + ", which is unknown here");
  }
  bool start_object(size_t) override {
    if (at_ == At::start) at_ = At::top;
    else if (at_ == At::top && key_ == "__metadata__") at_ = At::metadata;
    else if (at_ == At::top) {
      at_ = At::entry;
      entry_ = {key_, DType::none, {}, 0, 0};
      fields_ = field_ = n_offsets_ = 0;
    } else {
      return no("an object");
    }
    return true;
  }
  bool key(string_t& v) override {
    key_ = v;
    if (at_ == At::top) {
      if (v.empty()) return fail("a tensor has an empty name");
      if (!names_.insert(v).second) return fail(cited(v) + " is there twice");
      return true;
    }
    if (at_ == At::metadata)
      return header_.metadata.emplace(v, "").second || fail("metadata " + cited(v) + " is there twice");
    field_ = v == "dtype" ? 1 : v == "shape" ? 2 : v == "data_offsets" ? 4 : 0;
    if (!field_) return fail(cited(entry_.name) + " has an unknown field " + cited(v));
    if (fields_ & field_) return fail(cited(entry_.name) + " has its " + v + " twice");
    fields_ |= field_;
    return true;
  }
  bool end_object() override {
    if (at_ == At::entry) {
      if (fields_ != 7) return fail(cited(entry_.name) + " lacks one of dtype, shape, data_offsets");
      if (n_offsets_ != 2) return fail("data_offsets of " + cited(entry_.name) + " are not two numbers");
      header_.entries.push_back(entry_);
    }
    at_ = at_ == At::top ? At::end : At::top;
    return true;
  }
  bool start_array(size_t) override {
    if (at_ != At::entry || field_ == 1) return no("a list");
    at_ = field_ == 2 ? At::shape : At::offsets;
    return true;
  }
  bool end_array() override {
    at_ = At::entry;
    return true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return fail("its JSON breaks off or is wrong at byte " + std::to_string(at));
  }

 private:
  enum class At { start, top, metadata, entry, shape, offsets, end } at_ = At::start;
  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  bool no(const char* what) { return fail(std::string(what) + " stands where the format has none, by " + cited(key_)); }

  Header& header_;
  TensorFile::Entry entry_;
  std::string key_;
  int fields_ = 0, field_ = 0, n_offsets_ = 0;
  std::unordered_set<std::string> names_;
};

Status bad(const std::string& text) { return {Code::bad_data, "safetensors: " + text + ". The file is damaged."}; }

}  // namespace

const char* dtype_name(DType t) {
  for (const Name& n : kNames)
    if (n.dtype == t) return n.text;
  return nullptr;
}

Result<Header> read_header(std::span<const std::byte> head, uint64_t file_bytes) {
  if (file_bytes < 8 || head.size() < 8)
    return bad("the file has " + std::to_string(file_bytes) + " bytes, the length of its header alone takes 8");
  uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | uint64_t(head[size_t(i)]);
  if (n > kMaxHeader)
    return bad("its header is said to have " + std::to_string(n) + " bytes, at most 100000000 are read");
  if (n > file_bytes - 8 || n > head.size() - 8)
    return bad("its header is said to have " + std::to_string(n) + " bytes, the file has " +
               std::to_string(file_bytes - 8) + " after the length");
  const char* text = reinterpret_cast<const char*>(head.data()) + 8;
  if (n == 0 || text[0] != '{') return bad("its header does not start with {");
  Header h;
  Handler handler(h);
  bool good = nlohmann::json::sax_parse(text, text + n, &handler);
  if (!good || !handler.problem.empty()) return bad(handler.problem.empty() ? "its JSON is wrong" : handler.problem);
  h.data_begin = 8 + n;
  uint64_t data = file_bytes - h.data_begin, at = 0;
  std::stable_sort(h.entries.begin(), h.entries.end(),
                   [](auto& a, auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  for (auto& e : h.entries) {
    // count() gives INT64_MAX where the product overflows, which no file holds.
    uint64_t elements = uint64_t(count(e.shape)), bits = info(e.dtype).bits, bytes;
    if (__builtin_mul_overflow(elements, bits / 8, &bytes)) bytes = UINT64_MAX;
    if (e.end < e.begin || e.end > data)
      return bad(cited(e.name) + " lies at bytes " + std::to_string(e.begin) + " to " + std::to_string(e.end) + " of " +
                 std::to_string(data));
    if (e.end - e.begin != bytes)
      return bad(cited(e.name) + " has " + std::to_string(e.end - e.begin) + " bytes, " +
                 std::string(to_string(e.dtype)) + to_string(e.shape) + " takes " + std::to_string(bytes));
    if (e.begin != at)
      return bad(cited(e.name) + " starts at byte " + std::to_string(e.begin) + ", the tensors before it end at " +
                 std::to_string(at));
    at = e.end;
  }
  if (at != data)
    return bad("its tensors end at byte " + std::to_string(at) + " of the data, which has " + std::to_string(data));
  return h;
}

Result<std::string> write_header(std::vector<TensorFile::Entry>& entries, const Metadata& metadata) {
  std::string text = "{";
  auto quote = [&](const std::string& s) {
    // Throws on text that is not UTF-8.
    text += nlohmann::json(s).dump();
  };
  std::unordered_set<std::string_view> names;
  uint64_t at = 0;
  try {
    if (!metadata.empty()) {
      text += "\"__metadata__\":{";
      bool first = true;
      for (auto& [key, value] : metadata) {
        if (!first) text += ',';
        first = false;
        quote(key);
        text += ':';
        quote(value);
      }
      text += '}';
    }
    for (auto& e : entries) {
      if (e.name.empty()) return invalid("save: a tensor has an empty name. Give it one.");
      if (e.name == "__metadata__")
        return invalid("save: a tensor is named __metadata__, which the format keeps for itself.");
      if (!names.insert(e.name).second) return invalid("save: " + cited(e.name) + " is there twice. Rename one.");
      const char* type = dtype_name(e.dtype);
      if (!type)
        return invalid("save: " + cited(e.name) + " has dtype " + std::string(to_string(e.dtype)) +
                       ", which safetensors lacks. Cast it.");
      e.begin = at;
      e.end = at += size_bytes(e.dtype, uint64_t(count(e.shape)));
      if (text.size() > 1) text += ',';
      quote(e.name);
      text += std::string(":{\"dtype\":\"") + type + "\",\"shape\":[";
      for (int i = 0; i < e.shape.rank; ++i) text += (i ? "," : "") + std::to_string(e.shape(i));
      text += "],\"data_offsets\":[" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]}";
    }
  } catch (const nlohmann::json::exception&) { return invalid("save: a name or a metadata text is not UTF-8."); }
  text += '}';
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');
  if (text.size() > kMaxHeader)
    return invalid("save: the header has " + std::to_string(text.size()) +
                   " bytes, readers take at most 100000000. Use "
                   "fewer tensors or shorter names.");
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i) out[size_t(i)] = char(text.size() >> (8 * i));
  return out + text;
}

}  // namespace oarlock::safetensors
