#include "api/src/data/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/src/save/atomic_file.h"

namespace oarlock::data {
namespace {

[[noreturn]] void fail(const char* who, const std::string& path, const std::string& what) {
  throw Error(Code::bad_data, std::string(who) + ": " + path + " " + what);
}
[[noreturn]] void fail_errno(const char* who, const std::string& path, const char* what) {
  fail(who, path, std::string(what) + ": " + std::strerror(errno) + ".");
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::string read_file(const char* who, const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail_errno(who, path, "can't be opened");
  struct stat about;
  if (::fstat(file.fd, &about)) fail_errno(who, path, "can't be read");
  if (S_ISDIR(about.st_mode)) fail(who, path, "is a folder. Name a file.");
  std::string all;
  size_t have = 0;
  all.resize(S_ISREG(about.st_mode) ? size_t(about.st_size) : 0);
  for (;;) {
    if (have == all.size()) {  // the expected end, or a pipe: look whether there is more
      char more[4096];
      ssize_t n = ::read(file.fd, more, sizeof more);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_errno(who, path, "can't be read");
      if (!n) return all;
      all.append(more, size_t(n));
      have = all.size();
      continue;
    }
    ssize_t n = ::read(file.fd, all.data() + have, all.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(who, path, "can't be read");
    if (!n) {
      all.resize(have);
      return all;
    }
    have += size_t(n);
  }
}

void write_file(const char* who, const std::string& path, std::string_view bytes) {
  std::span<const std::byte> piece = bytes_of(bytes);
  if (Status s = replace_file(path, {&piece, 1}); !s.ok())
    throw Error(s.code(), std::string(who) + ": " + std::string(s.text()));
}

Inflate::Inflate(Bytes compressed, Form form) : z_(new z_stream_s{}), left_(compressed), form_(form) {
  if (inflateInit2(z_.get(), form == Form::gzip ? 15 + 16 : -15) != Z_OK)
    throw Error(Code::out_of_memory, "no memory to inflate with");
}
Inflate::~Inflate() { inflateEnd(z_.get()); }

uint64_t Inflate::read(void* to, uint64_t bytes) {
  constexpr uint64_t kMost = 1u << 30;
  uint64_t done = 0;
  while (done < bytes && !end_) {
    uint64_t room = std::min(bytes - done, kMost), fed = std::min<uint64_t>(left_.size(), kMost);
    z_->next_out = static_cast<Bytef*>(to) + done;
    z_->avail_out = uInt(room);
    z_->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(left_.data()));
    z_->avail_in = uInt(fed);
    int status = inflate(z_.get(), Z_NO_FLUSH);
    left_ = left_.subspan(fed - z_->avail_in);
    uint64_t made = room - z_->avail_out;
    done += made;
    if (status == Z_STREAM_END) {
      if (form_ == Form::gzip && !left_.empty()) {
        if (!is_gzip(left_)) throw Error(Code::bad_data, "bytes follow the compressed data");
        inflateReset(z_.get());
      } else {
        end_ = true;
      }
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw Error(status == Z_MEM_ERROR ? Code::out_of_memory : Code::bad_data,
                  std::string("the compressed data is damaged") + (z_->msg ? std::string(" (") + z_->msg + ")" : ""));
    } else if (!made && left_.empty()) {
      throw Error(Code::bad_data, "the compressed data is cut short");
    }
  }
  return done;
}

}  // namespace oarlock::data
