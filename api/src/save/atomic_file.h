// Replacing a file as a whole.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock {

// Writes the pieces one after another to a new file beside `path`, flushes it, renames it to `path` and flushes the folder. On
// any failure the old file is as it was and the new one is gone. A symbolic link is followed: what it points to is replaced.
Status replace_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace oarlock
