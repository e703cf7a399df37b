// The test plugins do what README.md says of them, so that a host's answer to each means something; and the null
// skeleton works. Loaded raw; what could stop the process is tried in a child.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/raw_host.h"

namespace oarlock::test {
namespace {

std::string path(const std::string& name) { return OARLOCK_ABI_PLUGINS "/" + name + "/lib" + name + ".so"; }

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The range in the file's note; {0, 0} and false without one.
bool note_range(const std::string& file, uint32_t out_range[2]) {
  const char head[] = "\x08\0\0\0\x08\0\0\0\x01\0\0\0Oarlock";
  std::string bytes = bytes_of(file);
  size_t at = bytes.find(std::string(head, sizeof(head)));
  if (at == std::string::npos || at + 28 > bytes.size()) return false;
  std::memcpy(out_range, bytes.data() + at + 20, 8);
  return true;
}

// Runs body in a child and tells how it ended; -1: it did not within timeout_ms.
template <class Body>
int in_child(int timeout_ms, Body body) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);  // not the sanitizer's: it would print a long report
    signal(SIGBUS, SIG_DFL);
    body();
    _exit(0);
  }
  int result = 0;
  for (int waited = 0; waited < timeout_ms; waited += 5) {
    if (waitpid(child, &result, WNOHANG) == child) return result;
    usleep(5000);
  }
  kill(child, SIGKILL);
  waitpid(child, &result, 0);
  return -1;
}

struct Tanh {
  const RawPlugin& p;
  const oar_kernel_decl_t* decl = nullptr;
  oar_pack_t* pack = nullptr;
  alignas(16) char verdict_room[OAR_OUT_ROOM + 64];

  explicit Tanh(const RawPlugin& plugin) : p(plugin) {
    static const oar_device_info_t info = [] {
      oar_device_info_t made{};
      made.struct_size = sizeof(made);
      made.kind = OAR_STR("cpu");
      return made;
    }();
    oar_device_ref_t ref{};
    ref.struct_size = sizeof(ref);
    ref.info = &info;
    EXPECT_EQ(p.pack->open(raw_host(), &ref, nullptr, &pack), OAR_OK);
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    EXPECT_EQ(p.kernel->declarations(pack, &n, &decls), OAR_OK);
    EXPECT_EQ(n, 1u);
    decl = decls[0];
  }
  ~Tanh() { p.pack->close(pack); }

  oar_status_t operator()(std::vector<float> x, std::vector<float>* out, std::vector<int64_t> shape = {}) {
    if (shape.empty()) shape = {static_cast<int64_t>(x.size())};
    std::vector<int64_t> strides(shape.size());
    oar_kit_strides(static_cast<uint32_t>(shape.size()), shape.data(), strides.data());
    out->assign(x.size(), 9.0f);
    oar_value_t value{};
    value.struct_size = sizeof(value);
    value.dtype = OAR_DTYPE_F32;
    value.n_dims = static_cast<uint32_t>(shape.size());
    value.shape = shape.data();
    value.strides = strides.data();
    const oar_value_t* values[] = {&value};
    oar_call_t call{};
    call.struct_size = sizeof(call);
    call.op_version = 1;
    call.op = OAR_STR("tanh");
    call.n_inputs = call.n_outputs = 1;
    call.inputs = call.outputs = values;
    std::memset(verdict_room, 0, OAR_OUT_ROOM);
    std::memset(verdict_room + OAR_OUT_ROOM, 0x5a, 64);
    auto* verdict = reinterpret_cast<oar_verdict_t*>(verdict_room);
    verdict->struct_size = sizeof(*verdict);
    if (oar_status_t status = decl->check(pack, decl, &call, verdict)) return status;
    oar_view_t in_view{}, out_view{};
    in_view.data = x.data();
    out_view.data = out->data();
    in_view.n_dims = out_view.n_dims = static_cast<int32_t>(shape.size());
    in_view.shape = out_view.shape = shape.data();
    in_view.strides = out_view.strides = strides.data();
    in_view.dtype = out_view.dtype = OAR_DTYPE_F32;
    const oar_view_t *ins[] = {&in_view}, *outs[] = {&out_view};
    oar_frame_t frame{};
    frame.struct_size = sizeof(frame);
    frame.n_inputs = frame.n_outputs = 1;
    frame.inputs = ins;
    frame.outputs = outs;
    if (OAR_HAS(decl, run) && decl->run != nullptr) {
      frame.call = &call;
      return decl->run(pack, decl, &frame);
    }
    alignas(16) char room[OAR_OUT_ROOM + 64] = {};
    std::memset(room + OAR_OUT_ROOM, 0x5a, 64);
    auto* prepared = reinterpret_cast<oar_prepared_t*>(room);
    prepared->struct_size = sizeof(*prepared);
    oar_status_t status = decl->prepare(pack, decl, &call, prepared);
    if (status != OAR_OK) return status;
    status = decl->launch(prepared->state, &frame);
    decl->release(prepared->state);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(room[OAR_OUT_ROOM + i], 0x5a);
    return status;
  }
};

// tanh(0.5) and tanh(-1), from tables.
void expect_tanh(const RawPlugin& plugin) {
  ASSERT_EQ(plugin.error, "");
  Tanh tanh(plugin);
  std::vector<float> out;
  ASSERT_EQ(tanh({0.5f, -1, 0}, &out), OAR_OK);
  EXPECT_NEAR(out[0], 0.46211716f, 1e-6);
  EXPECT_NEAR(out[1], -0.76159416f, 1e-6);
  EXPECT_EQ(out[2], 0);
}

TEST(AbiPlugins, GoodPack) {
  expect_tanh(RawPlugin(path("good_pack")));
  uint32_t range[2];
  ASSERT_TRUE(note_range(path("good_pack"), range));
  EXPECT_EQ(range[0], OAR_ABI_VERSION);
  EXPECT_EQ(range[1], OAR_ABI_VERSION);
}

TEST(AbiPlugins, WrongAnswer) {
  RawPlugin plugin(path("wrong_answer"));
  Tanh tanh(plugin);
  std::vector<float> out;
  ASSERT_EQ(tanh({0.5f}, &out), OAR_OK);
  EXPECT_NEAR(out[0], 0.46211716f * 1.001f, 1e-6);
}

TEST(AbiPlugins, FailsInLaunch) {
  RawPlugin plugin(path("fails_in_launch"));
  Tanh tanh(plugin);
  std::vector<float> out;
  EXPECT_EQ(tanh({0.5f, 0.5f}, &out), OAR_INTERNAL);
  EXPECT_EQ(last_error(), "the toy card stopped after 1 of 2 elements");
  EXPECT_NEAR(out[0], 0.46211716f, 1e-6);
  EXPECT_EQ(out[1], 9);
}

TEST(AbiPlugins, OlderIsShorterAndWorks) {
  RawPlugin plugin(path("older"));
  expect_tanh(plugin);
  EXPECT_LT(plugin.device->struct_size, sizeof(oar_device_table_t));
  EXPECT_FALSE(OAR_HAS(plugin.device, stats));
  EXPECT_FALSE(OAR_HAS(plugin.memory, pin));
  EXPECT_FALSE(OAR_HAS(plugin.stream, native));
  EXPECT_TRUE(OAR_HAS(plugin.stream, event_sync));
  EXPECT_FALSE(OAR_HAS(plugin.kernel, launch_many));
}

TEST(AbiPlugins, NewerIsLongerAndWorks) {
  RawPlugin plugin(path("newer"));
  expect_tanh(plugin);
  EXPECT_GT(plugin.device->struct_size, sizeof(oar_device_table_t));
  EXPECT_GT(plugin.plugin->abi_minor, OAR_ABI_MINOR);
  EXPECT_EQ(plugin.device->version, 1u);
  uint32_t range[2];
  ASSERT_TRUE(note_range(path("newer"), range));
  EXPECT_EQ(range[1], plugin.plugin->abi_max);
  // The whole room is written, and not a byte more.
  oar_device_t* device = nullptr;
  ASSERT_EQ(plugin.device->open(raw_host(), 0, nullptr, &device), OAR_OK);
  alignas(16) char room[OAR_OUT_ROOM + 8] = {};
  ASSERT_EQ(plugin.device->stats(device, reinterpret_cast<oar_device_stats_t*>(room)), OAR_OK);
  EXPECT_EQ(static_cast<unsigned char>(room[OAR_OUT_ROOM - 1]), 0xee);
  EXPECT_EQ(room[OAR_OUT_ROOM], 0);
  plugin.device->close(device);
}

TEST(AbiPlugins, LiarsNoteAndQueryDiffer) {
  RawPlugin plugin(path("liar"));
  uint32_t range[2];
  ASSERT_TRUE(note_range(path("liar"), range));
  EXPECT_NE(range[1], plugin.plugin->abi_max);
}

TEST(AbiPlugins, MissingOrForgottenVersions) {
  uint32_t range[2];
  EXPECT_FALSE(note_range(path("no_note"), range));
  expect_tanh(RawPlugin(path("no_note")));
  ASSERT_TRUE(note_range(path("abi_zero"), range));
  EXPECT_EQ(range[1], 0u);
  EXPECT_EQ(RawPlugin(path("abi_zero")).plugin->abi_max, 0u);
  EXPECT_EQ(RawPlugin(path("table_zero")).kernel->version, 0u);
  ASSERT_TRUE(note_range(path("future"), range));
  EXPECT_EQ(range[0], 101u);
}

TEST(AbiPlugins, SomeStopTheProcess) {
  EXPECT_NE(in_child(5000, [] { dlopen(path("future").c_str(), RTLD_NOW); }), 0);
  EXPECT_NE(in_child(5000, [] { dlopen(path("crash_on_load").c_str(), RTLD_NOW); }), 0);
  EXPECT_EQ(in_child(5000, [] { _exit(dlopen(path("crash_in_query").c_str(), RTLD_NOW) == nullptr); }), 0);
  EXPECT_NE(in_child(5000, [] { RawPlugin plugin(path("crash_in_query")); }), 0);
  EXPECT_EQ(in_child(200,
                     [] {
                       RawPlugin plugin(path("hangs_in_open"));
                       oar_device_t* device = nullptr;
                       plugin.device->open(raw_host(), 0, nullptr, &device);
                     }),
            -1);
}

TEST(AbiPlugins, SomeCannotBeUsed) {
  EXPECT_EQ(RawPlugin(path("query_without_answer")).plugin, nullptr);
  EXPECT_NE(RawPlugin(path("undefined_symbol")).error.find("oar_test_nobody_defines_this"), std::string::npos);
  EXPECT_EQ(RawPlugin(path("missing_function")).memory->alloc, nullptr);
  void* library = dlopen(path("exports_too_much").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  EXPECT_NE(dlsym(library, "oar_extra_number"), nullptr);
  EXPECT_NE(dlsym(library, "oar_extra_function"), nullptr);
  EXPECT_EQ(dlsym(dlopen(path("good_pack").c_str(), RTLD_NOW), "base_run"), nullptr);
}

TEST(AbiPlugins, SomeAreNoLibraries) {
  EXPECT_NE(RawPlugin(path("foreign_arch")).error, "");
  EXPECT_NE(RawPlugin(path("not_elf")).error, "");
  std::string foreign = bytes_of(path("foreign_arch")), good = bytes_of(path("good_pack"));
  ASSERT_GT(foreign.size(), 20u);
  EXPECT_EQ(foreign.substr(0, 4), good.substr(0, 4));
  EXPECT_NE(foreign.substr(18, 2), good.substr(18, 2));
  std::string cut = bytes_of(path("truncated"));
  EXPECT_EQ(cut, good.substr(0, good.size() / 2));
  EXPECT_NE(in_child(5000, [] { _exit(dlopen(path("truncated").c_str(), RTLD_NOW) == nullptr); }), 0);
}

TEST(AbiPlugins, WorldWritable) {
  struct stat info {};
  ASSERT_EQ(stat(path("world_writable").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  expect_tanh(RawPlugin(path("world_writable")));
}

TEST(AbiPlugins, ExceptionsBecomeStatuses) {
  RawPlugin plugin(path("throws"));
  ASSERT_EQ(plugin.error, "");
  Tanh tanh(plugin);
  std::vector<float> out;
  ASSERT_EQ(tanh({0.5f}, &out), OAR_OK);
  EXPECT_NEAR(out[0], 0.46211716f, 1e-6);
  EXPECT_EQ(tanh({0, -1}, &out, {2}), OAR_BAD_DATA);
  EXPECT_EQ(last_error(), "minus one at 1");
  EXPECT_EQ(tanh({-2}, &out), OAR_INTERNAL);
  EXPECT_EQ(last_error(), "minus two");
  EXPECT_EQ(tanh({-3}, &out), OAR_INTERNAL);
  EXPECT_EQ(tanh({-4}, &out), OAR_OUT_OF_MEMORY);
  EXPECT_EQ(tanh({0}, &out, {1, 1, 1}), OAR_REFUSED);
  EXPECT_EQ(reinterpret_cast<oar_verdict_t*>(tanh.verdict_room)->reason, uint32_t{OAR_REASON_RANK});
}

TEST(NullPlugin, HoldsAndCopiesAndComputesNothing) {
  RawPlugin p(OARLOCK_NULL_PLUGIN);
  ASSERT_EQ(p.error, "");
  uint32_t n = 0, n_decls = 7;
  const oar_device_info_t* const* infos = nullptr;
  const oar_kernel_decl_t* const* decls = nullptr;
  ASSERT_EQ(p.device->enumerate(raw_host(), &n, &infos), OAR_OK);
  ASSERT_EQ(n, 1u);
  EXPECT_TRUE(oar_kit_str_is(infos[0]->kind, "null"));
  ASSERT_EQ(p.kernel->declarations(nullptr, &n_decls, &decls), OAR_OK);
  EXPECT_EQ(n_decls, 0u);
  oar_device_t* device = nullptr;
  EXPECT_EQ(p.device->open(raw_host(), 1, nullptr, &device), OAR_INVALID_ARGUMENT);
  ASSERT_EQ(p.device->open(raw_host(), 0, nullptr, &device), OAR_OK);
  oar_stream_t* stream = nullptr;
  oar_event_t* event = nullptr;
  void* data = nullptr;
  ASSERT_EQ(p.stream->create(device, 0, 0, &stream), OAR_OK);
  ASSERT_EQ(p.stream->event_create(device, &event), OAR_OK);
  EXPECT_EQ(p.memory->alloc(device, 0, UINT64_MAX - 8, 64, stream, &data), OAR_OUT_OF_MEMORY);
  ASSERT_EQ(p.memory->alloc(device, 0, 12, 256, stream, &data), OAR_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
  // The transpose of 2 x 3 shorts.
  int16_t from[6] = {1, 2, 3, 4, 5, 6}, to[6] = {};
  int64_t counts[] = {3, 2}, dst_strides[] = {4, 2}, src_strides[] = {2, 6};
  oar_region_t region{};
  region.struct_size = sizeof(region);
  region.n_dims = 2;
  region.dst = data;
  region.src = from;
  region.src_on_host = 1;
  region.size_bytes = 2;
  region.counts = counts;
  region.dst_strides = dst_strides;
  region.src_strides = src_strides;
  const oar_region_t* regions[] = {&region};
  ASSERT_EQ(p.memory->copy(stream, 1, regions), OAR_OK);
  region = {};
  region.struct_size = sizeof(region);
  region.dst = to;
  region.dst_on_host = 1;
  region.src = data;
  region.size_bytes = 12;
  ASSERT_EQ(p.memory->copy(stream, 1, regions), OAR_OK);
  ASSERT_EQ(p.stream->event_record(stream, event), OAR_OK);
  ASSERT_EQ(p.stream->event_sync(event, 0), OAR_OK);
  EXPECT_EQ(std::vector<int16_t>(to, to + 6), (std::vector<int16_t>{1, 4, 2, 5, 3, 6}));
  oar_span_t span{data, 2, 4};
  ASSERT_EQ(p.memory->fill(stream, &span, 0x0102, 2), OAR_OK);
  EXPECT_EQ(static_cast<int16_t*>(data)[2], 0x0102);
  EXPECT_EQ(static_cast<int16_t*>(data)[3], 5);
  EXPECT_EQ(p.memory->fill(stream, &span, 0, 3), OAR_INVALID_ARGUMENT);
  p.memory->free(device, 0, data, stream);
  p.stream->event_destroy(event);
  p.stream->destroy(stream);
  p.device->close(device);
}

}  // namespace
}  // namespace oarlock::test
