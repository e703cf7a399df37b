// Archives of npy files: the parts of PKWARE's APPNOTE that NumPy uses.
#include <zlib.h>

#include <algorithm>
#include <set>

#include <oarlock/data/npy.h>

#include "api/src/data/file.h"
#include "api/src/data/npy_source.h"

namespace oarlock::data {
namespace {

uint64_t little(const std::byte* p, int bytes) {
  uint64_t x = 0;
  for (int i = bytes - 1; i >= 0; --i) x = x << 8 | uint64_t(p[i]);
  return x;
}
void put(std::string& s, uint64_t x, int bytes) {
  for (int i = 0; i < bytes; ++i) s.push_back(char(x >> (8 * i)));
}

struct Member {
  std::string name;
  int method = 0;
  uint32_t crc = 0;
  uint64_t compressed = 0, size = 0, offset = 0;
};

class Zip {
 public:
  Zip(Bytes bytes, const std::string& name) : b_(bytes), name_(name) {}

  std::vector<Member> members() {
    uint64_t end = find_end();
    uint64_t count = le(end + 10, 2), size = le(end + 12, 4), at = le(end + 16, 4);
    if (le(end + 4, 2) != le(end + 6, 2)) fail("is spread over several disks");
    if (count == 0xFFFF || size == 0xFFFFFFFF || at == 0xFFFFFFFF) {
      if (end >= 20 && le(end - 20, 4) == 0x07064B50) {
        uint64_t wide = le(end - 12, 8);
        need(wide, 56);
        if (le(wide, 4) != 0x06064B50) fail("has a zip64 directory where none is");
        count = le(wide + 32, 8), size = le(wide + 40, 8), at = le(wide + 48, 8);
      }
    }
    need(at, size);
    if (count > size / 46)
      fail("claims " + std::to_string(count) + " members in a directory of " + std::to_string(size) + " bytes");
    std::vector<Member> all;
    uint64_t stop = at + size, compressed = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (stop - at < 46 || le(at, 4) != 0x02014B50) fail("has a damaged directory");
      Member m;
      if (le(at + 8, 2) & 1) fail("has encrypted members");
      m.method = int(le(at + 10, 2));
      m.crc = uint32_t(le(at + 16, 4));
      m.compressed = le(at + 20, 4), m.size = le(at + 24, 4), m.offset = le(at + 42, 4);
      uint64_t name = le(at + 28, 2), extra = le(at + 30, 2), comment = le(at + 32, 2);
      if (stop - at - 46 < name + extra + comment) fail("has a damaged directory");
      m.name.assign(reinterpret_cast<const char*>(b_.data() + at + 46), name);
      wide_sizes(at + 46 + name, extra, m);
      at += 46 + name + extra + comment;
      if (m.compressed > b_.size() || (compressed += m.compressed) > b_.size()) fail("has members that overlap");
      all.push_back(std::move(m));
    }
    return all;
  }

  Bytes data(const Member& m) {
    need(m.offset, 30);
    if (le(m.offset, 4) != 0x04034B50) fail("has no member '" + m.name + "' where its directory says");
    uint64_t start = m.offset + 30 + le(m.offset + 26, 2) + le(m.offset + 28, 2);
    need(start, m.compressed);
    return b_.subspan(start, m.compressed);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::bad_data, "read_npz: " + name_ + " " + what + ".");
  }

 private:
  uint64_t le(uint64_t at, int bytes) const { return little(b_.data() + at, bytes); }
  void need(uint64_t at, uint64_t bytes) const {
    if (at > b_.size() || bytes > b_.size() - at) fail("is cut short, or points outside itself");
  }
  uint64_t find_end() const {
    if (b_.size() >= 22)
      for (uint64_t at = b_.size() - 22, last = b_.size() > 22 + 65535 ? b_.size() - 22 - 65535 : 0;; --at) {
        if (le(at, 4) == 0x06054B50 && le(at + 20, 2) == b_.size() - at - 22) return at;
        if (at == last) break;
      }
    fail("is no zip archive, or cut short");
  }
  void wide_sizes(uint64_t at, uint64_t extra, Member& m) const {
    uint64_t stop = at + extra;
    while (stop - at >= 4) {
      uint64_t id = le(at, 2), size = le(at + 2, 2);
      if (stop - at - 4 < size) fail("has a damaged directory");
      if (id == 1) {
        uint64_t p = at + 4, end = p + size;
        for (uint64_t* field : {&m.size, &m.compressed, &m.offset})
          if (*field == 0xFFFFFFFF) {
            if (end - p < 8) fail("has a damaged zip64 record");
            *field = le(p, 8);
            p += 8;
          }
      }
      at += 4 + size;
    }
  }
  Bytes b_;
  const std::string& name_;
};

uint32_t crc_of(Bytes b) {
  uLong crc = crc32(0, nullptr, 0);
  for (size_t at = 0; at < b.size(); at += 1 << 30)
    crc = crc32(crc, reinterpret_cast<const Bytef*>(b.data() + at), uInt(std::min<size_t>(b.size() - at, 1 << 30)));
  return uint32_t(crc);
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> parse_npz(std::span<const std::byte> bytes, const std::string& name) {
  Zip zip(bytes, name);
  std::vector<std::pair<std::string, Tensor>> all;
  std::set<std::string> seen;
  for (const Member& m : zip.members()) {
    std::string key = m.name;
    if (key.size() > 4 && key.ends_with(".npy")) key.resize(key.size() - 4);
    if (!seen.insert(key).second) zip.fail("has '" + key + "' twice");
    Bytes data = zip.data(m);
    std::string plain;
    if (m.method == 8) {
      if (m.size > most_inflated(m.compressed))
        zip.fail("claims " + std::to_string(m.size) + " bytes for '" + key + "', more than can be compressed so");
      plain.resize(m.size);
      try {
        Inflate inflate(data, Inflate::Form::raw);
        char more;
        if (inflate.read(plain.data(), m.size) != m.size || inflate.read(&more, 1))
          zip.fail("has another number of bytes for '" + key + "' than its directory says");
      } catch (const Error& e) {
        if (e.code() == Code::bad_data && std::string_view(e.what()).starts_with("read_npz")) throw;
        zip.fail("has a damaged member '" + key + "': " + e.what());
      }
      data = bytes_of(plain);
    } else if (m.method != 0) {
      zip.fail("compresses '" + key + "' by method " + std::to_string(m.method) + "; known are stored and deflated");
    } else if (m.size != m.compressed) {
      zip.fail("stores '" + key + "' in another size than its own");
    }
    if (crc_of(data) != m.crc) zip.fail("has a damaged member '" + key + "': its CRC-32 is wrong");
    NpySource in{data, data.size()};
    all.emplace_back(key, parse_npy(in, name + ":" + key));
  }
  return all;
}
std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path) {
  std::string all = read_file("read_npz", path);
  return parse_npz(bytes_of(all), path);
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& members) {
  auto fail = [](const std::string& text) { throw Error(Code::invalid_argument, "write_npz: " + text); };
  if (members.size() > 65534) fail(std::to_string(members.size()) + " members; at most 65534 fit.");
  std::string all, directory;
  std::set<std::string> seen;
  for (auto& [key, tensor] : members) {
    if (key.empty() || key.size() > 60000 || !seen.insert(key).second)
      fail("the name '" + key + "' is empty, too long or used twice.");
    std::string data = format_npy(tensor), name = key + ".npy";
    uint64_t offset = all.size();
    if (offset + data.size() + directory.size() + 200000 > 0xFFFFFFFE) fail("more than 4 GiB. Write several files.");
    std::string head;
    put(head, 20, 2);      // version needed
    put(head, 0x0800, 2);  // names are UTF-8
    put(head, 0, 2);       // stored
    put(head, 0, 2);       // time
    put(head, 0x0021, 2);  // 1980-01-01: equal tensors give equal files
    put(head, crc_of(bytes_of(data)), 4);
    put(head, data.size(), 4);
    put(head, data.size(), 4);
    put(head, name.size(), 2);
    put(head, 0, 2);
    put(all, 0x04034B50, 4);
    all += head + name + data;
    put(directory, 0x02014B50, 4);
    put(directory, 20, 2);
    directory += head;
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, offset, 4);
    directory += name;
  }
  uint64_t at = all.size();
  all += directory;
  put(all, 0x06054B50, 4);
  put(all, 0, 4);
  put(all, members.size(), 2);
  put(all, members.size(), 2);
  put(all, directory.size(), 4);
  put(all, at, 4);
  put(all, 0, 2);
  write_file("write_npz", path, all);
}

}  // namespace oarlock::data
