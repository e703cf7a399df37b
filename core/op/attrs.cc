// Attributes of a call: made whole and checked before anything else sees them.
#include "core/op/attrs.h"

#include <cstring>

#include "core/op/infer.h"
#include "core/op/symbol.h"
#include "core/op/words.h"

namespace oarlock::op {

OwnedAttrs::OwnedAttrs(Attrs a) : values_(a.v, a.v + a.n) {
  size_t words = 0;
  auto size = [](const oar_attr_t& v) -> size_t {
    if (!v.is_set) return 0;
    if (v.type == OAR_ATTR_STRING) return (size_t(v.count) + 7) / 8;
    return v.type == OAR_ATTR_INTS || v.type == OAR_ATTR_FLOATS ? size_t(v.count) : 0;
  };
  for (auto& v : values_) words += size(v);
  room_.resize(words);
  uint64_t* at = room_.data();
  for (auto& v : values_) {
    size_t n = size(v);
    if (!n) continue;
    std::memcpy(at, v.value.ints, v.type == OAR_ATTR_STRING ? size_t(v.count) : n * 8);
    v.value.ints = reinterpret_cast<const int64_t*>(at);
    at += n;
  }
}

std::string number_text(double v) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    double back = 0;
    if (sscanf(text, "%lf", &back) == 1 && back == v) break;
  }
  return text;
}

std::string attribute_text(AttrKind kind, const oar_attr_t& v) {
  if (!v.is_set) return "none";
  bool list_or_text = v.type == OAR_ATTR_STRING || v.type == OAR_ATTR_INTS || v.type == OAR_ATTR_FLOATS;
  if (list_or_text && v.count && !v.value.ints) return "a null pointer";
  auto list = [&](auto item) {
    std::string t = "[";
    for (uint64_t i = 0; i < v.count && i < 20; ++i) t += (i ? ", " : "") + item(i);
    return t + (v.count > 20 ? ", ...]" : "]");
  };
  switch (v.type) {
    case OAR_ATTR_BOOL: return v.value.i ? "true" : "false";
    case OAR_ATTR_INT: return kind == AttrKind::dim ? to_string(Dim(v.value.i)) : std::to_string(v.value.i);
    case OAR_ATTR_FLOAT: return number_text(v.value.f);
    case OAR_ATTR_STRING: return "\"" + std::string(v.value.str, size_t(v.count)) + "\"";
    case OAR_ATTR_DTYPE:
      return v.value.i >= 0 && v.value.i < 64 ? std::string(to_string(DType(v.value.i))) : std::to_string(v.value.i);
    case OAR_ATTR_INTS:
      return list([&](uint64_t i) {
        return kind == AttrKind::dims ? to_string(Dim(v.value.ints[i])) : std::to_string(v.value.ints[i]);
      });
    case OAR_ATTR_FLOATS: return list([&](uint64_t i) { return number_text(v.value.floats[i]); });
    default: return "a value of unknown type " + std::to_string(v.type);
  }
}

uint32_t wire_type(AttrKind kind) {
  switch (kind) {
    case AttrKind::flag: return OAR_ATTR_BOOL;
    case AttrKind::integer:
    case AttrKind::dim:
    case AttrKind::axis: return OAR_ATTR_INT;
    case AttrKind::real: return OAR_ATTR_FLOAT;
    case AttrKind::text: return OAR_ATTR_STRING;
    case AttrKind::reals: return OAR_ATTR_FLOATS;
    case AttrKind::dtype: return OAR_ATTR_DTYPE;
    case AttrKind::integers:
    case AttrKind::dims:
    case AttrKind::axes: return OAR_ATTR_INTS;
  }
  return 0;
}

const char* kind_text(AttrKind kind) {
  static const char* const kTexts[] = {"true or false", "an integer", "a number", "a text", "integers", "numbers",
                                       "a size",        "sizes",      "an axis",  "axes",   "a dtype"};
  return kTexts[int(kind)];
}

oar_attr_t default_of(const Attribute& a) {
  oar_attr_t v = attr_none(wire_type(a.kind));
  if (a.need != Attribute::defaulted) return v;
  v.is_set = v.count = 1;
  switch (a.kind) {
    case AttrKind::real: v.value.f = a.f; break;
    case AttrKind::text:
      v.value.str = a.s;
      v.count = a.s ? std::string_view(a.s).substr(0, std::string_view(a.s).find('|')).size() : 0;
      break;
    case AttrKind::integers: v.value.ints = &a.i; break;  // one entry, which repeats
    case AttrKind::reals:
      v.value.floats = nullptr;
      v.count = 0;
      break;
    case AttrKind::dims:
    case AttrKind::axes:
      v.value.ints = nullptr;
      v.count = 0;
      break;
    default: v.value.i = a.i;
  }
  return v;
}

namespace {

struct Normaliser {
  const OpDef& def;
  const Shape* first;
  AttrScratch& scratch;

  Status bad(const Attribute& a, const oar_attr_t& v, const std::string& why) const {
    return invalid(std::string(def.name) + ": attribute " + a.name + " is " + attribute_text(a.kind, v) + why + ".");
  }
  std::string first_text() const {
    return std::string(def.inputs.count ? def.inputs[0].name : "x") + " is " + to_string(*first) + " (rank " +
           std::to_string(first->rank) + ")";
  }
  bool within(const Attribute& a, double v) const {
    return (a.low == -INFINITY || v >= a.low) && (a.high == INFINITY || v <= a.high);
  }
  std::string limits(const Attribute& a) const {
    return a.high == INFINITY   ? ", needs at least " + number_text(a.low)
           : a.low == -INFINITY ? ", needs at most " + number_text(a.high)
                                : ", needs " + number_text(a.low) + " to " + number_text(a.high);
  }

  Status axis(const Attribute& a, const oar_attr_t& v, int64_t& n) const {
    if (!first)
      return invalid(std::string(def.name) + ": attribute " + a.name +
                     " needs a first input to count axes of. Give one.");
    if (n >= first->rank || n < -first->rank)
      return bad(a, v,
                 first->rank ? ", but " + first_text() + ". Give " + std::to_string(-first->rank) + " to " +
                                   std::to_string(first->rank - 1)
                             : ", but " + first_text() + ", without axes");
    if (n < 0) n += first->rank;
    return {};
  }
  Status size(const Attribute& a, const oar_attr_t& v, int64_t& n) const {
    if (n == -1) n = kRest;
    if (n < 0 && n != kRest && !Symbols::current().has(n)) return bad(a, v, ": sizes are not negative");
    return {};
  }
  int64_t* take(const oar_attr_t& v) const {
    if (v.count > std::size(scratch.room) - scratch.used) return nullptr;
    int64_t* room = scratch.room + scratch.used;
    std::copy_n(v.value.ints, v.count, room);
    scratch.used += uint32_t(v.count);
    return room;
  }

  Status one(const Attribute& a, oar_attr_t& v) const {
    if (!v.is_set) {
      if (a.need == Attribute::required)
        return invalid(std::string(def.name) + ": attribute " + a.name + " is missing. Give it: " + kind_text(a.kind) +
                       ".");
      v = default_of(a);
      if (a.kind == AttrKind::axis && v.is_set) {
        oar_attr_t given = v;
        return axis(a, given, v.value.i);
      }
      if (a.kind != AttrKind::axes || !first) return {};
      v = {OAR_ATTR_INTS, 1, uint64_t(first->rank), {.ints = scratch.room + scratch.used}};  // none: all of them
      if (size_t(first->rank) > std::size(scratch.room) - scratch.used) return {Code::internal, "too many lists"};
      for (int i = 0; i < first->rank; ++i) scratch.room[scratch.used++] = i;
      return {};
    }
    uint32_t want = wire_type(a.kind);
    if (want == OAR_ATTR_FLOAT && v.type == OAR_ATTR_INT) v = {want, 1, 1, {.f = double(v.value.i)}};
    if (v.type != want) return bad(a, v, std::string(", needs ") + kind_text(a.kind));
    if (v.count && (want == OAR_ATTR_STRING || want == OAR_ATTR_INTS || want == OAR_ATTR_FLOATS) && !v.value.ints)
      return invalid(std::string(def.name) + ": attribute " + a.name + " has " + std::to_string(v.count) +
                     " entries but a null pointer.");
    switch (a.kind) {
      case AttrKind::flag: v.value.i = v.value.i != 0; break;
      case AttrKind::integer:
        if (!within(a, double(v.value.i))) return bad(a, v, limits(a));
        break;
      case AttrKind::real:
        if (!within(a, v.value.f)) return bad(a, v, limits(a));
        break;
      case AttrKind::text: {
        if (!a.s) break;
        std::string_view left = a.s, text(v.value.str, size_t(v.count));
        for (;;) {
          size_t bar = left.find('|');
          if (left.substr(0, bar) == text) return {};
          if (bar == left.npos) break;
          left.remove_prefix(bar + 1);
        }
        return bad(a, v, std::string(", needs one of ") + a.s);
      }
      case AttrKind::dtype: {
        auto n = uint64_t(v.value.i);
        if (n >= 64 || !(set_of(DType(n)) & (kAny | kStorage))) return bad(a, v, ", which is no dtype of tensors");
        break;
      }
      case AttrKind::dim: {
        OAR_TRY(size(a, v, v.value.i));
        if (v.value.i == kRest) return bad(a, v, ": a size is not negative");
        if (v.value.i >= 0 && !within(a, double(v.value.i))) return bad(a, v, limits(a));
        break;
      }
      case AttrKind::axis: {
        oar_attr_t given = v;
        OAR_TRY(axis(a, given, v.value.i));
        break;
      }
      case AttrKind::integers:
        if (!v.count && a.need == Attribute::defaulted) return v = default_of(a), Status();
        for (uint64_t i = 0; i < v.count; ++i)
          if (!within(a, double(v.value.ints[i]))) return bad(a, v, limits(a) + " everywhere");
        break;
      case AttrKind::reals:
        for (uint64_t i = 0; i < v.count; ++i)
          if (!within(a, v.value.floats[i])) return bad(a, v, limits(a) + " everywhere");
        break;
      case AttrKind::dims:
      case AttrKind::axes: {
        if (v.count > kMaxRank) return bad(a, v, ": at most " + std::to_string(kMaxRank) + " entries");
        if (a.kind == AttrKind::dims) {  // nothing to change nearly always: the caller's list serves
          int64_t lowest = 0;
          for (uint64_t i = 0; i < v.count; ++i) lowest |= v.value.ints[i];
          if (lowest >= 0) break;
        }
        oar_attr_t given = v;
        int64_t* room = take(v);
        if (!room) return {Code::internal, std::string(def.name) + ": too many lists of sizes in one call"};
        v.value.ints = room;
        uint32_t seen = 0;
        for (uint64_t i = 0; i < v.count; ++i) {
          OAR_TRY(a.kind == AttrKind::dims ? size(a, given, room[i]) : axis(a, given, room[i]));
          if (a.kind == AttrKind::axes && (seen >> room[i] & 1))
            return bad(a, given, ": axis " + std::to_string(room[i]) + " is there twice. Give each once");
          if (a.kind == AttrKind::axes) seen |= 1u << room[i];
        }
        break;
      }
    }
    return {};
  }
};

}  // namespace

Status normalise(const OpDef& def, const Shape* first, const oar_attr_t* given, uint32_t count, AttrScratch& scratch) {
  if (int(count) > def.attributes.count)
    return invalid(std::string(def.name) + ": " + std::to_string(count) + " attributes given, but it has " +
                   std::to_string(def.attributes.count) + ".");
  scratch.used = 0;
  Normaliser n{def, first, scratch};
  for (int i = 0; i < def.attributes.count; ++i) {
    scratch.values[i] = uint32_t(i) < count ? given[i] : attr_none(0);
    OAR_TRY(n.one(def.attributes[i], scratch.values[i]));
  }
  return {};
}

}  // namespace oarlock::op
