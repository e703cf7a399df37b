#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/settings.h"
#include "core/device/loader.h"

namespace oarlock {
namespace {

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Of the file that this code was loaded from, links followed.
std::string library_folder() {
  Dl_info where{};
  char real[PATH_MAX];
  if (!dladdr(reinterpret_cast<void*>(&plugin_files), &where) || !where.dli_fname || !realpath(where.dli_fname, real))
    return "";
  return folder_of(real);
}
std::string program_folder() {
  char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? folder_of(std::string(path, size_t(n))) : "";
}

void split(const std::string& list, std::string_view origin, std::vector<SearchFolder>& out) {
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(':', at), list.size());
    std::string path = list.substr(at, end - at);
    at = end + 1;
    if (path.empty()) continue;
    SearchFolder f{path, std::string(origin), ""};
    if (path[0] != '/') f.note = "skipped: not an absolute path";
    out.push_back(f);
  }
}

}  // namespace

std::vector<SearchFolder> plugin_search_path() {
  std::vector<SearchFolder> all;
  if (setting::given("backends")) {
    split(setting::backends(), "explicit", all);
    return all;
  }
  auto add = [&](const std::string& path, std::string_view origin) {
    if (path.empty()) return;
    for (auto& f : all)
      if (f.path == path) return;
    struct stat st {};
    all.push_back({path, std::string(origin), stat(path.c_str(), &st) == 0 ? "" : "not there"});
  };
  std::string program = program_folder(), library = library_folder();
  if (!program.empty()) add(program + "/oarlock-backends", "application");
  if (!elevated_privilege()) {
    if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data == '/')
      add(std::string(data) + "/oarlock/backends", "user");
    else if (const char* home = std::getenv("HOME"); home && *home == '/')
      add(std::string(home) + "/.local/share/oarlock/backends", "user");
  }
  if (!library.empty()) {
    add(library + "/oarlock/backends", "system");
    // A program that holds the library in itself lies in bin/ or tests/ beside lib/.
    add(folder_of(library) + "/lib/oarlock/backends", "system");
  }
  add(std::string(OARLOCK_LIBDIR) + "/oarlock/backends", "system");
  return all;
}

std::vector<std::string> plugin_files(const std::string& folder) {
  std::vector<std::string> files;
  if (DIR* dir = opendir(folder.c_str())) {
    while (dirent* entry = readdir(dir)) {
      size_t n = std::strlen(entry->d_name);
      if (n > 3 && !std::strcmp(entry->d_name + n - 3, ".so")) files.push_back(folder + "/" + entry->d_name);
    }
    closedir(dir);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status check_owner(const std::string& path) {
  char real[PATH_MAX];
  if (!realpath(path.c_str(), real))
    return {Code::bad_data, "the file can't be found: " + std::string(std::strerror(errno)) + "."};
  struct stat st {};
  if (stat(real, &st) != 0 || !S_ISREG(st.st_mode)) return {Code::bad_data, "it is not a regular file."};
  if (st.st_uid != 0 && st.st_uid != geteuid())
    return {Code::refused,
            "it belongs to another user (uid " + std::to_string(st.st_uid) + "). chown it to root or to yourself."};
  if (st.st_mode & S_IWOTH) return {Code::refused, "everyone may write to it. Run: chmod o-w " + std::string(real)};
  std::string folder = folder_of(real);
  if (stat(folder.c_str(), &st) == 0 && (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
    return {Code::refused, "everyone may write to its folder. Run: chmod o-w " + folder};
  return {};
}

}  // namespace oarlock
