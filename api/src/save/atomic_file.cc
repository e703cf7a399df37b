#include "api/src/save/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace oarlock {
namespace {

Status failed(const std::string& what, const std::string& path) {
  int e = errno;
  return {e == ENOSPC || e == EDQUOT || e == ENOMEM ? Code::out_of_memory : Code::invalid_argument,
          "save: " + what + " " + path + ": " + std::strerror(e) + ". What was there before is unchanged."};
}

// Closed and removed unless it was renamed.
struct NewFile {
  std::string path;
  int fd = -1;
  bool kept = false;
  ~NewFile() {
    if (fd >= 0) close(fd);
    if (!kept && !path.empty()) unlink(path.c_str());
  }
};

Status write_all(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("can't write", path);
    bytes = bytes.subspan(size_t(n));
  }
  return {};
}
Status flush(int fd, const std::string& path) {
  while (fsync(fd) != 0)
    if (errno != EINTR) return failed("can't flush", path);
  return {};
}

}  // namespace

Status replace_file(const std::string& given, std::span<const std::span<const std::byte>> pieces) {
  std::string path = given;
  if (char* real = realpath(given.c_str(), nullptr)) {
    path = real;
    std::free(real);
  }
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..")
    return invalid("save: \"" + given + "\" names a folder. Give a file's name.");
  struct stat old {};
  bool existed = stat(path.c_str(), &old) == 0;
  if (existed && !S_ISREG(old.st_mode)) return invalid("save: " + path + " is there and is not a file.");

  static std::atomic<uint64_t> counter{0};
  NewFile file;
  for (int attempt = 0; file.fd < 0; ++attempt) {
    char suffix[64];
    std::snprintf(suffix, sizeof suffix, ".%ld-%llu.tmp", long(getpid()),
                  static_cast<unsigned long long>(counter.fetch_add(1)));
    // The whole name has to stay within NAME_MAX.
    std::string path_now = folder + "/." + name.substr(0, NAME_MAX - 1 - std::strlen(suffix)) + suffix;
    file.fd = open(path_now.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file.fd >= 0) file.path = path_now;
    else if (errno != EEXIST || attempt == 100) return failed("can't make a file in the folder of", path);
  }
  if (existed) (void)fchmod(file.fd, old.st_mode & 0777);
  for (auto piece : pieces) OAR_TRY(write_all(file.fd, piece, path));
  OAR_TRY(flush(file.fd, path));
  int fd = file.fd;
  file.fd = -1;
  if (close(fd) != 0) return failed("can't write", path);
  if (rename(file.path.c_str(), path.c_str()) != 0) return failed("can't rename to", path);
  file.kept = true;
  int dir = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return {};  // a folder that may be written but not read: the rename stands, its flush is the system's
  Status s;
  if (fsync(dir) != 0 && errno != EINVAL && errno != ENOTSUP)
    s = Status(Code::internal, "save: " + path + " is written, but its folder can't be flushed: " +
                                   std::strerror(errno) + ". It may be gone after a power cut.");
  close(dir);
  return s;
}

}  // namespace oarlock
