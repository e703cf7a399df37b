// `oarlock new-plugin NAME`: a project to begin a plugin with.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cli/command.h"
#include "api/cli/template.h"

namespace oarlock::cli {

namespace {

namespace fs = std::filesystem;

const std::string& template_text(const std::string& name) {
  for (const Template& t : kTemplates)
    if (t.name == name) return t.text;
  throw std::logic_error("no template " + name);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

void check_name(const std::string& name) {
  bool sound = !name.empty() && name.size() <= 32 && name[0] >= 'a' && name[0] <= 'z' &&
               std::all_of(name.begin(), name.end(),
                           [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  if (!sound)
    throw std::runtime_error("new-plugin: \"" + name.substr(0, 80) +
                             "\" is no name for a plugin. Take 1 to 32 small letters, digits and _, a letter first.");
  for (const char* taken : {"cpu", "host", "core", "null", "oarlock"})
    if (name == taken) throw std::runtime_error("new-plugin: \"" + name + "\" is Oarlock's own. Take another name.");
  for (const SearchFolder& folder : plugin_search_path()) {
    fs::path file = fs::path(folder.path) / ("liboarlock_" + name + ".so");
    std::error_code error;
    if (fs::exists(file, error))
      throw std::runtime_error("new-plugin: there is a plugin of that name, " + file.string() + ". Take another name.");
  }
}

// The null plugin under another name; its first comment is about null alone.
std::string device_text(const std::string& name) {
  std::string text = template_text("null.c");
  text.erase(0, text.find("*/") + 2);
  replace_all(text, "\"Oarlock null device\"", "\"" + name + " device\"");
  replace_all(text, "\"Oarlock\"", "\"" + name + "\"");
  replace_all(text, "null", name);
  return "/* " + name +
         " - a device whose memory is the host's and whose streams are done before they return. It passes levels L0 "
         "and\n"
         " * L1 of the kit as it stands: replace what the comments marked \"Yours:\" point at, one table after the "
         "other, and\n"
         " * run `oarlock cts` after each. The kernels are in kernels.@EXT@. */" +
         text;
}

struct Kind {
  const char *name, *what, *levels, *next;
  bool kernels;
};
const Kind kKinds[] = {
    {"device", "A device and its kernels", " --level L0 --level L1",
     "1. `@SOURCE@`, table by table: what is marked \"Yours:\" becomes calls of the driver. L0 and L1 stay green.\n"
     "2. `kernels.@EXT@`: the primitives that `oarlock ops` lists; the 25 of level 1 train a transformer.\n"
     "3. `oarlock cts ./liboarlock_@NAME@.so --level L2 --ops exp` compares a kernel with the reference.\n",
     true},
    {"pack", "Kernels for the host CPU", " --level L0",
     "1. `kernels.@EXT@`: one entry, one function each. `oarlock ops` lists the ops.\n"
     "2. `oarlock cts ./liboarlock_@NAME@.so --level L2 --ops exp` compares a kernel with the reference.\n"
     "3. Another kind of device: its name instead of \"cpu\" in `@SOURCE@`.\n"
     "4. Ops of your own: OAR_KIT_PACK_OPS (kit_pack.h) and oar_op_schema_t (plugin.h).\n",
     true},
    {"comm", "A communicator", " --level L0",
     "1. `@SOURCE@`: create meets the other ranks, submit carries the items out, abort ends what waits.\n", false},
    {"graph", "A compiler of graphs", " --level L0 --level L3",
     "1. `@SOURCE@`: the ops and versions that it reads, then claim and compile.\n"
     "2. save, load and check_blob, so that what was compiled is compiled once.\n",
     false}};

struct Project {
  std::string name, kind = "device", language = "c", folder;
};

// A file that is not there yet.
void write_new(const fs::path& path, const std::string& text) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  bool sound = file >= 0;
  for (size_t at = 0; sound && at < text.size();) {
    ssize_t n = ::write(file, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    sound = n > 0;
    at += size_t(std::max<ssize_t>(n, 0));
  }
  int why = errno;
  if (file >= 0 && ::close(file) != 0 && sound) sound = false, why = errno;
  if (!sound)
    throw std::runtime_error(fmt::format("new-plugin: {} can't be written: {}.", path.string(), strerror(why)));
}

void run(Project p) {
  check_name(p.name);
  const Kind& kind =
      *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return p.kind == k.name; });
  bool cpp = p.language == "cpp";
  std::string extension = cpp ? "cc" : "c", source = p.name + "." + extension;
  if (kind.kernels && p.name == "kernels")
    throw std::runtime_error("new-plugin: \"kernels\" is the name of a file in the project. Take another name.");
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back(source, p.kind == "device" ? device_text(p.name) : template_text(p.kind + ".c"));
  if (kind.kernels) files.emplace_back("kernels." + extension, template_text("kernels.c"));
  files.emplace_back("Makefile", template_text("Makefile.in"));
  files.emplace_back("CMakeLists.txt", template_text("CMakeLists.txt.in"));
  files.emplace_back("README.md", template_text("README.md.in"));
  const std::pair<std::string, std::string> words[] = {
      {"@WHAT@", kind.what},
      {"@NEXT@", kind.next},
      {"@SOURCES@", kind.kernels ? source + " kernels." + extension : source},
      {"@SOURCE@", source},
      {"@LEVELS@", kind.levels},
      {"@EXT@", extension},
      {"@LANGUAGE@", cpp ? "C++20" : "C11"},
      {"@COMPILER@", cpp ? "CXX" : "CC"},
      {"@STANDARD@", cpp ? "-std=c++20" : "-std=c11"},
      {"@FLAGS@", cpp ? "CXXFLAGS" : "CFLAGS"},
      {"@CMAKE_LANGUAGE@", cpp ? "CXX" : "C"},
      {"@FEATURE@", cpp ? "cxx_std_20" : "c_std_11"},
      {"@NAME@", p.name}};
  for (auto& [name, text] : files) {
    for (auto& [from, to] : words) replace_all(text, from, to);
    // The kit's guards against exceptions are C++'s alone.
    if (cpp) replace_all(text, "#include \"kit.h\"\n", "#include \"kit.hpp\"\n");
  }

  fs::path folder = p.folder.empty() ? p.name : p.folder;
  if (::mkdir(folder.c_str(), 0755) != 0) {
    int why = errno;
    std::string what = why == EEXIST ? "is there already; nothing was written. Name another folder with --out"
                                     : std::string("can't be made: ") + strerror(why);
    throw std::runtime_error("new-plugin: " + folder.string() + " " + what + ".");
  }
  for (auto& [name, text] : files) write_new(folder / name, text);
  std::vector<std::string> names;
  for (auto& [name, text] : files) names.push_back(name);
  fmt::print("{}: {}\nNext: make -C {} check\n", folder.string(), fmt::join(names, ", "), folder.string());
}

}  // namespace

void add_new_plugin(CLI::App& app, int&) {
  CLI::App* command =
      app.add_subcommand("new-plugin", "Writes a project to begin a plugin with: it builds, loads and passes L0");
  auto p = std::make_shared<Project>();
  command->add_option("NAME", p->name, "Of the plugin: small letters, digits and _")->required();
  command->add_option("--kind", p->kind, "device, pack (kernels for the CPU), comm or graph")
      ->capture_default_str()
      ->check(CLI::IsMember({"device", "pack", "comm", "graph"}));
  command->add_option("--lang", p->language, "c or cpp")->capture_default_str()->check(CLI::IsMember({"c", "cpp"}));
  command->add_option("--out", p->folder, "The folder to make; NAME in the current one if not given");
  command->callback([p] { run(*p); });
}

}  // namespace oarlock::cli
