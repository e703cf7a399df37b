// The npu's blobs: made for other revisions, or with a good checksum around a wrong inside. By the C ABI alone.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "abi/raw_host.h"

namespace oarlock::test {
namespace {

const RawPlugin& npu() {
  static const RawPlugin plugin(OARLOCK_NPU_PLUGIN);
  return plugin;
}

// A device of some revision and a pack on it.
struct Board {
  oar_device_t* device = nullptr;
  oar_pack_t* pack = nullptr;
  oar_stream_t* stream = nullptr;
  explicit Board(const char* revision = "2") {
    oar_str_t name = OAR_STR("revision"), value{revision, strlen(revision)};
    oar_options_t options{sizeof(options), 1, &name, &value, nullptr};
    uint32_t n = 0;
    const oar_device_info_t* const* infos = nullptr;
    EXPECT_EQ(npu().device->enumerate(raw_host(), &n, &infos), OAR_OK);
    EXPECT_EQ(npu().device->open(raw_host(), 0, &options, &device), OAR_OK) << last_error();
    oar_device_ref_t ref{sizeof(ref), 1, infos[0], device, nullptr};
    options.n = 0;
    EXPECT_EQ(npu().pack->open(raw_host(), &ref, &options, &pack), OAR_OK) << last_error();
    EXPECT_EQ(npu().stream->create(device, 0, 0, &stream), OAR_OK);
  }
  ~Board() {
    npu().stream->destroy(stream);
    npu().pack->close(pack);
    npu().device->close(device);
  }
  oar_status_t check(const std::string& blob, std::string* why) {
    char text[256];
    oar_verdict_t verdict{};
    verdict.struct_size = sizeof verdict;
    verdict.text = text;
    verdict.text_capacity = sizeof text;
    oar_status_t status = npu().graph->check_blob(pack, {blob.data(), blob.size()}, &verdict);
    why->assign(text, verdict.text_size);
    return status;
  }
};

// softmax(max_pool(relu(conv(x, w)))) with constant w: x f32[1, 2, 6, 6], out f32[1, 3, 2, 2].
struct Network {
  std::vector<int64_t> x = {1, 2, 6, 6}, w = {3, 2, 3, 3}, h = {1, 3, 4, 4}, out = {1, 3, 2, 2};
  std::vector<float> weights = std::vector<float>(54, 0.25f);
  std::vector<int64_t> two = {2, 2}, none, strides = std::vector<int64_t>(4, 1);
  std::vector<oar_value_t> values;
  std::deque<std::vector<const oar_value_t*>> lists;
  std::deque<std::vector<oar_attr_t>> attrs;
  std::vector<oar_call_t> calls;
  std::vector<const oar_value_t*> all;
  std::vector<const oar_call_t*> nodes;
  std::vector<int64_t> w_strides = {18, 9, 3, 1};
  oar_view_t w_view{};
  oar_graph_t graph{};

  oar_attr_t ints(const std::vector<int64_t>& v) { return {OAR_ATTR_INTS, 1, v.size(), {.ints = v.data()}}; }
  void call(const char* op, std::vector<int> in, int to, std::vector<oar_attr_t> a) {
    oar_call_t c{};
    c.struct_size = sizeof c;
    c.op_version = 1;
    c.op = {op, strlen(op)};
    auto& list = lists.emplace_back();
    for (int v : in) list.push_back(&values[size_t(v)]);
    list.push_back(&values[size_t(to)]);
    c.n_inputs = uint32_t(in.size());
    c.n_outputs = 1;
    c.inputs = list.data();
    c.outputs = list.data() + in.size();
    c.n_attrs = uint32_t(a.size());
    c.attrs = attrs.emplace_back(std::move(a)).data();
    calls.push_back(c);
  }
  Network() {
    for (const std::vector<int64_t>* shape : {&x, &w, &h, &h, &out, &out}) {
      oar_value_t v{};
      v.struct_size = sizeof v;
      v.id = uint32_t(values.size());
      v.dtype = OAR_DTYPE_F32;
      v.n_dims = 4;
      v.shape = shape->data();
      v.strides = strides.data();
      v.layout = OAR_LAYOUT_ANY;
      values.push_back(v);
    }
    w_view.data = weights.data();
    w_view.n_dims = 4;
    w_view.shape = w.data();
    w_view.strides = w_strides.data();
    w_view.dtype = OAR_DTYPE_F32;
    values[1].constant = &w_view;
    values[1].flags = OAR_VALUE_CONSTANT;
    call("conv", {0, 1}, 2, {ints(none), ints(none), ints(none), {OAR_ATTR_INT, 1, 1, {.i = 1}}});
    call("relu", {2}, 3, {});
    call("max_pool", {3}, 4, {ints(two), ints(two), ints(none), ints(none), {OAR_ATTR_BOOL, 1, 1, {.i = 0}}});
    call("softmax", {4}, 5, {{OAR_ATTR_INT, 1, 1, {.i = 1}}});
    for (const oar_value_t& v : values) all.push_back(&v);
    for (const oar_call_t& c : calls) nodes.push_back(&c);
    graph.struct_size = sizeof graph;
    graph.n_values = 6;
    graph.n_nodes = 4;
    graph.n_inputs = graph.n_outputs = 1;
    graph.values = all.data();
    graph.nodes = nodes.data();
    graph.inputs = all.data();
    graph.outputs = all.data() + 5;
  }
  std::string blob(Board& board) {
    oar_options_t options{};
    options.struct_size = sizeof options;
    oar_prepared_t prepared{};
    prepared.struct_size = sizeof prepared;
    EXPECT_EQ(npu().graph->compile(board.pack, &graph, &options, &prepared), OAR_OK);
    struct Writer {
      oar_writer_t c{};
      std::string bytes;
    } writer;
    writer.c.struct_size = sizeof writer.c;
    writer.c.write = [](const oar_writer_t* c, const void* bytes, size_t size) -> oar_status_t {
      const_cast<Writer*>(reinterpret_cast<const Writer*>(c))->bytes.append(static_cast<const char*>(bytes), size);
      return OAR_OK;
    };
    EXPECT_EQ(npu().graph->save(prepared.state, &writer.c), OAR_OK);
    npu().graph->release(prepared.state);
    return writer.bytes;
  }
};

// Where a blob has its revision and its checksum, and from where on that counts.
constexpr size_t kRevision = 12, kChecksum = 16, kCounts = 24;
std::string with_checksum(std::string blob) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = kCounts; i < blob.size(); ++i) hash = (hash ^ uint8_t(blob[i])) * 0x100000001b3u;
  memcpy(blob.data() + kChecksum, &hash, sizeof hash);
  return blob;
}

TEST(NpuBlob, OfAnotherRevision) {
  Board second("2"), third("3");
  std::string blob = Network().blob(second), newer = Network().blob(third), why;
  EXPECT_EQ(second.check(blob, &why), OAR_OK);
  EXPECT_EQ(third.check(blob, &why), OAR_RECOMPILE);
  EXPECT_EQ(why, "it was compiled for revision 2 of the npu, this is 3");
  EXPECT_EQ(second.check(newer, &why), OAR_REFUSED);
  EXPECT_EQ(why, "it was compiled for revision 3 of the npu, this is 2");
  oar_prepared_t prepared{};
  prepared.struct_size = sizeof prepared;
  EXPECT_EQ(npu().graph->load(third.pack, {blob.data(), blob.size()}, &prepared), OAR_RECOMPILE);
  EXPECT_EQ(npu().graph->load(second.pack, {newer.data(), newer.size()}, &prepared), OAR_BAD_DATA);
  EXPECT_EQ(last_error(), "npu: it was compiled for revision 3 of the npu, this is 2");
  EXPECT_EQ(prepared.state, nullptr);
  memcpy(blob.data() + kRevision, newer.data() + kRevision, 4);
  EXPECT_EQ(blob, newer);  // they differ in nothing else
}

// Whoever writes the checksum may write anything. What is loaded all the same is launched as the honest one would be.
TEST(NpuBlob, AWrongInsideIsRefusedOrHarmless) {
  Board board;
  const std::string honest = with_checksum(Network().blob(board));
  int refused = 0, loaded = 0;
  for (size_t at = kCounts; at < honest.size(); ++at)
    for (int mask : {0x01, 0x80, 0xff}) {
      std::string bad = honest;
      bad[at] = char(bad[at] ^ mask);
      bad = with_checksum(bad);
      oar_prepared_t prepared{};
      prepared.struct_size = sizeof prepared;
      oar_status_t status = npu().graph->load(board.pack, {bad.data(), bad.size()}, &prepared);
      if (status != OAR_OK) {
        ASSERT_EQ(status, OAR_BAD_DATA) << "byte " << at;
        ++refused;
        continue;
      }
      ++loaded;
      Network n;
      std::vector<int64_t> x_strides = {72, 36, 6, 1}, out_strides = {12, 4, 2, 1};
      oar_view_t x{}, out{};
      uint64_t scratch_bytes = prepared.workspace_bytes;
      void* scratch = nullptr;
      x.n_dims = out.n_dims = 4;
      x.dtype = out.dtype = OAR_DTYPE_F32;
      x.shape = n.x.data(), out.shape = n.out.data();
      x.strides = x_strides.data(), out.strides = out_strides.data();
      ASSERT_EQ(npu().memory->alloc(board.device, 0, 288, 0, nullptr, &x.data), OAR_OK);
      ASSERT_EQ(npu().memory->alloc(board.device, 0, 48, 0, nullptr, &out.data), OAR_OK);
      ASSERT_EQ(npu().memory->alloc(board.device, 0, scratch_bytes, 0, nullptr, &scratch), OAR_OK);
      const oar_view_t *in = &x, *to = &out;
      oar_frame_t frame{};
      frame.struct_size = sizeof frame;
      frame.n_inputs = frame.n_outputs = 1;
      frame.inputs = &in;
      frame.outputs = &to;
      frame.workspace = {scratch, 0, scratch_bytes};
      frame.stream = board.stream;
      oar_status_t launched = npu().graph->launch(prepared.state, &frame);
      EXPECT_TRUE(launched == OAR_OK || launched == OAR_INVALID_ARGUMENT) << launched;
      npu().graph->release(prepared.state);
      for (void* data : {x.data, out.data, scratch}) npu().memory->free(board.device, 0, data, nullptr);
    }
  EXPECT_GT(refused, 500);
  EXPECT_GT(loaded, 100);  // weights and padding
}

TEST(NpuMemory, OnlyLiveHandlesAndTheirBytes) {
  Board board;
  void *data = nullptr, *other = nullptr;
  ASSERT_EQ(npu().memory->alloc(board.device, 0, 100, 0, nullptr, &data), OAR_OK);
  oar_span_t inside{data, 40, 60}, past{data, 41, 60}, wild{&data, 0, 1};
  EXPECT_EQ(npu().memory->fill(board.stream, &inside, 1, 1), OAR_OK);
  EXPECT_EQ(npu().memory->fill(board.stream, &past, 1, 1), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(npu().memory->fill(board.stream, &wild, 1, 1), OAR_INVALID_ARGUMENT);
  npu().memory->free(board.device, 0, data, nullptr);
  ASSERT_EQ(npu().memory->alloc(board.device, 0, 100, 0, nullptr, &other), OAR_OK);
  EXPECT_NE(data, other);
  EXPECT_EQ(npu().memory->fill(board.stream, &inside, 1, 1), OAR_INVALID_ARGUMENT);
  npu().memory->free(board.device, 0, other, nullptr);
}

}  // namespace
}  // namespace oarlock::test
