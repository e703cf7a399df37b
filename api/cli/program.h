// What the commands on saved programs share.
#pragma once
#include <string>
#include <vector>

#include <oarlock/exported.h>

namespace oarlock::cli {

// "8,3,224,224" each. Throws std::runtime_error.
std::vector<Shape> shapes_of(const std::vector<std::string>& texts);
// A drawing: nodes from top to bottom in layers, inputs, results and the shapes on the arrows. No text leaves its box.
std::string svg_of(const jit::ProgramListing& program);

}  // namespace oarlock::cli
