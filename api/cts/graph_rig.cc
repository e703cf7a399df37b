// A plugin's graph table at work: claims, programs, launches, blobs, each answer looked at.
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "api/cts/host_cpu.h"
#include "api/cts/level3.h"

namespace oarlock::cts {

namespace {

struct Listener {
  oar_claim_sink_t c{};
  std::mutex lock;
  std::vector<std::vector<uint32_t>> taken;
  std::vector<std::pair<uint32_t, Claimed::Refused>> refused;
  uint32_t most;
  bool too_long = false, flooded = false;
  explicit Listener(uint32_t n) : most(n) {
    c.struct_size = sizeof c;
    c.take = [](const oar_claim_sink_t* s, uint32_t n, const uint32_t* nodes, uint64_t) {
      auto& l = const_cast<Listener&>(*reinterpret_cast<const Listener*>(s));
      std::lock_guard hold(l.lock);
      l.too_long |= n > l.most || !nodes;
      l.flooded |= l.taken.size() > l.most;
      if (n <= l.most && nodes && !l.flooded) l.taken.emplace_back(nodes, nodes + n);
    };
    c.refuse = [](const oar_claim_sink_t* s, uint32_t node, uint32_t reason, oar_str_t text) {
      auto& l = const_cast<Listener&>(*reinterpret_cast<const Listener*>(s));
      std::lock_guard hold(l.lock);
      l.flooded |= l.refused.size() > l.most;
      if (!l.flooded) l.refused.push_back({node, {reason, std::string(view(text))}});
    };
  }
};

// The elements in other strides, and back.
void reorder(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, size_t width, const uint8_t* dense,
             uint8_t* strided, bool back) {
  std::vector<int64_t> index(shape.size(), 0);
  int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0;
    for (size_t k = 0; k < shape.size(); ++k) at += index[k] * strides[k];
    if (back) memcpy(const_cast<uint8_t*>(dense) + size_t(i) * width, strided + size_t(at) * width, width);
    else memcpy(strided + size_t(at) * width, dense + size_t(i) * width, width);
    for (size_t k = shape.size(); k-- > 0 && ++index[k] == shape[k];) index[k] = 0;
  }
}

bool dense(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::vector<size_t> axes;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 0) return true;
    if (shape[k] > 1) axes.push_back(k);
  }
  std::sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t step = 1;
  for (size_t k : axes) {
    if (strides[k] != step) return false;
    step *= shape[k];
  }
  return true;
}

}  // namespace

GraphRig::GraphRig(Check& c, const std::string& path) : check(c) {
  auto plugin = std::make_unique<Plugin>(c, path);
  if (!plugin->graph) c.skip("the plugin offers no graph table");
  if (!OAR_FIELD(plugin->graph, claim) || !OAR_FIELD(plugin->graph, compile))
    c.skip("its graph table captures and compiles nothing");
  oar_device_ref_t ref{sizeof(oar_device_ref_t), 0, &host_cpu(), nullptr, nullptr};
  if (plugin->device) {
    rig_ = std::make_unique<Rig>(c, path);
    ref = {sizeof(oar_device_ref_t), 1, rig_->info, rig_->device, nullptr};
    if (OAR_HAS(rig_->plugin.device, native) && rig_->plugin.device->native)
      ref.native = rig_->plugin.device->native(rig_->device);
  }
  host_ = std::move(plugin);
  oar_options_t options{sizeof(oar_options_t)};
  last_error();
  oar_status_t status = host_->pack->open(&kit_host(), &ref, &options, &pack_);
  if (status == OAR_REFUSED) c.skip("its pack serves neither a device of its own nor the host");
  c.need(status == OAR_OK && pack_, "pack open gave {}{}", status, because());
}

GraphRig::~GraphRig() {
  if (pack_) host_->pack->close(pack_);
}

bool GraphRig::saves() const {
  return OAR_HAS(&table(), check_blob) && table().save && table().load && table().check_blob;
}

Claimed GraphRig::claim(const Graph& graph) {
  Shown shown(graph, table());
  Listener l(uint32_t(graph.calls.size()));
  last_error();
  oar_status_t status = table().claim(pack_, &shown.graph(), &l.c);
  check.need(status == OAR_OK, "{}: claim gave {}{}", graph.to_string(), status, because());
  check.expect(!l.too_long, "{}: a group of more nodes than there are, or of none", graph.to_string());
  check.expect(!l.flooded, "{}: takes or refuses more often than there are nodes", graph.to_string());
  Claimed claimed;
  std::vector<char> owned(graph.calls.size(), 0);
  for (auto& group : l.taken) {
    bool sound = !group.empty();
    check.expect(sound, "{}: takes a group of no nodes", graph.to_string());
    for (uint32_t n : group) {
      if (!check.expect(n < graph.calls.size(), "{}: takes node {} of {}", graph.to_string(), n, graph.calls.size())) {
        sound = false;
        continue;
      }
      const Graph::Call& call = graph.calls[n];
      sound &= check.expect(!owned[n], "{}: takes node {} twice", graph.to_string(), n);
      owned[n] = 1;
      const oar_op_range_t* range = range_of(table(), call.op);
      sound &=
          check.expect(range != nullptr, "{}: takes {}, which its table does not list", graph.to_string(), call.op);
      for (const auto* list : {&call.inputs, &call.outputs})
        for (int v : *list)
          if (range && v >= 0)
            sound &= check.expect(range->dtypes >> uint32_t(graph.values[size_t(v)].dtype) & 1,
                                  "{}: takes {} of {}, which its table does not list", graph.to_string(), call.op,
                                  to_string(graph.values[size_t(v)].dtype));
    }
    std::sort(group.begin(), group.end());
    if (sound) claimed.groups.push_back(std::move(group));
  }
  for (auto& [node, why] : l.refused) {
    if (!check.expect(node < graph.calls.size(), "{}: refuses node {} of {}", graph.to_string(), node,
                      graph.calls.size()))
      continue;
    check.expect(why.reason != OAR_REASON_NONE, "{}: refuses {} without a reason", graph.to_string(),
                 graph.calls[node].op);
    claimed.refused.emplace(node, std::move(why));
  }
  for (size_t i = 0; i < graph.calls.size(); ++i)
    if (!owned[i] && range_of(table(), graph.calls[i].op) && !claimed.refused.count(uint32_t(i)))
      check.fail(fmt::format("{}: leaves {}, which its table lists, and does not say why", graph.to_string(),
                             graph.calls[i].op));
  return claimed;
}

std::optional<Program> GraphRig::prepare(const Graph& graph, const char* function,
                                         const std::function<oar_status_t(oar_prepared_t*)>& fill,
                                         oar_status_t& out_status, std::string& out_why) {
  size_t n = graph.inputs.size(), m = graph.outputs.size();
  std::vector<std::unique_ptr<Out<oar_choice_t>>> choices;
  std::vector<oar_choice_t*> pointers;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < n + m; ++i) {
    const Graph::Value& v = graph.values[size_t(i < n ? graph.inputs[i] : graph.outputs[i - n])];
    strides.emplace_back(std::max<size_t>(v.shape.size(), 1));
    int64_t step = 1;
    for (size_t k = v.shape.size(); k-- > 0; step *= std::max<int64_t>(v.shape[k], 1)) strides.back()[k] = step;
    choices.push_back(std::make_unique<Out<oar_choice_t>>());
    choices.back()->get()->layout = i < n ? OAR_LAYOUT_STRIDED : OAR_LAYOUT_DENSE;
    choices.back()->get()->strides = strides.back().data();
    pointers.push_back(choices.back()->get());
  }
  char words[200];
  memset(words, 0x5A, sizeof words);
  Out<oar_verdict_t> verdict;
  verdict->operand = -1;
  verdict->text = words;
  verdict->text_capacity = 100;
  Out<oar_prepared_t> prepared;
  prepared->inputs = pointers.data();
  prepared->outputs = pointers.data() + n;
  prepared->n_inputs = uint32_t(n);
  prepared->n_outputs = uint32_t(m);
  prepared->verdict = verdict.get();
  last_error();
  oar_status_t status = out_status = fill(prepared.get());
  std::string failure = last_error();
  check.expect(prepared.guard_intact() && verdict.guard_intact(), "{} writes past the room of its out structs",
               function);
  check.expect(std::all_of(words + 100, words + 200, [](char c) { return c == 0x5A; }) && verdict->text_size <= 100,
               "{} writes past text_capacity", function);
  out_why = std::string(words, std::min<size_t>(verdict->text_size, 100));
  if (status != OAR_OK) {
    if (status < 0) check.expect(!failure.empty(), "{} gave {} without a text", function, status);
    else check.expect(verdict->reason != OAR_REASON_NONE, "{} refuses without a reason", function);
    if (out_why.empty()) out_why = failure;
    return {};
  }
  Program p;
  p.state = prepared->state;
  auto sound = [&](bool good, const std::string& text) {
    return check.expect(good, "{}: {}: {}", graph.to_string(), function, text);
  };
  bool good = sound(OAR_HAS(prepared.get(), state), fmt::format("struct_size is {}", prepared->struct_size));
  for (size_t i = 0; i < n + m; ++i) {
    const Graph::Value& v = graph.values[size_t(i < n ? graph.inputs[i] : graph.outputs[i - n])];
    const oar_choice_t& c = *pointers[i];
    std::string who = fmt::format("{} {}", i < n ? "input" : "output", i < n ? i : i - n);
    good &= sound(choices[i]->guard_intact(), who + ": its choice is written past its room");
    good &= sound(c.space == 0, who + " is to lie in another space");
    good &= sound(c.layout < OAR_LAYOUT_OPAQUE, who + " gets a layout of its own where strides were offered");
    good &= sound(dense(v.shape, strides[i]), who + ": its strides leave gaps or overlap");
    strides[i].resize(v.shape.size());
    (i < n ? p.input_strides : p.output_strides).push_back(strides[i]);
  }
  p.workspace_bytes = prepared->workspace_bytes;
  p.workspace_alignment = std::max<uint64_t>(prepared->workspace_alignment, 1);
  good &= sound(prepared->unread_inputs == 0, "it leaves out inputs; a graph's constants are none");
  good &= sound(prepared->workspace_space == 0, "its workspace is to lie in another space");
  good &= sound((p.workspace_alignment & (p.workspace_alignment - 1)) == 0 && p.workspace_alignment <= 1 << 20,
                fmt::format("its workspace is to be aligned to {}", p.workspace_alignment));
  good &= sound(p.workspace_bytes < uint64_t(1) << 32, fmt::format("it wants {} bytes of scratch", p.workspace_bytes));
  if (good) return p;
  if (OAR_HAS(prepared.get(), state)) release(p);
  return {};
}

std::optional<Program> GraphRig::compile(const Graph& graph, std::string& out_why) {
  Shown shown(graph, table());
  oar_options_t options{sizeof(oar_options_t)};
  oar_status_t status;
  auto made = prepare(
      graph, "compile", [&](oar_prepared_t* out) { return table().compile(pack_, &shown.graph(), &options, out); },
      status, out_why);
  check.expect(status >= 0, "{}: compile gave {}: {}", graph.to_string(), status, out_why);
  return made;
}

std::optional<Program> GraphRig::load(const Graph& graph, std::string_view blob, oar_status_t& out_status,
                                      std::string& out_why) {
  return prepare(
      graph, "load", [&](oar_prepared_t* out) { return table().load(pack_, str(blob), out); }, out_status, out_why);
}

oar_status_t GraphRig::check_blob(std::string_view blob, std::string& out_why) {
  char words[200];
  Out<oar_verdict_t> verdict;
  verdict->text = words;
  verdict->text_capacity = sizeof words;
  last_error();
  oar_status_t status = table().check_blob(pack_, str(blob), verdict.get());
  out_why = std::string(words, std::min(verdict->text_size, sizeof words));
  if (out_why.empty()) out_why = last_error();
  return status;
}

std::string GraphRig::save(const Program& program) {
  struct Writer {
    oar_writer_t c{};
    std::string bytes;
  } w;
  w.c.struct_size = sizeof w.c;
  w.c.write = [](const oar_writer_t* c, const void* bytes, size_t size) -> oar_status_t {
    const_cast<Writer&>(*reinterpret_cast<const Writer*>(c)).bytes.append(static_cast<const char*>(bytes), size);
    return OAR_OK;
  };
  last_error();
  oar_status_t status = table().save(program.state, &w.c);
  check.need(status == OAR_OK, "save gave {}{}", status, because());
  check.need(!w.bytes.empty(), "save wrote nothing");
  return w.bytes;
}

std::vector<HostTensor> GraphRig::run(const Graph& g, const Program& p) {
  size_t n = g.inputs.size(), m = g.outputs.size();
  std::vector<oar_view_t> views;
  std::vector<const oar_view_t*> pointers;
  std::vector<std::vector<uint8_t>> bytes(n + m);
  std::vector<void*> taken;
  auto put = [&](size_t size, const uint8_t* from, uint64_t alignment) {
    void* data = nullptr;
    if (rig_) {
      data = rig_->alloc(size, alignment);
      if (size) rig_->write(data, from, size);
    } else if (posix_memalign(&data, std::max<uint64_t>(alignment, 64), std::max<size_t>(size, 1)) == 0 && size) {
      memcpy(data, from, size);
    }
    taken.push_back(data);
    return data;
  };
  bool nothing = true;
  for (size_t i = 0; i < n + m; ++i) {
    const Graph::Value& v = g.values[size_t(i < n ? g.inputs[i] : g.outputs[i - n])];
    const std::vector<int64_t>& strides = i < n ? p.input_strides[i] : p.output_strides[i - n];
    bytes[i].assign(v.bytes.size(), 0xC3);  // what an output holds before
    if (i < n) reorder(v.shape, strides, info(v.dtype).bits / 8, v.bytes.data(), bytes[i].data(), false);
    nothing &= i < n || v.bytes.empty();
    oar_view_t view = host_view(v, strides);
    if (v.host) {
      view.data = bytes[i].data();
    } else {
      view.data = put(bytes[i].size(), bytes[i].data(), 64);
      if (rig_) view.device = {rig_->info->dlpack_kind, 1};
    }
    views.push_back(view);
  }
  for (const oar_view_t& v : views) pointers.push_back(&v);
  oar_frame_t f{};
  f.struct_size = sizeof f;
  f.n_inputs = uint32_t(n);
  f.n_outputs = uint32_t(m);
  f.inputs = pointers.data();
  f.outputs = pointers.data() + n;
  f.stream = rig_ ? rig_->stream : nullptr;
  if (p.workspace_bytes) {
    std::vector<uint8_t> garbage(p.workspace_bytes, 0xA7);
    f.workspace = {put(garbage.size(), garbage.data(), p.workspace_alignment), 0, p.workspace_bytes};
  }
  last_error();
  oar_status_t status = nothing ? OAR_OK : table().launch(p.state, &f);
  std::string failure = because();
  if (status == OAR_OK && rig_) status = rig_->wait(rig_->stream);
  check.need(status == OAR_OK, "{}: launch gave {}{}", g.to_string(), status, failure + because());
  std::vector<HostTensor> results;
  for (size_t i = 0; i < m; ++i) {
    const Graph::Value& v = g.values[size_t(g.outputs[i])];
    std::vector<uint8_t> raw(v.bytes.size());
    if (rig_ && !raw.empty()) rig_->read(views[n + i].data, raw.data(), raw.size());
    else if (!raw.empty()) memcpy(raw.data(), views[n + i].data, raw.size());
    HostTensor t{Shape(v.shape), v.dtype, std::vector<uint8_t>(raw.size())};
    reorder(v.shape, p.output_strides[i], info(v.dtype).bits / 8, t.bytes.data(), raw.data(), true);
    results.push_back(std::move(t));
  }
  for (void* data : taken) {
    if (rig_) rig_->free(data);
    else ::free(data);
  }
  return results;
}

}  // namespace oarlock::cts
