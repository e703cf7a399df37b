// Level 1: allocation, copies, fills.
#include <oarlock/plugin.h>

#include <string.h>

#include <algorithm>

#include "api/cts/level1.h"
#include "api/cts/random.h"
#include "api/cts/raw.h"

namespace oarlock::cts {

std::vector<Test> level1(const Options& options) {
  std::vector<Test> tests;
  level1_memory(options, tests);
  level1_order(options, tests);
  return tests;
}

namespace {

std::vector<uint8_t> noise(Random& random, size_t n) {
  std::vector<uint8_t> bytes(n);
  for (uint8_t& b : bytes) b = uint8_t(random.bits());
  return bytes;
}

void sizes(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  Random random(seed);
  for (uint64_t size : {0ull, 1ull, 2ull, 63ull, 64ull, 65ull, 4095ull, 4096ull, 100'000ull, 1ull << 20, 64ull << 20}) {
    void* data = rig.alloc(size);
    if (size > 0) {
      uint64_t part = std::min<uint64_t>(size, 4096);  // the ends: that is where a short allocation shows
      std::vector<uint8_t> in = noise(random, part), out(part);
      rig.write(data, in.data(), part, 0);
      rig.read(data, out.data(), part, 0);
      check.expect(in == out, "{} bytes: what was written first is not read back", size);
      rig.write(data, in.data(), part, size - part);
      rig.read(data, out.data(), part, size - part);
      check.expect(in == out, "{} bytes: the end is not read back as written", size);
    }
    rig.free(data);
  }
  // Several at once don't overlap.
  std::vector<void*> blocks;
  std::vector<std::vector<uint8_t>> want;
  for (int i = 0; i < 40; ++i) {
    want.push_back(noise(random, size_t(random.between(1, 5000))));
    blocks.push_back(rig.alloc(want.back().size()));
    rig.write(blocks.back(), want.back().data(), want.back().size());
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::vector<uint8_t> out(want[i].size());
    rig.read(blocks[i], out.data(), out.size());
    check.expect(out == want[i], "block {} of {} bytes changed while others were written", i, out.size());
  }
}

void alignment(Check& check, const std::string& path, uint64_t) {
  Rig rig(check, path);
  const oar_space_info_t& space = *rig.info->spaces[0];
  bool addressable = space.flags & OAR_SPACE_ADDRESSABLE;
  for (uint64_t wanted : {0ull, 1ull, 16ull, 64ull, 256ull, 4096ull})
    for (uint64_t size : {1ull, 100ull, 5000ull}) {
      void* data = rig.alloc(size, wanted);
      if (!addressable) continue;
      uint64_t least = std::max<uint64_t>({wanted, OAR_FIELD(&space, alignment), 1});
      check.expect(reinterpret_cast<uintptr_t>(data) % least == 0, "{} bytes aligned to {} lie at {}", size, least,
                   data);
    }
}

void out_of_memory(Check& check, const std::string& path, uint64_t) {
  Rig rig(check, path);
  for (uint64_t size : {uint64_t(1) << 60, UINT64_MAX, UINT64_MAX - 63}) {
    void* data = nullptr;
    last_error();
    oar_status_t status = rig.memory().alloc(rig.device, 0, size, 0, nullptr, &data);
    check.expect(status == OAR_OUT_OF_MEMORY || status == OAR_INVALID_ARGUMENT, "alloc of {} bytes gave {}", size,
                 status);
    if (status < 0) check.expect(!last_error().empty(), "alloc of {} bytes fails without a text", size);
  }
  char byte = 7, back = 0;
  void* data = rig.alloc(1);  // the device lives on
  rig.write(data, &byte, 1);
  rig.read(data, &back, 1);
  check.expect(back == 7, "after an out-of-memory error the device copies wrongly");
}

void contiguous(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  Random random(seed);
  std::vector<uint64_t> lengths = {0, 1, 3, 7, 64, 1000, 4096, 65'537, 1 << 20};
  for (uint64_t n : lengths) {
    std::vector<uint8_t> in = noise(random, n), out(n, 0);
    void* a = rig.alloc(n);
    void* b = rig.alloc(n);
    rig.write(a, in.data(), n);
    oar_status_t status = copy_one(rig.memory(), rig.stream, contiguous_region(b, 0, false, a, 0, false, n));
    check.expect(status == OAR_OK, "copy of {} bytes inside the device gave {}{}", n, status, because());
    rig.read(b, out.data(), n);
    check.expect(out == in, "{} bytes come back changed by host, device, device, host", n);
  }
  oar_status_t status = rig.memory().copy(rig.stream, 0, nullptr);
  check.expect(status == OAR_OK, "a copy of no regions gave {}{}", status, because());
}

// n_dims outer dimensions over a run of bytes, in both directions and inside the device, against plain loops here.
void strided(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  Random random(seed);
  const uint64_t room = 1 << 15;
  for (int round = 0; round < 120; ++round) {
    int rank = int(random.between(1, 4));
    int64_t counts[4], dst_strides[4], src_strides[4];
    uint64_t run = uint64_t(random.between(1, 12));
    // Axes of the destination must not overlap: each stride covers what lies inside it. The source may even repeat.
    auto lay = [&](int64_t* strides, bool may_repeat) {
      std::vector<int> order(static_cast<size_t>(rank));
      for (int i = 0; i < rank; ++i) order[size_t(i)] = i;
      random.shuffle(order);
      int64_t extent = int64_t(run) + random.between(0, 3);
      for (int axis : order) {
        strides[axis] = may_repeat && random.chance(0.15) ? 0 : extent;
        extent = std::max<int64_t>(extent, strides[axis] * std::max<int64_t>(counts[axis], 1)) + random.between(0, 3);
      }
      return uint64_t(extent);
    };
    for (int i = 0; i < rank; ++i) counts[i] = random.chance(0.05) ? 0 : random.between(1, 6);
    uint64_t dst_extent = lay(dst_strides, false), src_extent = lay(src_strides, true);
    if (dst_extent + 64 > room || src_extent + 64 > room) continue;
    uint64_t dst_offset = uint64_t(random.between(0, 32)), src_offset = uint64_t(random.between(0, 32));

    std::vector<uint8_t> src = noise(random, room), dst = noise(random, room), want = dst;
    int64_t index[4] = {};
    bool more = std::all_of(counts, counts + rank, [](int64_t c) { return c > 0; });
    while (more) {
      int64_t to = int64_t(dst_offset), from = int64_t(src_offset);
      for (int i = 0; i < rank; ++i) {
        to += index[i] * dst_strides[i];
        from += index[i] * src_strides[i];
      }
      memcpy(want.data() + to, src.data() + from, run);
      int axis = rank - 1;
      while (axis >= 0 && ++index[axis] == counts[axis]) index[axis--] = 0;
      more = axis >= 0;
    }
    for (int direction = 0; direction < 3; ++direction) {
      const char* name[] = {"host to device", "device to host", "inside the device"};
      std::vector<uint8_t> got = dst;
      void* device_dst = rig.alloc(room);
      void* device_src = rig.alloc(room);
      if (direction != 1) rig.write(device_dst, dst.data(), room);
      if (direction != 0) rig.write(device_src, src.data(), room);
      oar_region_t r = contiguous_region(direction == 1 ? static_cast<void*>(got.data()) : device_dst, dst_offset,
                                         direction == 1, direction == 0 ? static_cast<void*>(src.data()) : device_src,
                                         src_offset, direction == 0, run);
      r.n_dims = uint32_t(rank);
      r.counts = counts;
      r.dst_strides = dst_strides;
      r.src_strides = src_strides;
      oar_status_t status = copy_one(rig.memory(), rig.stream, r);
      check.need(status == OAR_OK, "strided copy {} gave {}{}", name[direction], status, because());
      status = rig.wait(rig.stream);
      check.need(status == OAR_OK, "waiting for a strided copy {} gave {}{}", name[direction], status, because());
      if (direction != 1) rig.read(device_dst, got.data(), room);
      rig.free(device_dst);
      rig.free(device_src);
      if (got == want) continue;
      size_t at = size_t(std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin());
      check.fail(fmt::format("strided copy {} of {} dimensions, run {}: byte {} is {}, want {}", name[direction], rank,
                             run, at, got[at], want[at]));
      return;
    }
  }
}

void many_regions(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  Random random(seed);
  std::vector<uint8_t> in = noise(random, 4096), want(4096, 0), out(4096);
  void* data = rig.alloc(4096);
  rig.write(data, want.data(), 4096);
  std::vector<oar_region_t> regions;
  std::vector<const oar_region_t*> pointers;
  for (uint64_t at = 0; at + 40 < 4096; at += 40) {
    uint64_t n = uint64_t(random.between(0, 40));
    regions.push_back(contiguous_region(data, at, false, in.data() + at, 0, true, n));
    memcpy(want.data() + at, in.data() + at, n);
  }
  for (auto& r : regions) pointers.push_back(&r);
  oar_status_t status = rig.memory().copy(rig.stream, uint32_t(pointers.size()), pointers.data());
  check.need(status == OAR_OK, "copy of {} regions gave {}{}", pointers.size(), status, because());
  rig.read(data, out.data(), 4096);
  check.expect(out == want, "{} regions in one call don't all arrive", pointers.size());
}

void fills(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  Random random(seed);
  const uint64_t room = 1024;
  for (uint32_t width : {1u, 2u, 4u, 8u})
    for (uint64_t n : {0ull, 1ull, 2ull, 31ull, 64ull}) {
      std::vector<uint8_t> want = noise(random, room), got(room);
      uint64_t offset = uint64_t(random.between(0, 5)) * width, pattern = random.bits();
      void* data = rig.alloc(room);
      rig.write(data, want.data(), room);
      for (uint64_t i = 0; i < n; ++i) memcpy(want.data() + offset + i * width, &pattern, width);
      oar_span_t span{data, offset, n * width};
      oar_status_t status = rig.memory().fill(rig.stream, &span, pattern, width);
      check.need(status == OAR_OK, "fill of {} times {} bytes gave {}{}", n, width, status, because());
      rig.read(data, got.data(), room);
      check.expect(got == want, "fill of {} times {} bytes leaves other bytes than asked", n, width);
      rig.free(data);
    }
}

void stream_ordered(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  Random random(seed);
  std::vector<std::vector<uint8_t>> in, out;
  for (int i = 0; i < 50; ++i) {
    in.push_back(noise(random, size_t(random.between(1, 3000))));
    out.emplace_back(in.back().size());
  }
  for (int i = 0; i < 50; ++i) {  // no wait anywhere: alloc, copy in, copy out, free, all in stream order
    void* data = nullptr;
    uint64_t n = in[size_t(i)].size();
    oar_status_t status = rig.memory().alloc(rig.device, 0, n, 0, rig.stream, &data);
    check.need(status == OAR_OK && data, "alloc on a stream gave {}{}", status, because());
    status = copy_one(rig.memory(), rig.stream, contiguous_region(data, 0, false, in[size_t(i)].data(), 0, true, n));
    check.need(status == OAR_OK, "copy gave {}{}", status, because());
    status = copy_one(rig.memory(), rig.stream, contiguous_region(out[size_t(i)].data(), 0, true, data, 0, false, n));
    check.need(status == OAR_OK, "copy gave {}{}", status, because());
    rig.memory().free(rig.device, 0, data, rig.stream);
  }
  oar_status_t status = rig.wait(rig.stream);
  check.need(status == OAR_OK, "waiting gave {}{}", status, because());
  for (int i = 0; i < 50; ++i)
    check.expect(in[size_t(i)] == out[size_t(i)], "block {} was reused before its copies had run", i);
}

void pinned(Check& check, const std::string& path, uint64_t seed) {
  Rig rig(check, path);
  if (!OAR_HAS(rig.plugin.memory, pin) || !rig.memory().pin) check.skip("pin is not offered");
  Random random(seed);
  std::vector<uint8_t> in = noise(random, 1 << 16), out(1 << 16);
  oar_status_t status = rig.memory().pin(rig.device, in.data(), in.size());
  check.need(status == OAR_OK || status == OAR_REFUSED, "pin gave {}{}", status, because());
  void* data = rig.alloc(in.size());
  rig.write(data, in.data(), in.size());
  rig.read(data, out.data(), in.size());
  check.expect(in == out, "pinned memory is copied wrongly");
  if (status == OAR_OK && rig.memory().unpin) rig.memory().unpin(rig.device, in.data());
}

}  // namespace

void level1_memory(const Options& options, std::vector<Test>& tests) {
  auto add = [&](const char* name, void (*body)(Check&, const std::string&, uint64_t)) {
    tests.push_back({"L1", name, [body, path = options.plugin, seed = seed_of(options.seed, name)](Check& c) {
                       body(c, path, seed);
                     }});
  };
  add("sizes", sizes);
  add("alignment", alignment);
  add("out of memory", out_of_memory);
  add("copies", contiguous);
  add("strided copies", strided);
  add("many regions", many_regions);
  add("fills", fills);
  add("stream-ordered memory", stream_ordered);
  add("pinned memory", pinned);
}

}  // namespace oarlock::cts
