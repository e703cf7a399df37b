// The host CPU as packs are told of it, and the dtypes that there are.
#pragma once
#include <cstdint>

#include <oarlock/plugin.h>

namespace oarlock::cts {

inline constexpr uint64_t kKnownDtypes = 0x7fffffffu & ~1ull;
const oar_device_info_t& host_cpu();

}  // namespace oarlock::cts
