// Level 0: negotiation table by table, and the functions that each table must have.
#include <oarlock/plugin.h>

#include <string.h>

#include "api/cts/level0.h"
#include "api/cts/raw.h"

namespace oarlock::cts {

std::vector<Test> level0(const Options& options) {
  std::vector<Test> tests;
  level0_file(options, tests);
  level0_tables(options, tests);
  level0_kernels(options, tests);
  level0_device(options, tests);
  return tests;
}

namespace {

constexpr const char* kTables[] = {"", "device", "memory", "stream", "pack", "kernel", "graph", "comm", "profiler"};

struct Head {
  uint32_t struct_size, version;
};
Head head_of(const void* table) {
  Head head;
  memcpy(&head, table, sizeof(head));
  return head;
}

void negotiation(Check& check, const std::string& path) {
  Plugin plugin(check, path);
  auto get = [&](uint64_t id, uint32_t min, uint32_t max) { return plugin.info->get_table(&kit_host(), id, min, max); };
  int offered = 0;
  for (uint64_t id = 1; id <= 8; ++id) {
    const void* table = get(id, 1, UINT32_MAX);
    if (!table) continue;
    ++offered;
    Head head = head_of(table);
    check.expect(head.struct_size >= 16, "{}: struct_size is {}", kTables[id], head.struct_size);
    if (!check.expect(head.version >= 1, "{}: version is {}; zero means forgotten", kTables[id], head.version))
      continue;
    check.expect(get(id, 1, UINT32_MAX) == table, "{}: a second call gives another table", kTables[id]);
    check.expect(get(id, head.version, head.version) == table, "{}: not given for its own version {}", kTables[id],
                 head.version);
    const void* newer = get(id, head.version + 1, head.version + 100);
    check.expect(!newer, "{}: version {} is given where {} to {} was asked", kTables[id], head.version,
                 head.version + 1, head.version + 100);
    const void* none = get(id, 0, 0);
    check.expect(!none, "{}: given where version 0 was asked", kTables[id]);
    if (head.version > 1) {
      const void* older = get(id, 1, head.version - 1);
      check.expect(!older || head_of(older).version < head.version, "{}: version {} is given where 1 to {} was asked",
                   kTables[id], head.version, head.version - 1);
    }
    check.expect(!get(id, head.version + 1, head.version), "{}: given for an empty range", kTables[id]);
  }
  check.expect(offered > 0, "the plugin offers no table at all");
  for (uint64_t id : {uint64_t(0), uint64_t(9), uint64_t(999), uint64_t(0x7fff0001) << 32 | 1, UINT64_MAX})
    check.expect(!get(id, 1, UINT32_MAX), "an unknown table, {:#x}, is given", id);
}

void combination(Check& check, const std::string& path) {
  Plugin p(check, path);
  bool compute = p.kernel || p.graph;
  bool accelerator = p.device && p.memory && p.stream && p.pack && compute;
  bool library = !p.device && p.pack && compute;
  bool transport = p.comm != nullptr;
  if (p.device)
    check.expect(
        accelerator, "a device needs the tables memory, stream, pack, and kernel or graph as well; missing:{}{}{}{}",
        p.memory ? "" : " memory", p.stream ? "" : " stream", p.pack ? "" : " pack", compute ? "" : " kernel or graph");
  check.expect(accelerator || library || transport,
               "none of: a device with its tables; pack and kernel or graph; comm");
}

// The functions of a table that are not optional, by name.
void functions(Check& check, const std::string& path) {
  Plugin p(check, path);
#define NEED(table, field) \
  check.expect(OAR_HAS(p.table, field) && p.table->field != nullptr, #table "." #field " is required and missing")
  if (p.device) {
    NEED(device, enumerate);
    NEED(device, open);
    NEED(device, close);
  }
  if (p.memory) {
    NEED(memory, alloc);
    NEED(memory, free);
    NEED(memory, copy);
    NEED(memory, fill);
  }
  if (p.stream) {
    NEED(stream, create);
    NEED(stream, destroy);
    NEED(stream, event_create);
    NEED(stream, event_destroy);
    NEED(stream, event_record);
    NEED(stream, event_wait);
    NEED(stream, event_query);
    NEED(stream, event_sync);
    bool arm = OAR_HAS(p.stream, event_arm) && p.stream->event_arm;
    bool signal = OAR_HAS(p.stream, event_signal) && p.stream->event_signal;
    check.expect(arm == signal, "event_arm and event_signal come together or not at all");
  }
  if (p.pack) {
    NEED(pack, open);
    NEED(pack, close);
    bool open = OAR_HAS(p.pack, stream_open) && p.pack->stream_open;
    bool close = OAR_HAS(p.pack, stream_close) && p.pack->stream_close;
    check.expect(open == close, "stream_open and stream_close come together or not at all");
  }
  if (p.kernel) NEED(kernel, declarations);
  if (p.graph) {
    NEED(graph, launch);
    NEED(graph, release);
    bool compile = OAR_HAS(p.graph, compile) && p.graph->claim && p.graph->compile;
    bool capture = OAR_HAS(p.graph, capture_end) && p.graph->capture_begin && p.graph->capture_end;
    check.expect(compile || capture, "graph offers neither claim and compile nor capture");
  }
  if (p.comm) {
    NEED(comm, create);
    NEED(comm, destroy);
    NEED(comm, submit);
    NEED(comm, async_error);
    NEED(comm, abort);
    check.expect(p.comm->kinds != 0, "comm.kinds offers nothing");
  }
  if (p.profiler) {
    NEED(profiler, start);
    NEED(profiler, stop);
    NEED(profiler, drain);
  }
#undef NEED
}

}  // namespace

void level0_tables(const Options& options, std::vector<Test>& tests) {
  auto add = [&](const char* name, void (*body)(Check&, const std::string&), bool gate = false) {
    tests.push_back({"L0", name, [body, path = options.plugin](Check& c) { body(c, path); }, gate});
  };
  add("negotiation", negotiation);
  add("tables that belong together", combination);
  add("required functions", functions, true);
}

}  // namespace oarlock::cts
