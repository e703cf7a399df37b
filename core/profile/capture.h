// The file of the setting `capture`: kernel calls with their operands and results in full, for `oarlock bisect`. A record
// is one line of JSON, then the elements that its "bytes" count, operands first, results after them, nothing between.
#pragma once
#include <string>
#include <vector>

#include <oarlock/base/dtype.h>
#include <oarlock/base/shape.h>

#include "core/op/attrs.h"

namespace oarlock::capture {

struct Value {
  bool present = false, mutated = false, host = false;
  DType dtype = DType::none;
  Shape shape;
  int64_t strides[kMaxRank] = {};  // as it lay; the elements here are row-major
  std::vector<uint8_t> bytes;
};
struct Record {
  std::string op, plugin, path, device, route;
  int version = 1;
  op::Attrs attributes;
  std::vector<Value> operands;  // before the call
  std::vector<Value> results;   // outputs without hidden ones, then the operands that were written to
};
// Any thread; several processes may share the file. What can't be written is told once.
void write(const Record& record);

}  // namespace oarlock::capture
