// Weights of exported programs in files of their own.
#include <algorithm>

#include <oarlock/exported.h>
#include <oarlock/save.h>

#include "core/graph/program.h"

namespace oarlock::jit {
namespace {

std::string type_text(DType dtype, const Shape& shape) { return std::string(to_string(dtype)) + to_string(shape); }

}  // namespace

void ExportedProgram::save_weights(const std::string& path) const {
  oarlock::save(path, parameters(), {{"oarlock.program", program_->name}});
}

ExportedProgram ExportedProgram::with_weights(const std::string& path) const {
  TensorFile file(path);
  auto p = std::make_shared<graph::Program>(*program_);
  std::string wrong;
  auto add = [&](const std::string& what) { wrong += (wrong.empty() ? "" : "; ") + what; };
  for (const graph::Value& v : p->values) {
    if (v.kind != graph::Kind::state) continue;
    auto entry = std::find_if(file.entries().begin(), file.entries().end(), [&](auto& e) { return e.name == v.name; });
    if (entry == file.entries().end()) add("it has no " + v.name + " (" + type_text(v.dtype, v.shape) + ")");
    else if (entry->dtype != v.dtype || !(entry->shape == v.shape))
      add(v.name + " is " + type_text(entry->dtype, entry->shape) + " there, " + type_text(v.dtype, v.shape) +
          " in the program");
  }
  for (const TensorFile::Entry& e : file.entries())
    if (std::none_of(p->values.begin(), p->values.end(),
                     [&](const graph::Value& v) { return v.kind == graph::Kind::state && v.name == e.name; }))
      add("its " + e.name + " (" + type_text(e.dtype, e.shape) + ") is not in the program");
  if (!wrong.empty())
    throw Error(Code::bad_data, program_->name + ": the weights in " + path + " are not those of this program: " +
                                    wrong + ". Give the file that was saved from it.");
  for (graph::Value& v : p->values)
    if (v.kind == graph::Kind::state) v.data = file.read(v.name, v.data.defined() ? v.data.device() : Device());
  ExportedProgram out;
  out.program_ = std::move(p);
  return out;
}

}  // namespace oarlock::jit
