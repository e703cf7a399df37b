// The host's memory: a cache over anonymous mappings, with a small store per thread in front for what is small.
#pragma once
#include <cstdint>

#include "core/device/memory.h"

namespace oarlock {

// 64-byte aligned; null and a status where there is none. Any thread; freeing on another thread is fine.
Result<Block> host_allocate(uint64_t size_bytes);
void host_free(const Block& block) noexcept;
BlockCache& host_memory();
MemoryStats host_stats();   // with what this thread holds settled

// Objects of one size from a store per thread: tensor and storage headers, tape nodes.
void* object_allocate(size_t size_bytes);   // never null: throws std::bad_alloc
void object_free(void* p, size_t size_bytes) noexcept;

}  // namespace oarlock
