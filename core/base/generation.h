// One number for everything that prepared calls depend on: plugins, settings, registered ops. When it rises, what was
// chosen before is chosen anew.
#pragma once
#include <atomic>
#include <cstdint>

namespace oarlock {

inline std::atomic<uint64_t> generation{1};
inline void something_changed() { generation.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace oarlock
