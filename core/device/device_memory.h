// Memory of any device, the host included.
#pragma once
#include <memory>

#include "core/device/device.h"

namespace oarlock {

std::unique_ptr<BlockCache> make_device_cache(DeviceState& device);
// stream: whose work uses the memory first, or used it last. Null on the host.
Result<Block> device_allocate(DeviceState& device, uint64_t size_bytes, Stream* stream);
void device_free(DeviceState& device, const Block& block, Stream* stream) noexcept;

}  // namespace oarlock
