// Level 1: events, and the order that streams and events promise, under random programs and several threads.
#include <oarlock/plugin.h>

#include <string.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "api/cts/level1.h"
#include "api/cts/random.h"
#include "api/cts/raw.h"

namespace oarlock::cts {

namespace {

constexpr uint64_t kMilli = 1'000'000;

void events(Check& check, const std::string& path, uint64_t) {
  Rig rig(check, path);
  oar_event_t* event = rig.make_event();
  std::vector<uint8_t> bytes(4 << 20, 3);
  void* data = rig.alloc(bytes.size());
  for (int round = 0; round < 20; ++round) {  // recording again moves the mark
    oar_status_t status =
        copy_one(rig.memory(), rig.stream, contiguous_region(data, 0, false, bytes.data(), 0, true, bytes.size() / 20));
    check.need(status == OAR_OK, "copy gave {}{}", status, because());
    status = rig.streams().event_record(rig.stream, event);
    check.need(status == OAR_OK, "event_record gave {}{}", status, because());
    status = rig.streams().event_query(event);
    check.expect(status == OAR_OK || status == OAR_NOT_READY, "event_query gave {}{}", status, because());
    status = rig.streams().event_sync(event, 0);
    check.expect(status == OAR_OK || status == OAR_TIMEOUT, "event_sync with no time gave {}{}", status, because());
    status = rig.streams().event_sync(event, UINT64_MAX);
    check.expect(status == OAR_OK, "event_sync gave {}{}", status, because());
    status = rig.streams().event_query(event);
    check.expect(status == OAR_OK, "event_query after event_sync gave {}", status);
    status = rig.streams().event_sync(event, 0);
    check.expect(status == OAR_OK, "event_sync of what has passed gave {}", status);
  }
  // Of an empty stream too.
  oar_stream_t* idle = rig.make_stream();
  check.expect(rig.streams().event_record(idle, event) == OAR_OK, "event_record on an empty stream fails{}", because());
  oar_status_t status = rig.streams().event_sync(event, 5000 * kMilli);
  check.expect(status == OAR_OK, "the event of an empty stream is not reached: {}", status);
}

bool arms(const Rig& rig) {
  return OAR_HAS(rig.plugin.stream, event_signal) && rig.streams().event_arm && rig.streams().event_signal;
}

void host_events(Check& check, const std::string& path, uint64_t) {
  Rig rig(check, path);
  if (!arms(rig)) check.skip("event_arm and event_signal are not offered");
  oar_event_t* gate = rig.make_event();
  oar_event_t* after = rig.make_event();
  uint32_t got = 0;
  void* data = rig.alloc(4);
  rig.write(data, &got, 4);
  for (int round = 0; round < 3; ++round) {
    check.need(rig.streams().event_arm(gate) == OAR_OK, "event_arm failed{}", because());
    check.expect(rig.streams().event_query(gate) == OAR_NOT_READY, "an armed event is not OAR_NOT_READY");
    check.need(rig.streams().event_wait(rig.stream, gate) == OAR_OK, "event_wait failed{}", because());
    oar_span_t span{data, 0, 4};
    check.need(rig.memory().fill(rig.stream, &span, uint64_t(round + 1), 4) == OAR_OK, "fill failed{}", because());
    check.need(rig.streams().event_record(rig.stream, after) == OAR_OK, "event_record failed{}", because());
    oar_status_t status = rig.streams().event_sync(after, 20 * kMilli);
    check.expect(status == OAR_TIMEOUT, "work behind an armed event: event_sync gave {}, not OAR_TIMEOUT", status);
    status = rig.streams().event_query(after);
    check.expect(status == OAR_NOT_READY, "work behind an armed event: event_query gave {}, not OAR_NOT_READY", status);
    check.need(rig.streams().event_signal(gate) == OAR_OK, "event_signal failed{}", because());
    status = rig.streams().event_sync(after, 10'000 * kMilli);
    check.need(status == OAR_OK, "after event_signal: event_sync gave {}{}", status, because());
    check.expect(rig.streams().event_query(gate) == OAR_OK, "a signalled event is not OAR_OK");
    rig.read(data, &got, 4);
    check.expect(got == uint32_t(round + 1), "the work behind the event left {}, want {}", got, round + 1);
  }
}

void timeouts(Check& check, const std::string& path, uint64_t) {
  Rig rig(check, path);
  if (!arms(rig)) check.skip("event_arm and event_signal are not offered");
  oar_event_t* gate = rig.make_event();
  check.need(rig.streams().event_arm(gate) == OAR_OK, "event_arm failed{}", because());
  for (uint64_t ms : {0ull, 1ull, 50ull}) {
    auto start = std::chrono::steady_clock::now();
    oar_status_t status = rig.streams().event_sync(gate, ms * kMilli);
    double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    check.expect(status == OAR_TIMEOUT, "event_sync({} ms) on an armed event gave {}", ms, status);
    check.expect(took >= double(ms) * 0.9, "event_sync({} ms) gave up after {:.2f} ms", ms, took);
    check.expect(took < double(ms) + 5000, "event_sync({} ms) took {:.0f} ms", ms, took);
  }
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rig.streams().event_signal(gate);
  });
  oar_status_t status = rig.streams().event_sync(gate, UINT64_MAX);  // a waiter is woken from another thread
  later.join();
  check.expect(status == OAR_OK, "event_sync woken by event_signal gave {}", status);
}

// A random program over buffers and streams: fills, copies from buffer to buffer, reads back to the host. Conflicts
// between
// streams are ordered by events alone, so whoever runs it in any order that streams and events allow gets the same
// bytes.
class Program {
 public:
  static constexpr int kBuffers = 6;
  static constexpr uint64_t kBytes = 256;
  Program(Rig& rig, Random random, int streams) : rig_(rig), random_(random) {
    for (int i = 0; i < streams; ++i) streams_.push_back({rig.make_stream(), rig.make_event()});
    for (int i = 0; i < kBuffers; ++i) {
      device_[size_t(i)] = rig.alloc(kBytes);
      want_[size_t(i)].fill(0);
      last_[size_t(i)] = 0;
      must(rig.memory().fill(streams_[0].stream, &whole(i), 0, 8), "fill");
    }
  }

  // Without waiting. `events`: how many steps.
  void enqueue(int steps) {
    for (int i = 0; i < steps; ++i) {
      int s = int(random_.between(0, int64_t(streams_.size()) - 1));
      int a = int(random_.between(0, kBuffers - 1)), b = int(random_.between(0, kBuffers - 1));
      uint64_t n = uint64_t(random_.between(0, 16)) * 8, from = uint64_t(random_.between(0, 8)) * 8,
               to = uint64_t(random_.between(0, 8)) * 8;
      oar_stream_t* stream = streams_[size_t(s)].stream;
      switch (random_.between(0, 3)) {
        case 0: {
          take(s, a);
          uint64_t pattern = random_.bits();
          oar_span_t span{device_[size_t(a)], to, n};
          must(rig_.memory().fill(stream, &span, pattern, 8), "fill");
          for (uint64_t k = 0; k < n; k += 8) memcpy(&want_[size_t(a)][to + k], &pattern, 8);
          break;
        }
        case 1: {  // from the host; the bytes stay where they are until the end
          take(s, a);
          host_.push_back(std::make_unique<std::array<uint8_t, kBytes>>());
          for (uint8_t& x : *host_.back()) x = uint8_t(random_.bits());
          must(copy_one(rig_.memory(), stream,
                        contiguous_region(device_[size_t(a)], to, false, host_.back()->data(), 0, true, n)),
               "copy");
          memcpy(&want_[size_t(a)][to], host_.back()->data(), n);
          break;
        }
        case 2: {  // to the host
          take(s, a);
          reads_.push_back(std::make_unique<Read>());
          memcpy(reads_.back()->want.data(), want_[size_t(a)].data(), kBytes);
          must(copy_one(rig_.memory(), stream,
                        contiguous_region(reads_.back()->got.data(), 0, true, device_[size_t(a)], 0, false, kBytes)),
               "copy");
          break;
        }
        default: {
          if (a == b) break;
          take(s, a);
          take(s, b);
          must(copy_one(rig_.memory(), stream,
                        contiguous_region(device_[size_t(b)], to, false, device_[size_t(a)], from, false, n)),
               "copy");
          memcpy(&want_[size_t(b)][to], &want_[size_t(a)][from], n);
        }
      }
    }
  }

  // Waits for all and compares; empty if all is as it must be.
  std::string verify() {
    for (auto& s : streams_)
      if (oar_status_t status = rig_.wait(s.stream); status != OAR_OK)
        return fmt::format("waiting gave {}{}", status, because());
    for (size_t i = 0; i < reads_.size(); ++i)
      if (reads_[i]->got != reads_[i]->want)
        return fmt::format("read {} of {} saw other bytes than the order allows", i, reads_.size());
    for (int i = 0; i < kBuffers; ++i) {
      std::array<uint8_t, kBytes> got{};
      oar_status_t status = copy_one(rig_.memory(), streams_[0].stream,
                                     contiguous_region(got.data(), 0, true, device_[size_t(i)], 0, false, kBytes));
      if (status == OAR_OK) status = rig_.wait(streams_[0].stream);
      if (status != OAR_OK) return fmt::format("reading back gave {}{}", status, because());
      if (got != want_[size_t(i)]) return fmt::format("buffer {} ends with other bytes than the order allows", i);
    }
    return failure_;
  }

 private:
  struct Lane {
    oar_stream_t* stream;
    oar_event_t* event;
  };
  struct Read {
    std::array<uint8_t, kBytes> got{}, want{};
  };
  oar_span_t& whole(int i) {
    span_ = {device_[size_t(i)], 0, kBytes};
    return span_;
  }
  void must(oar_status_t status, const char* what) {
    if (status != OAR_OK && failure_.empty()) failure_ = fmt::format("{} gave {}{}", what, status, because());
  }
  // Stream s is about to use a buffer that another stream used last: an event orders the two.
  void take(int s, int buffer) {
    int& last = last_[size_t(buffer)];
    if (last != s) {
      Lane& other = streams_[size_t(last)];
      must(rig_.streams().event_record(other.stream, other.event), "event_record");
      must(rig_.streams().event_wait(streams_[size_t(s)].stream, other.event), "event_wait");
    }
    last = s;
  }

  Rig& rig_;
  Random random_;
  std::vector<Lane> streams_;
  std::array<void*, kBuffers> device_{};
  std::array<std::array<uint8_t, kBytes>, kBuffers> want_;
  std::array<int, kBuffers> last_{};
  std::vector<std::unique_ptr<std::array<uint8_t, kBytes>>> host_;
  std::vector<std::unique_ptr<Read>> reads_;
  oar_span_t span_{};
  std::string failure_;
};

void one_stream(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  for (uint64_t i = 0; i < 10; ++i) {
    Program program(rig, Random(seed + i), 1);
    program.enqueue(120);
    std::string wrong = program.verify();
    check.expect(wrong.empty(), "one stream, program {}: {}", i, wrong);
  }
}

void several_streams(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  for (uint64_t i = 0; i < 25; ++i) {
    Program program(rig, Random(seed + 100 + i), 2 + int(i % 3));
    program.enqueue(120);
    std::string wrong = program.verify();
    check.expect(wrong.empty(), "{} streams, program {}: {}", 2 + i % 3, i, wrong);
  }
}

void threads(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  std::vector<std::unique_ptr<Program>> programs;
  for (uint64_t i = 0; i < 4; ++i) programs.push_back(std::make_unique<Program>(rig, Random(seed + 200 + i), 1));
  std::vector<std::string> wrong(programs.size());
  std::vector<std::thread> workers;
  for (size_t i = 0; i < programs.size(); ++i)
    workers.emplace_back([&, i] {
      for (int round = 0; round < 5 && wrong[i].empty(); ++round) {
        programs[i]->enqueue(60);
        void* data = nullptr;  // alloc and free may run on many threads
        for (int k = 0; k < 10; ++k)
          if (rig.memory().alloc(rig.device, 0, 1000, 0, nullptr, &data) == OAR_OK)
            rig.memory().free(rig.device, 0, data, nullptr);
        wrong[i] = programs[i]->verify();
      }
    });
  for (auto& w : workers) w.join();
  for (size_t i = 0; i < wrong.size(); ++i) check.expect(wrong[i].empty(), "thread {}: {}", i, wrong[i]);
}

struct Calls {
  std::atomic<int> next{0};
  std::atomic<bool> in_order{true};
};
struct Called {
  Calls* calls;
  int number;
};
void on_call(void* context) {
  auto* c = static_cast<Called*>(context);
  if (c->calls->next.fetch_add(1) != c->number) c->calls->in_order = false;
}

void host_calls(Check& check, const std::string& path, uint64_t) {
  Rig rig(check, path);
  if (!OAR_HAS(rig.plugin.stream, host_call) || !rig.streams().host_call) check.skip("host_call is not offered");
  Calls calls;
  std::vector<Called> list;
  for (int i = 0; i < 50; ++i) list.push_back({&calls, i});
  void* data = rig.alloc(64);
  for (Called& c : list) {
    oar_span_t span{data, 0, 64};
    check.need(rig.memory().fill(rig.stream, &span, uint64_t(c.number), 8) == OAR_OK, "fill failed{}", because());
    oar_status_t status = rig.streams().host_call(rig.stream, on_call, &c);
    check.need(status == OAR_OK, "host_call gave {}{}", status, because());
  }
  oar_status_t status = rig.wait(rig.stream);
  check.expect(status == OAR_OK, "waiting gave {}{}", status, because());
  check.expect(calls.next == 50, "{} of 50 host calls had run when an event after them had passed", calls.next.load());
  check.expect(calls.in_order, "host calls ran out of stream order");
}

// A failure either comes back at once, and leaves the stream as it was, or sticks to the stream and to no other.
void errors_stick(Check& check, const std::string& path, uint64_t) {
  Rig rig(check, path);
  oar_stream_t* bad = rig.make_stream();
  void* data = rig.alloc(64);
  oar_span_t span{data, 0, 63};
  last_error();
  oar_status_t status = rig.memory().fill(bad, &span, 1, 3);  // a pattern of three bytes does not exist
  if (status < 0) {
    check.expect(!last_error().empty(), "fill with a pattern of 3 bytes gave {} without a text", status);
    status = rig.wait(bad);
    check.expect(status == OAR_OK, "a call that was refused at once still spoilt its stream: {}", status);
  } else {
    oar_status_t first = rig.wait(bad), second = rig.wait(bad);
    check.expect(first < 0, "fill with a pattern of 3 bytes is no error, neither at once nor at event_sync");
    check.expect(second < 0, "a stream's error is gone after it was reported once ({})", second);
  }
  uint8_t byte = 5, back = 0;
  rig.write(data, &byte, 1);
  rig.read(data, &back, 1);
  check.expect(back == 5, "another stream suffers from the error of the first");
}

void wait_before_record(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  // The mark that counts for event_wait is the one recorded last before it; recording again later changes nothing.
  Random random(seed);
  oar_stream_t* a = rig.stream;
  oar_stream_t* b = rig.make_stream();
  oar_event_t* event = rig.make_event();
  void* x = rig.alloc(8);
  for (int round = 0; round < 50; ++round) {
    uint64_t first = random.bits(), got = 0;
    oar_span_t span{x, 0, 8};
    check.need(rig.memory().fill(a, &span, first, 8) == OAR_OK, "fill failed{}", because());
    check.need(rig.streams().event_record(a, event) == OAR_OK, "event_record failed{}", because());
    check.need(rig.streams().event_wait(b, event) == OAR_OK, "event_wait failed{}", because());
    oar_status_t status = copy_one(rig.memory(), b, contiguous_region(&got, 0, true, x, 0, false, 8));
    check.need(status == OAR_OK, "copy gave {}{}", status, because());
    oar_event_t* done = rig.make_event();
    check.need(rig.streams().event_record(b, done) == OAR_OK, "event_record failed{}", because());
    check.need(rig.streams().event_record(a, event) == OAR_OK, "event_record failed{}", because());
    status = rig.streams().event_sync(done, UINT64_MAX);
    check.need(status == OAR_OK, "event_sync gave {}{}", status, because());
    check.expect(got == first, "a stream ran on before the event it waits for");
  }
}

}  // namespace

void level1_order(const Options& options, std::vector<Test>& tests) {
  auto add = [&](const char* name, void (*body)(Check&, const std::string&, uint64_t)) {
    tests.push_back({"L1", name, [body, path = options.plugin, seed = seed_of(options.seed, name)](Check& c) {
                       body(c, path, seed);
                     }});
  };
  add("events", events);
  add("events of the host", host_events);
  add("timeouts", timeouts);
  add("waiting streams", wait_before_record);
  add("order on one stream", one_stream);
  add("order across streams", several_streams);
  add("threads", threads);
  add("host calls", host_calls);
  add("errors stick", errors_stick);
}

}  // namespace oarlock::cts
