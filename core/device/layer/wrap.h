// The C functions that stand in a wrapped table. Each knows its slot from its template argument, since C tables carry no
// context; all they do is collect the addresses of their arguments and ask the layer in that slot.
#pragma once
#include <utility>

#include "core/device/layer/describe.h"

namespace oarlock::layer {

// Layers that can exist in one process: a plugin under validation and tracing takes two. Slots are never given back, as
// plugins are never unloaded.
inline constexpr int kSlots = 32;

void enter(int slot, Fn fn, void* const* args, void* result);
void host_enter(Fn fn, void* const* args, void* result);

template <Fn F, class R, class... A>
[[gnu::noinline]] R collect(A... a, int slot) {
  void* args[] = {const_cast<void*>(static_cast<const void*>(&a))..., nullptr};
  if constexpr (std::is_void_v<R>) {
    enter(slot, F, args, nullptr);
  } else {
    R result{};
    enter(slot, F, args, &result);
    return result;
  }
}

template <int Slot, Fn F, class P>
struct Thunk;
template <int Slot, Fn F, class R, class... A>
struct Thunk<Slot, F, R(OAR_CALL*)(A...)> {
  static R OAR_CALL call(A... a) { return collect<F, R, A...>(a..., Slot); }  // a move and a jump
};

template <Fn F, class P>
struct HostThunk;
template <Fn F, class R, class... A>
struct HostThunk<F, R(OAR_CALL*)(A...)> {
  static R OAR_CALL call(A... a) {
    void* args[] = {const_cast<void*>(static_cast<const void*>(&a))..., nullptr};
    if constexpr (std::is_void_v<R>) {
      host_enter(F, args, nullptr);
    } else {
      R result{};
      host_enter(F, args, &result);
      return result;
    }
  }
};

// Calls a function whose arguments lie at args.
template <class R, class... A, size_t... I>
void apply_each(R(OAR_CALL* f)(A...), void* const* args, void* result, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) {
    f(*static_cast<A*>(args[I])...);
  } else {
    *static_cast<R*>(result) = f(*static_cast<A*>(args[I])...);
  }
}
template <class R, class... A>
void apply(R(OAR_CALL* f)(A...), void* const* args, void* result) {
  apply_each(f, args, result, std::index_sequence_for<A...>());
}

// Where the pointer to a wrapping function lies; host_thunk for functions of the host.
const void* thunk(int slot, Fn fn);
const void* thunk_0(int slot, Fn fn);  // of the lower half of the slots
const void* thunk_1(int slot, Fn fn);
const void* host_thunk(Fn fn);

// Calls the function whose pointer lies at `where`. result: room for what it returns, null if it returns nothing.
void invoke(Fn fn, const void* where, void* const* args, void* result);

}  // namespace oarlock::layer
