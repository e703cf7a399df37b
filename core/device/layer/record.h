// The ABI stream as a file, written by the tracing layer and read by replay.
//
// The file is "OARLOG\r\n", the version of this format and OAR_ABI_VERSION (u32 each, little endian like all that follows),
// then records: u32 bytes of the body, u32 checksum of the body, body. A body begins with its kind (one byte):
//
//   plugin    id, name, version                       the plugins that later records name by id
//   begin     call, plugin, thread, "table.function", arguments   before the plugin is entered
//   end       call, ns, result, error text, arguments, outputs    after it returned: what it wrote
//   readback  call, region, payload                   what a copy to host memory brought, once an event said it is there
//   host      plugin, "function", arguments           a callback: kv_put and kv_get
//   trailer   number of calls                         absent if the recording process died
//
// A call without an end is one that never returned. Values are trees of tagged nodes (Tag), structs by the positions of
// their fields, which never move; a struct that is pointed to twice is written once.
#pragma once
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/status.h>

#include "core/device/layer/describe.h"

namespace oarlock {

// One call as it is shown to people.
struct TracedCall {
  std::string plugin;
  std::string function;          // "memory.alloc"
  std::string arguments;         // "device 0x55d0, space 0, size_bytes 256, alignment 64, stream NULL"
  oar_status_t status = OAR_OK;  // OAR_OK for functions without one
  uint64_t ns = 0;
};

// Receives the calls of one or more tracing layers. Any thread may call any function.
class Recorder {
 public:
  // Counts and shows, but writes no file.
  Recorder() = default;
  // Writes to a new file; an existing one is replaced.
  static Result<std::unique_ptr<Recorder>> create(const std::string& path);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Shown after each call, on the calling thread, one at a time. Set it before the first call.
  void set_listener(std::function<void(const TracedCall&)> listener) { listener_ = std::move(listener); }
  bool has_listener() const { return bool(listener_); }
  bool has_file() const { return open_.load(std::memory_order_relaxed); }

  // Ends the file with its trailer; nothing is recorded afterwards. What went wrong while writing shows here. Recorders
  // that are still open when the process exits in good order are closed then.
  Status close();

  // -- for the tracing layer
  uint64_t add_plugin(std::string_view name, std::string_view version);
  // body: what follows the call number. Returns the call's number, from 1.
  uint64_t begin(std::string_view body);
  void append(std::string_view body);
  void show(const TracedCall& call);
  void host_call(const layer::Function& f, void* const* args, const void* result);

 private:
  void write(std::string_view body);  // mutex_ held

  std::mutex mutex_;
  std::mutex listener_mutex_;
  std::FILE* file_ = nullptr;
  std::atomic<bool> open_{false};
  std::string path_;
  bool failed_ = false;
  uint64_t calls_ = 0;
  uint64_t plugins_ = 0;
  std::function<void(const TracedCall&)> listener_;
};

namespace layer {

inline constexpr char kLogMagic[8] = {'O', 'A', 'R', 'L', 'O', 'G', '\r', '\n'};
inline constexpr uint32_t kLogVersion = 1;
inline constexpr size_t kLogHeader = 16;
inline constexpr uint64_t kSmallPayload = 4096;     // bytes up to which contents are kept
inline constexpr uint64_t kLargestText = 16 << 20;  // of a text or blob in a log

enum class LogRecord : uint8_t { plugin = 1, begin = 2, end = 3, readback = 4, host = 5, trailer = 6 };
enum class Tag : uint8_t {
  null = 0,
  integer = 1,       // varint; negative ones as their 64 bits
  handle = 2,        // kind (byte), varint
  bytes = 3,         // varint size, bytes: texts, blobs, extensions, small arrays of the vendor's
  list = 4,          // varint count, nodes
  record = 5,        // name, varint number within this body, varint fields, nodes
  again = 6,         // varint number of a record before it in this body
  with_payload = 7,  // a record, then its contents
  payload = 8,       // varint size, 0: unknown | 1: bytes | 2: hash (8 bytes)
};

// 64-bit FNV-1a over words of eight bytes, the rest and the length at the end: stable, fast enough, not cryptographic.
uint64_t hash_bytes(const void* data, size_t size);

class TreeWriter {
 public:
  std::string out;
  void byte(uint8_t b) { out.push_back(char(b)); }
  void varint(uint64_t v);
  void name(std::string_view s);
  void null() { byte(uint8_t(Tag::null)); }
  void integer(uint64_t v) { tagged(Tag::integer, v); }
  void handle(Handle kind, const void* id);
  void bytes(std::string_view s);
  void list(uint64_t n) { tagged(Tag::list, n); }
  void record(std::string_view name, uint64_t number, uint64_t fields);
  void again(uint64_t number) { tagged(Tag::again, number); }
  void with_payload() { byte(uint8_t(Tag::with_payload)); }
  // data null: unknown. Small contents are kept, of larger ones the hash.
  void payload(const void* data, uint64_t size);

 private:
  void tagged(Tag tag, uint64_t v) {
    byte(uint8_t(tag));
    varint(v);
  }
};

// A node of a tree that was read.
struct Node {
  Tag tag = Tag::null;
  Handle handle = Handle::none;
  uint8_t have = 0;            // of a payload: 0 unknown, 1 bytes, 2 hash
  uint64_t value = 0;          // integer, handle, hash, number of a record
  uint64_t size = 0;           // of a payload
  std::string_view text;       // bytes; name of a record
  std::vector<Node> children;  // list, record; with_payload: the record and the payload

  bool is(Tag t) const { return tag == t; }
};

// Reads values out of a body; every read is checked. After a failure ok() is false and all reads give nothing.
class TreeReader {
 public:
  explicit TreeReader(std::string_view body) : rest_(body) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  uint8_t byte();
  uint64_t varint();
  std::string_view name();
  Node node(int depth = 0);

 private:
  std::string_view take(uint64_t n);
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

// The bodies of a log, checksums compared. Fails on a foreign file, another version, a cut or damaged record.
Status read_log(std::string_view file, std::vector<std::string_view>* out_bodies);
// Puts header, sizes and checksums around bodies: the inverse of read_log.
std::string write_log(const std::vector<std::string>& bodies);

}  // namespace layer
}  // namespace oarlock
