#include "core/device/layer/record.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

namespace oarlock {
namespace layer {
namespace {

constexpr int kDeepest = 48;  // nested nodes; a graph inside a loop inside a graph takes eight a level

void put32(std::string* out, uint32_t v) {
  for (int i = 0; i < 4; ++i) out->push_back(char(v >> (8 * i)));
}
uint32_t get32(std::string_view s) {
  uint32_t v = 0;
  for (int i = 0; i < 4; ++i) v |= uint32_t(uint8_t(s[i])) << (8 * i);
  return v;
}

std::string header() {
  std::string out(kLogMagic, sizeof kLogMagic);
  put32(&out, kLogVersion);
  put32(&out, OAR_ABI_VERSION);
  return out;
}

void put_body(std::string* out, std::string_view body) {
  put32(out, uint32_t(body.size()));
  put32(out, uint32_t(hash_bytes(body.data(), body.size())));
  out->append(body);
}

}  // namespace

uint64_t hash_bytes(const void* data, size_t size) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t h = 0xcbf29ce484222325;
  auto p = static_cast<const unsigned char*>(data);
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t word;
    std::memcpy(&word, p + i, 8);
    h = (h ^ word) * kPrime;
    h ^= h >> 32;  // FNV alone never carries a high bit down
  }
  for (; i < size; ++i) h = (h ^ p[i]) * kPrime;
  h = (h ^ size) * kPrime;
  return h ^ (h >> 32);
}

void TreeWriter::varint(uint64_t v) {
  for (; v >= 128; v >>= 7) byte(uint8_t(v | 128));
  byte(uint8_t(v));
}
void TreeWriter::name(std::string_view s) {
  s = s.substr(0, 255);
  byte(uint8_t(s.size()));
  out.append(s);
}
void TreeWriter::handle(Handle kind, const void* id) {
  byte(uint8_t(Tag::handle));
  byte(uint8_t(kind));
  varint(reinterpret_cast<uintptr_t>(id));
}
void TreeWriter::bytes(std::string_view s) {
  s = s.substr(0, kLargestText);
  tagged(Tag::bytes, s.size());
  out.append(s);
}
void TreeWriter::record(std::string_view n, uint64_t number, uint64_t fields) {
  byte(uint8_t(Tag::record));
  name(n);
  varint(number);
  varint(fields);
}
void TreeWriter::payload(const void* data, uint64_t size) {
  tagged(Tag::payload, size);
  if (!data && size > 0) {
    byte(0);
  } else if (size <= kSmallPayload) {
    byte(1);
    if (size > 0) out.append(static_cast<const char*>(data), size);
  } else {
    byte(2);
    uint64_t h = hash_bytes(data, size);
    for (int i = 0; i < 8; ++i) byte(uint8_t(h >> (8 * i)));
  }
}

std::string_view TreeReader::take(uint64_t n) {
  if (n > rest_.size()) {
    fail();
    return {};
  }
  std::string_view out = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return out;
}
uint8_t TreeReader::byte() {
  std::string_view s = take(1);
  return s.empty() ? 0 : uint8_t(s[0]);
}
uint64_t TreeReader::varint() {
  uint64_t v = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    uint8_t b = byte();
    if (!ok_ || (shift == 63 && b > 1)) break;
    v |= uint64_t(b & 127) << shift;
    if (b < 128) return v;
  }
  fail();
  return 0;
}
std::string_view TreeReader::name() { return take(byte()); }

Node TreeReader::node(int depth) {
  Node n;
  if (depth > kDeepest) {
    fail();
    return n;
  }
  n.tag = Tag(byte());
  uint64_t children = 0;
  switch (n.tag) {
    case Tag::null: break;
    case Tag::integer:
    case Tag::again: n.value = varint(); break;
    case Tag::handle:
      n.handle = Handle(byte());
      n.value = varint();
      if (int(n.handle) >= kHandleKinds) fail();
      break;
    case Tag::bytes: n.text = take(varint()); break;
    case Tag::list: children = varint(); break;
    case Tag::record:
      n.text = name();
      n.value = varint();
      children = varint();
      break;
    case Tag::with_payload: children = 2; break;
    case Tag::payload:
      n.size = varint();
      n.have = byte();
      if (n.have == 1) {
        n.text = n.size <= kSmallPayload ? take(n.size) : std::string_view();
        if (n.size > kSmallPayload) fail();
      } else if (n.have == 2) {
        std::string_view h = take(8);
        for (size_t i = 0; i < h.size(); ++i) n.value |= uint64_t(uint8_t(h[i])) << (8 * i);
      } else if (n.have != 0) {
        fail();
      }
      break;
    default: fail();
  }
  // A node takes at least a byte, so a count that the rest can't hold is a lie.
  if (children > rest_.size()) fail();
  if (!ok_) return Node();
  n.children.reserve(std::min<uint64_t>(children, 1024));
  for (uint64_t i = 0; i < children && ok_; ++i) n.children.push_back(node(depth + 1));
  if (n.is(Tag::with_payload) && ok_ && !(n.children[0].is(Tag::record) && n.children[1].is(Tag::payload))) fail();
  return ok_ ? std::move(n) : Node();
}

Status read_log(std::string_view file, std::vector<std::string_view>* out_bodies) {
  if (file.size() < kLogHeader || std::memcmp(file.data(), kLogMagic, sizeof kLogMagic) != 0)
    return {Code::bad_data, "replay: this is no recording of Oarlock. Record one with the setting record"};
  uint32_t version = get32(file.substr(8)), abi = get32(file.substr(12));
  if (version != kLogVersion)
    return {Code::bad_data, "replay: the log has format " + std::to_string(version) + ", this build reads " +
                                std::to_string(kLogVersion) + ". Record it again"};
  if (abi != OAR_ABI_VERSION)
    return {Code::bad_data, "replay: the log speaks ABI version " + std::to_string(abi) + ", this build " +
                                std::to_string(OAR_ABI_VERSION) + ". Record it again"};
  size_t at = kLogHeader;
  while (at < file.size()) {
    std::string where = "record " + std::to_string(out_bodies->size() + 1) + " at byte " + std::to_string(at);
    if (file.size() - at < 8) return {Code::bad_data, "replay: the log ends inside " + where};
    uint32_t size = get32(file.substr(at)), sum = get32(file.substr(at + 4));
    at += 8;
    if (size > file.size() - at) return {Code::bad_data, "replay: the log ends inside " + where};
    std::string_view body = file.substr(at, size);
    if (size == 0 || uint32_t(hash_bytes(body.data(), body.size())) != sum)
      return {Code::bad_data, "replay: " + where + " is damaged: its checksum disagrees"};
    out_bodies->push_back(body);
    at += size;
  }
  return {};
}

std::string write_log(const std::vector<std::string>& bodies) {
  std::string out = header();
  for (const std::string& b : bodies) put_body(&out, b);
  return out;
}

}  // namespace layer

using namespace layer;

namespace {

// Recorders that write. Never destroyed, for it is read at exit.
struct OpenRecorders {
  std::mutex mutex;
  std::set<Recorder*> all;
};
OpenRecorders& open_recorders() {
  static auto* open = [] {
    std::atexit([] {
      std::set<Recorder*> all;
      {
        std::lock_guard lock(open_recorders().mutex);
        all = open_recorders().all;
      }
      for (Recorder* r : all) (void)r->close();
    });
    return new OpenRecorders;
  }();
  return *open;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(const std::string& path) {
  auto r = std::make_unique<Recorder>();
  r->path_ = path;
  r->file_ = std::fopen(path.c_str(), "wbe");
  if (!r->file_) return Status(Code::invalid_argument, "record: can't write " + path + ": " + std::strerror(errno));
  std::setvbuf(r->file_, nullptr, _IONBF, 0);  // each record goes out whole: the process may die in the next call
  std::string h = header();
  if (std::fwrite(h.data(), 1, h.size(), r->file_) != h.size())
    return Status(Code::internal, "record: writing " + path + " failed: " + std::strerror(errno));
  r->open_ = true;
  std::lock_guard lock(open_recorders().mutex);
  open_recorders().all.insert(r.get());
  return r;
}

Recorder::~Recorder() { (void)close(); }

void Recorder::write(std::string_view body) {
  if (!file_ || failed_) return;
  std::string out;
  out.reserve(body.size() + 8);
  put_body(&out, body);
  failed_ = body.size() > UINT32_MAX || std::fwrite(out.data(), 1, out.size(), file_) != out.size();
}

Status Recorder::close() {
  if (open_.exchange(false)) {
    std::lock_guard lock(open_recorders().mutex);
    open_recorders().all.erase(this);
  }
  std::lock_guard lock(mutex_);
  if (!file_) return {};
  TreeWriter w;
  w.byte(uint8_t(LogRecord::trailer));
  w.varint(calls_);
  write(w.out);
  bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (failed_ || !closed)
    return {Code::internal, "record: " + path_ + " is incomplete: writing failed. Is the disk full?"};
  return {};
}

uint64_t Recorder::add_plugin(std::string_view name, std::string_view version) {
  std::lock_guard lock(mutex_);
  TreeWriter w;
  w.byte(uint8_t(LogRecord::plugin));
  w.varint(++plugins_);
  w.name(name);
  w.name(version);
  write(w.out);
  return plugins_;
}

uint64_t Recorder::begin(std::string_view body) {
  std::lock_guard lock(mutex_);
  TreeWriter w;
  w.byte(uint8_t(LogRecord::begin));
  w.varint(++calls_);
  w.out.append(body);
  write(w.out);
  return calls_;
}

void Recorder::append(std::string_view body) {
  std::lock_guard lock(mutex_);
  write(body);
}

void Recorder::show(const TracedCall& call) {
  if (!listener_) return;
  std::lock_guard lock(listener_mutex_);
  listener_(call);
}

void Recorder::host_call(const Function& f, void* const* args, const void* result) {
  if (f.fn != Fn::host_kv_put && f.fn != Fn::host_kv_get) return;
  if (*static_cast<const oar_status_t*>(result) != OAR_OK) return;
  TreeWriter w;
  w.byte(uint8_t(LogRecord::host));
  w.name(f.name);
  oar_str_t key = *static_cast<const oar_str_t*>(args[2]);
  w.bytes(key.data ? std::string_view(key.data, key.size) : std::string_view());
  if (f.fn == Fn::host_kv_put) {
    oar_str_t value = *static_cast<const oar_str_t*>(args[3]);
    w.bytes(value.data ? std::string_view(value.data, value.size) : std::string_view());
  } else {
    auto buffer = *static_cast<void* const*>(args[4]);
    size_t capacity = *static_cast<const size_t*>(args[5]), *size = *static_cast<size_t*const*>(args[6]);
    w.bytes(buffer && size ? std::string_view(static_cast<const char*>(buffer), std::min(capacity, *size))
                           : std::string_view());
  }
  append(w.out);
}

}  // namespace oarlock
