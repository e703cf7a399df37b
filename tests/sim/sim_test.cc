// The sim device, loaded raw: memory the host cannot read, late and legally shuffled work, faults on request.
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <numeric>
#include <thread>

#include "sim/sim_host.h"

namespace oarlock::test {
namespace {

constexpr uint64_t kSecond = 1000000000;

TEST(SimLoad, OffersTheTablesOfADevice) {
  const RawPlugin& p = sim_plugin();
  ASSERT_EQ(p.error, "");
  EXPECT_TRUE(p.device && p.memory && p.stream && p.pack && p.kernel);
  EXPECT_EQ(p.plugin->get_table(raw_host(), OAR_TABLE_KERNEL, 2, 9), nullptr);
  uint32_t n = 0;
  const oar_kernel_decl_t* const* decls = nullptr;
  ASSERT_EQ(p.kernel->declarations(nullptr, &n, &decls), OAR_OK);
  EXPECT_EQ(n, 25u);
  for (uint32_t i = 0; i < n; ++i)
    EXPECT_TRUE((decls[i]->run != nullptr) != (decls[i]->prepare && decls[i]->launch && decls[i]->release));
}

TEST(SimLoad, RefusesSettingsItCannotRead) {
  EXPECT_EQ(Sim({{"fault", "explode"}}).status, OAR_INVALID_ARGUMENT);
  EXPECT_EQ(Sim({{"seed", "-1"}}).status, OAR_INVALID_ARGUMENT);
  EXPECT_EQ(Sim({{"memory_bytes", "99999999999999999999"}}).status, OAR_INVALID_ARGUMENT);
}

TEST(SimLoad, RefusesWhatItDoesNotHave) {
  Sim sim;
  oar_stream_t* stream = nullptr;
  EXPECT_EQ(sim.p.stream->create(sim.device, 4, 0, &stream), OAR_INVALID_ARGUMENT);
  oar_device_t* device = nullptr;
  EXPECT_EQ(sim.p.device->open(raw_host(), 1, nullptr, &device), OAR_INVALID_ARGUMENT);
  oar_ext_t ext{sizeof(oar_ext_t), 0, OAR_EXT_MUST_UNDERSTAND | 5, nullptr};
  oar_options_t options{};
  options.struct_size = sizeof(options);
  options.ext = &ext;
  EXPECT_EQ(sim.p.device->open(raw_host(), 0, &options, &device), OAR_UNSUPPORTED);
}

TEST(SimMemory, CannotBeReadByTheHost) {
  Sim sim;
  Array x = sim.upload<float>({4}, {1, 2, 3, 4});
  char byte = 0;
  iovec local{&byte, 1}, remote{x.data, 1};
  EXPECT_EQ(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), -1);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // not the sanitizer's
    signal(SIGBUS, SIG_DFL);
    _exit(*static_cast<volatile char*>(x.data) & 0);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFSIGNALED(result) && WTERMSIG(result) == SIGSEGV) << result;
  EXPECT_EQ(sim.download<float>(x), (std::vector<float>{1, 2, 3, 4}));
}

TEST(SimMemory, IsAlignedAndDirtyWhenNew) {
  Sim sim;
  void* data = nullptr;
  ASSERT_EQ(sim.p.memory->alloc(sim.device, 0, 100, 4096, nullptr, &data), OAR_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 4096, 0u);
  for (float value : sim.download<float>(Array(data, OAR_DTYPE_F32, {25}))) EXPECT_TRUE(value != value);
  for (double value : sim.download<double>(Array(data, OAR_DTYPE_F64, {12}))) EXPECT_TRUE(value != value);
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 0, 8, 24, nullptr, &data), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 1, 8, 0, nullptr, &data), OAR_INVALID_ARGUMENT);
  ASSERT_EQ(sim.p.memory->alloc(sim.device, 0, 0, 0, nullptr, &data), OAR_OK);
  sim.p.memory->free(sim.device, 0, data, nullptr);
}

TEST(SimMemory, GivesBackWhatWasFreedInStreamOrder) {
  Sim sim({{"memory_bytes", "1048576"}});
  for (int i = 0; i < 40; ++i) {
    void* data = nullptr;
    ASSERT_EQ(sim.p.memory->alloc(sim.device, 0, 700000, 0, sim.stream, &data), OAR_OK) << i << last_error();
    sim.p.memory->free(sim.device, 0, data, sim.stream);
  }
  void* data = nullptr;
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 0, 2000000, 0, sim.stream, &data), OAR_OUT_OF_MEMORY);
  EXPECT_NE(last_error().find("2000000 bytes wanted"), std::string::npos);
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 0, UINT64_MAX, 0, sim.stream, &data), OAR_OUT_OF_MEMORY);
}

TEST(SimMemory, RefusesWorkOnFreedMemoryAndBeyondItsEnd) {
  Sim sim;
  Array x = sim.upload<float>({4}, {1, 2, 3, 4}), out = sim.array(OAR_DTYPE_F32, {4});
  Array longer(x.data, OAR_DTYPE_F32, {5}), longer_out = sim.array(OAR_DTYPE_F32, {5});
  EXPECT_EQ(sim.call("exp", {longer}, longer_out), OAR_INVALID_ARGUMENT);
  float host[4] = {0, 0, 0, 0};
  EXPECT_EQ(sim.call("exp", {Array(host, OAR_DTYPE_F32, {4})}, out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(sim.move(host, true, x.data, false, 17), OAR_INVALID_ARGUMENT);
  ASSERT_EQ(sim.call("exp", {x}, out), OAR_OK);
  sim.p.memory->free(sim.device, 0, x.data, sim.stream);
  EXPECT_EQ(sim.call("exp", {x}, out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(sim.sync(), OAR_OK);
  EXPECT_FLOAT_EQ(sim.download<float>(out)[1], 7.389056f);
}

TEST(SimMemory, NoticesAFreeThatOvertakesWork) {
  Sim sim({{"delay_us", "20000"}});
  Array x = sim.upload<float>({4}, {1, 2, 3, 4}), out = sim.array(OAR_DTYPE_F32, {4});
  oar_event_t* gate = nullptr;
  ASSERT_EQ(sim.p.stream->event_create(sim.device, &gate), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_arm(gate), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_wait(sim.stream, gate), OAR_OK);
  ASSERT_EQ(sim.call("exp", {x}, out), OAR_OK);
  sim.p.memory->free(sim.device, 0, x.data, nullptr);
  ASSERT_EQ(sim.p.stream->event_signal(gate), OAR_OK);
  EXPECT_EQ(sim.sync(), OAR_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("freed before"), std::string::npos) << last_error();
  sim.p.stream->event_destroy(gate);
}

TEST(SimCopy, FollowsStridesAndReadsHostMemoryLate) {
  Sim sim;
  // Columns 1 and 2 of a 3 x 4 host matrix into a dense 3 x 2 one, then transposed back to the host.
  std::vector<int32_t> matrix(12);
  std::iota(matrix.begin(), matrix.end(), 0);
  Array dense = sim.array(OAR_DTYPE_I32, {3, 2});
  oar_event_t* gate = nullptr;
  ASSERT_EQ(sim.p.stream->event_create(sim.device, &gate), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_arm(gate), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_wait(sim.stream, gate), OAR_OK);
  int64_t rows = 3, to = 8, from = 16;
  oar_region_t region{};
  region.struct_size = sizeof(region);
  region.n_dims = 1;
  region.dst = dense.data;
  region.src = matrix.data();
  region.src_offset = 4;
  region.src_on_host = 1;
  region.size_bytes = 8;
  region.counts = &rows;
  region.dst_strides = &to;
  region.src_strides = &from;
  const oar_region_t* regions[] = {&region};
  ASSERT_EQ(sim.p.memory->copy(sim.stream, 1, regions), OAR_OK);
  rows = to = from = -1;
  region = {};
  matrix[1] = 100;
  ASSERT_EQ(sim.p.stream->event_signal(gate), OAR_OK);
  EXPECT_EQ(sim.download<int32_t>(dense), (std::vector<int32_t>{100, 2, 5, 6, 9, 10}));
  sim.p.stream->event_destroy(gate);

  int64_t counts[] = {2, 3}, host_strides[] = {12, 4}, device_strides[] = {4, 8};
  std::vector<int32_t> transposed(6);
  region.struct_size = sizeof(region);
  region.n_dims = 2;
  region.dst = transposed.data();
  region.src = dense.data;
  region.dst_on_host = 1;
  region.size_bytes = 4;
  region.counts = counts;
  region.dst_strides = host_strides;
  region.src_strides = device_strides;
  ASSERT_EQ(sim.p.memory->copy(sim.stream, 1, regions), OAR_OK);
  ASSERT_EQ(sim.sync(), OAR_OK);
  EXPECT_EQ(transposed, (std::vector<int32_t>{100, 5, 9, 2, 6, 10}));
}

TEST(SimCopy, Fills) {
  Sim sim;
  Array x = sim.array(OAR_DTYPE_U32, {4});
  oar_span_t all{x.data, 0, 16}, middle{x.data, 4, 8};
  ASSERT_EQ(sim.p.memory->fill(sim.stream, &all, 0x01020304u, 4), OAR_OK);
  ASSERT_EQ(sim.p.memory->fill(sim.stream, &middle, 0xabu, 1), OAR_OK);
  EXPECT_EQ(sim.download<uint32_t>(x), (std::vector<uint32_t>{0x01020304, 0xabababab, 0xabababab, 0x01020304}));
  oar_span_t beyond{x.data, 12, 8};
  EXPECT_EQ(sim.p.memory->fill(sim.stream, &beyond, 0, 1), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(sim.p.memory->fill(sim.stream, &all, 0, 3), OAR_INVALID_ARGUMENT);
}

// A chain over three streams: x doubles on each in turn, the order held by events alone.
std::vector<float> chain(uint64_t seed) {
  Sim sim({{"seed", std::to_string(seed)}, {"delay_us", "50"}});
  oar_stream_t *first = sim.stream, *streams[3] = {first};
  oar_event_t* done[3];
  for (int i = 1; i < 3; ++i) EXPECT_EQ(sim.p.stream->create(sim.device, 0, 0, &streams[i]), OAR_OK);
  for (auto& event : done) EXPECT_EQ(sim.p.stream->event_create(sim.device, &event), OAR_OK);
  Array x = sim.upload<float>({3}, {1, 0.1f, -3}), noise = sim.array(OAR_DTYPE_F32, {64});
  sim.sync();
  for (int step = 0; step < 12; ++step) {
    int now = step % 3, before = (step + 2) % 3;
    sim.stream = streams[now];
    if (step > 0) { EXPECT_EQ(sim.p.stream->event_wait(sim.stream, done[before]), OAR_OK); }
    Array next = sim.array(OAR_DTYPE_F32, {3});
    EXPECT_EQ(sim.call(step % 2 ? "add" : "tanh", step % 2 ? std::vector<Array>{x, x} : std::vector<Array>{x}, next),
              OAR_OK);
    sim.p.memory->free(sim.device, 0, x.data, sim.stream);
    x = next;
    EXPECT_EQ(sim.p.stream->event_record(sim.stream, done[now]), OAR_OK);
  }
  std::vector<float> result = sim.download<float>(x);
  sim.stream = first;
  for (int i = 1; i < 3; ++i) sim.p.stream->destroy(streams[i]);
  for (auto& event : done) sim.p.stream->event_destroy(event);
  return result;
}

TEST(SimOrder, EventsHoldAcrossStreamsForEverySeed) {
  std::vector<float> want{1, 0.1f, -3};
  for (int step = 0; step < 12; ++step)
    for (float& value : want) value = step % 2 ? value + value : static_cast<float>(std::tanh(double{value}));
  for (uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(chain(seed), want) << "seed " << seed;
}

// Without an event the order of two streams is open, and over the seeds both orders must be seen.
TEST(SimOrder, StreamsOvertakeEachOther) {
  struct Mark {
    std::vector<int>* order;
    int stream;
  };
  std::vector<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Sim sim({{"seed", std::to_string(seed)}});
    oar_stream_t* other = nullptr;
    oar_event_t* gate = nullptr;
    ASSERT_EQ(sim.p.stream->create(sim.device, 0, 0, &other), OAR_OK);
    ASSERT_EQ(sim.p.stream->event_create(sim.device, &gate), OAR_OK);
    ASSERT_EQ(sim.p.stream->event_arm(gate), OAR_OK);
    std::vector<int> order;
    Mark marks[2] = {{&order, 0}, {&order, 1}};
    for (int i = 0; i < 2; ++i) {
      oar_stream_t* stream = i == 0 ? sim.stream : other;
      ASSERT_EQ(sim.p.stream->event_wait(stream, gate), OAR_OK);
      for (int k = 0; k < 3; ++k)
        ASSERT_EQ(sim.p.stream->host_call(
                      stream,
                      [](void* context) {
                        auto* mark = static_cast<Mark*>(context);
                        mark->order->push_back(mark->stream);
                      },
                      &marks[i]),
                  OAR_OK);
    }
    ASSERT_EQ(sim.p.stream->event_signal(gate), OAR_OK);
    ASSERT_EQ(sim.sync(), OAR_OK);
    sim.p.stream->destroy(other);
    sim.p.stream->event_destroy(gate);
    ASSERT_EQ(order.size(), 6u);
    orders.push_back(order);
  }
  std::sort(orders.begin(), orders.end());
  EXPECT_GT(std::unique(orders.begin(), orders.end()) - orders.begin(), 5);
}

TEST(SimOrder, WorkIsLate) {
  Sim sim({{"delay_us", "200000"}});
  std::atomic<int> called{0};
  int late = 0;
  for (int i = 0; i < 10; ++i) {
    int before = called.load();
    ASSERT_EQ(sim.p.stream->host_call(
                  sim.stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called),
              OAR_OK);
    ASSERT_EQ(sim.p.stream->event_record(sim.stream, sim.event), OAR_OK);
    late += sim.p.stream->event_query(sim.event) == OAR_NOT_READY && called.load() == before;
    ASSERT_EQ(sim.p.stream->event_sync(sim.event, UINT64_MAX), OAR_OK);
    EXPECT_EQ(called.load(), before + 1);
    EXPECT_EQ(sim.p.stream->event_query(sim.event), OAR_OK);
  }
  EXPECT_GT(late, 0);
}

TEST(SimOrder, MemoryOfOneStreamIsDirtiedInItsOrder) {
  // Used on another stream without waiting, new memory is overwritten by the garbage of its allocation.
  Sim sim;
  oar_stream_t *first = sim.stream, *other = nullptr;
  oar_event_t* gate = nullptr;
  ASSERT_EQ(sim.p.stream->create(sim.device, 0, 0, &other), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_create(sim.device, &gate), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_arm(gate), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_wait(first, gate), OAR_OK);
  Array x = sim.array(OAR_DTYPE_F32, {2});
  sim.stream = other;
  ASSERT_EQ(sim.call("full", {}, x, Attrs().ints({2}).real(5).dtype(OAR_DTYPE_F32)), OAR_OK);
  EXPECT_EQ(sim.download<float>(x), (std::vector<float>{5, 5}));
  ASSERT_EQ(sim.p.stream->event_signal(gate), OAR_OK);
  sim.stream = first;
  ASSERT_EQ(sim.sync(), OAR_OK);
  EXPECT_TRUE(sim.download<float>(x)[0] != 5);
  sim.p.stream->destroy(other);
  sim.p.stream->event_destroy(gate);
}

TEST(SimErrors, StickToTheStreamUntilTold) {
  Sim sim;
  Array x = sim.upload<float>({2}, {1, 2}), index = sim.upload<int32_t>({1}, {2});
  Array row = sim.array(OAR_DTYPE_F32, {1}), sum = sim.upload<float>({2}, {-1, -1});
  ASSERT_EQ(sim.call("gather", {x, index}, row), OAR_OK);
  ASSERT_EQ(sim.call("add", {x, x}, sum), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_record(sim.stream, sim.event), OAR_OK);
  oar_status_t polled = OAR_NOT_READY;  // polling tells, but lifts nothing
  while (polled == OAR_NOT_READY) polled = sim.p.stream->event_query(sim.event);
  EXPECT_EQ(polled, OAR_INVALID_ARGUMENT);
  EXPECT_EQ(sim.sync(), OAR_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("index 2 at position 0 is not in [-2, 2)"), std::string::npos) << last_error();
  EXPECT_EQ(sim.p.stream->event_query(sim.event), OAR_INVALID_ARGUMENT);
  // What was queued behind the failure was skipped; what comes after the report runs.
  EXPECT_EQ(sim.download<float>(sum), (std::vector<float>{-1, -1}));
  ASSERT_EQ(sim.call("add", {x, x}, sum), OAR_OK);
  EXPECT_EQ(sim.download<float>(sum), (std::vector<float>{2, 4}));
}

TEST(SimErrors, PassToStreamsThatWait) {
  Sim sim;
  oar_stream_t *first = sim.stream, *other = nullptr;
  oar_event_t* event = nullptr;
  ASSERT_EQ(sim.p.stream->create(sim.device, 0, 0, &other), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_create(sim.device, &event), OAR_OK);
  Array x = sim.upload<float>({2}, {1, 2}), index = sim.upload<int32_t>({1}, {-3}), row = sim.array(OAR_DTYPE_F32, {1});
  ASSERT_EQ(sim.call("gather", {x, index}, row), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_record(first, event), OAR_OK);
  ASSERT_EQ(sim.p.stream->event_wait(other, event), OAR_OK);
  sim.stream = other;
  EXPECT_EQ(sim.sync(), OAR_INVALID_ARGUMENT);
  sim.stream = first;
  sim.p.stream->destroy(other);
  sim.p.stream->event_destroy(event);
}

TEST(SimFaults, Fail) {
  Sim sim({{"fault", "fail:2"}});
  Array x = sim.upload<float>({2}, {1, 2}), out = sim.array(OAR_DTYPE_F32, {2});
  ASSERT_EQ(sim.call("add", {x, x}, out), OAR_OK);
  ASSERT_EQ(sim.sync(), OAR_OK);
  ASSERT_EQ(sim.call("add", {x, x}, out), OAR_OK);
  EXPECT_EQ(sim.sync(), OAR_INTERNAL);
  ASSERT_EQ(sim.call("multiply", {x, x}, out), OAR_OK);
  EXPECT_EQ(sim.download<float>(out), (std::vector<float>{1, 4}));

  Sim strict({{"fault", "fail_at_once:1+"}});
  Array y = strict.upload<float>({1}, {1}), to = strict.array(OAR_DTYPE_F32, {1});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(strict.call("exp", {y}, to), OAR_INTERNAL);
  EXPECT_EQ(strict.sync(), OAR_OK);
}

TEST(SimFaults, HangTimesOutAndClosingWorks) {
  auto begin = std::chrono::steady_clock::now();
  std::atomic<int> called{0};
  {
    Sim sim({{"fault", "hang"}});
    Array x = sim.upload<float>({2}, {1, 2}), out = sim.array(OAR_DTYPE_F32, {2});
    ASSERT_EQ(sim.call("add", {x, x}, out), OAR_OK);
    ASSERT_EQ(sim.p.stream->host_call(
                  sim.stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called),
              OAR_OK);
    EXPECT_EQ(sim.sync(30000000), OAR_TIMEOUT);
    EXPECT_EQ(sim.p.stream->event_query(sim.event), OAR_NOT_READY);
    EXPECT_EQ(called.load(), 0);
    EXPECT_EQ(sim.p.device->health(sim.device), OAR_OK);
  }
  EXPECT_EQ(called.load(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(SimFaults, CloseWithoutDestroyingAHungStream) {
  Sim sim({{"fault", "hang"}});
  Array x = sim.upload<float>({2}, {1, 2}), out = sim.array(OAR_DTYPE_F32, {2});
  ASSERT_EQ(sim.call("add", {x, x}, out), OAR_OK);
  EXPECT_EQ(sim.sync(1000000), OAR_TIMEOUT);
  sim.stream = nullptr;
}

TEST(SimFaults, Lose) {
  Sim sim({{"fault", "lose"}});
  Array x = sim.upload<float>({2}, {1, 2}), out = sim.array(OAR_DTYPE_F32, {2});
  ASSERT_EQ(sim.call("add", {x, x}, out), OAR_OK);
  EXPECT_EQ(sim.sync(), OAR_DEVICE_LOST);
  EXPECT_EQ(sim.call("add", {x, x}, out), OAR_DEVICE_LOST);
  EXPECT_EQ(sim.p.device->health(sim.device), OAR_DEVICE_LOST);
  void* data = nullptr;
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 0, 8, 0, nullptr, &data), OAR_DEVICE_LOST);
  EXPECT_EQ(sim.p.stream->event_sync(sim.event, kSecond), OAR_DEVICE_LOST);
}

TEST(SimFaults, OutOfMemory) {
  Sim sim({{"fault", "oom:2"}});
  void* data = nullptr;
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 0, 8, 0, nullptr, &data), OAR_OK);
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 0, 8, 0, nullptr, &data), OAR_OUT_OF_MEMORY);
  EXPECT_EQ(sim.p.memory->alloc(sim.device, 0, 8, 0, nullptr, &data), OAR_OK);
}

TEST(SimFaults, WrongSize) {
  Sim sim({{"fault", "wrong_size"}});
  Array x = sim.upload<float>({2, 2}, {1, 2, 3, 4}), out = sim.array(OAR_DTYPE_F32, {2, 2});
  EXPECT_EQ(sim.call("matmul", {x, x}, out), OAR_OK);
  EXPECT_EQ(sim.workspace_bytes, uint64_t{1} << 62);
  Array narrow = x;
  narrow.strides = {1, 2};
  EXPECT_EQ(sim.call("exp", {narrow}, out), OAR_REFUSED);
  EXPECT_GT(sim.verdict.text_size, sim.verdict.text_capacity);
}

TEST(SimStats, CountMemory) {
  Sim sim;
  oar_device_stats_t before{}, after{};
  ASSERT_EQ(sim.p.device->stats(sim.device, &before), OAR_OK);
  void* data = nullptr;
  ASSERT_EQ(sim.p.memory->alloc(sim.device, 0, 1 << 20, 0, nullptr, &data), OAR_OK);
  ASSERT_EQ(sim.p.device->stats(sim.device, &after), OAR_OK);
  EXPECT_GE(after.memory_used_bytes - before.memory_used_bytes, uint64_t{1} << 20);
  sim.p.memory->free(sim.device, 0, data, nullptr);
  ASSERT_EQ(sim.p.device->stats(sim.device, &after), OAR_OK);
  EXPECT_EQ(after.memory_used_bytes, before.memory_used_bytes);
}

TEST(SimThreads, OneStreamEach) {
  Sim sim;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&sim, &wrong, t] {
      oar_stream_t* stream = nullptr;
      oar_event_t* event = nullptr;
      void* data = nullptr;
      if (sim.p.stream->create(sim.device, 0, 0, &stream) || sim.p.stream->event_create(sim.device, &event)) ++wrong;
      for (int i = 0; i < 50; ++i) {
        uint32_t back = 0, want = static_cast<uint32_t>(t * 1000 + i);
        if (sim.p.memory->alloc(sim.device, 0, 4, 0, stream, &data)) ++wrong;
        oar_span_t span{data, 0, 4};
        if (sim.p.memory->fill(stream, &span, want, 4)) ++wrong;
        oar_region_t region{};
        region.struct_size = sizeof(region);
        region.dst = &back;
        region.dst_on_host = 1;
        region.src = data;
        region.size_bytes = 4;
        const oar_region_t* regions[] = {&region};
        if (sim.p.memory->copy(stream, 1, regions)) ++wrong;
        sim.p.memory->free(sim.device, 0, data, stream);
        if (sim.p.stream->event_record(stream, event) || sim.p.stream->event_sync(event, UINT64_MAX)) ++wrong;
        wrong += back != want;
      }
      sim.p.stream->event_destroy(event);
      sim.p.stream->destroy(stream);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace oarlock::test
