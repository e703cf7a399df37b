// The text of plugins' schemas: name, signature and gradient, a line each. What reads well must also compile or be refused.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/op/schema.h"

using namespace oarlock;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size), lines[3];
  for (int i = 0, at = 0; i < 3; ++i) {
    size_t end = std::min(text.find('\n', size_t(at)), text.size());
    lines[i] = text.substr(size_t(at), end - size_t(at));
    at = int(std::min(end + 1, text.size()));
  }
  oar_op_schema_t schema{};
  schema.struct_size = sizeof schema;
  schema.version = 2;
  schema.name = {lines[0].data(), lines[0].size()};
  schema.signature = {lines[1].data(), lines[1].size()};
  schema.gradient = {lines[2].data(), lines[2].size()};
  Result<std::unique_ptr<op::SchemaOp>> read = op::read_schema(&schema);
  if (!read) return 0;
  try {
    op::compile(**read);
  } catch (const std::invalid_argument&) {}
  return 0;
}
