#include "api/cts/record.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace oarlock::cts {

namespace {

using Json = nlohmann::json;

constexpr size_t kLongestLine = 1 << 20;

double real(const Json& j) { return std::strtod(j.get<std::string>().c_str(), nullptr); }
std::string hex(double x) { return fmt::format("{:a}", x); }

AttrValue attribute_of(const Json& j) {
  AttrValue a;
  a.type = j.at("type");
  a.is_set = j.contains("value");
  if (!a.is_set) return a;
  const Json& v = j["value"];
  switch (a.type) {
    case OAR_ATTR_FLOAT: a.f = real(v); break;
    case OAR_ATTR_STRING: a.text = v; break;
    case OAR_ATTR_INTS: a.ints = v.get<std::vector<int64_t>>(); break;
    case OAR_ATTR_FLOATS:
      for (const Json& x : v) a.floats.push_back(real(x));
      break;
    default: a.i = v;
  }
  return a;
}

Json json_of(const AttrValue& a) {
  Json j = {{"type", a.type}};
  if (!a.is_set) return j;
  switch (a.type) {
    case OAR_ATTR_FLOAT: j["value"] = hex(a.f); break;
    case OAR_ATTR_STRING: j["value"] = a.text; break;
    case OAR_ATTR_INTS: j["value"] = a.ints; break;
    case OAR_ATTR_FLOATS:
      j["value"] = Json::array();
      for (double x : a.floats) j["value"].push_back(hex(x));
      break;
    default: j["value"] = a.i;
  }
  return j;
}

bool row_major(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t unit = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != unit) return false;
    unit *= shape[i];
  }
  return true;
}

DType dtype_of(const Json& j) {
  DType t = dtype_from(j.at("dtype").get<std::string>());
  if (t == DType::none || info(t).bits < 8) throw std::runtime_error("a dtype that calls are not captured with");
  return t;
}

bool send(int descriptor, const void* bytes, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t wrote = ::write(descriptor, static_cast<const char*>(bytes) + at, n - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += size_t(wrote);
  }
  return true;
}

}  // namespace

bool Reader::fill(size_t bytes) {
  while (buffer_.size() < bytes) {
    char chunk[65536];
    ssize_t n = ::read(descriptor_, chunk, sizeof chunk);
    if (n > 0) {
      buffer_.append(chunk, size_t(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return false;
    if (!waiting_ || !waiting_()) {
      // It may have written between the last read and its end.
      n = waiting_ ? ::read(descriptor_, chunk, sizeof chunk) : 0;
      if (n <= 0) return false;
      buffer_.append(chunk, size_t(n));
      continue;
    }
    struct pollfd p {
      descriptor_, POLLIN, 0
    };
    if (n == 0 || ::poll(&p, 1, 50) < 0 || (p.revents & (POLLHUP | POLLIN)) == POLLHUP) ::usleep(10'000);
  }
  return true;
}

std::optional<Recorded> Reader::next() {
  size_t end;
  for (size_t seen = 0; (end = buffer_.find('\n', seen)) == std::string::npos;) {
    seen = buffer_.size();
    if (seen > kLongestLine) throw std::runtime_error("this is no capture: a line has no end.");
    if (!fill(seen + 1)) {
      if (!buffer_.empty()) throw std::runtime_error("the capture ends in the middle of a call.");
      return {};
    }
  }
  Recorded r;
  try {
    Json j = Json::parse(buffer_.substr(0, end));
    buffer_.erase(0, end + 1);
    auto text = [&](const char* name) { return j.value(name, std::string()); };
    r.op = text("op"), r.plugin = text("plugin"), r.path = text("path"), r.device = text("device");
    r.route = text("route"), r.failure = text("failure"), r.refused = j.value("refused", false);
    for (const Json& a : j.at("attributes")) r.draw.attrs.push_back(attribute_of(a));
    auto elements = [&](const Json& v, std::vector<uint8_t>& bytes, DType dtype, const std::vector<int64_t>& shape) {
      size_t n = v.at("bytes");
      int64_t count = 1;
      for (int64_t d : shape)
        if (d < 0 || __builtin_mul_overflow(count, d, &count)) throw std::runtime_error("a size that can't be");
      if (n != size_bytes(dtype, uint64_t(count)))
        throw std::runtime_error("elements that are not as many as the shape says");
      if (!fill(n)) throw std::runtime_error("the end comes too early");
      bytes.assign(buffer_.begin(), buffer_.begin() + int64_t(n));
      buffer_.erase(0, n);
    };
    for (const Json& v : j.at("operands")) {
      Operand o;
      o.present = !v.is_null();
      if (o.present) {
        o.dtype = dtype_of(v);
        o.shape = v.at("shape").get<std::vector<int64_t>>();
        o.strides = v.value("strides", std::vector<int64_t>());
        o.mutated = v.value("mutated", false);
        o.host = v.value("host", false);
        elements(v, o.bytes, o.dtype, o.shape);
        if (o.strides.size() != o.shape.size() || row_major(o.shape, o.strides)) o.strides.clear();
      }
      r.draw.inputs.push_back(std::move(o));
    }
    for (const Json& v : j.at("results")) {
      HostTensor h;
      if (!v.is_null()) {
        h.dtype = dtype_of(v);
        auto shape = v.at("shape").get<std::vector<int64_t>>();
        elements(v, h.bytes, h.dtype, shape);
        h.shape = Shape(shape);
      }
      r.results.push_back(std::move(h));
    }
  } catch (const std::exception& e) { throw std::runtime_error(fmt::format("this is no capture: {}.", e.what())); }
  return r;
}

bool write_record(int descriptor, const Recorded& r) {
  Json j = {{"op", r.op},       {"plugin", r.plugin},   {"path", r.path},      {"device", r.device},
            {"route", r.route}, {"failure", r.failure}, {"refused", r.refused}};
  j["attributes"] = j["operands"] = j["results"] = Json::array();
  for (const AttrValue& a : r.draw.attrs) j["attributes"].push_back(json_of(a));
  for (const Operand& o : r.draw.inputs)
    j["operands"].push_back(!o.present ? Json()
                                       : Json{{"dtype", to_string(o.dtype)},
                                              {"shape", o.shape},
                                              {"strides", o.strides},
                                              {"mutated", o.mutated},
                                              {"host", o.host},
                                              {"bytes", o.bytes.size()}});
  for (const HostTensor& h : r.results) {
    std::vector<int64_t> shape;
    for (int i = 0; i < h.shape.rank; ++i) shape.push_back(h.shape(i));
    j["results"].push_back(h.dtype == DType::none
                               ? Json()
                               : Json{{"dtype", to_string(h.dtype)}, {"shape", shape}, {"bytes", h.bytes.size()}});
  }
  std::string head = j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  bool ok = send(descriptor, head.data(), head.size());
  for (const Operand& o : r.draw.inputs)
    if (o.present) ok = ok && send(descriptor, o.bytes.data(), o.bytes.size());
  for (const HostTensor& h : r.results)
    if (h.dtype != DType::none) ok = ok && send(descriptor, h.bytes.data(), h.bytes.size());
  return ok;
}

}  // namespace oarlock::cts
