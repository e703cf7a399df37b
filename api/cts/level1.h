// The parts of level 1, in the order they run.
#pragma once
#include "api/cts/test.h"

namespace oarlock::cts {

void level1_memory(const Options& options, std::vector<Test>& tests);
void level1_order(const Options& options, std::vector<Test>& tests);

}  // namespace oarlock::cts
