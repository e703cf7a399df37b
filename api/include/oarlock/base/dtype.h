// Element types, their sets and how two of them mix.
#pragma once
#include <cstdint>
#include <string_view>

#include <oarlock/types.h>

namespace oarlock {

// Numbers are those of oar_dtype_t.
enum class DType : uint8_t {
  none = 0,
#define X(name, number, text, bits, kind, code) name = number,
#include <oarlock/base/dtype.def>
#undef X
};

enum class DTypeKind : uint8_t { none, boolean, integer, natural, real, complex, storage, host };

struct DTypeInfo {
  std::string_view text;  // "f32"
  uint16_t bits = 0;
  DTypeKind kind = DTypeKind::none;
  uint8_t dlpack_code = 0;
};

namespace detail {
struct DTypeTable {
  DTypeInfo row[64]{};
};
constexpr DTypeTable make_dtype_table() {
  DTypeTable t;
#define X(name, number, text, bits, kind, code) t.row[number] = {text, bits, DTypeKind::kind, code};
#include <oarlock/base/dtype.def>
#undef X
  return t;
}
inline constexpr DTypeTable kDTypes = make_dtype_table();
}  // namespace detail

constexpr const DTypeInfo& info(DType t) { return detail::kDTypes.row[int(t) & 63]; }
constexpr std::string_view to_string(DType t) { return t == DType::none ? "none" : info(t).text; }
// The dtype of that text, or none.
constexpr DType dtype_from(std::string_view text) {
  for (int i = 1; i < 64; ++i)
    if (!detail::kDTypes.row[i].text.empty() && detail::kDTypes.row[i].text == text) return DType(i);
  return DType::none;
}
// Bytes that n elements take; types below eight bits are packed, low bits first.
constexpr uint64_t size_bytes(DType t, uint64_t n) { return (n * info(t).bits + 7) / 8; }

// A set of dtypes; bit i is the dtype with number i. The masks of oar_kernel_decl_t are the same.
using DTypeSet = uint64_t;
constexpr DTypeSet set_of(DType t) { return DTypeSet(1) << int(t); }
namespace detail {
constexpr DTypeSet set_of_kind(DTypeKind kind) {
  DTypeSet s = 0;
  for (int i = 1; i < 64; ++i)
    if (kDTypes.row[i].kind == kind) s |= DTypeSet(1) << i;
  return s;
}
}  // namespace detail
inline constexpr DTypeSet kBool = detail::set_of_kind(DTypeKind::boolean);
inline constexpr DTypeSet kSigned = detail::set_of_kind(DTypeKind::integer);
inline constexpr DTypeSet kUnsigned = detail::set_of_kind(DTypeKind::natural);
inline constexpr DTypeSet kInt = kSigned | kUnsigned;
inline constexpr DTypeSet kFloat = detail::set_of_kind(DTypeKind::real);
inline constexpr DTypeSet kComplex = detail::set_of_kind(DTypeKind::complex);
inline constexpr DTypeSet kNumeric = kInt | kFloat;
inline constexpr DTypeSet kStorage = detail::set_of_kind(DTypeKind::storage);
inline constexpr DTypeSet kAny = kBool | kNumeric;

// The dtype that holds both, by the Array API's table; an integer with a float gives the float, f16 with bf16 gives
// f32. none where there is no such type: bool with a number, u64 with a signed integer, a storage type with another.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  auto kind = [](DType t) { return info(t).kind; };
  auto bits = [](DType t) { return info(t).bits; };
  DTypeSet both = set_of(a) | set_of(b);
  if (both & ~(kNumeric | kComplex)) return DType::none;
  if (both & kComplex) {
    bool wide = (both & (set_of(DType::c128) | set_of(DType::f64))) != 0;
    return wide ? DType::c128 : DType::c64;
  }
  if (both & kFloat) {
    if (kind(a) != DTypeKind::real) return b;
    if (kind(b) != DTypeKind::real) return a;
    return bits(a) == bits(b) ? DType::f32 : bits(a) > bits(b) ? a : b;
  }
  if (kind(a) == kind(b)) return bits(a) > bits(b) ? a : b;
  DType s = kind(a) == DTypeKind::integer ? a : b, u = s == a ? b : a;
  if (bits(u) < bits(s)) return s;
  return bits(u) == 8 ? DType::i16 : bits(u) == 16 ? DType::i32 : bits(u) == 32 ? DType::i64 : DType::none;
}

}  // namespace oarlock
