#include <oarlock/random.h>
#include <oarlock/save.h>

#include <charconv>
#include <unordered_set>

namespace oarlock {
namespace {

// Keys of the metadata that are ours. A part may be empty, so the list of parts is kept beside their tensors.
constexpr const char* kFormat = "oarlock.checkpoint";
constexpr const char* kParts = "oarlock.parts";
constexpr const char* kRandom = "oarlock.random";

Error damaged(const std::string& path, const std::string& what) {
  return Error(Code::bad_data, "load_checkpoint " + path + ": " + what + ". The file is damaged.");
}

}  // namespace

const NamedTensors& Checkpoint::part(std::string_view name) const {
  std::string text = "checkpoint: there is no part \"" + std::string(name) + "\"";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].first == name) return parts[i].second;
    text += (i ? ", " : "; there are ") + parts[i].first;
  }
  throw Error(Code::invalid_argument, text + ".");
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  NamedTensors all;
  Metadata metadata = checkpoint.metadata;
  std::string parts;
  std::unordered_set<std::string_view> names;
  for (auto& [part, tensors] : checkpoint.parts) {
    if (part.empty() || part.find('/') != std::string::npos)
      throw Error(Code::invalid_argument,
                  "save_checkpoint: a part is named \"" + part + "\"; a part's name is not empty and has no '/'.");
    if (!names.insert(part).second)
      throw Error(Code::invalid_argument, "save_checkpoint: part \"" + part + "\" is there twice. Rename one.");
    parts += (parts.empty() ? "" : "/") + part;
    for (auto& [name, tensor] : tensors) all.emplace_back(part + "/" + name, tensor);
  }
  for (auto& [key, value] : metadata)
    if (key.rfind("oarlock.", 0) == 0)
      throw Error(Code::invalid_argument, "save_checkpoint: metadata \"" + key +
                                              "\" begins with \"oarlock.\", which is kept "
                                              "for the library. Rename it.");
  RandomState random = default_generator().state();
  metadata[kFormat] = "1";
  metadata[kParts] = parts;
  metadata[kRandom] = std::to_string(random.seed) + " " + std::to_string(random.offset);
  save(path, all, metadata);
}

Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options, bool restore_random) {
  Checkpoint c;
  NamedTensors all = load(path, options, &c.metadata);
  auto take = [&](const char* key) {
    auto it = c.metadata.find(key);
    if (it == c.metadata.end())
      throw Error(Code::bad_data, "load_checkpoint " + path + ": its metadata lacks \"" + key +
                                      "\", so save_checkpoint did not write it. Read it with load.");
    std::string value = std::move(it->second);
    c.metadata.erase(it);
    return value;
  };
  if (std::string format = take(kFormat); format != "1")
    throw Error(Code::unsupported, "load_checkpoint " + path + ": its format is \"" + format.substr(0, 40) +
                                       "\", this library reads 1. Update Oarlock.");
  std::string parts = take(kParts), random = take(kRandom);
  for (size_t at = 0; !parts.empty() && at <= parts.size();) {
    size_t end = std::min(parts.find('/', at), parts.size());
    c.parts.emplace_back(parts.substr(at, end - at), NamedTensors());
    at = end + 1;
  }
  for (auto& [name, tensor] : all) {
    size_t slash = name.find('/');
    NamedTensors* part = nullptr;
    for (auto& [have, tensors] : c.parts)
      if (slash != std::string::npos && name.compare(0, slash, have) == 0) part = &tensors;
    if (!part) throw damaged(path, "tensor \"" + name.substr(0, 80) + "\" belongs to no part");
    part->emplace_back(name.substr(slash + 1), tensor);
  }
  RandomState state;
  const char *p = random.data(), *end = p + random.size();
  auto seed = std::from_chars(p, end, state.seed);
  if (seed.ec != std::errc() || seed.ptr == end || *seed.ptr != ' ')
    throw damaged(path, "its random state is unreadable");
  auto offset = std::from_chars(seed.ptr + 1, end, state.offset);
  if (offset.ec != std::errc() || offset.ptr != end) throw damaged(path, "its random state is unreadable");
  if (restore_random) default_generator().set_state(state);
  return c;
}

}  // namespace oarlock
