// Level 0: listing, opening and closing devices; arguments that are wrong; structs of other sizes.
#include <oarlock/plugin.h>

#include <string.h>

#include <set>

#include "api/cts/level0.h"
#include "api/cts/raw.h"

namespace oarlock::cts {

namespace {

constexpr uint64_t kStranger = uint64_t(0x7fff0001) << 32 | 1;

struct Devices {
  Plugin plugin;
  uint32_t n = 0;
  const oar_device_info_t* const* infos = nullptr;
  Devices(Check& check, const std::string& path) : plugin(check, path) {
    if (!plugin.device) check.skip("the plugin brings no device of its own");
    n = UINT32_MAX;
    oar_status_t status = plugin.device->enumerate(&kit_host(), &n, &infos);
    check.need(status == OAR_OK, "enumerate gave {}{}; without a device it gives OAR_OK and none", status, because());
    check.need(n != UINT32_MAX, "enumerate left *out_n untouched");
    check.need(n == 0 || infos, "enumerate gives {} devices and no array", n);
  }
  oar_device_t* open(Check& check, const oar_options_t& options) {
    oar_device_t* device = nullptr;
    last_error();
    oar_status_t status = plugin.device->open(&kit_host(), 0, &options, &device);
    check.need(status == OAR_OK && device, "device open(0) gave {}{}", status, because());
    return device;
  }
  void need_one(Check& check) {
    if (n == 0) check.skip("no device is present");
  }
};

void enumerate(Check& check, const std::string& path) {
  Devices d(check, path);
  std::set<std::string> uuids;
  for (uint32_t i = 0; i < d.n; ++i) {
    check.need(d.infos[i] != nullptr, "device {} is NULL", i);
    const oar_device_info_t& info = *d.infos[i];
    check.need(OAR_HAS(&info, spaces), "device {}: struct_size is {}, too small for what a device must say", i,
               info.struct_size);
    check.expect(info.kind.size > 0, "device {}: kind is empty", i);
    check.expect(view(info.kind) != "cpu", "device {}: the kind \"cpu\" is the host's own", i);
    check.expect(info.name.size > 0, "device {}: name is empty", i);
    check.expect(info.dlpack_kind > 1, "device {}: DLPack device type {}", i, info.dlpack_kind);
    check.expect(info.n_queues >= 1, "device {}: it has no queue", i);
    check.expect(uuids.insert(std::string(view(info.uuid))).second, "device {}: its uuid is another's too", i);
    check.expect((OAR_FIELD(&info, compute_dtypes) & ~OAR_FIELD(&info, storage_dtypes)) == 0,
                 "device {}: it computes with dtypes that it can't store", i);
    check.need(info.n_spaces >= 1 && info.spaces, "device {}: it has no memory space", i);
    for (uint32_t k = 0; k < info.n_spaces; ++k) {
      check.need(info.spaces[k] != nullptr, "device {}: space {} is NULL", i, k);
      const oar_space_info_t& s = *info.spaces[k];
      check.need(OAR_HAS(&s, name), "device {}, space {}: struct_size is {}", i, k, s.struct_size);
      check.expect(s.name.size > 0, "device {}, space {}: name is empty", i, k);
      uint64_t alignment = OAR_FIELD(&s, alignment);
      check.expect((alignment & (alignment - 1)) == 0, "device {}, space {}: alignment is {}", i, k, alignment);
      bool addressable = s.flags & OAR_SPACE_ADDRESSABLE, access = s.flags & OAR_SPACE_HOST_ACCESS;
      check.expect(!access || addressable, "device {}, space {}: host access without addresses", i, k);
    }
  }
  uint32_t again = UINT32_MAX;
  const oar_device_info_t* const* second = nullptr;
  check.expect(d.plugin.device->enumerate(&kit_host(), &again, &second) == OAR_OK && again == d.n,
               "the second call lists {} devices, the first {}", again, d.n);
}

void open_and_close(Check& check, const std::string& path) {
  Devices d(check, path);
  d.need_one(check);
  oar_options_t options{sizeof(oar_options_t)};
  for (int i = 0; i < 3; ++i) d.plugin.device->close(d.open(check, options));
  oar_device_t* a = d.open(check, options);
  last_error();
  oar_device_t* b = nullptr;
  oar_status_t status = d.plugin.device->open(&kit_host(), 0, &options, &b);
  if (status == OAR_OK) {
    check.expect(b != nullptr, "a second open gives OAR_OK and no device");
    if (b && b != a) d.plugin.device->close(b);
  } else {
    check.expect(status < 0 && !last_error().empty(), "a second open gives {} and no text", status);
  }
  // The first one still works.
  oar_stream_t* stream = nullptr;
  status = d.plugin.stream->create(a, 0, 0, &stream);
  check.expect(status == OAR_OK && stream, "after a second open the first device makes no stream: {}{}", status,
               because());
  if (stream) d.plugin.stream->destroy(stream);
  d.plugin.device->close(a);
}

void wrong_arguments(Check& check, const std::string& path) {
  Devices d(check, path);
  auto expect_error = [&](oar_status_t status, const char* what) {
    std::string text = last_error();
    if (check.expect(status < 0, "{} gave {}, no error", what, status))
      check.expect(!text.empty(), "{} gave {} without a text by error_set", what, status);
  };
  oar_options_t options{sizeof(oar_options_t)};
  oar_device_t* none = nullptr;
  last_error();
  expect_error(d.plugin.device->open(&kit_host(), d.n, &options, &none), "opening a device one past the last");
  expect_error(d.plugin.device->open(&kit_host(), UINT32_MAX, &options, &none), "opening device 4294967295");
  if (d.n == 0) return;
  oar_device_t* device = d.open(check, options);
  const oar_device_info_t& info = *d.infos[0];
  void* data = nullptr;
  expect_error(d.plugin.memory->alloc(device, info.n_spaces, 64, 0, nullptr, &data),
               "alloc in a space one past the last");
  expect_error(d.plugin.memory->alloc(device, 0, 64, 48, nullptr, &data), "alloc with an alignment of 48");
  oar_stream_t* stream = nullptr;
  expect_error(d.plugin.stream->create(device, info.n_queues + 1000, 0, &stream),
               "a stream on a queue that is not there");
  d.plugin.device->close(device);
}

void extensions(Check& check, const std::string& path) {
  Devices d(check, path);
  d.need_one(check);
  oar_device_t* device = nullptr;
  oar_ext_t harmless{sizeof(oar_ext_t), 0, kStranger, nullptr};
  oar_options_t options{sizeof(oar_options_t)};
  options.ext = &harmless;
  d.plugin.device->close(d.open(check, options));
  oar_ext_t vital{sizeof(oar_ext_t), 0, kStranger | OAR_EXT_MUST_UNDERSTAND, nullptr};
  harmless.next = &vital;
  last_error();
  oar_status_t status = d.plugin.device->open(&kit_host(), 0, &options, &device);
  check.expect(status == OAR_UNSUPPORTED, "open with an unknown must-understand extension gave {}, not OAR_UNSUPPORTED",
               status);
  if (status == OAR_OK && device) d.plugin.device->close(device);
  oar_str_t name = OAR_STR("an_option_of_the_future"), value = OAR_STR("7");
  options.n = 1;
  options.names = &name;
  options.values = &value;
  options.ext = nullptr;
  d.plugin.device->close(d.open(check, options));
}

// Options from a newer host, longer than ours, and from an older one, whose later fields are not there to be read.
void option_sizes(Check& check, const std::string& path) {
  Devices d(check, path);
  d.need_one(check);
  struct Grown {
    oar_options_t options;
    unsigned char more[128];
  } grown{{sizeof(Grown)}, {}};
  memset(grown.more, 0xCD, sizeof(grown.more));
  d.plugin.device->close(d.open(check, grown.options));
  oar_options_t small{};
  memset(reinterpret_cast<char*>(&small) + offsetof(oar_options_t, ext), 0xCD,
         sizeof(small) - offsetof(oar_options_t, ext));
  small.struct_size = uint32_t(offsetof(oar_options_t, ext));
  d.plugin.device->close(d.open(check, small));
  memset(&small, 0xCD, sizeof(small));
  small.struct_size = 4;
  d.plugin.device->close(d.open(check, small));
}

void out_structs(Check& check, const std::string& path) {
  Devices d(check, path);
  d.need_one(check);
  oar_options_t options{sizeof(oar_options_t)};
  oar_device_t* device = d.open(check, options);
  int asked = 0;
  if (OAR_HAS(d.plugin.device, stats) && d.plugin.device->stats) {
    ++asked;
    Out<oar_device_stats_t> stats;
    oar_status_t status = d.plugin.device->stats(device, stats.get());
    check.expect(status == OAR_OK, "stats gave {}{}", status, because());
    check.expect(stats.guard_intact(), "stats writes past OAR_OUT_ROOM");
    check.expect(stats->utilisation_percent <= 100, "stats: utilisation is {} %", stats->utilisation_percent);
  }
  if (OAR_HAS(d.plugin.memory, export_handle) && d.plugin.memory->export_handle) {
    void* data = nullptr;
    check.need(d.plugin.memory->alloc(device, 0, 4096, 0, nullptr, &data) == OAR_OK, "alloc failed{}", because());
    for (uint32_t kind : {1u, 2u, 3u, 4u, 77u}) {
      ++asked;
      Out<oar_handle_t> handle;
      oar_status_t status = d.plugin.memory->export_handle(device, data, kind, handle.get());
      check.expect(kind < 77 || status != OAR_OK, "export_handle accepts kind 77, which does not exist");
      check.expect(status <= OAR_REFUSED, "export_handle of kind {} gave {}", kind, status);
      check.expect(handle.guard_intact(), "export_handle writes past OAR_OUT_ROOM");
    }
    d.plugin.memory->free(device, 0, data, nullptr);
  }
  d.plugin.device->close(device);
  if (!asked) check.skip("neither stats nor export_handle is offered");
}

void health(Check& check, const std::string& path) {
  Devices d(check, path);
  d.need_one(check);
  oar_options_t options{sizeof(oar_options_t)};
  oar_device_t* device = d.open(check, options);
  int asked = 0;
  if (OAR_HAS(d.plugin.device, health) && d.plugin.device->health) {
    oar_status_t status = d.plugin.device->health(device);
    check.expect(++asked && status == OAR_OK, "health of a fresh device gave {}{}", status, because());
  }
  if (OAR_HAS(d.plugin.device, self_check) && d.plugin.device->self_check) {
    oar_status_t status = d.plugin.device->self_check(device);
    check.expect(++asked && status == OAR_OK, "self_check of a fresh device gave {}{}", status, because());
  }
  d.plugin.device->close(device);
  if (!asked) check.skip("neither health nor self_check is offered");
}

}  // namespace

void level0_device(const Options& options, std::vector<Test>& tests) {
  auto add = [&](const char* name, void (*body)(Check&, const std::string&)) {
    tests.push_back({"L0", name, [body, path = options.plugin](Check& c) { body(c, path); }});
  };
  add("enumerate", enumerate);
  add("open and close", open_and_close);
  add("wrong arguments", wrong_arguments);
  add("extensions and options", extensions);
  add("options of other sizes", option_sizes);
  add("room behind out structs", out_structs);
  add("health", health);
}

}  // namespace oarlock::cts
