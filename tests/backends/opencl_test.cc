// The OpenCL plugin by the C ABI alone: no driver, no device, the cache of compiled kernels, running out of memory, kernels
// that do not compile, faults that stick, a queue that fails, a kernel that leaves its memory; and kernels by way of SPIR-V.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "opencl_session.h"

namespace oarlock {
namespace {

// A function of the driver itself.
template <class F>
F driver(const char* name) {
  static void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<F>(library != nullptr ? dlsym(library, name) : nullptr);
}
#define DRIVER(name) driver<decltype(&name)>(#name)

// x + x for x = 0, 1, .. by the plugin.
void expect_adds(Session& s) {
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

void expect_adds(const std::string& cache) {
  Session s(cache);
  expect_adds(s);
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

// With a driver that has nothing; its .icd is in the folder that ctest names.
TEST(OpenclNoDevice, LoadsAndListsNothing) {
  if (getenv("OARLOCK_TEST_NO_DEVICE") == nullptr)
    GTEST_SKIP() << "only where the environment names a driver without devices";
  EXPECT_EQ(loaded().enumerate(), OAR_OK) << last_error;
  EXPECT_EQ(loaded().n, 0u);
  EXPECT_NE(logged.find("the drivers have none to offer"), std::string::npos) << logged;
}

// What a file of the cache is made of: the magic, three numbers (bytes of the key, bytes of the binary, checksum), the key,
// the binary.
struct Entry {
  std::string key, binary;
  explicit Entry(const std::string& bytes) {
    constexpr size_t kMagic = 17, kHead = 48;  // the numbers are aligned
    uint64_t sizes[2];
    if (bytes.size() < kHead || bytes.compare(0, kMagic, "oarlock opencl 1\n") != 0) return;
    std::memcpy(sizes, bytes.data() + 24, sizeof(sizes));
    if (kHead + sizes[0] + sizes[1] != bytes.size()) return;
    key = bytes.substr(kHead, sizes[0]);
    binary = bytes.substr(kHead + sizes[0]);
  }
};

TEST_F(Opencl, CacheIsFilledReadAndMended) {
  expect_adds(folder_);
  auto files = files_of(folder_);
  ASSERT_EQ(files.size(), 1u);
  const std::string whole = bytes_of(files[0]);
  const Entry first(whole);
  EXPECT_NE(first.key.find("kernel void element("), std::string::npos);
  EXPECT_FALSE(first.binary.empty());
  expect_adds(folder_);
  EXPECT_EQ(bytes_of(files[0]), whole);
  std::string damaged[] = {"", whole.substr(0, 20), whole.substr(0, whole.size() / 2), whole, whole};
  damaged[3][whole.size() - 9] ^= 1;
  damaged[4][50] ^= 1;
  for (const std::string& bad : damaged) {
    std::ofstream(files[0], std::ios::binary | std::ios::trunc) << bad;
    expect_adds(folder_);
    const std::string mended = bytes_of(files[0]);
    const Entry entry(mended);
    EXPECT_EQ(entry.key, first.key);
    EXPECT_FALSE(entry.binary.empty());
    expect_adds(folder_);
    EXPECT_EQ(bytes_of(files[0]), mended);  // it was read: what is not is written again
  }
  EXPECT_EQ(files_of(folder_).size(), 1u);  // and nothing half-written beside it
}

// Started by the test below, in processes of their own.
TEST(OpenclChild, Adds) {
  const char* folder = getenv("OARLOCK_TEST_CACHE");
  if (folder == nullptr) GTEST_SKIP() << "only as a child";
  ASSERT_EQ(loaded().enumerate(), OAR_OK) << last_error;
  expect_adds(folder);
}

TEST_F(Opencl, TwoProcessesMayBuildOneProgramAtOnce) {
  const std::string command = "OARLOCK_TEST_CACHE=" + folder_ + " /proc/" + std::to_string(getpid()) +
                              "/exe --gtest_filter=OpenclChild.Adds 2>&1";
  FILE* children[2];
  for (FILE*& child : children) ASSERT_NE(child = popen(command.c_str(), "r"), nullptr);
  for (FILE* child : children) {
    std::string said;
    char piece[256];
    while (fgets(piece, sizeof(piece), child) != nullptr) said += piece;
    EXPECT_EQ(pclose(child), 0) << said;
    EXPECT_NE(said.find("[  PASSED  ] 1 test"), std::string::npos) << said;
  }
  const auto files = files_of(folder_);
  ASSERT_EQ(files.size(), 1u);
  const std::string whole = bytes_of(files[0]);
  EXPECT_FALSE(Entry(whole).binary.empty());
  expect_adds(folder_);
  EXPECT_EQ(bytes_of(files[0]), whole);
}

TEST_F(Opencl, CacheFolderThatCannotBeMadeDoesNoHarm) {
  expect_adds("/proc/nowhere/cache");
  expect_adds("off");
  const std::string file = folder_ + "/file";
  std::ofstream(file) << "no folder";
  expect_adds(file);
  EXPECT_EQ(bytes_of(file), "no folder");
}

TEST_F(Opencl, OptionsThatMeanNothingAreErrors) {
  oar_device_t* device = nullptr;
  EXPECT_EQ(open_device({{"shape", "round"}}, &device), OAR_INVALID_ARGUMENT);
  EXPECT_NE(last_error.find("'round' is neither cpu nor gpu"), std::string::npos) << last_error;
  EXPECT_EQ(open_device({{"memory_bytes", "much"}}, &device), OAR_INVALID_ARGUMENT);
  EXPECT_NE(last_error.find("'much' is no number"), std::string::npos) << last_error;
}

TEST_F(Opencl, WhatTheCompilerSaysReachesTheUser) {
  Session s("off", {{"compiler_options", "-D REAL=nonsense"}});
  void *a = s.alloc(400), *b = s.alloc(400);
  const int64_t n = 100;
  std::vector<float> before(100, 3), after(100);
  s.copy(a, false, before.data(), true, 400);
  logged.clear();
  const auto add = [&] {
    return s.run("add", {view(a, OAR_DTYPE_F32, &n), view(a, OAR_DTYPE_F32, &n)}, view(b, OAR_DTYPE_F32, &n));
  };
  EXPECT_LT(add(), 0);
  EXPECT_NE(last_error.find("element.cl"), std::string::npos) << last_error;
  EXPECT_NE(logged.find("nonsense"), std::string::npos) << logged;
  EXPECT_LT(add(), 0);                        // again: nothing broken was kept
  s.copy(after.data(), true, a, false, 400);  // a launch that fails in mid-stream leaves the stream as it was
  EXPECT_EQ(s.wait(), OAR_OK) << last_error;
  EXPECT_EQ(after, before);
  for (void* data : {a, b}) loaded().memory->free(s.device, 0, data, nullptr);
}

TEST_F(Opencl, AKernelThatLeavesItsMemoryIsNoticed) {
  Session s("off", {{"guard", "1"}});
  expect_adds(s);
  void *a = s.alloc(400), *b = s.alloc(400);
  const int64_t n = 100, more = 101;
  const auto add = [&](const int64_t* count) {
    return s.run("add", {view(a, OAR_DTYPE_F32, &n), view(a, OAR_DTYPE_F32, &n)}, view(b, OAR_DTYPE_F32, count));
  };
  ASSERT_EQ(add(&n), OAR_OK) << last_error;
  EXPECT_EQ(s.wait(), OAR_OK) << last_error;
  // One element too many, planted.
  std::vector<float> ones(101, 1);
  void* c = s.alloc(404);
  s.copy(c, false, ones.data(), true, 404);
  const oar_view_t long_a = view(c, OAR_DTYPE_F32, &more);
  ASSERT_EQ(s.run("add", {long_a, long_a}, view(b, OAR_DTYPE_F32, &more)), OAR_OK) << last_error;
  EXPECT_EQ(s.wait(), OAR_INTERNAL);
  EXPECT_NE(last_error.find("byte 400 of a buffer of 400"), std::string::npos) << last_error;
  EXPECT_EQ(s.wait(), OAR_OK) << last_error;  // told once
  for (void* data : {a, b, c}) loaded().memory->free(s.device, 0, data, nullptr);
}

// What a queue waits for does not come: waits end in time, and all is well once it has come.
TEST_F(Opencl, AQueueThatIsHeldUpTimesOut) {
  Session s("off");
  auto* context = static_cast<cl_context>(loaded().device->native(s.device));
  auto* queue = static_cast<cl_command_queue>(loaded().stream->native(s.stream));
  cl_int code = CL_SUCCESS;
  cl_event later = DRIVER(clCreateUserEvent)(context, &code);
  ASSERT_EQ(code, CL_SUCCESS);
  float x = 1, y = 0;
  void* a = s.alloc(4);
  ASSERT_EQ(DRIVER(clEnqueueBarrierWithWaitList)(queue, 1, &later, nullptr), CL_SUCCESS);
  s.copy(a, false, &x, true, 4);
  s.copy(&y, true, a, false, 4);
  oar_event_t* event = nullptr;
  ASSERT_EQ(loaded().stream->event_create(s.device, &event), OAR_OK);
  ASSERT_EQ(loaded().stream->event_record(s.stream, event), OAR_OK) << last_error;
  EXPECT_EQ(loaded().stream->event_query(event), OAR_NOT_READY);
  EXPECT_EQ(loaded().stream->event_sync(event, 1000000), OAR_TIMEOUT);
  EXPECT_EQ(y, 0);
  ASSERT_EQ(DRIVER(clSetUserEventStatus)(later, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(loaded().stream->event_sync(event, UINT64_MAX), OAR_OK) << last_error;
  EXPECT_EQ(y, 1);
  loaded().stream->event_destroy(event);
  DRIVER(clReleaseEvent)(later);
  loaded().memory->free(s.device, 0, a, nullptr);
}

// kernels/matmul.cl as SPIR-V and back again, by a driver that takes that bitcode: 2 x 3 times 3 x 2.
TEST_F(Opencl, ProductRunsFromSpirv) {
  const char* folder = getenv("OARLOCK_TEST_SPIRV");
  const std::string code = folder != nullptr ? bytes_of(std::string(folder) + "/matmul_f64.bc") : "";
  if (code.empty()) GTEST_SKIP() << "no bitcode: spirv.sh has not run";
  Session s("off");
  auto* context = static_cast<cl_context>(loaded().device->native(s.device));
  auto* queue = static_cast<cl_command_queue>(loaded().stream->native(s.stream));
  cl_device_id device = nullptr;
  ASSERT_EQ(DRIVER(clGetCommandQueueInfo)(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr), CL_SUCCESS);
  const size_t size = code.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(code.data());
  cl_int status = CL_SUCCESS, error = CL_SUCCESS;
  cl_program program = DRIVER(clCreateProgramWithBinary)(context, 1, &device, &size, &bytes, &status, &error);
  if (error != CL_SUCCESS) GTEST_SKIP() << "the driver takes no SPIR bitcode";
  ASSERT_EQ(DRIVER(clBuildProgram)(program, 1, &device, "-x spir -spir-std=1.2", nullptr, nullptr), CL_SUCCESS);
  cl_kernel kernel = DRIVER(clCreateKernel)(program, "product", &error);
  ASSERT_EQ(error, CL_SUCCESS);
  float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 0, 3}, out[4] = {};
  cl_mem memory[3];
  void* hosts[] = {a, b, out};
  const size_t sizes[] = {sizeof(a), sizeof(b), sizeof(out)};
  const cl_ulong zero = 0;
  cl_uint next = 0;
  auto argument = [&](size_t bytes_of_it, const void* value) {
    ASSERT_EQ(DRIVER(clSetKernelArg)(kernel, next++, bytes_of_it, value), CL_SUCCESS);
  };
  for (int i = 0; i < 3; ++i) {
    memory[i] = DRIVER(clCreateBuffer)(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizes[i], hosts[i], &error);
    ASSERT_EQ(error, CL_SUCCESS);
    argument(sizeof(cl_mem), &memory[i]);
    argument(sizeof(zero), &zero);
  }
  struct {
    int64_t n = 1;
    int32_t rank = 0, reserved = 0;
    int64_t shape[8] = {}, stride[4][8] = {};
  } g;
  argument(sizeof(g), &g);
  for (const cl_long value : {2, 2, 3, 3, 1, 2, 1, 2, 1}) argument(sizeof(value), &value);  // m, n, k, rows and columns
  const cl_int dtype = OAR_DTYPE_F32;
  argument(sizeof(dtype), &dtype);
  const size_t items = 256;
  ASSERT_EQ(DRIVER(clEnqueueNDRangeKernel)(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(DRIVER(clEnqueueReadBuffer)(queue, memory[2], CL_TRUE, 0, sizeof(out), out, 0, nullptr, nullptr),
            CL_SUCCESS);
  const float expected[] = {5, 11, 14, 23};  // [1 2 3; 4 5 6] [1 0; 2 1; 0 3]
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], expected[i]);
  for (cl_mem m : memory) DRIVER(clReleaseMemObject)(m);
  DRIVER(clReleaseKernel)(kernel);
  DRIVER(clReleaseProgram)(program);
}

TEST_F(Opencl, OutOfMemoryIsAnErrorWithBothSizes) {
  Session s("off", {{"memory_bytes", "1000000"}});
  void* a = s.alloc(900000);
  void* b = nullptr;
  EXPECT_EQ(loaded().memory->alloc(s.device, 0, 200000, 0, nullptr, &b), OAR_OUT_OF_MEMORY);
  EXPECT_NE(last_error.find("200000"), std::string::npos);
  EXPECT_NE(last_error.find("900000"), std::string::npos);
  loaded().memory->free(s.device, 0, a, nullptr);
  EXPECT_EQ(loaded().memory->alloc(s.device, 0, 200000, 0, nullptr, &b), OAR_OK);
  expect_adds(s);
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
