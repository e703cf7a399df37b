#include <oarlock/model/event_file.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <oarlock/base/status.h>

namespace oarlock {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0x82F63B78 : c >> 1;
    t[i] = c;
  }
  return t;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

uint32_t masked(std::string_view bytes) {
  uint32_t c = crc32c(bytes);
  return (c >> 15 | c << 17) + 0xA282EAD8;
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// The protobuf wire format of what we write: Event {1 wall_time double, 2 step int64, 3 file_version string, 5 summary},
// Summary {1 value*}, Value {1 tag, 2 simple_value float}.
void put(std::string& s, uint64_t x, int bytes) {
  for (int i = 0; i < bytes; ++i) s.push_back(char(x >> 8 * i));
}
void put_varint(std::string& s, uint64_t x) {
  for (; x >= 128; x >>= 7) s.push_back(char(x | 128));
  s.push_back(char(x));
}
void put_key(std::string& s, int field, int wire) { put_varint(s, uint64_t(field << 3 | wire)); }
void put_bytes(std::string& s, int field, std::string_view bytes) {
  put_key(s, field, 2);
  put_varint(s, bytes.size());
  s += bytes;
}
std::string event(double wall_time, int64_t step) {
  std::string e;
  put_key(e, 1, 1);
  put(e, std::bit_cast<uint64_t>(wall_time), 8);
  put_key(e, 2, 0);
  put_varint(e, uint64_t(step));
  return e;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t c = ~0u;
  for (char b : bytes) c = kTable[(c ^ uint8_t(b)) & 255] ^ c >> 8;
  return ~c;
}

EventWriter::EventWriter(const std::string& folder) {
  static std::atomic<int> number{0};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  path_ = folder + "/events.out.tfevents." + std::to_string(int64_t(now())) + "." + host + "." +
          std::to_string(::getpid()) + "." + std::to_string(number++);
  file_ = std::fopen(path_.c_str(), "wbe");
  if (!file_) throw Error(Code::bad_data, "EventWriter: " + path_ + " can't be made: " + std::strerror(errno) + ".");
  std::string first = event(now(), 0);
  put_bytes(first, 3, "brain.Event:2");
  record(first);
  flush();
}
EventWriter::~EventWriter() {
  if (file_) std::fclose(file_);
}

void EventWriter::record(const std::string& data) {
  std::string frame;
  put(frame, data.size(), 8);
  put(frame, masked(std::string_view(frame).substr(0, 8)), 4);
  frame += data;
  put(frame, masked(data), 4);
  std::fwrite(frame.data(), 1, frame.size(), file_);
}

void EventWriter::add_scalar(std::string_view tag, int64_t step, double value, double wall_time) {
  std::string item, summary, e = event(wall_time < 0 ? now() : wall_time, step);
  put_bytes(item, 1, tag);
  put_key(item, 2, 5);
  put(item, std::bit_cast<uint32_t>(float(value)), 4);
  put_bytes(summary, 1, item);
  put_bytes(e, 5, summary);
  record(e);
}

void EventWriter::flush() {
  if (std::fflush(file_) || std::ferror(file_))
    throw Error(Code::bad_data, "EventWriter: " + path_ + " can't be written: " + std::strerror(errno) + ".");
}

}  // namespace oarlock
