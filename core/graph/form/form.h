// Programs as text and as bytes (program.proto). Both read back as the program that was written: names, places and numbers
// too. Weights are in neither; states come back without elements.
//
// Reading believes nothing: what comes back has passed verify, nodes of older versions of ops are brought up to date, and
// memory stays within a multiple of what was given.
#pragma once
#include <string>
#include <string_view>

#include "core/graph/program.h"

namespace oarlock::graph {

// "program "main" 1 { ... }", a line a node. Constants of more than 16 elements are written as hexadecimal bytes.
Result<std::string> to_text(const Program& p);
// The error begins with the line.
Result<Program> from_text(std::string_view text);

Result<std::string> to_wire(const Program& p);
// The error names the byte, or the node.
Result<Program> from_wire(std::string_view bytes);

}  // namespace oarlock::graph
