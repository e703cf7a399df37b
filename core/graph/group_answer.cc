#include "core/graph/group_answer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/graph/compiled_group.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

constexpr uint64_t kMostAlignment = 1 << 20;

// Do these strides put the elements side by side, in whatever order of axes?
bool dense(const Shape& shape, const int64_t* strides) {
  std::vector<int> axes;
  for (int k = 0; k < shape.rank; ++k) {
    if (shape(k) == 0) return true;
    if (shape(k) > 1) axes.push_back(k);
  }
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t step = 1;
  for (int k : axes) {
    if (strides[k] != step) return false;
    step *= shape(k);
  }
  return true;
}
bool power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

template <class T>
union Out {
  T value;
  char room[OAR_OUT_ROOM];
  Out() {
    std::memset(room, 0, sizeof room);
    value.struct_size = sizeof(T);
  }
};

}  // namespace

struct GroupAnswer::Room {
  Out<oar_prepared_t> prepared;
  Out<oar_verdict_t> verdict;
  char words[512] = {};
  std::vector<Out<oar_choice_t>> choices;
  std::vector<oar_choice_t*> pointers;
  std::vector<std::vector<int64_t>> strides;
};

GroupAnswer::GroupAnswer(Pack& pack, std::vector<GroupOperand> in, std::vector<GroupOperand> out)
    : inputs(std::move(in)), outputs(std::move(out)), pack_(pack), room_(std::make_unique<Room>()) {
  size_t n = inputs.size() + outputs.size();
  room_->choices.resize(n);
  room_->strides.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const GroupOperand& o = i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
    room_->strides[i] = o.strides;
    room_->strides[i].resize(std::max<size_t>(o.strides.size(), 1));
    oar_choice_t& c = room_->choices[i].value;
    c.layout = i < inputs.size() ? OAR_LAYOUT_STRIDED : OAR_LAYOUT_DENSE;
    c.strides = room_->strides[i].data();
    room_->pointers.push_back(&c);
  }
  room_->verdict.value.operand = -1;
  room_->verdict.value.text = room_->words;
  room_->verdict.value.text_capacity = sizeof room_->words;
  oar_prepared_t& p = room_->prepared.value;
  p.inputs = room_->pointers.data();
  p.outputs = room_->pointers.data() + inputs.size();
  p.verdict = &room_->verdict.value;
  p.n_inputs = uint32_t(inputs.size());
  p.n_outputs = uint32_t(outputs.size());
}
GroupAnswer::~GroupAnswer() = default;
oar_prepared_t* GroupAnswer::prepared() { return &room_->prepared.value; }

std::string GroupAnswer::reason(const char* otherwise) const {
  const oar_verdict_t& v = room_->verdict.value;
  size_t n = OAR_HAS(&v, text_size) && v.text == room_->words ? std::min(v.text_size, sizeof room_->words) : 0;
  return n ? std::string(room_->words, n) : otherwise;
}

Status GroupAnswer::read_operand(size_t i, GroupOperand& o) const {
  const oar_choice_t& c = room_->choices[i].value;
  std::string who =
      (i < inputs.size() ? "input " : "output ") + std::to_string(i < inputs.size() ? i : i - inputs.size());
  auto wrong = [&](const std::string& text) { return Status(Code::internal, who + ": " + text); };
  if (!OAR_HAS(&c, layout)) return {};  // an older plugin that chose nothing
  if (c.space != 0) return wrong("it wants memory space " + std::to_string(c.space) + ", values lie in space 0.");
  if (c.layout >= OAR_LAYOUT_OPAQUE) return wrong("it answers with a layout of its own, it was offered strides.");
  const int64_t* strides = room_->strides[i].data();
  if (OAR_HAS(&c, strides) && c.strides != strides) return wrong("it replaced the room for its strides.");
  if (!dense(o.shape, strides)) return wrong("its strides leave gaps or overlap in " + to_string(o.shape) + ".");
  o.strides.assign(strides, strides + o.shape.rank);
  uint64_t alignment = OAR_HAS(&c, alignment) ? c.alignment : 0;
  if (alignment && (!power_of_two(alignment) || alignment > kMostAlignment))
    return wrong("it wants an alignment of " + std::to_string(alignment) + " bytes; give a power of two up to 1 MiB.");
  o.alignment = alignment;
  return {};
}

Status GroupAnswer::read(oar_status_t status, const char* what) {
  const oar_prepared_t& p = room_->prepared.value;
  const std::string& plugin = pack_.plugin->info.name;
  if (status > 0) return {Code::refused, std::string(what) + ": " + plugin + ": " + reason("it gave no reason")};
  if (status < 0) return plugin_failure(*pack_.plugin, status, what);
  const oar_graph_table_t& table = *pack_.plugin->graph;
  auto fail = [&](const std::string& text) {
    if (p.state) table.release(p.state);
    return Status(Code::internal, std::string(what) + ": " + plugin + ": " + text);
  };
  if (!OAR_HAS(&p, state) || p.struct_size > OAR_OUT_ROOM)
    return fail("it wrote struct_size " + std::to_string(p.struct_size) +
                " into what it prepared; it has to be left or be sizeof the struct.");
  for (size_t i = 0; i < inputs.size() + outputs.size(); ++i)
    if (Status s = read_operand(i, i < inputs.size() ? inputs[i] : outputs[i - inputs.size()]); !s.ok())
      return fail(std::string(s.text()));
  if (OAR_HAS(&p, unread_inputs) && p.unread_inputs)
    return fail("it says that it won't read some inputs; only constants can be left out, and a graph's are no inputs.");
  if (p.workspace_space != 0)
    return fail("it wants a workspace in space " + std::to_string(p.workspace_space) + ", there is space 0.");
  workspace_bytes = OAR_HAS(&p, workspace_bytes) ? p.workspace_bytes : 0;
  workspace_alignment = OAR_HAS(&p, workspace_alignment) ? p.workspace_alignment : 0;
  if (workspace_bytes > uint64_t(1) << 46)
    return fail("it wants a workspace of " + std::to_string(workspace_bytes) + " bytes, which can't be.");
  if (workspace_alignment && (!power_of_two(workspace_alignment) || workspace_alignment > kMostAlignment))
    return fail("it wants a workspace aligned to " + std::to_string(workspace_alignment) +
                " bytes; give a power of two up to 1 MiB.");
  state = p.state;
  return {};
}

}  // namespace oarlock::graph
