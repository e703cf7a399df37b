// Exported programs in files.
#include <algorithm>

#include <sha2.h>

#include <oarlock/exported.h>
#include <oarlock/random.h>
#include <oarlock/save.h>

#include "api/src/data/file.h"
#include "api/src/save/atomic_file.h"
#include "core/graph/form/form.h"

namespace oarlock::jit {
namespace {

// In the metadata of weights that were saved with a program: whose they are.
const char* const kStamp = "oarlock.program_sha256";

std::string stem_of(const std::string& path) {
  return path.ends_with(".oarp") ? path.substr(0, path.size() - 5) : path;
}
std::string stamp_of(const std::string& bytes) {
  char text[SHA256_DIGEST_STRING_LENGTH];
  SHA256Data(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), text);
  return text;
}

}  // namespace

std::string ExportedProgram::text() const { return graph::to_text(*program_).take(); }

void save(const ExportedProgram& program, const std::string& path) {
  const std::string stem = stem_of(path);
  std::string bytes = graph::to_wire(program.program()).take();
  oarlock::save(stem + ".safetensors", program.parameters(),
                {{"oarlock.program", program.program().name}, {kStamp, stamp_of(bytes)}});
  std::span<const std::byte> piece = std::as_bytes(std::span(bytes));
  throw_if(replace_file(stem + ".oarp", {&piece, 1}));
}

ExportedProgram load(const std::string& path, const std::string& weights_path) {
  const std::string stem = stem_of(path), file = stem + ".oarp";
  std::string bytes = data::read_file("load", file);
  Result<graph::Program> p = graph::from_wire(bytes);
  if (!p) throw Error(p.status().code(), "load " + file + ": " + std::string(p.status().text()));
  for (graph::ValueId v : p->feeds) {
    graph::Value& feed = (*p)[v];
    if (!feed.feed.random || feed.dtype != DType::i64 || !(feed.shape == Shape{2}))
      throw Error(Code::bad_data, "load " + file + ": it asks for " + p->name_of(v) +
                                      ", which is no draw of random numbers. Save it without.");
    feed.feed.next = [] { return default_generator().next(); };
  }
  ExportedProgram out;
  out.program_ = std::make_shared<graph::Program>(std::move(*p));
  bool has_weights = std::ranges::any_of(out.program_->values, [](auto& v) { return v.kind == graph::Kind::state; });
  if (!has_weights && weights_path.empty()) return out;
  const std::string weights = weights_path.empty() ? stem + ".safetensors" : weights_path;
  const Metadata about = TensorFile(weights).metadata();
  if (auto it = about.find(kStamp); weights_path.empty() && it != about.end() && it->second != stamp_of(bytes))
    throw Error(Code::bad_data, "load " + file + ": the weights beside it, " + weights +
                                    ", were saved with another program. Save both again, or name the weights to take.");
  return out.with_weights(weights);
}

}  // namespace oarlock::jit
