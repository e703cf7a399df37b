// Compiled groups as bytes. A header of ours (whose it is, what it takes, a checksum), then what the plugin wrote. Numbers
// are little endian. Blobs come from disks and other machines: nothing is believed before its bounds are checked.
#include <sha2.h>

#include <cstring>

#include "core/graph/compiled_group.h"
#include "core/graph/group_answer.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

constexpr std::string_view kMagic = "OARLGRP\n";
constexpr uint32_t kFormat = 1;
constexpr size_t kDigest = SHA256_DIGEST_LENGTH;
constexpr size_t kHead = kMagic.size() + 4 + 8 + kDigest;  // magic, format, bytes of all, digest of the rest
constexpr uint64_t kMostBytes = uint64_t(1) << 40;

std::string digest_of(std::string_view bytes) {
  SHA2_CTX state;
  SHA256Init(&state);
  SHA256Update(&state, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  uint8_t digest[kDigest];
  SHA256Final(digest, &state);
  return std::string(reinterpret_cast<const char*>(digest), kDigest);
}

struct Out {
  std::string bytes;
  void number(uint64_t n, int width) {
    for (int i = 0; i < width; ++i) bytes += char(n >> 8 * i);
  }
  void text(std::string_view s) {
    number(s.size(), 8);
    bytes += s;
  }
  void operands(const std::vector<GroupOperand>& list) {
    number(list.size(), 4);
    for (const GroupOperand& o : list) {
      number(uint64_t(o.dtype), 4);
      number(o.host, 1);
      number(uint64_t(o.shape.rank), 1);
      for (Dim d : o.shape) number(uint64_t(d.n), 8);
    }
  }
};

struct In {
  std::string_view left;
  bool failed = false;
  uint64_t number(int width) {
    if (left.size() < size_t(width)) {
      failed = true;
      return 0;
    }
    uint64_t n = 0;
    for (int i = 0; i < width; ++i) n |= uint64_t(uint8_t(left[size_t(i)])) << 8 * i;
    left.remove_prefix(size_t(width));
    return n;
  }
  std::string_view text() {
    uint64_t n = number(8);
    if (failed || n > left.size()) {
      failed = true;
      return {};
    }
    std::string_view s = left.substr(0, n);
    left.remove_prefix(n);
    return s;
  }
  void operands(std::vector<GroupOperand>& list) {
    uint64_t n = number(4);
    if (n > left.size() / 6) failed = true;  // the least that an operand takes
    for (uint64_t i = 0; i < n && !failed; ++i) {
      GroupOperand& o = list.emplace_back();
      uint64_t dtype = number(4);
      o.host = number(1) != 0;
      uint64_t rank = number(1);
      failed |= dtype >= 64 || rank > uint64_t(kMaxRank);
      o.dtype = DType(dtype);
      for (uint64_t k = 0; k < rank && !failed; ++k) {
        int64_t size = int64_t(number(8));
        failed |= size < 0;
        o.shape.push(size);
      }
      failed = failed || info(o.dtype).bits == 0 || !check_sizes(o.shape, o.dtype, "blob").ok();
      if (failed) return;
      o.strides.resize(size_t(o.shape.rank));
      row_major_strides(o.shape, o.strides.data());
    }
  }
};

struct Header {
  std::string_view plugin, plugin_version, device, key, payload;
  uint64_t abi = 0;
  std::vector<GroupOperand> inputs, outputs;
};

// What is wrong with the bytes as such; empty: nothing.
std::string damage(std::string_view blob, Header& h) {
  auto bytes = [](uint64_t n) { return std::to_string(n) + " bytes"; };
  if (blob.size() < kHead)
    return "it ends after " + bytes(blob.size()) + ", its head alone has " + std::to_string(kHead);
  if (blob.substr(0, kMagic.size()) != kMagic) return "it is no compiled group of Oarlock";
  In in{blob.substr(kMagic.size())};
  uint64_t format = in.number(4);
  if (format != kFormat)
    return "it has format " + std::to_string(format) + ", this Oarlock reads " + std::to_string(kFormat);
  uint64_t size = in.number(8);
  if (size != blob.size()) return "it has " + bytes(blob.size()) + ", it says " + std::to_string(size);
  std::string_view digest = in.left.substr(0, kDigest);
  in.left.remove_prefix(kDigest);
  if (digest_of(in.left) != digest) return "its checksum is another";
  h.plugin = in.text();
  h.plugin_version = in.text();
  h.device = in.text();
  h.abi = in.number(4);
  h.key = in.text();
  in.operands(h.inputs);
  in.operands(h.outputs);
  h.payload = in.text();
  if (in.failed || !in.left.empty()) return "its header does not add up";
  return "";
}

BlobVerdict refuse(std::string text) { return {BlobVerdict::refused, "blob: " + std::move(text) + "."}; }
BlobVerdict again(std::string text) {
  return {BlobVerdict::recompile, "blob: " + std::move(text) + ". Compile it again."};
}

BlobVerdict judge(Pack& pack, std::string_view blob, std::string_view key, Header& h) {
  const Plugin& plugin = *pack.plugin;
  const oar_graph_table_t* table = plugin.graph;
  if (!table || !OAR_HAS(table, load) || !table->load) return refuse(plugin.info.name + " loads no compiled graphs");
  if (std::string text = damage(blob, h); !text.empty()) return refuse(text);
  if (h.plugin != plugin.info.name)
    return refuse("it was compiled by " + std::string(h.plugin) + ", asked is " + plugin.info.name);
  if (h.device != pack.device->kind)
    return refuse("it was compiled for " + std::string(h.device) + ", this device is a " + pack.device->kind);
  if (h.key != key) return again("it is of another program");
  if (h.abi != OAR_ABI_VERSION)
    return again("it was compiled under ABI " + std::to_string(h.abi) + ", this is " + std::to_string(OAR_ABI_VERSION));
  if (!OAR_HAS(table, check_blob) || !table->check_blob) {
    if (h.plugin_version == plugin.info.version) return {BlobVerdict::ok, ""};
    return again("it was compiled by version " + std::string(h.plugin_version) + " of " + plugin.info.name +
                 ", this is " + plugin.info.version);
  }
  GroupAnswer answer(pack, {}, {});
  oar_status_t s = table->check_blob(pack.handle, {h.payload.data(), h.payload.size()}, answer.prepared()->verdict);
  if (s == OAR_OK) return {BlobVerdict::ok, ""};
  std::string who = plugin.info.name + ": ";
  if (s == OAR_RECOMPILE) return again(who + answer.reason("it is out of date"));
  if (s < 0) return refuse(std::string(plugin_failure(plugin, s, "graph.check_blob").text()));
  return refuse(who + answer.reason("it gave no reason"));
}

}  // namespace

Result<std::string> CompiledGroup::save(std::string_view key) const {
  const Plugin& plugin = *pack_->plugin;
  const oar_graph_table_t& table = *plugin.graph;
  if (!OAR_HAS(&table, load) || !table.save || !table.load)
    return Status(Code::unsupported, "group: " + plugin.info.name + " saves no compiled graphs.");
  struct Writer {
    oar_writer_t c{};  // first: plugins hold a pointer to it
    std::string bytes;
    static oar_status_t OAR_CALL write(const oar_writer_t* c, const void* from, size_t size) {
      auto& w = const_cast<Writer&>(*reinterpret_cast<const Writer*>(c));
      if (size > kMostBytes - w.bytes.size()) return OAR_OUT_OF_MEMORY;
      try {
        w.bytes.append(static_cast<const char*>(from), size);
      } catch (const std::bad_alloc&) { return OAR_OUT_OF_MEMORY; }
      return OAR_OK;
    }
  } writer;
  writer.c.struct_size = sizeof writer.c;
  writer.c.write = Writer::write;
  oar_status_t s = table.save(state_, &writer.c);
  if (s != OAR_OK) return plugin_failure(plugin, s < 0 ? s : OAR_INTERNAL, "graph.save");
  Out rest;
  rest.text(plugin.info.name);
  rest.text(plugin.info.version);
  rest.text(pack_->device->kind);
  rest.number(OAR_ABI_VERSION, 4);
  rest.text(key);
  rest.operands(inputs_);
  rest.operands(outputs_);
  rest.text(writer.bytes);
  Out all;
  all.bytes = kMagic;
  all.number(kFormat, 4);
  all.number(kHead + rest.bytes.size(), 8);
  all.bytes += digest_of(rest.bytes);
  all.bytes += rest.bytes;
  return std::move(all.bytes);
}

Result<std::unique_ptr<CompiledGroup>> CompiledGroup::load(Pack& pack, std::string_view blob, std::string_view key) {
  Header h;
  if (BlobVerdict v = judge(pack, blob, key, h); v.answer != BlobVerdict::ok) return Status(Code::refused, v.text);
  std::unique_ptr<CompiledGroup> g(new CompiledGroup(pack));
  GroupAnswer answer(pack, std::move(h.inputs), std::move(h.outputs));
  oar_status_t s = pack.plugin->graph->load(pack.handle, {h.payload.data(), h.payload.size()}, answer.prepared());
  OAR_TRY(g->take(answer, s, "graph.load"));
  return g;
}

BlobVerdict check_blob(Pack& pack, std::string_view blob, std::string_view key) {
  Header h;
  return judge(pack, blob, key, h);
}

}  // namespace oarlock::graph
