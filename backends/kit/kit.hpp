// kit.hpp - kit.h for plugins written in C++20. Exceptions must not cross the C border: write each table function as
// `return oarlock::kit::guard(host, [&] { ... });` and throw kit::Error wherever you like.
#ifndef OARLOCK_KIT_HPP
#define OARLOCK_KIT_HPP
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kit.h"

namespace oarlock::kit {

inline std::string_view view(oar_str_t text) { return {text.data, text.size}; }
inline oar_str_t str(std::string_view text) { return {text.data(), text.size()}; }

// A failure with the status it becomes and the vendor's own code.
class Error : public std::runtime_error {
 public:
  Error(oar_status_t status, const std::string& text, int64_t native = 0)
      : std::runtime_error(text), status_(status), native_(native) {}
  oar_status_t status() const noexcept { return status_; }
  int64_t native() const noexcept { return native_; }

 private:
  oar_status_t status_;
  int64_t native_;
};

// A refusal, for check and prepare; guard(host, verdict, body) writes it into the verdict.
class Refusal : public std::runtime_error {
 public:
  Refusal(uint32_t reason, int32_t operand, const std::string& text)
      : std::runtime_error(text), reason_(reason), operand_(operand) {}
  uint32_t reason() const noexcept { return reason_; }
  int32_t operand() const noexcept { return operand_; }

 private:
  uint32_t reason_;
  int32_t operand_;
};

// Runs body, which returns a status or nothing, and turns whatever it throws into a status with a text.
template <class Body>
oar_status_t guard(const oar_host_t* host, oar_verdict_t* verdict, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      std::forward<Body>(body)();
      return OAR_OK;
    } else {
      return std::forward<Body>(body)();
    }
  } catch (const Refusal& refusal) {
    return oar_kit_refuse(verdict, refusal.reason(), refusal.operand(), "%s", refusal.what());
  } catch (const Error& error) {
    return oar_kit_error(host, error.status(), error.native(), "%s", error.what());
  } catch (const std::bad_alloc&) {
    return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "out of host memory");
  } catch (const std::exception& error) {
    return oar_kit_error(host, OAR_INTERNAL, 0, "%s", error.what());
  } catch (...) { return oar_kit_error(host, OAR_INTERNAL, 0, "an exception that is no std::exception"); }
}

template <class Body>
oar_status_t guard(const oar_host_t* host, Body&& body) noexcept {
  return guard(host, nullptr, std::forward<Body>(body));
}

inline std::span<const int64_t> shape(const oar_value_t& value) { return {value.shape, value.n_dims}; }
inline std::span<const int64_t> shape(const oar_view_t& view) { return {view.shape, static_cast<size_t>(view.n_dims)}; }
inline std::span<const int64_t> strides(const oar_view_t& view) {
  return view.strides ? std::span<const int64_t>(view.strides, static_cast<size_t>(view.n_dims))
                      : std::span<const int64_t>();
}

template <class T>
T* data(const oar_view_t& view) {
  return static_cast<T*>(oar_kit_view_data(&view));
}

// Attributes by place; the fallback serves "none".
inline bool attr_bool(const oar_call_t& call, uint32_t i, bool fallback = false) {
  oar_kit_attr_bool(&call, i, &fallback);
  return fallback;
}
inline int64_t attr_int(const oar_call_t& call, uint32_t i, int64_t fallback = 0) {
  oar_kit_attr_int(&call, i, &fallback);
  return fallback;
}
inline double attr_float(const oar_call_t& call, uint32_t i, double fallback = 0) {
  oar_kit_attr_float(&call, i, &fallback);
  return fallback;
}
inline std::span<const int64_t> attr_ints(const oar_call_t& call, uint32_t i) {
  const int64_t* values = nullptr;
  uint64_t n = 0;
  oar_kit_attr_ints(&call, i, &values, &n);
  return {values, static_cast<size_t>(n)};
}
inline std::string_view attr_string(const oar_call_t& call, uint32_t i) {
  oar_str_t text{nullptr, 0};
  oar_kit_attr_string(&call, i, &text);
  return view(text);
}

}  // namespace oarlock::kit
#endif
