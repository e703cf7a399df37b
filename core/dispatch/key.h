// The signature of a call as words: whatever may change the choice of a kernel or the shape of an output.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/dispatch/entry.h"

namespace oarlock::dispatch {

inline uint64_t operand_head(const TensorImpl& t) {
  uint64_t address = t.device->addressable ? reinterpret_cast<uint64_t>(t.view.data) : t.view.byte_offset;
  uint64_t alignment = uint64_t(__builtin_ctzll(address | 64));
  return 1 | uint64_t(t.dtype) << 8 | uint64_t(t.shape.rank) << 16 | alignment << 24 | uint64_t(t.contiguous) << 32 |
         uint64_t(t.storage != nullptr) << 33 | uint64_t(t.device->index) << 40;
}
inline uint64_t call_head(const Call& call) {
  return uint64_t(call.op.id) | uint64_t(call.device->index) << 16 | uint64_t(call.n_inputs) << 24 |
         uint64_t(call.n_attrs) << 48 | uint64_t(call.with_hidden) << 56 | uint64_t(call.decompose) << 57 |
         uint64_t(call.route) << 58;
}

// Whether a call without attributes has the signature of an entry, without writing it down first.
inline bool has_signature(const Call& call, const Entry& entry) {
  const uint64_t* word = entry.key.data();
  if (*word++ != call_head(call)) return false;
  for (int i = 0; i < call.n_inputs; ++i) {
    const TensorImpl* t = call.inputs[i];
    if (!t || !t->contiguous || *word++ != operand_head(*t)) return false;
    for (int k = 0; k < t->shape.rank; ++k)
      if (*word++ != uint64_t(t->shape.d[k].n)) return false;
  }
  return true;
}

// An operand: kind, then sizes, then strides where they are not row-major. Room for 2 * kMaxRank + 1 words.
inline int operand_words(const TensorImpl* t, uint64_t* to) {
  if (!t) {
    *to = 0;
    return 1;
  }
  int rank = t->shape.rank, n = 1;
  to[0] = operand_head(*t);
  for (int k = 0; k < rank; ++k) to[n++] = uint64_t(t->shape.d[k].n);
  if (!t->contiguous)
    for (int k = 0; k < rank; ++k) to[n++] = uint64_t(t->strides[k]);
  return n;
}

inline void attribute_words(const oar_attr_t& a, Key& key) {
  key.push(uint64_t(a.type) | uint64_t(a.is_set) << 16 | a.count << 24);
  if (!a.is_set) return;
  bool list = a.type == OAR_ATTR_STRING || a.type == OAR_ATTR_INTS || a.type == OAR_ATTR_FLOATS;
  if (list && a.count && !a.value.ints) {  // a null list is for normalise to name
    key.fits = false;
    return;
  }
  switch (a.type) {
    case OAR_ATTR_STRING:
      for (uint64_t at = 0; at < a.count && key.fits; at += 8) {
        uint64_t w = 0;
        std::memcpy(&w, a.value.str + at, std::min<uint64_t>(8, a.count - at));
        key.push(w);
      }
      return;
    case OAR_ATTR_INTS:
    case OAR_ATTR_FLOATS:
      for (uint64_t k = 0; k < a.count && key.fits; ++k) key.push(uint64_t(a.value.ints[k]));
      return;
    default: key.push(uint64_t(a.value.i));
  }
}

inline void make_key(const Call& call, Key& key) {
  key.push(call_head(call));
  if (call.only) key.push(reinterpret_cast<uint64_t>(call.only));
  for (int i = 0; i < call.n_inputs; ++i) {
    if (key.n > Key::kMost - (2 * kMaxRank + 1)) [[unlikely]] {
      key.fits = false;
      return;
    }
    key.n += operand_words(call.inputs[i], key.word + key.n);
  }
  for (uint32_t i = 0; i < call.n_attrs; ++i) attribute_words(call.attrs[i], key);
  // Two lanes, so that one product does not wait for the other.
  uint64_t a = uint64_t(key.n), b = 0x2545F4914F6CDD1Dull;
  int i = 0;
  for (; i + 1 < key.n; i += 2) {
    a = (a ^ key.word[i]) * 0x9E3779B97F4A7C15ull;
    b = (b ^ key.word[i + 1]) * 0xD6E8FEB86659FD93ull;
    a ^= a >> 32;
    b ^= b >> 32;
  }
  if (i < key.n) a = (a ^ key.word[i]) * 0x9E3779B97F4A7C15ull;
  key.hash = (a ^ a >> 29) * 31 + (b ^ b >> 29);
}

}  // namespace oarlock::dispatch
