// Where data takes its seeds from when a program names none.
#pragma once
#include <cstdint>

namespace oarlock::data {

uint64_t draw_seed();  // one draw of the library's generator, spread over 64 bits

}  // namespace oarlock::data
