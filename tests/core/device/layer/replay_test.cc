// A plugin in a shared library is recorded through the tracing layer, and the log is run against it, against its repaired
// build, and in damaged forms. One file because every test starts from the same recording, which takes longest to make.
#include <oarlock/base/replay.h>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "core/device/layer/record.h"
#include "core/device/layer/replay_build.h"
#include "tests/core/device/layer/fake.h"

namespace oarlock {
namespace {

const std::string kPlugin = OARLOCK_TEST_PLUGIN_DIR "/replay_me.so";
const std::string kFixed = OARLOCK_TEST_PLUGIN_DIR "/replay_me_fixed.so";

std::string temporary(const std::string& name) {
  static const struct Folder {
    std::string path = testing::TempDir() + "oarlock_replay_" + std::to_string(::getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  } folder;
  return folder.path + "/" + name;
}
std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A host program on the plain C tables. It is written against the interface alone, so it runs on a bare plugin as well.
struct Program {
  const oar_host_t* host;
  fake::Tables t;
  oar_device_t* device = nullptr;
  oar_stream_t* stream = nullptr;
  oar_event_t* event = nullptr;
  oar_pack_t *own = nullptr, *cpu = nullptr;
  const oar_kernel_decl_t *add = nullptr, *multiply = nullptr, *reorder = nullptr;

  Program(const oar_plugin_t* plugin, const oar_host_t* h) : host(h), t(plugin, h) {
    uint32_t n = 0;
    const oar_device_info_t* const* infos = nullptr;
    EXPECT_EQ(t.device->enumerate(host, &n, &infos), OAR_OK);
    EXPECT_EQ(t.device->open(host, 0, nullptr, &device), OAR_OK);
    EXPECT_EQ(t.stream->create(device, 0, 0, &stream), OAR_OK);
    EXPECT_EQ(t.stream->event_create(device, &event), OAR_OK);
    oar_device_ref_t ref{sizeof ref, 1, infos[0], device, nullptr};
    EXPECT_EQ(t.pack->open(host, &ref, nullptr, &own), OAR_OK);
    oar_device_info_t cpu_info{};
    cpu_info.struct_size = sizeof cpu_info;
    cpu_info.dlpack_kind = 1;
    cpu_info.kind = OAR_STR("cpu");
    ref.index = 0;
    ref.info = &cpu_info;
    ref.device = nullptr;
    EXPECT_EQ(t.pack->open(host, &ref, nullptr, &cpu), OAR_OK);
    const oar_kernel_decl_t* const* decls = nullptr;
    EXPECT_EQ(t.kernel->declarations(nullptr, &n, &decls), OAR_OK);
    EXPECT_EQ(n, 3u);
    add = decls[0];
    multiply = decls[1];
    reorder = decls[2];
  }
  void close() {
    t.pack->close(cpu);
    t.pack->close(own);
    t.stream->event_destroy(event);
    t.stream->destroy(stream);
    t.device->close(device);
  }

  struct View : oar_view_t {
    int64_t size, stride = 1;
    View(int kind, void* p, int64_t n) : oar_view_t{}, size(n) {
      data = p;
      device = {kind, kind == 1 ? 0 : 1};
      n_dims = 1;
      element = {2, 32, 1};
      shape = &size;
      strides = &stride;
      dtype = OAR_DTYPE_F32;
    }
  };
  oar_status_t run_add(oar_pack_t* pack, int kind, void* a, void* b, void* out, int64_t n) {
    View va(kind, a, n), vb(kind, b, n), vo(kind, out, n);
    const oar_view_t *inputs[] = {&va, &vb}, *outputs[] = {&vo};
    oar_frame_t f = frame(inputs, outputs);
    f.stream = kind == 1 ? nullptr : stream;
    return add->run(pack, add, &f);
  }
  oar_status_t run_multiply(int kind, void* a, void* b, void* out, int64_t n) {
    oar_value_t value{};
    value.struct_size = sizeof value;
    value.dtype = OAR_DTYPE_F32;
    value.n_dims = 1;
    int64_t shape = n, stride = 1;
    value.shape = &shape;
    value.strides = &stride;
    const oar_value_t *inputs[] = {&value, &value}, *outputs[] = {&value};
    oar_call_t call{};
    call.struct_size = sizeof call;
    call.op_version = 1;
    call.op = OAR_STR("multiply");
    call.n_inputs = 2;
    call.n_outputs = 1;
    call.inputs = inputs;
    call.outputs = outputs;
    int64_t room[3];
    oar_choice_t choices[3];
    for (int i = 0; i < 3; ++i) choices[i] = {sizeof(oar_choice_t), 0, 0, &room[i], 0, 0};
    oar_choice_t *in[] = {&choices[0], &choices[1]}, *out_choice[] = {&choices[2]};
    fake::Room<oar_prepared_t> prepared;
    prepared->inputs = in;
    prepared->outputs = out_choice;
    oar_status_t s = multiply->prepare(cpu, multiply, &call, prepared.get());
    if (s != OAR_OK) return s;
    View va(kind, a, n), vb(kind, b, n), vo(kind, out, n);
    const oar_view_t *va_vb[] = {&va, &vb}, *vos[] = {&vo};
    oar_frame_t f = frame(va_vb, vos);
    std::vector<char> workspace(prepared->workspace_bytes);
    f.workspace = {workspace.data(), 0, workspace.size()};
    s = multiply->launch(prepared->state, &f);
    multiply->release(prepared->state);
    return s;
  }
  // Reorders between row-major and the plugin's own layout. token: of the opaque side; 0: not chosen yet.
  void run_reorder(float* from, float* to, int64_t n, bool to_opaque, uint64_t* token) {
    int64_t stride = 1, room[2];
    oar_value_t in{}, out{};
    in.struct_size = out.struct_size = sizeof in;
    in.dtype = out.dtype = OAR_DTYPE_F32;
    in.n_dims = out.n_dims = 1;
    in.shape = out.shape = &n;
    (to_opaque ? in : out).strides = &stride;
    (to_opaque ? out : in).layout = to_opaque ? uint64_t(OAR_LAYOUT_ANY) : *token;
    const oar_value_t *inputs[] = {&in}, *outputs[] = {&out};
    oar_call_t call{};
    call.struct_size = sizeof call;
    call.op_version = 1;
    call.op = OAR_STR("reorder");
    call.n_inputs = call.n_outputs = 1;
    call.inputs = inputs;
    call.outputs = outputs;
    oar_choice_t a{sizeof a, 0, in.layout, &room[0], 0, 0}, b{sizeof b, 0, out.layout, &room[1], 0, 0};
    oar_choice_t *as[] = {&a}, *bs[] = {&b};
    fake::Room<oar_prepared_t> prepared;
    prepared->inputs = as;
    prepared->outputs = bs;
    ASSERT_EQ(reorder->prepare(cpu, reorder, &call, prepared.get()), OAR_OK);
    if (to_opaque) *token = b.layout;
    View from_view(1, from, n), to_view(1, to, n);
    View& opaque = to_opaque ? to_view : from_view;
    opaque.layout = *token;
    opaque.strides = nullptr;
    const oar_view_t *in_views[] = {&from_view}, *out_views[] = {&to_view};
    oar_frame_t f = frame(in_views, out_views);
    f.n_inputs = 1;
    EXPECT_EQ(reorder->launch(prepared->state, &f), OAR_OK);
    reorder->release(prepared->state);
  }
  static oar_frame_t frame(const oar_view_t* const* inputs, const oar_view_t* const* outputs) {
    oar_frame_t f{};
    f.struct_size = sizeof f;
    f.n_inputs = 2;
    f.n_outputs = 1;
    f.inputs = inputs;
    f.outputs = outputs;
    return f;
  }
  void* alloc(uint64_t size) {
    void* data = nullptr;
    EXPECT_EQ(t.memory->alloc(device, 0, size, 64, nullptr, &data), OAR_OK);
    return data;
  }
  void copy(void* dst, bool dst_on_host, void* src, bool src_on_host, uint64_t size) {
    oar_region_t r{};
    r.struct_size = sizeof r;
    r.dst = dst;
    r.src = src;
    r.dst_on_host = dst_on_host;
    r.src_on_host = src_on_host;
    r.size_bytes = size;
    const oar_region_t* regions[] = {&r};
    EXPECT_EQ(t.memory->copy(stream, 1, regions), OAR_OK);
  }
  void sync() {
    EXPECT_EQ(t.stream->event_record(stream, event), OAR_OK);
    EXPECT_EQ(t.stream->event_sync(event, UINT64_MAX), OAR_OK);
  }
};

std::vector<float> numbers(size_t n, float from) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), from);
  return v;
}

// Opens the plugin, wraps it once for each recording, and runs `body`.
struct Opened {
  fake::Host* host = new fake::Host;
  const oar_host_t* outer = layer_host(host);
  const oar_plugin_t* plugin = nullptr;
  Opened() {
    void* library = ::dlopen(kPlugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(::dlerror());
    auto query = reinterpret_cast<decltype(&oar_plugin_query)>(::dlsym(library, "oar_plugin_query"));
    if (query(outer, &plugin) != OAR_OK) throw std::runtime_error("query");
  }
};

// Everything at once, small and large, on the host and on the device, with a launch that fails.
void whole_program(Program& p) {
  auto a = numbers(4, 1), b = numbers(4, 10), out = numbers(4, 0);
  EXPECT_EQ(p.run_add(p.cpu, 1, a.data(), b.data(), out.data(), 4), OAR_OK);
  EXPECT_EQ(out[3], 17);
  EXPECT_EQ(p.run_multiply(1, a.data(), b.data(), out.data(), 4), OAR_OK);
  EXPECT_EQ(out[3], 52);
  a[2] = -3;
  EXPECT_EQ(p.run_multiply(1, a.data(), b.data(), out.data(), 4), OAR_INTERNAL);

  void *x = p.alloc(64), *y = p.alloc(64);
  auto up = numbers(8, 0), down = numbers(8, 0);
  p.copy(x, false, up.data(), true, 32);
  p.copy(y, false, up.data(), true, 32);
  // In the middle of an allocation, as a pool of the host would place it, and in place.
  EXPECT_EQ(p.run_add(p.own, 12, static_cast<char*>(x) + 8, y, static_cast<char*>(x) + 8, 4), OAR_OK);
  p.copy(down.data(), true, x, false, 32);
  p.sync();
  EXPECT_EQ(down[2], 2);
  EXPECT_EQ(down[3], 4);
  p.t.memory->free(p.device, 0, x, nullptr);
  p.t.memory->free(p.device, 0, y, nullptr);
  p.close();
}

// The log of whole_program, made once.
const std::string& recorded() {
  static const std::string* path = [] {
    auto* log = new std::string(temporary("whole.oarlog"));
    Opened opened;
    auto recorder = Recorder::create(*log).take().release();  // the layer keeps it
    Program p(layer_trace(opened.plugin, opened.outer, recorder), opened.outer);
    whole_program(p);
    EXPECT_TRUE(recorder->close().ok());
    return log;
  }();
  return *path;
}

TEST(ReplayTest, AFailingLaunchFailsAgain) {
  Result<ReplayReport> r = replay(recorded(), kPlugin);
  ASSERT_TRUE(r.ok()) << r.status().text();
  EXPECT_EQ(r->plugin, "replay_me 1");
  EXPECT_EQ(r->replayed_on, "replay_me 1");
  EXPECT_TRUE(r->complete);
  EXPECT_EQ(r->replayed, r->calls);
  EXPECT_EQ(r->skipped, 0u) << (r->remarks.empty() ? "" : r->remarks[0]);
  EXPECT_EQ(r->differences, 0u) << r->difference;
  EXPECT_EQ(r->failures, 1u);
  EXPECT_EQ(r->failure, "kernel_decl.launch failed with -9 (internal error): lane fault at a negative element [77]");
  EXPECT_EQ(r->outputs_compared, 3u);  // add and multiply on the host, and what came back from the device
  EXPECT_EQ(r->payloads_regenerated, 0u);
}

TEST(ReplayTest, ARepairedPluginDiffersWhereItShould) {
  Result<ReplayReport> r = replay(recorded(), kFixed);
  ASSERT_TRUE(r.ok()) << r.status().text();
  EXPECT_EQ(r->replayed_on, "replay_me 2");
  EXPECT_EQ(r->failures, 0u);
  // Its add is off by one at the end: on the host, then in what the device brought back; the launch no longer fails.
  EXPECT_EQ(r->differences, 3u);
  EXPECT_NE(r->difference.find("kernel_decl.run: output 0: element 3 is 18.000000, recorded was 17.000000"),
            std::string::npos)
      << r->difference;
}

TEST(ReplayTest, LargeContentsAreHashedAndMadeUp) {
  constexpr size_t n = 5000;  // 20,000 bytes
  std::string log = temporary("large.oarlog");
  {
    Opened opened;
    auto recorder = Recorder::create(log).take().release();
    Program p(layer_trace(opened.plugin, opened.outer, recorder), opened.outer);
    auto a = numbers(n, 1), zero = std::vector<float>(n), sum = zero, again = zero;
    EXPECT_EQ(p.run_add(p.cpu, 1, a.data(), a.data(), sum.data(), n), OAR_OK);
    EXPECT_EQ(p.run_add(p.cpu, 1, sum.data(), sum.data(), again.data(), n), OAR_OK);
    void* x = p.alloc(n * 4);
    p.copy(x, false, sum.data(), true, n * 4);
    p.copy(again.data(), true, x, false, n * 4);
    p.sync();
    p.t.memory->free(p.device, 0, x, nullptr);
    p.close();
    EXPECT_TRUE(recorder->close().ok());
  }
  EXPECT_LT(read_file(log).size(), 8000u);
  ReplayOptions options;
  for (uint64_t seed : {1, 2}) {
    options.seed = seed;
    Result<ReplayReport> r = replay(log, kPlugin, options);
    ASSERT_TRUE(r.ok()) << r.status().text();
    EXPECT_GT(r->payloads_regenerated, 0u);
    EXPECT_EQ(r->outputs_compared, 0u);
    EXPECT_EQ(r->outputs_uncompared, 3u);
    EXPECT_EQ(r->differences, 0u) << r->difference;
    ASSERT_FALSE(r->remarks.empty());
    EXPECT_NE(r->remarks.back().find("made up from seed " + std::to_string(seed)), std::string::npos);
  }
}

// What an earlier call produced needs no made-up contents, however large it is.
TEST(ReplayTest, LargeContentsThatReplayItselfProduced) {
  constexpr size_t n = 1024;  // 4096 bytes: kept
  std::string log = temporary("produced.oarlog");
  {
    Opened opened;
    auto recorder = Recorder::create(log).take().release();
    Program p(layer_trace(opened.plugin, opened.outer, recorder), opened.outer);
    auto half = numbers(n, 1), back = std::vector<float>(2 * n), sum = back;
    void* x = p.alloc(2 * n * 4);
    p.copy(x, false, half.data(), true, n * 4);
    p.copy(static_cast<char*>(x) + n * 4, false, half.data(), true, n * 4);
    p.copy(back.data(), true, x, false, 2 * n * 4);  // 8192 bytes: a hash
    p.sync();
    EXPECT_EQ(p.run_add(p.cpu, 1, back.data(), back.data(), sum.data(), 2 * n), OAR_OK);
    p.t.memory->free(p.device, 0, x, nullptr);
    p.close();
    EXPECT_TRUE(recorder->close().ok());
  }
  Result<ReplayReport> r = replay(log, kPlugin);
  ASSERT_TRUE(r.ok()) << r.status().text();
  EXPECT_EQ(r->payloads_regenerated, 0u);
  EXPECT_EQ(r->outputs_compared, 2u);
  EXPECT_EQ(r->differences, 0u) << r->difference;
  r = replay(log, kFixed);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->differences, 1u);
  EXPECT_NE(r->difference.find("the hash of its 8192 bytes differs"), std::string::npos) << r->difference;
}

// Tensors in the plugin's own layout: the tokens of the recording become those of the plugin that replays.
TEST(ReplayTest, LayoutsOfThePluginsOwn) {
  std::string log = temporary("opaque.oarlog");
  {
    Opened opened;
    auto recorder = Recorder::create(log).take().release();
    Program p(layer_trace(opened.plugin, opened.outer, recorder), opened.outer);
    auto a = numbers(6, 1), back = numbers(6, 0);
    std::vector<float> packed(7);
    uint64_t token = 0;
    p.run_reorder(a.data(), packed.data(), 6, true, &token);
    EXPECT_GE(token, uint64_t(OAR_LAYOUT_OPAQUE));
    EXPECT_EQ(packed[0], 6);
    p.run_reorder(packed.data(), back.data(), 6, false, &token);
    EXPECT_EQ(back, a);
    p.close();
    EXPECT_TRUE(recorder->close().ok());
  }
  for (const std::string& plugin : {kPlugin, kFixed}) {
    Result<ReplayReport> r = replay(log, plugin);
    ASSERT_TRUE(r.ok()) << r.status().text();
    EXPECT_EQ(r->skipped, 0u) << r->remarks[0];
    EXPECT_EQ(r->differences, 0u) << r->difference;
    EXPECT_EQ(r->outputs_compared, 1u);
  }
}

TEST(ReplayTest, ADeadProcessLeavesACallWithoutAnEnd) {
  std::vector<std::string_view> bodies;
  std::string file = read_file(recorded());
  ASSERT_TRUE(layer::read_log(file, &bodies).ok());
  // Cut right behind the begin of the failing launch.
  std::vector<std::string> kept;
  int launches = 0;
  for (std::string_view b : bodies) {
    kept.emplace_back(b);
    if (b[0] == char(layer::LogRecord::begin) && b.find("kernel_decl.launch") != std::string_view::npos &&
        ++launches == 2)
      break;
  }
  std::string path = temporary("dead.oarlog");
  write_file(path, layer::write_log(kept));
  Result<ReplayReport> r = replay(path, kPlugin);
  ASSERT_TRUE(r.ok()) << r.status().text();
  EXPECT_FALSE(r->complete);
  EXPECT_EQ(r->replayed, r->calls);
  bool said = false;
  for (const std::string& remark : r->remarks) said |= remark.find("ends inside call") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST(ReplayTest, BadInput) {
  auto fails = [](const std::string& log, const std::string& plugin, const std::string& with) {
    Result<ReplayReport> r = replay(log, plugin);
    ASSERT_FALSE(r.ok());
    EXPECT_NE(r.status().text().find(with), std::string_view::npos) << r.status().text();
  };
  fails("/nowhere/x.oarlog", kPlugin, "can't read");
  fails(recorded(), "/nowhere/x.so", "can't open the plugin");
  fails(recorded(), "libm.so.6", "can't open the plugin");  // a bare name is not searched for
  std::string path = temporary("other.oarlog");
  write_file(path, "GIF89a and so on, much longer than a header");
  fails(path, kPlugin, "no recording of Oarlock");
  write_file(path, "");
  fails(path, kPlugin, "no recording of Oarlock");
  std::string file = read_file(recorded());
  file[8] = 9;
  write_file(path, file);
  fails(path, kPlugin, "format 9");
  ReplayOptions options;
  options.memory_limit_bytes = 16;
  Result<ReplayReport> r = replay(recorded(), kPlugin, options);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.status().text().find("host memory"), std::string_view::npos) << r.status().text();
}

// A cut log is an error unless it was cut between two records; then it is incomplete.
TEST(ReplayTest, CutAtEveryLength) {
  std::string file = read_file(recorded());
  size_t errors = 0, incomplete = 0;
  for (size_t n = 0; n < file.size(); ++n) {
    Result<ReplayReport> r = layer::replay_log(std::string_view(file).substr(0, n), kPlugin);
    if (r.ok()) {
      EXPECT_FALSE(r->complete) << n;
      ++incomplete;
    } else {
      ++errors;
    }
  }
  EXPECT_GT(errors, file.size() * 9 / 10);
  EXPECT_GT(incomplete, 10u);
}

TEST(ReplayTest, EveryFlippedBitIsNoticed) {
  std::string file = read_file(recorded());
  for (size_t i = 0; i < file.size(); ++i) {
    std::string bad = file;
    bad[i] ^= char(1 << (i % 8));
    Result<ReplayReport> r = layer::replay_log(bad, kPlugin);
    EXPECT_FALSE(r.ok()) << "byte " << i;
  }
}

// With checksums put right the damage reaches the decoder. Whatever it does, it returns.
TEST(ReplayTest, DamageBehindRightChecksums) {
  std::vector<std::string_view> views;
  std::string file = read_file(recorded());
  ASSERT_TRUE(layer::read_log(file, &views).ok());
  ReplayOptions options;
  options.memory_limit_bytes = 1 << 20;
  options.timeout_ns = 1'000'000;
  size_t errors = 0, runs = 0;
  uint64_t x = 88172645463325252;
  auto next = [&](uint64_t n) { return x ^= x << 13, x ^= x >> 7, x ^= x << 17, x % n; };
  for (size_t i = 0; i < views.size(); ++i) {
    for (size_t at = next(4); at < views[i].size(); at += 1 + next(4)) {
      std::vector<std::string> bodies(views.begin(), views.end());
      switch (next(4)) {
        case 0: bodies[i][at] ^= char(1 << next(8)); break;
        case 1: bodies[i][at] = char(next(256)); break;
        case 2: bodies[i].erase(at, 1 + next(3)); break;
        case 3: bodies[i].insert(at, next(3) + 1, char(next(256))); break;
      }
      if (bodies[i].empty()) continue;
      errors += !layer::replay_log(layer::write_log(bodies), kPlugin, options).ok();
      ++runs;
    }
  }
  EXPECT_GT(runs, 1000u);
  EXPECT_GT(errors, runs / 10);
}

// The tracing layer alone: what it shows to people.
TEST(TraceTest, CallsAreShown) {
  Opened opened;
  auto* recorder = new Recorder;
  std::vector<TracedCall> calls;
  recorder->set_listener([&](const TracedCall& c) { calls.push_back(c); });
  Program p(layer_trace(opened.plugin, opened.outer, recorder), opened.outer);
  auto a = numbers(4, 1), out = a;
  calls.clear();
  EXPECT_EQ(p.run_multiply(1, a.data(), a.data(), out.data(), 4), OAR_OK);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].function, "kernel_decl.prepare");
  EXPECT_NE(calls[0].arguments.find("call 'multiply' ([4], [4])"), std::string::npos) << calls[0].arguments;
  EXPECT_EQ(calls[1].function, "kernel_decl.launch");
  EXPECT_NE(calls[1].arguments.find("frame ([4], [4]) -> ([4])"), std::string::npos) << calls[1].arguments;
  EXPECT_EQ(calls[2].function, "kernel_decl.release");
  EXPECT_EQ(calls[0].plugin, "replay_me");
  a[0] = -1;
  calls.clear();
  EXPECT_EQ(p.run_multiply(1, a.data(), a.data(), out.data(), 4), OAR_INTERNAL);
  EXPECT_EQ(calls[1].status, OAR_INTERNAL);
  void* x = p.alloc(100);
  EXPECT_NE(calls.back().arguments.find("size_bytes 100, alignment 64, stream NULL"), std::string::npos)
      << calls.back().arguments;
  p.t.memory->free(p.device, 0, x, nullptr);
  p.close();
}

// A device that copies late: the recording must hold what arrived, and must have read it before the host could take the
// memory back.
struct LateDevice {
  fake::Host* host = new fake::Host;  // layers keep both
  fake::Plugin* plugin = new fake::Plugin;
  const oar_host_t* outer = layer_host(host);
  std::string log;
  Recorder* recorder;
  char target[8] = "unset..";
  static inline LateDevice* self = nullptr;

  explicit LateDevice(const std::string& name) : log(temporary(name)) {
    self = this;
    fake::fill(plugin, outer);
    auto arrive = [] { std::memcpy(self->target, "arrived", 8); };
    static auto late = arrive;
    plugin->stream.event_sync = [](oar_event_t*, uint64_t) -> oar_status_t {
      late();
      return OAR_OK;
    };
    plugin->stream.host_call = [](oar_stream_t*, void (*body)(void*), void* context) -> oar_status_t {
      late();
      body(context);
      return OAR_OK;
    };
    recorder = Recorder::create(log).take().release();
  }
  // Payloads of the readbacks, and whether the copy's own records hold any.
  std::vector<std::string> readbacks() {
    EXPECT_TRUE(recorder->close().ok());
    std::string file = read_file(log);
    std::vector<std::string_view> bodies;
    EXPECT_TRUE(layer::read_log(file, &bodies).ok());
    std::vector<std::string> out;
    for (std::string_view b : bodies) {
      layer::TreeReader r(b);
      if (layer::LogRecord(r.byte()) != layer::LogRecord::readback) continue;
      r.varint();
      r.varint();
      out.emplace_back(r.node().text);
    }
    return out;
  }
};

TEST(TraceTest, LateCopiesAreReadWhenAnEventSaysSo) {
  LateDevice late("late.oarlog");
  fake::Tables t(layer_trace(&late.plugin->plugin, late.outer, late.recorder), late.outer);
  oar_device_t* device = nullptr;
  oar_stream_t *first = nullptr, *second = nullptr;
  oar_event_t *a = nullptr, *b = nullptr;
  ASSERT_EQ(t.device->open(late.outer, 0, nullptr, &device), OAR_OK);
  ASSERT_EQ(t.stream->create(device, 0, 0, &first), OAR_OK);
  ASSERT_EQ(t.stream->create(device, 0, 0, &second), OAR_OK);
  ASSERT_EQ(t.stream->event_create(device, &a), OAR_OK);
  ASSERT_EQ(t.stream->event_create(device, &b), OAR_OK);
  oar_region_t r{};
  r.struct_size = sizeof r;
  r.dst = late.target;
  r.dst_on_host = 1;
  r.src = &r;
  r.size_bytes = 8;
  const oar_region_t* regions[] = {&r};
  ASSERT_EQ(t.memory->copy(first, 1, regions), OAR_OK);
  // The host waits on the other stream, which waits for the first.
  ASSERT_EQ(t.stream->event_record(first, a), OAR_OK);
  ASSERT_EQ(t.stream->event_wait(second, a), OAR_OK);
  ASSERT_EQ(t.stream->event_record(second, b), OAR_OK);
  ASSERT_EQ(t.stream->event_sync(b, UINT64_MAX), OAR_OK);
  std::memcpy(late.target, "reused.", 8);
  ASSERT_EQ(t.stream->event_sync(a, UINT64_MAX), OAR_OK);  // must not read again
  EXPECT_EQ(late.readbacks(), std::vector<std::string>{std::string("arrived\0", 8)});
  for (auto e : {a, b}) t.stream->event_destroy(e);
  for (auto s : {first, second}) t.stream->destroy(s);
  t.device->close(device);
}

TEST(TraceTest, LateCopiesAreReadBeforeAHostCall) {
  LateDevice late("host_call.oarlog");
  fake::Tables t(layer_trace(&late.plugin->plugin, late.outer, late.recorder), late.outer);
  oar_device_t* device = nullptr;
  oar_stream_t* stream = nullptr;
  ASSERT_EQ(t.device->open(late.outer, 0, nullptr, &device), OAR_OK);
  ASSERT_EQ(t.stream->create(device, 0, 0, &stream), OAR_OK);
  oar_region_t r{};
  r.struct_size = sizeof r;
  r.dst = late.target;
  r.dst_on_host = 1;
  r.src = &r;
  r.size_bytes = 8;
  const oar_region_t* regions[] = {&r};
  ASSERT_EQ(t.memory->copy(stream, 1, regions), OAR_OK);
  auto take_back = [](void* target) { std::memcpy(target, "reused.", 8); };
  ASSERT_EQ(t.stream->host_call(stream, take_back, late.target), OAR_OK);
  EXPECT_EQ(std::string(late.target), "reused.");
  EXPECT_EQ(late.readbacks(), std::vector<std::string>{std::string("arrived\0", 8)});
  t.stream->destroy(stream);
  t.device->close(device);
}

// Both layers, either way round: the program runs as on the bare plugin, and the recording is sound.
TEST(TraceTest, LayersStack) {
  for (bool validate_outside : {true, false}) {
    std::string log = temporary("stacked.oarlog");
    Opened opened;
    std::vector<std::string> faults;
    set_fault_sink([](void* f, const Fault& x) { static_cast<std::vector<std::string>*>(f)->push_back(x.text); },
                   &faults);
    auto recorder = Recorder::create(log).take().release();
    const oar_plugin_t* plugin = opened.plugin;
    if (validate_outside) plugin = layer_validate(layer_trace(plugin, opened.outer, recorder), opened.outer);
    else plugin = layer_trace(layer_validate(plugin, opened.outer), opened.outer, recorder);
    Program p(plugin, opened.outer);
    whole_program(p);
    set_fault_sink(nullptr, nullptr);
    EXPECT_TRUE(faults.empty()) << faults[0];
    EXPECT_TRUE(recorder->close().ok());
    Result<ReplayReport> r = replay(log, kPlugin);
    ASSERT_TRUE(r.ok()) << r.status().text();
    EXPECT_EQ(r->differences, 0u) << r->difference;
    EXPECT_EQ(r->failures, 1u);
    EXPECT_EQ(r->skipped, 0u);
  }
}

}  // namespace
}  // namespace oarlock
