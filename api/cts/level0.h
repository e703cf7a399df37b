// The parts of level 0, in the order they run.
#pragma once
#include "api/cts/test.h"

namespace oarlock::cts {

void level0_file(const Options& options, std::vector<Test>& tests);
void level0_tables(const Options& options, std::vector<Test>& tests);
void level0_kernels(const Options& options, std::vector<Test>& tests);
void level0_device(const Options& options, std::vector<Test>& tests);

}  // namespace oarlock::cts
