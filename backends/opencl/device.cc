// Listing devices and opening them.
#include "device.h"

#include <cstdlib>
#include <deque>

namespace oarlock::opencl {
namespace {

std::string text_of(cl_int (*get)(void* of, cl_uint what, size_t size, void* out, size_t* out_size), void* of,
                    cl_uint what) {
  size_t size = 0;
  if (get(of, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (get(of, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  return text;
}
std::string device_text(cl_device_id id, cl_device_info what) {
  return text_of([](void* of, cl_uint w, size_t n, void* out,
                    size_t* size) { return cl().GetDeviceInfo(static_cast<cl_device_id>(of), w, n, out, size); },
                 id, what);
}
std::string platform_text(cl_platform_id id, cl_platform_info what) {
  return text_of([](void* of, cl_uint w, size_t n, void* out,
                    size_t* size) { return cl().GetPlatformInfo(static_cast<cl_platform_id>(of), w, n, out, size); },
                 id, what);
}
template <class T>
T device_value(cl_device_id id, cl_device_info what) {
  T value = {};
  cl().GetDeviceInfo(id, what, sizeof(value), &value, nullptr);
  return value;
}

// Opaque: views hold a buffer and an offset. The core pools.
const oar_space_info_t kSpace = {sizeof(oar_space_info_t), 0, OAR_STR("global"), 0, 64};
const oar_space_info_t* const kSpaces[] = {&kSpace};
constexpr uint64_t kWhole = 0x1ffffe;  // every type of whole bytes
constexpr uint32_t kQueues = 16;

struct List {
  std::mutex lock;
  bool done = false;
  std::deque<Listed> devices;
  std::vector<const oar_device_info_t*> infos;
};
List& list() {
  static List* all = new List;
  return *all;
}

void add(const oar_host_t* host, cl_platform_id platform, cl_device_id id, List* all) {
  Listed d = {};
  d.name = device_text(id, CL_DEVICE_NAME);
  const std::string version = device_text(id, CL_DEVICE_VERSION);  // "OpenCL 1.2 vendor's own"
  const char* why = nullptr;
  if (device_value<cl_bool>(id, CL_DEVICE_AVAILABLE) == CL_FALSE) why = "it is not available";
  else if (device_value<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) why = "it has no compiler";
  else if (device_value<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE) why = "it is big-endian";
  else if (version.compare(0, 8, "OpenCL 1") == 0 && version.compare(0, 10, "OpenCL 1.2") < 0)
    why = "it is older than 1.2";
  else if (device_value<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE) < 256) why = "its work groups are smaller than 256";
  if (why != nullptr) {
    oar_kit_log(host, OAR_LOG_INFO, "opencl: device '%s' is left out: %s", d.name.c_str(), why);
    return;
  }
  const std::string extensions = " " + device_text(id, CL_DEVICE_EXTENSIONS) + " ";
  d.platform = platform;
  d.id = id;
  d.driver = platform_text(platform, CL_PLATFORM_NAME) + "\n" + platform_text(platform, CL_PLATFORM_VERSION) + "\n" +
             d.name + "\n" + version + "\n" + device_text(id, CL_DRIVER_VERSION);
  d.is_cpu = (device_value<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  const char* f64 = std::getenv("OARLOCK_OPENCL_F64");
  d.has_f64 = extensions.find(" cl_khr_fp64 ") != std::string::npos && (f64 == nullptr || std::string(f64) != "off");
  d.units = device_value<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  d.memory_bytes = device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  d.largest_bytes = device_value<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  size_t same = 0;
  for (const Listed& other : all->devices) same += other.driver == d.driver;
  d.uuid = platform_text(platform, CL_PLATFORM_NAME) + "/" + d.name + "/" + std::to_string(same);
  if (d.name.empty()) d.name = "OpenCL device";
  all->devices.push_back(std::move(d));
  Listed& kept = all->devices.back();
  kept.info.struct_size = sizeof(kept.info);
  kept.info.dlpack_kind = 4;
  kept.info.kind = OAR_STR("opencl");
  kept.info.name = kit::str(kept.name);
  kept.info.uuid = kit::str(kept.uuid);
  kept.info.pci_address = {"", 0};
  kept.info.n_spaces = 1;
  kept.info.n_queues = kQueues;
  kept.info.spaces = kSpaces;
  kept.info.storage_dtypes = kWhole;
  kept.info.compute_dtypes = (OAR_KIT_NUMBERS | OAR_KIT_BOOL) & (kept.has_f64 ? ~0ull : ~OAR_BIT(OAR_DTYPE_F64));
  all->infos.push_back(&kept.info);
}

void fill(const oar_host_t* host, List* all) {
  std::string why;
  if (load_api(&why) == nullptr) {
    oar_kit_log(host, OAR_LOG_INFO, "opencl: no device, %s", why.c_str());
    return;
  }
  cl_uint n = 0;
  if (cl().GetPlatformIDs(0, nullptr, &n) != CL_SUCCESS || n == 0) {
    oar_kit_log(host, OAR_LOG_INFO, "opencl: no device, no driver is registered with the OpenCL loader");
    return;
  }
  std::vector<cl_platform_id> platforms(n);
  if (cl().GetPlatformIDs(n, platforms.data(), nullptr) != CL_SUCCESS) return;
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (cl().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) continue;
    std::vector<cl_device_id> ids(count);
    if (cl().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) continue;
    for (cl_device_id id : ids) add(host, platform, id, all);
  }
  if (all->devices.empty()) oar_kit_log(host, OAR_LOG_INFO, "opencl: no device, the drivers have none to offer");
}

// A setting: the option given to open, else the environment's.
std::string setting(const oar_options_t* options, const char* option, const char* variable) {
  char text[512];
  if (oar_kit_option(options, option, text, sizeof(text))) return text;
  const char* found = std::getenv(variable);
  return found != nullptr ? found : "";
}
uint64_t number(const std::string& text, const char* what, uint64_t otherwise) {
  if (text.empty()) return otherwise;
  size_t used = 0;
  uint64_t value = 0;
  try {
    value = std::stoull(text, &used, 0);
  } catch (const std::exception&) { used = 0; }
  if (used != text.size())
    throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: option " + std::string(what) + ": '" + text + "' is no number");
  return value;
}

oar_status_t device_enumerate(const oar_host_t* host, uint32_t* out_n, const oar_device_info_t* const** out_infos) {
  return kit::guard(host, [&] { *out_infos = list_devices(host, out_n); });
}

oar_status_t device_open(const oar_host_t* host, uint32_t index, const oar_options_t* options,
                         oar_device_t** out_device) {
  return kit::guard(host, [&] {
    const Listed* listed = listed_device(host, index);
    if (listed == nullptr) throw kit::Error(OAR_INVALID_ARGUMENT, "there is no opencl:" + std::to_string(index));
    if (options != nullptr && OAR_HAS(options, ext) && oar_ext_unknown(options->ext, nullptr, 0) != nullptr)
      throw kit::Error(OAR_UNSUPPORTED,
                       "opencl: an extension of the options must be understood, and is not known here");
    auto device = std::make_unique<oar_device>();
    device->host = host;
    device->listed = listed;
    device->limit_bytes =
        number(setting(options, "memory_bytes", "OARLOCK_OPENCL_MEMORY"), "memory_bytes", listed->memory_bytes);
    device->special_elements = static_cast<int64_t>(
        number(setting(options, "special_elements", "OARLOCK_OPENCL_SPECIAL_ELEMENTS"), "special_elements", 16384));
    device->special_work = static_cast<int64_t>(
        number(setting(options, "special_work", "OARLOCK_OPENCL_SPECIAL_WORK"), "special_work", 32768));
    const std::string shape = setting(options, "shape", "OARLOCK_OPENCL_SHAPE");
    if (!shape.empty() && shape != "cpu" && shape != "gpu")
      throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: option shape: '" + shape + "' is neither cpu nor gpu");
    device->cpu_shaped = shape.empty() ? listed->is_cpu : shape == "cpu";
    device->has_f64 = listed->has_f64;
    std::string folder = setting(options, "cache", "OARLOCK_OPENCL_CACHE");
    cl_int code = CL_SUCCESS;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                reinterpret_cast<cl_context_properties>(listed->platform), 0};
    device->context = cl().CreateContext(properties, 1, &listed->id, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    device->programs =
        std::make_unique<Programs>(host, device->context, listed->id, listed->driver, device->has_f64,
                                   folder.empty() ? default_cache_folder() : folder,
                                   setting(options, "compiler_options", "OARLOCK_OPENCL_COMPILER_OPTIONS"));
    if (const std::string guard = setting(options, "guard", "OARLOCK_OPENCL_GUARD"); !guard.empty() && guard != "0")
      device->guard = std::make_unique<Guard>(device->context, listed->id);
    *out_device = device.release();
  });
}

void device_close(oar_device_t* device) {
  device->guard.reset();
  device->programs.reset();
  cl().ReleaseContext(device->context);
  delete device;
}

void* device_native(oar_device_t* device) { return device->context; }

oar_status_t device_stats(oar_device_t* device, oar_device_stats_t* out_stats) {
  out_stats->memory_used_bytes = device->used_bytes.load();
  out_stats->memory_free_bytes =
      device->limit_bytes > out_stats->memory_used_bytes ? device->limit_bytes - out_stats->memory_used_bytes : 0;
  return OAR_OK;
}

}  // namespace

[[noreturn]] void fail(cl_int code, const std::string& what) {
  const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                      code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
  throw kit::Error(memory ? OAR_OUT_OF_MEMORY : OAR_INTERNAL, "opencl: " + what + ": " + error_name(code), code);
}

const oar_device_info_t* const* list_devices(const oar_host_t* host, uint32_t* out_n) {
  List& all = list();
  std::lock_guard hold(all.lock);
  if (!all.done) {
    fill(host, &all);
    all.done = true;
  }
  *out_n = static_cast<uint32_t>(all.infos.size());
  return all.infos.data();
}

const Listed* listed_device(const oar_host_t* host, uint32_t index) {
  uint32_t n = 0;
  list_devices(host, &n);
  return index < n ? &list().devices[index] : nullptr;
}

const oar_device_table_t kDeviceTable = {.struct_size = sizeof(oar_device_table_t),
                                         .version = OAR_DEVICE_VERSION,
                                         .enumerate = device_enumerate,
                                         .open = device_open,
                                         .close = device_close,
                                         .native = device_native,
                                         .link = nullptr,
                                         .stats = device_stats,
                                         .health = nullptr,
                                         .self_check = nullptr};

}  // namespace oarlock::opencl
