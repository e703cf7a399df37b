// Each rule of plugin.h that the validation layer enforces, broken once by a fake plugin or by its host.
#include "core/device/layer/layer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/device/layer/record.h"
#include "tests/core/device/layer/fake.h"

namespace oarlock {
namespace {

using fake::Room;

// Slots last for the life of the process, so one wrapped plugin serves the tests that don't need a broken table.
struct Wrapped {
  fake::Host host;
  fake::Plugin plugin;
  const oar_host_t* outer;
  const oar_plugin_t* layered;
  Wrapped() {
    outer = layer_host(&host);
    fake::fill(&plugin, outer);
    layered = layer_validate(&plugin.plugin, outer);
  }
};

struct Sink {
  std::mutex mutex;
  std::vector<Fault> faults;
  Sink() {
    set_fault_sink(
        [](void* self, const Fault& f) {
          auto s = static_cast<Sink*>(self);
          std::lock_guard lock(s->mutex);
          s->faults.push_back(f);
        },
        this);
  }
  ~Sink() { set_fault_sink(nullptr, nullptr); }
};

class ValidateTest : public testing::Test {
 protected:
  static Wrapped& wrapped() {
    static auto* w = new Wrapped;
    return *w;
  }
  void SetUp() override {
    Wrapped& w = wrapped();
    fake::fill(&w.plugin, w.outer);
    w.plugin.in_launch = w.plugin.in_copy = [] { return OAR_OK; };
    w.plugin.in_prepare = [](oar_prepared_t*) {};
    w.plugin.in_native = [] { return nullptr; };
    w.plugin.in_stats = [](oar_device_stats_t* s) { s->struct_size = sizeof *s; };
    w.plugin.seen_states.clear();
    w.host.errors.clear();
    ASSERT_EQ(t().device->open(w.outer, 0, nullptr, &device_), OAR_OK);
    ASSERT_EQ(t().stream->create(device_, 0, 0, &stream_), OAR_OK);
    oar_device_ref_t ref{sizeof ref, 0, nullptr, device_, nullptr};
    ASSERT_EQ(t().pack->open(w.outer, &ref, nullptr, &pack_), OAR_OK);
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    ASSERT_EQ(t().kernel->declarations(pack_, &n, &decls), OAR_OK);
    ASSERT_EQ(n, 1u);
    decl_ = decls[0];
    ASSERT_TRUE(sink_.faults.empty()) << sink_.faults[0].text;
  }
  fake::Tables& t() {
    static auto* tables = new fake::Tables(wrapped().layered, wrapped().outer);
    return *tables;
  }
  // Exactly one fault, of this kind, at table.function, of this argument.
  void expect(FaultKind kind, const std::string& table, const std::string& function, const std::string& argument) {
    ASSERT_EQ(sink_.faults.size(), 1u) << (sink_.faults.empty() ? "no fault" : sink_.faults[1].text);
    const Fault& f = sink_.faults[0];
    EXPECT_EQ(name(f.kind), name(kind)) << f.text;
    EXPECT_EQ(f.table, table);
    EXPECT_EQ(f.function, function);
    EXPECT_EQ(f.argument, argument) << f.text;
    EXPECT_EQ(f.plugin, "fake");
    EXPECT_NE(f.text.find("fake: "), std::string::npos);
  }
  void* prepare() {
    oar_call_t call = call_of("add");
    Room<oar_prepared_t> room;
    EXPECT_EQ(decl_->prepare(pack_, decl_, &call, room.get()), OAR_OK);
    return room->state;
  }
  static oar_call_t call_of(const char* op) {
    oar_call_t call{};
    call.struct_size = sizeof call;
    call.op = {op, std::strlen(op)};
    return call;
  }
  static oar_frame_t frame_of(oar_stream_t* stream) {
    oar_frame_t f{};
    f.struct_size = sizeof f;
    f.stream = stream;
    return f;
  }

  Sink sink_;
  oar_device_t* device_ = nullptr;
  oar_stream_t* stream_ = nullptr;
  oar_pack_t* pack_ = nullptr;
  const oar_kernel_decl_t* decl_ = nullptr;
};

TEST_F(ValidateTest, AGoodRunHasNoFault) {
  void* data = nullptr;
  ASSERT_EQ(t().memory->alloc(device_, 0, 64, 64, nullptr, &data), OAR_OK);
  void* state = prepare();
  oar_frame_t frame = frame_of(stream_);
  EXPECT_EQ(decl_->launch(state, &frame), OAR_OK);
  decl_->release(state);
  t().memory->free(device_, 0, data, nullptr);
  t().pack->close(pack_);
  t().stream->destroy(stream_);
  t().device->close(device_);
  EXPECT_TRUE(sink_.faults.empty()) << sink_.faults[0].text;
}

TEST_F(ValidateTest, StatesThatThePluginLeavesNullStayApart) {
  void *a = prepare(), *b = prepare();
  EXPECT_NE(a, b);
  oar_frame_t frame = frame_of(stream_);
  EXPECT_EQ(decl_->launch(a, &frame), OAR_OK);
  EXPECT_EQ(wrapped().plugin.seen_states, std::vector<void*>{nullptr});  // the plugin sees its own
  EXPECT_EQ(wrapped().plugin.seen_decl, &wrapped().plugin.decl);
  decl_->release(a);
  EXPECT_EQ(decl_->launch(b, &frame), OAR_OK);
  EXPECT_EQ(decl_->launch(a, &frame), OAR_INVALID_ARGUMENT);
  expect(FaultKind::handle, "kernel_decl", "launch", "state");
  EXPECT_NE(sink_.faults[0].text.find("destroyed before"), std::string::npos);
}

TEST_F(ValidateTest, UseAfterDestroy) {
  t().stream->destroy(stream_);
  oar_region_t region{};
  region.struct_size = sizeof region;
  const oar_region_t* regions[] = {&region};
  EXPECT_EQ(t().memory->copy(stream_, 1, regions), OAR_INVALID_ARGUMENT);
  expect(FaultKind::handle, "memory", "copy", "stream");
  EXPECT_NE(sink_.faults[0].text.find("destroyed before"), std::string::npos);
  EXPECT_EQ(wrapped().host.errors.back(), sink_.faults[0].text);  // the host reads why
}

TEST_F(ValidateTest, DestroyedTwice) {
  t().device->close(device_);
  t().device->close(device_);  // must not reach the plugin: it would delete twice
  expect(FaultKind::handle, "device", "close", "device");
}

TEST_F(ValidateTest, NeverCreated) {
  int x = 0;
  EXPECT_EQ(t().stream->event_query(reinterpret_cast<oar_event_t*>(&x)), OAR_INVALID_ARGUMENT);
  expect(FaultKind::handle, "stream", "event_query", "event");
  EXPECT_NE(sink_.faults[0].text.find("is no event of this plugin"), std::string::npos);
}

TEST_F(ValidateTest, FreedTwice) {
  void* data = nullptr;
  ASSERT_EQ(t().memory->alloc(device_, 0, 64, 64, stream_, &data), OAR_OK);
  t().memory->free(device_, 0, data, stream_);
  t().memory->free(device_, 0, data, stream_);
  expect(FaultKind::handle, "memory", "free", "data");
}

TEST_F(ValidateTest, DeadStreamInAFrame) {
  void* state = prepare();
  t().stream->destroy(stream_);
  oar_frame_t frame = frame_of(stream_);
  EXPECT_EQ(decl_->launch(state, &frame), OAR_INVALID_ARGUMENT);
  expect(FaultKind::handle, "kernel_decl", "launch", "frame.stream");
}

TEST_F(ValidateTest, DeclarationOfThePluginItself) {
  oar_call_t call = call_of("add");
  Room<oar_prepared_t> room;
  EXPECT_EQ(decl_->prepare(pack_, &wrapped().plugin.decl, &call, room.get()), OAR_INVALID_ARGUMENT);
  expect(FaultKind::handle, "kernel_decl", "prepare", "decl");
}

TEST_F(ValidateTest, StructSizeZero) {
  oar_call_t call = call_of("add");
  call.struct_size = 0;
  Room<oar_prepared_t> room;
  EXPECT_EQ(decl_->prepare(pack_, decl_, &call, room.get()), OAR_INVALID_ARGUMENT);
  expect(FaultKind::size, "kernel_decl", "prepare", "call");
}

TEST_F(ValidateTest, NestedStructSizeBelowTheFirstVersion) {
  oar_value_t value{};
  value.struct_size = sizeof value - 8;
  const oar_value_t* inputs[] = {&value};
  oar_call_t call = call_of("add");
  call.n_inputs = 1;
  call.inputs = inputs;
  Room<oar_prepared_t> room;
  EXPECT_EQ(decl_->prepare(pack_, decl_, &call, room.get()), OAR_INVALID_ARGUMENT);
  expect(FaultKind::size, "kernel_decl", "prepare", "call.inputs[0]");
}

TEST_F(ValidateTest, ANewerHostsLargerStructIsFine) {
  struct {
    oar_call_t call;
    uint64_t added;
  } newer = {call_of("add"), 7};
  newer.call.struct_size = sizeof newer;
  Room<oar_prepared_t> room;
  EXPECT_EQ(decl_->prepare(pack_, decl_, &newer.call, room.get()), OAR_OK);
  EXPECT_TRUE(sink_.faults.empty());
}

TEST_F(ValidateTest, OutStructThatOutgrowsItsRoom) {
  wrapped().plugin.in_prepare = [](oar_prepared_t* p) { p->struct_size = OAR_OUT_ROOM + 8; };
  oar_call_t call = call_of("add");
  Room<oar_prepared_t> room;
  EXPECT_EQ(decl_->prepare(pack_, decl_, &call, room.get()), OAR_INTERNAL);
  expect(FaultKind::size, "kernel_decl", "prepare", "out_prepared");
}

TEST_F(ValidateTest, OutStructThatOverrunsItsRoomUnsaid) {
  wrapped().plugin.in_stats = [](oar_device_stats_t* s) {
    s->struct_size = sizeof *s;
    reinterpret_cast<volatile char*>(s)[OAR_OUT_ROOM + 3] = 1;
  };
  struct {
    Room<oar_device_stats_t> room;
    char next[16] = {};
  } host;
  EXPECT_EQ(t().device->stats(device_, host.room.get()), OAR_INTERNAL);
  expect(FaultKind::size, "device", "stats", "out_stats");
  EXPECT_EQ(host.next[3], 0);  // the layer's own room took the blow
}

TEST_F(ValidateTest, NullWhereNotAllowed) {
  EXPECT_EQ(t().memory->alloc(device_, 0, 64, 64, nullptr, nullptr), OAR_INVALID_ARGUMENT);
  expect(FaultKind::null, "memory", "alloc", "out_data");
}

TEST_F(ValidateTest, NullHandle) {
  oar_stream_t* out = nullptr;
  EXPECT_EQ(t().stream->create(nullptr, 0, 0, &out), OAR_INVALID_ARGUMENT);
  expect(FaultKind::null, "stream", "create", "device");
}

TEST_F(ValidateTest, NullArrayWithACount) {
  oar_call_t call = call_of("add");
  call.n_inputs = 2;
  Room<oar_prepared_t> room;
  EXPECT_EQ(decl_->prepare(pack_, decl_, &call, room.get()), OAR_INVALID_ARGUMENT);
  expect(FaultKind::null, "kernel_decl", "prepare", "call.inputs");
}

TEST_F(ValidateTest, NullFrame) {
  void* state = prepare();
  EXPECT_EQ(decl_->launch(state, nullptr), OAR_INVALID_ARGUMENT);
  expect(FaultKind::null, "kernel_decl", "launch", "frame");
}

TEST_F(ValidateTest, PackNullIsAllowedForDeclarations) {
  uint32_t n = 0;
  const oar_kernel_decl_t* const* decls = nullptr;
  EXPECT_EQ(t().kernel->declarations(nullptr, &n, &decls), OAR_OK);
  ASSERT_EQ(n, 1u);
  EXPECT_EQ(decls[0], decl_);  // the same copy each time
  EXPECT_TRUE(sink_.faults.empty());
}

TEST_F(ValidateTest, FailureWithoutErrorSet) {
  EXPECT_EQ(t().device->health(device_), OAR_DEVICE_LOST);
  expect(FaultKind::error_not_set, "device", "health", "");
}

TEST_F(ValidateTest, FailureWithErrorSetIsNoFault) {
  wrapped().plugin.in_copy = [] { return fake::fail(OAR_INTERNAL, "the bus is on fire"); };
  oar_region_t region{};
  region.struct_size = sizeof region;
  const oar_region_t* regions[] = {&region};
  EXPECT_EQ(t().memory->copy(stream_, 1, regions), OAR_INTERNAL);
  EXPECT_TRUE(sink_.faults.empty());
  EXPECT_EQ(wrapped().host.errors.back(), "the bus is on fire");
}

TEST_F(ValidateTest, UnknownStatus) {
  oar_device_t* out = nullptr;
  EXPECT_EQ(t().device->open(wrapped().outer, 5, nullptr, &out), -99);
  expect(FaultKind::status, "device", "open", "");
}

TEST_F(ValidateTest, PromisedObjectLeftNull) {
  wrapped().plugin.stream.event_create = nullptr;  // the layer has its copy of the table already
  oar_pack_t* out = nullptr;
  static bool give_null = true;
  wrapped().plugin.pack.open = [](const oar_host_t*, const oar_device_ref_t*, const oar_options_t*,
                                  oar_pack_t** o) -> oar_status_t {
    if (give_null) *o = nullptr;
    return OAR_OK;
  };
  oar_device_ref_t ref{sizeof ref, 0, nullptr, device_, nullptr};
  EXPECT_EQ(t().pack->open(wrapped().outer, &ref, nullptr, &out), OAR_INTERNAL);
  expect(FaultKind::null, "pack", "open", "out_pack");
}

TEST_F(ValidateTest, TwoThreadsInOneStream) {
  std::atomic<bool> inside{false}, leave{false};
  wrapped().plugin.in_copy = [&]() -> oar_status_t {
    inside = true;
    while (!leave) std::this_thread::yield();
    return OAR_OK;
  };
  oar_region_t region{};
  region.struct_size = sizeof region;
  const oar_region_t* regions[] = {&region};
  std::thread other([&] { EXPECT_EQ(t().memory->copy(stream_, 1, regions), OAR_OK); });
  while (!inside) std::this_thread::yield();
  oar_span_t span{};
  EXPECT_EQ(t().memory->fill(stream_, &span, 0, 1), OAR_INVALID_ARGUMENT);
  leave = true;
  other.join();
  expect(FaultKind::thread, "memory", "fill", "stream");
  EXPECT_NE(sink_.faults[0].text.find("memory.copy"), std::string::npos);
  EXPECT_EQ(t().memory->fill(stream_, &span, 0, 1), OAR_OK);  // free again
}

TEST_F(ValidateTest, TwoThreadsInTwoStreams) {
  oar_stream_t* second = nullptr;
  ASSERT_EQ(t().stream->create(device_, 0, 0, &second), OAR_OK);
  std::atomic<bool> inside{false}, leave{false};
  wrapped().plugin.in_copy = [&]() -> oar_status_t {
    inside = true;
    while (!leave) std::this_thread::yield();
    return OAR_OK;
  };
  oar_region_t region{};
  region.struct_size = sizeof region;
  const oar_region_t* regions[] = {&region};
  std::thread other([&] { EXPECT_EQ(t().memory->copy(stream_, 1, regions), OAR_OK); });
  while (!inside) std::this_thread::yield();
  oar_span_t span{};
  EXPECT_EQ(t().memory->fill(second, &span, 0, 1), OAR_OK);
  leave = true;
  other.join();
  EXPECT_TRUE(sink_.faults.empty());
}

// One state may be launched by one thread at a time, unless its kernel is reentrant.
TEST_F(ValidateTest, TwoThreadsInOneState) {
  for (bool reentrant : {false, true}) {
    wrapped().plugin.decl.flags = reentrant ? OAR_KERNEL_REENTRANT : 0;
    sink_.faults.clear();
    void* state = prepare();
    std::atomic<int> inside{0};
    std::atomic<bool> leave{false};
    wrapped().plugin.in_launch = [&]() -> oar_status_t {
      ++inside;
      while (!leave) std::this_thread::yield();
      return OAR_OK;
    };
    oar_frame_t frame = frame_of(nullptr);
    std::atomic<int> second{1};
    std::thread a([&] { EXPECT_EQ(decl_->launch(state, &frame), OAR_OK); });
    while (inside < 1) std::this_thread::yield();
    std::thread b([&] { second = decl_->launch(state, &frame); });
    if (reentrant)
      while (inside < 2) std::this_thread::yield();
    else
      while (second == 1) std::this_thread::yield();
    leave = true;
    a.join();
    b.join();
    EXPECT_EQ(second, reentrant ? OAR_OK : OAR_INVALID_ARGUMENT);
    if (reentrant) EXPECT_TRUE(sink_.faults.empty());
    else expect(FaultKind::thread, "kernel_decl", "launch", "state");
  }
  wrapped().plugin.decl.flags = 0;
}

TEST_F(ValidateTest, HostCallbackFromAQuickFunction) {
  wrapped().plugin.in_native = []() -> void* {
    fake::g->host->thread_count(fake::g->host);
    return nullptr;
  };
  t().device->native(device_);
  expect(FaultKind::thread, "device", "native", "thread_count");
}

TEST_F(ValidateTest, HostCallbackThatLaunchMayNotMake) {
  void* state = prepare();
  oar_frame_t frame = frame_of(nullptr);
  wrapped().plugin.in_launch = []() -> oar_status_t {
    fake::g->host->thread_count(fake::g->host);  // allowed
    fake::g->host->log(fake::g->host, OAR_LOG_INFO, OAR_STR("hello"));
    return OAR_OK;
  };
  EXPECT_EQ(decl_->launch(state, &frame), OAR_OK);
  expect(FaultKind::thread, "kernel_decl", "launch", "log");
}

// Plugins whose tables are wrong from the start: one slot each.
struct Broken {
  Sink sink;
  fake::Host* host = new fake::Host;  // layers keep it
  fake::Plugin* plugin = new fake::Plugin;
  const oar_plugin_t* layered = nullptr;
  Broken() {
    fake::fill(plugin, layer_host(host));
    layered = layer_validate(&plugin->plugin, plugin->host);
  }
  bool has(const std::string& text) {
    for (const Fault& f : sink.faults)
      if (f.text.find(text) != std::string::npos) return true;
    return false;
  }
};

TEST(ValidateTables, WhatIsMissingIsNamed) {
  Broken b;
  auto* p = b.plugin;
  p->stream.event_sync = nullptr;
  EXPECT_EQ(fake::table<void>(b.layered, p->host, OAR_TABLE_STREAM), nullptr);
  ASSERT_EQ(b.sink.faults.size(), 1u);
  EXPECT_EQ(b.sink.faults[0].kind, FaultKind::missing);
  EXPECT_EQ(b.sink.faults[0].table, "stream");
  EXPECT_EQ(b.sink.faults[0].function, "event_sync");

  p->memory.pin = [](oar_device_t*, void*, uint64_t) -> oar_status_t { return OAR_OK; };
  EXPECT_EQ(fake::table<void>(b.layered, p->host, OAR_TABLE_MEMORY), nullptr);
  EXPECT_TRUE(b.has("memory lacks unpin, which goes with pin"));

  p->graph.capture_begin = nullptr;
  EXPECT_EQ(fake::table<void>(b.layered, p->host, OAR_TABLE_GRAPH), nullptr);
  EXPECT_TRUE(b.has("graph lacks compile"));

  p->device.version = 0;
  EXPECT_EQ(fake::table<void>(b.layered, p->host, OAR_TABLE_DEVICE), nullptr);
  EXPECT_TRUE(b.has("version is 0"));
  p->device.version = 2;
  EXPECT_EQ(fake::table<void>(b.layered, p->host, OAR_TABLE_DEVICE), nullptr);
  EXPECT_TRUE(b.has("version is 2, asked for was 1 to 1"));
  p->device.version = 1;
  p->device.struct_size = 0;
  EXPECT_EQ(fake::table<void>(b.layered, p->host, OAR_TABLE_DEVICE), nullptr);
  EXPECT_TRUE(b.has("device table: struct_size is 0"));
  p->device.struct_size = sizeof p->device;
  p->device.native = nullptr;  // optional
  size_t before = b.sink.faults.size();
  const auto* device = fake::table<oar_device_table_t>(b.layered, p->host, OAR_TABLE_DEVICE);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->native, nullptr);
  EXPECT_EQ(b.sink.faults.size(), before);
}

TEST(ValidateTables, BrokenDeclarationsAreLeftOut) {
  Broken b;
  auto* p = b.plugin;
  p->decl.release = nullptr;
  auto* kernel = fake::table<oar_kernel_table_t>(b.layered, p->host, OAR_TABLE_KERNEL);
  uint32_t n = 7;
  const oar_kernel_decl_t* const* decls = nullptr;
  ASSERT_EQ(kernel->declarations(nullptr, &n, &decls), OAR_OK);
  EXPECT_EQ(n, 0u);
  EXPECT_TRUE(b.has("the kernel declaration of add lacks release, which goes with prepare"));
  p->decl.prepare = nullptr;
  p->decl.launch = nullptr;
  ASSERT_EQ(kernel->declarations(nullptr, &n, &decls), OAR_OK);
  EXPECT_EQ(n, 0u);
  EXPECT_TRUE(b.has("the kernel declaration of add lacks run"));
}

// Without a sink, faults reach the host's log.
TEST(ValidateTables, FaultsGoToTheLog) {
  Broken b;
  set_fault_sink(nullptr, nullptr);
  b.plugin->stream.create = nullptr;
  EXPECT_EQ(fake::table<void>(b.layered, b.plugin->host, OAR_TABLE_STREAM), nullptr);
  ASSERT_EQ(b.host->logs.size(), 1u);
  EXPECT_EQ(b.host->logs[0], "fake: stream lacks create, which is required");
}

}  // namespace
}  // namespace oarlock
