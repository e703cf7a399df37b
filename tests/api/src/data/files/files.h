// The golden files beside this one, and temporary files.
#pragma once
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include <oarlock/base/status.h>

namespace oarlock::test {

inline std::string golden(const std::string& name) {
  return std::string(OARLOCK_SOURCE_DIR) + "/tests/api/src/data/files/" + name;
}
inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
// A name of its own in the temporary folder; removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& end) {
    static int number = 0;
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder ? folder : "/tmp") + "/oarlock_test_" + std::to_string(getpid()) + "_" +
            std::to_string(number++) + end;
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  std::string path_;
};
// What a call throws, as text; empty if it throws no Error.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

}  // namespace oarlock::test
