// The host's memory: a cache over anonymous mappings, with a small store per thread in front for what is small.
#pragma once
#include <cstdint>

#include "core/device/memory.h"
#include "core/device/thread_store.h"

namespace oarlock {

// 64-byte aligned; null and a status where there is none. Any thread; freeing on another thread is fine.
Result<Block> host_allocate(uint64_t size_bytes);
void host_free(const Block& block) noexcept;
BlockCache& host_memory();
MemoryStats host_stats();  // with what this thread holds settled

}  // namespace oarlock
