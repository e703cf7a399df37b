// The OpenCL plugin by the C ABI alone: no driver, the cache of compiled kernels, running out of memory, faults that stick.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include <kit.hpp>

namespace oarlock {
namespace {

std::string last_error;

struct Loaded {
  oar_host_t host = {};
  const oar_device_table_t* device = nullptr;
  const oar_memory_table_t* memory = nullptr;
  const oar_stream_table_t* stream = nullptr;
  const oar_pack_table_t* pack = nullptr;
  const oar_kernel_table_t* kernel = nullptr;
  uint32_t n = 0;
  Loaded() {
    host.struct_size = sizeof(host);
    host.abi_min = host.abi_max = OAR_ABI_VERSION;
    host.log = [](const oar_host_t*, int32_t, oar_str_t) {};
    host.error_set = [](const oar_host_t*, oar_status_t status, int64_t, oar_str_t text) {
      last_error.assign(text.data, text.size);
      return status;
    };
    void* library = dlopen(OARLOCK_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    auto query = reinterpret_cast<decltype(&oar_plugin_query)>(dlsym(library, "oar_plugin_query"));
    const oar_plugin_t* plugin = nullptr;
    if (query(&host, &plugin) != OAR_OK) throw std::runtime_error("oar_plugin_query failed");
    auto get = [&](auto& table, uint64_t id) {
      table = static_cast<std::remove_reference_t<decltype(table)>>(plugin->get_table(&host, id, 1, 1));
    };
    get(device, OAR_TABLE_DEVICE);
    get(memory, OAR_TABLE_MEMORY);
    get(stream, OAR_TABLE_STREAM);
    get(pack, OAR_TABLE_PACK);
    get(kernel, OAR_TABLE_KERNEL);
  }
  oar_status_t enumerate() {
    const oar_device_info_t* const* infos = nullptr;
    return device->enumerate(&host, &n, &infos);
  }
};
Loaded& loaded() {
  static Loaded* l = new Loaded;
  return *l;
}

// Runs `sum over a vector of f32`, whose kernel is in the cache afterwards.
struct Session {
  oar_device_t* device = nullptr;
  oar_pack_t* pack = nullptr;
  oar_stream_t* stream = nullptr;
  explicit Session(const std::string& cache, const std::string& memory = "") {
    const oar_str_t names[] = {oar_kit_str("cache"), oar_kit_str("memory_bytes")};
    const oar_str_t values[] = {kit::str(cache), kit::str(memory)};
    oar_options_t options = {sizeof(options), memory.empty() ? 1u : 2u, names, values, nullptr};
    if (loaded().device->open(&loaded().host, 0, &options, &device) != OAR_OK) throw std::runtime_error(last_error);
    const oar_device_info_t* const* infos = nullptr;
    uint32_t n = 0;
    loaded().device->enumerate(&loaded().host, &n, &infos);
    oar_device_ref_t ref = {};
    ref.struct_size = sizeof(ref);
    ref.info = infos[0];
    ref.device = device;
    if (loaded().pack->open(&loaded().host, &ref, nullptr, &pack) != OAR_OK) throw std::runtime_error(last_error);
    if (loaded().stream->create(device, 0, 0, &stream) != OAR_OK) throw std::runtime_error(last_error);
  }
  ~Session() {
    loaded().stream->destroy(stream);
    loaded().pack->close(pack);
    loaded().device->close(device);
  }
  void* alloc(uint64_t bytes) {
    void* data = nullptr;
    EXPECT_EQ(loaded().memory->alloc(device, 0, bytes, 0, nullptr, &data), OAR_OK) << last_error;
    return data;
  }
  void copy(void* dst, bool dst_host, void* src, bool src_host, uint64_t bytes) {
    oar_region_t r = {};
    r.struct_size = sizeof(r);
    r.dst = dst;
    r.src = src;
    r.dst_on_host = dst_host;
    r.src_on_host = src_host;
    r.size_bytes = bytes;
    const oar_region_t* list[] = {&r};
    EXPECT_EQ(loaded().memory->copy(stream, 1, list), OAR_OK) << last_error;
  }
  oar_status_t wait() {
    oar_event_t* event = nullptr;
    EXPECT_EQ(loaded().stream->event_create(device, &event), OAR_OK);
    EXPECT_EQ(loaded().stream->event_record(stream, event), OAR_OK) << last_error;
    const oar_status_t status = loaded().stream->event_sync(event, UINT64_MAX);
    loaded().stream->event_destroy(event);
    return status;
  }
  // Runs a kernel of op with `run`; views of one axis each.
  oar_status_t run(const char* op, std::vector<oar_view_t> inputs, oar_view_t out) {
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    loaded().kernel->declarations(pack, &n, &decls);
    for (uint32_t i = 0; i < n; ++i) {
      if (!oar_kit_str_is(decls[i]->op, op)) continue;
      std::vector<const oar_view_t*> pointers;
      for (const oar_view_t& v : inputs) pointers.push_back(&v);
      const oar_view_t* outs[] = {&out};
      oar_call_t call = {};
      call.struct_size = sizeof(call);
      call.op_version = 1;
      oar_frame_t frame = {};
      frame.struct_size = sizeof(frame);
      frame.n_inputs = static_cast<uint32_t>(inputs.size());
      frame.n_outputs = 1;
      frame.inputs = pointers.data();
      frame.outputs = outs;
      frame.stream = stream;
      frame.call = &call;
      return decls[i]->run(pack, decls[i], &frame);
    }
    return OAR_REFUSED;
  }
};

oar_view_t view(void* data, uint32_t dtype, const int64_t* n) {
  static const int64_t one = 1;
  oar_view_t v = {};
  v.data = data;
  v.n_dims = 1;
  v.shape = n;
  v.strides = &one;
  v.dtype = dtype;
  return v;
}

// 1 + 2, .. by the plugin.
void expect_adds(const std::string& cache) {
  Session s(cache);
  std::vector<float> x(100), y(100);
  std::iota(x.begin(), x.end(), 0.0f);
  const int64_t n = 100;
  void *a = s.alloc(400), *b = s.alloc(400);
  s.copy(a, false, x.data(), true, 400);
  ASSERT_EQ(s.run("add", {view(a, OAR_DTYPE_F32, &n), view(a, OAR_DTYPE_F32, &n)}, view(b, OAR_DTYPE_F32, &n)), OAR_OK)
      << last_error;
  s.copy(y.data(), true, b, false, 400);
  ASSERT_EQ(s.wait(), OAR_OK) << last_error;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(y[i], 2.0f * i);
  loaded().memory->free(s.device, 0, a, nullptr);
  loaded().memory->free(s.device, 0, b, nullptr);
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> all;
  DIR* d = opendir(folder.c_str());
  while (dirent* e = d != nullptr ? readdir(d) : nullptr)
    if (e->d_name[0] != '.') all.push_back(folder + "/" + e->d_name);
  if (d != nullptr) closedir(d);
  return all;
}
std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Opencl : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(loaded().enumerate(), OAR_OK) << last_error;
    if (loaded().n == 0) GTEST_SKIP() << "no OpenCL device";
    char name[] = "/tmp/oarlock-opencl-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override {
    chmod(folder_.c_str(), 0700);
    for (const std::string& f : files_of(folder_)) unlink(f.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  std::string folder_;
};

// Alone in its process: ctest sets OCL_ICD_VENDORS to an empty folder.
TEST(OpenclNoDriver, LoadsAndListsNothing) {
  if (getenv("OARLOCK_TEST_NO_DRIVER") == nullptr) GTEST_SKIP() << "only where the environment names no driver";
  EXPECT_EQ(loaded().enumerate(), OAR_OK) << last_error;
  EXPECT_EQ(loaded().n, 0u);
  oar_device_t* device = nullptr;
  EXPECT_LT(loaded().device->open(&loaded().host, 0, nullptr, &device), 0);
}

TEST_F(Opencl, CacheIsFilledReadAndMended) {
  expect_adds(folder_);
  auto files = files_of(folder_);
  ASSERT_EQ(files.size(), 1u);
  const std::string whole = bytes_of(files[0]);
  expect_adds(folder_);
  EXPECT_EQ(bytes_of(files[0]), whole);
  std::string damaged[] = {"", whole.substr(0, 20), whole.substr(0, whole.size() / 2), whole};
  damaged[3][whole.size() - 9] ^= 1;
  for (const std::string& bad : damaged) {
    std::ofstream(files[0], std::ios::binary | std::ios::trunc) << bad;
    expect_adds(folder_);
    EXPECT_GT(bytes_of(files[0]).size(), bad.size() / 2 + whole.size() / 4);  // whole again
  }
  EXPECT_EQ(files_of(folder_).size(), 1u);  // and nothing half-written beside it
}

TEST_F(Opencl, CacheFolderThatCannotBeMadeDoesNoHarm) {
  expect_adds("/proc/nowhere/cache");
  expect_adds("off");
}

TEST_F(Opencl, OutOfMemoryIsAnErrorWithBothSizes) {
  Session s("off", "1000000");
  void* a = s.alloc(900000);
  void* b = nullptr;
  EXPECT_EQ(loaded().memory->alloc(s.device, 0, 200000, 0, nullptr, &b), OAR_OUT_OF_MEMORY);
  EXPECT_NE(last_error.find("200000"), std::string::npos);
  EXPECT_NE(last_error.find("900000"), std::string::npos);
  loaded().memory->free(s.device, 0, a, nullptr);
  EXPECT_EQ(loaded().memory->alloc(s.device, 0, 200000, 0, nullptr, &b), OAR_OK);
  loaded().memory->free(s.device, 0, b, nullptr);
}

TEST_F(Opencl, TenThousandBuffersLiveAtOnce) {
  Session s("off");
  std::vector<void*> all;
  for (uint32_t i = 0; i < 10000; ++i) {
    all.push_back(s.alloc(4));
    s.copy(all.back(), false, &i, true, 4);
    ASSERT_EQ(s.wait(), OAR_OK);
  }
  for (uint32_t i = 0; i < 10000; i += 37) {
    uint32_t back = 0;
    s.copy(&back, true, all[i], false, 4);
    ASSERT_EQ(s.wait(), OAR_OK);
    ASSERT_EQ(back, i);
  }
  for (void* data : all) loaded().memory->free(s.device, 0, data, nullptr);
}

TEST_F(Opencl, AnIndexOutOfRangeShowsAtTheNextWaitAndIsLifted) {
  Session s("off");
  const int64_t n = 4, m = 3;
  float x[] = {0, 1, 2, 3}, y[3];
  int32_t good[] = {3, -4, 1}, bad[] = {0, 7, 1};
  void *a = s.alloc(16), *i = s.alloc(12), *o = s.alloc(12);
  s.copy(a, false, x, true, 16);
  s.copy(i, false, bad, true, 12);
  auto gather = [&] {
    return s.run("gather", {view(a, OAR_DTYPE_F32, &n), view(i, OAR_DTYPE_I32, &m)}, view(o, OAR_DTYPE_F32, &m));
  };
  ASSERT_EQ(gather(), OAR_OK) << last_error;
  EXPECT_EQ(s.wait(), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(last_error, "gather: index 7 at position 1 is out of range: the axis has 4 elements.");
  s.copy(i, false, good, true, 12);
  ASSERT_EQ(gather(), OAR_OK) << last_error;
  s.copy(y, true, o, false, 12);
  ASSERT_EQ(s.wait(), OAR_OK) << last_error;
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 1);
  for (void* data : {a, i, o}) loaded().memory->free(s.device, 0, data, nullptr);
}

}  // namespace
}  // namespace oarlock
