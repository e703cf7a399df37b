// A call that went wrong as a C program of its own: C11 over <oarlock/app.h>, nothing else.
#pragma once
#include <string>

#include "api/cts/op_call.h"
#include "api/cts/record.h"

namespace oarlock::cts {

// wrong: what is wrong, in words, for its head. The program's exit code: 1 while the difference is there, 0 when it isn't, 2
// if it could not be run. Its one argument is the plugin's file ("none": the host alone); without, that of the record.
std::string c_program(const Recorded& call, const Oracle& oracle, const std::string& wrong);

}  // namespace oarlock::cts
