#include "core/device/loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/layer/layer.h"
#include "core/device/layer/record.h"
#include "core/op/schema.h"

namespace oarlock {
namespace {

struct Loaded {
  std::mutex lock;
  std::vector<Plugin*> all;  // whatever their state, in the order found
};
Loaded& loaded() {
  static Loaded* l = new Loaded;
  return *l;
}

std::string text(oar_str_t s) { return s.data ? std::string(s.data, s.size) : std::string(); }
std::string range(uint32_t low, uint32_t high) {
  return low == high ? std::to_string(low) : std::to_string(low) + "-" + std::to_string(high);
}

struct TableName {
  uint64_t id;
  uint32_t version;
  const char* name;
};
constexpr TableName kTables[] = {
    {OAR_TABLE_DEVICE, OAR_DEVICE_VERSION, "device"}, {OAR_TABLE_MEMORY, OAR_MEMORY_VERSION, "memory"},
    {OAR_TABLE_STREAM, OAR_STREAM_VERSION, "stream"}, {OAR_TABLE_PACK, OAR_PACK_VERSION, "pack"},
    {OAR_TABLE_KERNEL, OAR_KERNEL_VERSION, "kernel"}, {OAR_TABLE_GRAPH, OAR_GRAPH_VERSION, "graph"},
    {OAR_TABLE_COMM, OAR_COMM_VERSION, "comm"},       {OAR_TABLE_PROFILER, OAR_PROFILER_VERSION, "profiler"}};

// The functions a table can't do without. A field that an older plugin's struct ends before counts as missing.
struct Need {
  const char* name;
  bool there;
};
#define OAR_NEED(field) \
  Need { #field, OAR_HAS(t, field) && t->field != nullptr }
template <size_t N>
Status needs(const char* table, const Need (&list)[N]) {
  for (const auto& n : list)
    if (!n.there)
      return {Code::bad_data, std::string("its ") + table + " table lacks the required function " + n.name + "."};
  return {};
}

Status check_table(Plugin& p, const TableName& row, const void* table) {
  struct Head {
    uint32_t struct_size, version;
  } head;
  std::memcpy(&head, table, sizeof head);
  if (head.struct_size < sizeof head)
    return {Code::bad_data, std::string("its ") + row.name + " table says struct_size " +
                                std::to_string(head.struct_size) + "; it has to be sizeof the struct."};
  if (head.version == 0 || head.version > row.version)
    return {Code::bad_data, std::string("its ") + row.name + " table has version " + std::to_string(head.version) +
                                ", asked for 1-" + std::to_string(row.version) + "."};
  p.info.tables.push_back(std::string(row.name) + " " + std::to_string(head.version));
  switch (row.id) {
    case OAR_TABLE_DEVICE: {
      auto* t = p.device = static_cast<const oar_device_table_t*>(table);
      return needs("device", {OAR_NEED(enumerate), OAR_NEED(open), OAR_NEED(close)});
    }
    case OAR_TABLE_MEMORY: {
      auto* t = p.memory = static_cast<const oar_memory_table_t*>(table);
      return needs("memory", {OAR_NEED(alloc), OAR_NEED(free), OAR_NEED(copy), OAR_NEED(fill)});
    }
    case OAR_TABLE_STREAM: {
      auto* t = p.stream = static_cast<const oar_stream_table_t*>(table);
      return needs("stream",
                   {OAR_NEED(create), OAR_NEED(destroy), OAR_NEED(event_create), OAR_NEED(event_destroy),
                    OAR_NEED(event_record), OAR_NEED(event_wait), OAR_NEED(event_query), OAR_NEED(event_sync)});
    }
    case OAR_TABLE_PACK: {
      auto* t = p.pack = static_cast<const oar_pack_table_t*>(table);
      return needs("pack", {OAR_NEED(open), OAR_NEED(close)});
    }
    case OAR_TABLE_KERNEL: {
      auto* t = p.kernel = static_cast<const oar_kernel_table_t*>(table);
      return needs("kernel", {OAR_NEED(declarations)});
    }
    case OAR_TABLE_GRAPH: {
      auto* t = p.graph = static_cast<const oar_graph_table_t*>(table);
      return needs("graph", {OAR_NEED(launch), OAR_NEED(release)});
    }
    case OAR_TABLE_COMM: {
      auto* t = p.comm = static_cast<const oar_comm_table_t*>(table);
      return needs("comm",
                   {OAR_NEED(create), OAR_NEED(destroy), OAR_NEED(submit), OAR_NEED(async_error), OAR_NEED(abort)});
    }
    default: {
      auto* t = p.profiler = static_cast<const oar_profiler_table_t*>(table);
      return needs("profiler", {OAR_NEED(start), OAR_NEED(stop), OAR_NEED(drain)});
    }
  }
}

Status check_kernels(Plugin& p) {
  if (!p.kernel) return {};
  uint32_t n = 0;
  const oar_kernel_decl_t* const* decls = nullptr;
  oar_status_t s = p.kernel->declarations(nullptr, &n, &decls);
  if (s != OAR_OK) return plugin_failure(p, s, "kernel.declarations");
  if (n > 100'000 || (n && !decls))
    return {Code::bad_data, "it declares " + std::to_string(n) + " kernels, which can't be."};
  for (uint32_t i = 0; i < n; ++i) {
    const oar_kernel_decl_t* d = decls[i];
    std::string which = "its kernel " + std::to_string(i);
    if (!d || d->struct_size == 0) return {Code::bad_data, which + " is null or has struct_size 0."};
    which += " (" + text(d->op) + ")";
    if (d->op_min == 0 || d->op_max < d->op_min)
      return {Code::bad_data, which + " says op versions " + range(d->op_min, d->op_max) + "; they count from 1."};
    if (d->n_masks == 0 || !d->dtypes) return {Code::bad_data, which + " has no dtype masks."};
    bool run = OAR_HAS(d, run) && d->run, prepared = d->prepare && d->launch && d->release;
    if (run == prepared)
      return {Code::bad_data, which + " has to give run alone, or prepare, launch and release together."};
  }
  p.info.kernel_count = int(n);
  return {};
}

Status open_devices(Plugin& p) {
  if (!p.device) return {};
  uint32_t n = 0;
  const oar_device_info_t* const* infos = nullptr;
  oar_status_t s = p.device->enumerate(p.given_host, &n, &infos);
  if (s != OAR_OK) return plugin_failure(p, s, "device.enumerate");
  if (n > 64 || (n && !infos)) return {Code::bad_data, "it lists " + std::to_string(n) + " devices, which can't be."};
  for (uint32_t i = 0; i < n; ++i) {
    const oar_device_info_t* info = infos[i];
    if (!info || info->struct_size == 0 || info->kind.size == 0 || info->kind.size > 64 || info->n_spaces == 0 ||
        !info->spaces || !info->spaces[0])
      return {Code::bad_data, "its device " + std::to_string(i) + " has no kind or no memory space."};
    auto d = std::make_unique<DeviceState>();
    d->kind = text(info->kind);
    d->description = text(info->name);
    d->plugin = &p;
    d->info = info;
    d->dlpack_kind = info->dlpack_kind;
    d->storage_dtypes = OAR_HAS(info, storage_dtypes) && info->storage_dtypes ? info->storage_dtypes : ~DTypeSet(0);
    const oar_space_info_t& space = *info->spaces[0];
    d->addressable = (space.flags & OAR_SPACE_ADDRESSABLE) != 0;
    d->host_access = d->addressable && (space.flags & OAR_SPACE_HOST_ACCESS) != 0;
    d->alignment = OAR_HAS(&space, alignment) && space.alignment ? space.alignment : 64;
    oar_options_t options{};
    options.struct_size = sizeof options;
    s = p.device->open(p.given_host, i, &options, &d->handle);
    if (s != OAR_OK || !d->handle) {
      Status failed = plugin_failure(p, s == OAR_OK ? OAR_INTERNAL : s, "device.open");
      p.info.warnings.push_back(std::string(failed.text()));
      continue;
    }
    Result<Stream*> stream = make_stream(*d);
    if (!stream) {
      p.info.warnings.push_back(std::string(stream.status().text()));
      p.device->close(d->handle);
      continue;
    }
    d->default_stream = *stream;
    if (!(space.flags & OAR_SPACE_SELF_POOLED)) d->memory = make_device_cache(*d);
    DeviceState& added = add_device(std::move(d));
    p.info.devices.push_back(added.name);
  }
  return {};
}

void open_pack(Plugin& p, DeviceState& d) {
  for (Pack* pack : d.packs)
    if (pack->plugin == &p) return;
  // The host's own description: the least that a pack can match on.
  static const oar_space_info_t host_space = {sizeof(oar_space_info_t), OAR_SPACE_ADDRESSABLE | OAR_SPACE_HOST_ACCESS,
                                              OAR_STR("ram"), 0, 64};
  static const oar_space_info_t* const host_spaces[] = {&host_space};
  static const oar_device_info_t host_info = {sizeof(oar_device_info_t),
                                              1,
                                              OAR_STR("cpu"),
                                              OAR_STR("host CPU"),
                                              {nullptr, 0},
                                              {nullptr, 0},
                                              1,
                                              1,
                                              host_spaces,
                                              ~0ull,
                                              ~0ull};
  oar_device_ref_t ref{};
  ref.struct_size = sizeof ref;
  ref.index = uint32_t(d.index);
  ref.info = d.is_host() ? &host_info : d.info;
  if (d.plugin == &p) ref.device = d.handle;
  else if (d.plugin && OAR_HAS(d.plugin->device, native) && d.plugin->device->native)
    ref.native = d.plugin->device->native(d.handle);
  oar_options_t options{};
  options.struct_size = sizeof options;
  oar_pack_t* handle = nullptr;
  oar_status_t s = p.pack->open(p.given_host, &ref, &options, &handle);
  if (s > 0) return;  // refused: nothing for that device
  if (s != OAR_OK) {
    p.info.warnings.push_back(std::string(plugin_failure(p, s, "pack.open on " + d.name).text()));
    return;
  }
  add_pack(std::make_unique<Pack>(Pack{&p, &d, handle}));
  p.info.packs.push_back(d.name);
}

// The layers that the settings ask for. The recorder is one for the process: a log holds all its plugins.
const oar_plugin_t* wrap_in_layers(const oar_plugin_t* q, const oar_host_t* host) {
  if (std::string file = setting::record(); !file.empty()) {
    static Recorder* recorder = [&]() -> Recorder* {
      Result<std::unique_ptr<Recorder>> made = Recorder::create(file);
      if (made) return made->release();  // for the life of the process
      log(OAR_LOG_ERROR, "setting record: " + std::string(made.status().text()));
      return nullptr;
    }();
    if (recorder) q = layer_trace(q, host, recorder);
  }
  return setting::validate.load() ? layer_validate(q, host) : q;
}

Status take(Plugin& p) {
  const std::string& path = p.info.path;
  if (path.empty() || path[0] != '/') return invalid("\"" + path + "\" is not an absolute path.");
  OAR_TRY(check_owner(path));
  Result<PluginFile> file = inspect_plugin_file(path);
  if (!file) return std::move(file.status());
  auto speaks = [](uint32_t low, uint32_t high) { return low <= OAR_ABI_VERSION && OAR_ABI_VERSION <= high; };
  auto other_age = [&](uint32_t low, uint32_t high) {
    return Status(Code::unsupported,
                  "it speaks ABI " + range(low, high) + ", this core speaks " + std::to_string(OAR_ABI_VERSION) +
                      (low > OAR_ABI_VERSION ? ". Update Oarlock." : ". Ask the vendor for a newer build."));
  };
  if (file->has_note) {
    if (file->abi_min == 0 || file->abi_max < file->abi_min)
      return {Code::bad_data,
              "its ELF note says ABI " + range(file->abi_min, file->abi_max) + "; versions count from 1."};
    if (!speaks(file->abi_min, file->abi_max)) return other_age(file->abi_min, file->abi_max);
  }
  bool found = false;
  for (const auto& e : file->exports) found |= e == "oar_plugin_query";
  if (!found) return {Code::bad_data, "it does not export oar_plugin_query, so it is no plugin of Oarlock."};
  if (file->exports.size() > 1) {
    std::string more;
    for (size_t i = 0, named = 0; i < file->exports.size() && named < 10; ++i)
      if (file->exports[i] != "oar_plugin_query") more += (named++ ? ", " : "") + file->exports[i];
    p.info.warnings.push_back("exports " + std::to_string(file->exports.size()) +
                              " symbols, one is right; also: " + more);
  }
  for (const auto& n : file->needed)
    if (n.rfind("liboarlock", 0) == 0)
      return {Code::bad_data, "it links " + n + "; a plugin links nothing of Oarlock."};
  OAR_TRY(check_manifest(path, *file));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    return {Code::bad_data, std::string("it can't be opened: ") + (why ? why : "no reason given")};
  }
  auto query = reinterpret_cast<decltype(&oar_plugin_query)>(dlsym(library, "oar_plugin_query"));
  if (!query) return {Code::bad_data, "oar_plugin_query is not a function it gives out."};
  const oar_plugin_t* q = nullptr;
  oar_status_t s = query(p.given_host, &q);
  if (s != OAR_OK) return plugin_failure(p, s, "oar_plugin_query");
  if (!q || !OAR_HAS(q, get_table) || !q->get_table)
    return {Code::bad_data, "oar_plugin_query gave no description with get_table."};
  if (q->abi_min == 0 || q->abi_max < q->abi_min)
    return {Code::bad_data,
            "it says ABI " + range(q->abi_min, q->abi_max) + "; versions count from 1 (zero means forgotten)."};
  if (!speaks(q->abi_min, q->abi_max)) return other_age(q->abi_min, q->abi_max);
  if (file->has_note && (q->abi_min != file->abi_min || q->abi_max != file->abi_max))
    return {Code::bad_data, "its ELF note says ABI " + range(file->abi_min, file->abi_max) +
                                ", oar_plugin_query says " + range(q->abi_min, q->abi_max) + "."};
  if (!file->has_note)
    p.info.warnings.push_back("has no ELF note, so its version was learnt by running it (OAR_PLUGIN_NOTE)");
  p.info.name = text(q->name);
  p.info.vendor = text(q->vendor);
  p.info.version = text(q->version);
  p.info.build_target = text(q->build_target);
  p.info.abi_min = q->abi_min;
  p.info.abi_max = q->abi_max;
  p.info.abi_minor = q->abi_minor;
  if (p.info.name.empty()) return {Code::bad_data, "it has no name."};
  for (Plugin* other : loaded().all)
    if (other != &p && other->info.state == PluginState::loaded && other->info.name == p.info.name)
      return {Code::refused, "a plugin named " + p.info.name + " is loaded already, from " + other->info.path +
                                 ". Remove one of the two."};
  p.query = wrap_in_layers(q, p.given_host);
  for (const TableName& row : kTables)
    if (const void* table = p.query->get_table(p.given_host, row.id, 1, row.version))
      OAR_TRY(check_table(p, row, table));
  bool whole_device = p.device && p.memory && p.stream && p.pack && (p.kernel || p.graph);
  bool pack_only = !p.device && p.pack && (p.kernel || p.graph), comm_only = p.comm && !p.device && !p.pack;
  if (!whole_device && !pack_only && !comm_only)
    return {Code::bad_data,
            "its tables make no whole: device, memory, stream, pack and kernel or graph; or pack and kernel or "
            "graph; or comm alone."};
  OAR_TRY(check_kernels(p));
  return open_devices(p);
}

// Under loaded().lock.
Plugin& load_file(const std::string& path, const std::string& origin) {
  auto begin = std::chrono::steady_clock::now();
  auto* p = new Plugin;
  p->info.path = path;
  p->info.origin = origin;
  size_t slash = path.rfind('/');
  p->info.name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  fill_host(p->host, p);
  p->given_host = setting::validate.load() || !setting::record().empty() ? layer_host(&p->host.host) : &p->host.host;
  loaded().all.push_back(p);
  Status s = take(*p);
  p->info.state = s.ok() ? PluginState::loaded : p->query ? PluginState::failed : PluginState::refused;
  p->info.reason = std::string(s.text());
  p->info.load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!s.ok()) log(OAR_LOG_INFO, "plugin " + path + " is not loaded: " + p->info.reason);
  return *p;
}

void open_packs() {
  for (Plugin* p : loaded().all)
    if (p->info.state == PluginState::loaded && p->pack)
      for (int i = 0; i < device_count(); ++i) open_pack(*p, device_at(i));
  plugins_changed();
}

// A plugin may define ops whenever it likes, so they are asked for whenever somebody looks.
PluginInfo told(const Plugin& p) {
  PluginInfo info = p.info;
  info.ops = op::ops_of(p);
  return info;
}

}  // namespace

void load_search_path() {
  setting::load_environment();
  std::lock_guard hold(loaded().lock);
  for (const SearchFolder& folder : plugin_search_path()) {
    if (!folder.note.empty()) continue;
    for (const std::string& file : plugin_files(folder.path)) load_file(file, folder.origin);
  }
  open_packs();
}

std::vector<PluginInfo> plugins() {
  ensure_plugins_loaded();
  std::lock_guard hold(loaded().lock);
  std::vector<PluginInfo> all;
  for (Plugin* p : loaded().all) all.push_back(told(*p));
  return all;
}

Result<PluginInfo> load_plugin(std::string_view path) {
  ensure_plugins_loaded();
  std::lock_guard hold(loaded().lock);
  for (Plugin* p : loaded().all)
    if (p->info.path == path && p->info.state == PluginState::loaded) return told(*p);
  Plugin& p = load_file(std::string(path), "explicit");
  if (p.info.state != PluginState::loaded)
    return Status(Code::bad_data, "plugin " + std::string(path.substr(0, 4096)) + ": " + p.info.reason);
  open_packs();
  return told(p);
}

PluginInfo probe_plugin(std::string_view path, int timeout_ms) {
  PluginInfo info;
  info.path = std::string(path);
  info.origin = "explicit";
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) {
    info.reason = "the probe has no pipe";
    return info;
  }
  pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[0]);
    for (int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
      signal(fatal, SIG_DFL);  // the program's handlers are not for this
    Plugin& p = load_file(info.path, "explicit");
    for (int i = 0; i < device_count() && p.info.state == PluginState::loaded && p.pack; ++i)
      open_pack(p, device_at(i));
    p.info = told(p);
    std::replace(p.info.reason.begin(), p.info.reason.end(), '\n', ' ');
    std::string out = std::to_string(int(p.info.state)) + '\n' + p.info.name + '\n' + p.info.vendor + '\n' +
                      p.info.version + '\n' + p.info.reason + '\n';
    for (auto& t : p.info.tables) out += t + ',';
    out += '\n';
    for (auto& d : p.info.devices) out += d + ',';
    out += '\n';
    for (auto& w : p.info.warnings) out += w + ';';
    out += '\n' + std::to_string(p.info.kernel_count) + '\n' + p.info.build_target + '\n' +
           std::to_string(p.info.abi_min) + '\n' + std::to_string(p.info.abi_max) + '\n' +
           std::to_string(p.info.abi_minor) + '\n' + std::to_string(p.info.load_ms) + '\n';
    for (auto& o : p.info.ops) out += o + ',';
    out += '\n';
    for (size_t at = 0; at < out.size();) {
      ssize_t n = write(pipe_ends[1], out.data() + at, out.size() - at);
      if (n <= 0) break;
      at += size_t(n);
    }
    _exit(0);
  }
  close(pipe_ends[1]);
  if (child < 0) {
    close(pipe_ends[0]);
    info.reason = "the probe can't start a child";
    return info;
  }
  int status = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  pid_t done = 0;
  while ((done = waitpid(child, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < end) usleep(1000);
  info.state = PluginState::failed;
  if (done == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    info.reason = "it did not come back within " + std::to_string(timeout_ms) + " ms";
  } else if (WIFSIGNALED(status)) {
    info.reason = std::string("it crashed: ") + strsignal(WTERMSIG(status));
  } else {
    std::string out;
    char buffer[4096];
    for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, size_t(n));
    std::vector<std::string> lines;
    for (size_t at = 0; at < out.size();) {
      size_t nl = std::min(out.find('\n', at), out.size());
      lines.push_back(out.substr(at, nl - at));
      at = nl + 1;
    }
    auto list = [](const std::string& s, char by) {
      std::vector<std::string> v;
      for (size_t at = 0; at < s.size();) {
        size_t e = std::min(s.find(by, at), s.size());
        v.push_back(s.substr(at, e - at));
        at = e + 1;
      }
      return v;
    };
    if (lines.size() < 15) {
      info.reason = "it ended the process with status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    } else {
      info.state = PluginState(std::stoi(lines[0]));
      info.name = lines[1], info.vendor = lines[2], info.version = lines[3], info.reason = lines[4];
      info.tables = list(lines[5], ','), info.devices = list(lines[6], ','), info.warnings = list(lines[7], ';');
      info.kernel_count = std::stoi(lines[8]);
      info.build_target = lines[9];
      info.abi_min = uint32_t(std::stoul(lines[10])), info.abi_max = uint32_t(std::stoul(lines[11]));
      info.abi_minor = uint32_t(std::stoul(lines[12]));
      info.load_ms = std::stod(lines[13]);
      info.ops = list(lines[14], ',');
    }
  }
  close(pipe_ends[0]);
  return info;
}

}  // namespace oarlock
