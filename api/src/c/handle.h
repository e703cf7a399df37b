// Handles of the C interface: a slot's number and its generation, so that a stale one is noticed instead of followed.
#pragma once
#include <oarlock/app.h>
#include <oarlock/base/tensor.h>

namespace oarlock::c {

// A new handle that owns one reference. Never fails but by std::bad_alloc.
oar_tensor_t* give(Tensor t);
// The tensor of a live handle, borrowed; null: there is none.
TensorImpl* find(oar_tensor_t* handle) noexcept;
bool drop(oar_tensor_t* handle) noexcept;  // false: it was not live

// Keeps the failure for oar_error_text and returns its status.
oar_status_t fail(Code code, std::string_view text) noexcept;
inline oar_status_t fail(const Status& s) noexcept { return fail(s.code(), s.text()); }

// Runs body; what it throws becomes this thread's error.
template <class F>
oar_status_t guard(F&& body) noexcept {
  try {
    return body();
  } catch (const Error& e) { return fail(e.code(), e.what()); } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "memory on cpu: no room for a small object.");
  } catch (const std::exception& e) { return fail(Code::internal, e.what()); } catch (...) {
    return fail(Code::internal, "an exception of unknown type.");
  }
}

}  // namespace oarlock::c
