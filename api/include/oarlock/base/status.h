// How a call went. Inside the library everything returns Status or Result<T>; the public C++ functions throw Error.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <oarlock/types.h>

namespace oarlock {

// The numbers of oar_status_t.
enum class Code : int32_t {
  ok = OAR_OK,
  refused = OAR_REFUSED,
  not_ready = OAR_NOT_READY,
  invalid_argument = OAR_INVALID_ARGUMENT,
  out_of_memory = OAR_OUT_OF_MEMORY,
  unsupported = OAR_UNSUPPORTED,
  timeout = OAR_TIMEOUT,
  cancelled = OAR_CANCELLED,
  device_lost = OAR_DEVICE_LOST,
  peer_lost = OAR_PEER_LOST,
  bad_data = OAR_BAD_DATA,
  internal = OAR_INTERNAL,
};
OAR_EXPORT const char* name(Code code);  // "invalid argument"

// Eight bytes; success is a null pointer and costs nothing. Movable, not copyable.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : rep_(new Rep{code, std::move(text)}) {}
  bool ok() const { return !rep_; }
  explicit operator bool() const { return ok(); }
  Code code() const { return rep_ ? rep_->code : Code::ok; }
  std::string_view text() const { return rep_ ? std::string_view(rep_->text) : std::string_view(); }

 private:
  struct Rep {
    Code code;
    std::string text;
  };
  std::unique_ptr<Rep> rep_;
};

inline Status invalid(std::string text) { return {Code::invalid_argument, std::move(text)}; }

// What public C++ functions throw. what() is the whole sentence.
class OAR_EXPORT Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  explicit Error(const Status& s) : Error(s.code(), std::string(s.text())) {}
  Code code() const { return code_; }

 private:
  Code code_;
};
inline void throw_if(const Status& s) {
  if (!s.ok()) [[unlikely]]
    throw Error(s);
}

// A value or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}
  bool ok() const { return status_.ok(); }
  explicit operator bool() const { return ok(); }
  Status& status() { return status_; }
  T& operator*() { return value_; }
  T* operator->() { return &value_; }
  // The value, or throws Error.
  T take() && {
    throw_if(status_);
    return std::move(value_);
  }

 private:
  T value_{};
  Status status_;
};

#define OAR_TRY(expression)                                                                           \
  do {                                                                                                \
    if (::oarlock::Status oar_try_status = (expression); !oar_try_status.ok()) return oar_try_status; \
  } while (0)

}  // namespace oarlock
