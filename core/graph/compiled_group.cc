#include "core/graph/compiled_group.h"

#include <algorithm>

#include "core/device/device_memory.h"
#include "core/graph/group_answer.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

GroupOperand operand_of(const Program& p, ValueId v) {
  GroupOperand o;
  o.dtype = p[v].dtype;
  o.shape = p[v].shape;
  o.host = p[v].host;
  o.strides.resize(size_t(o.shape.rank));
  row_major_strides(o.shape, o.strides.data());
  return o;
}

}  // namespace

Result<std::unique_ptr<CompiledGroup>> CompiledGroup::compile(const Program& p, const Body& body, const Group& group) {
  const oar_graph_table_t& table = *group.pack->plugin->graph;
  AbiGraph graph(p, body, group.nodes, table, *group.pack->device);
  OAR_TRY(graph.read_constants());
  std::vector<GroupOperand> inputs, outputs;
  for (ValueId v : graph.ends().inputs) inputs.push_back(operand_of(p, v));
  for (ValueId v : graph.ends().outputs) outputs.push_back(operand_of(p, v));
  std::unique_ptr<CompiledGroup> g(new CompiledGroup(*group.pack));
  GroupAnswer answer(*group.pack, std::move(inputs), std::move(outputs));
  oar_options_t options{};
  options.struct_size = sizeof options;
  oar_status_t s = table.compile(group.pack->handle, &graph.graph(), &options, answer.prepared());
  OAR_TRY(g->take(answer, s, "graph.compile"));
  return g;
}

Status CompiledGroup::take(GroupAnswer& answer, oar_status_t status, const char* what) {
  OAR_TRY(answer.read(status, what));
  state_ = answer.state;
  has_state_ = true;
  inputs_ = std::move(answer.inputs);
  outputs_ = std::move(answer.outputs);
  workspace_bytes_ = answer.workspace_bytes;
  workspace_alignment_ = answer.workspace_alignment;
  return {};
}

CompiledGroup::~CompiledGroup() {
  if (!has_state_ || forked() || pack_->device->lost) return;
  for (Stream* s : used_by_)
    if (!synchronize(*s).ok()) return;  // it may still run, so it stays
  pack_->plugin->graph->release(state_);
}

void CompiledGroup::will_run_on(Stream& stream) {
  std::lock_guard one(lock_);
  if (std::find(used_by_.begin(), used_by_.end(), &stream) == used_by_.end()) used_by_.push_back(&stream);
}

Status CompiledGroup::check_view(const oar_view_t* view, const GroupOperand& o, const char* kind, size_t i) const {
  auto wrong = [&](const std::string& what, const std::string& want) {
    return invalid("group on " + pack_->device->name + ": " + kind + " " + std::to_string(i) + " is " + what +
                   ", it was compiled for " + want + ".");
  };
  if (!view) return wrong("missing", std::string(to_string(o.dtype)) + to_string(o.shape));
  Shape shape;
  for (int32_t k = 0; k < std::min(view->n_dims, kMaxRank); ++k) shape.push(view->shape[k]);
  if (view->dtype != uint32_t(o.dtype) || !(shape == o.shape))
    return wrong(std::string(to_string(DType(view->dtype))) + to_string(shape),
                 std::string(to_string(o.dtype)) + to_string(o.shape));
  if (count(shape) == 0) return {};
  for (int k = 0; k < shape.rank; ++k)
    if (shape(k) > 1 && view->strides[k] != o.strides[size_t(k)])
      return wrong("of stride " + std::to_string(view->strides[k]) + " in axis " + std::to_string(k),
                   "stride " + std::to_string(o.strides[size_t(k)]));
  uint64_t at = view->byte_offset;
  if (o.host || pack_->device->addressable) at += reinterpret_cast<uint64_t>(view->data);
  if (o.alignment && at % o.alignment)
    return wrong("off by " + std::to_string(at % o.alignment), "an alignment of " + std::to_string(o.alignment));
  return {};
}

Status CompiledGroup::launch(std::span<const oar_view_t* const> inputs, std::span<const oar_view_t* const> outputs,
                             Stream* stream, const oar_span_t* workspace) {
  DeviceState& d = *pack_->device;
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size())
    return invalid("group on " + d.name + ": given " + std::to_string(inputs.size()) + " inputs and " +
                   std::to_string(outputs.size()) + " outputs, it has " + std::to_string(inputs_.size()) + " and " +
                   std::to_string(outputs_.size()) + ".");
  for (size_t i = 0; i < inputs.size(); ++i) OAR_TRY(check_view(inputs[i], inputs_[i], "input", i));
  for (size_t i = 0; i < outputs.size(); ++i) OAR_TRY(check_view(outputs[i], outputs_[i], "output", i));
  if (d.lost.load(std::memory_order_relaxed))
    return {Code::device_lost, "group: " + d.name + " is lost. Start a new process."};
  if (workspace && workspace->size_bytes < workspace_bytes_)
    return invalid("group on " + d.name + ": given a workspace of " + std::to_string(workspace->size_bytes) +
                   " bytes, it takes " + std::to_string(workspace_bytes_) + ".");
  Block block;
  oar_frame_t f{};
  f.struct_size = sizeof f;
  f.n_inputs = uint32_t(inputs.size());
  f.n_outputs = uint32_t(outputs.size());
  f.inputs = inputs.data();
  f.outputs = outputs.data();
  if (workspace) {
    f.workspace = *workspace;
  } else if (workspace_bytes_) {
    uint64_t slack = workspace_alignment_ > d.alignment ? workspace_alignment_ : 0;
    Result<Block> w = device_allocate(d, workspace_bytes_ + slack, stream);
    if (!w) return std::move(w.status());
    block = *w;
    f.workspace = {block.data, block.byte_offset, workspace_bytes_};
    if (slack) {
      uint64_t at = d.addressable ? reinterpret_cast<uint64_t>(block.data) : block.byte_offset;
      uint64_t skip = (workspace_alignment_ - at % workspace_alignment_) % workspace_alignment_;
      if (d.addressable) f.workspace.data = static_cast<char*>(block.data) + skip;
      else f.workspace.byte_offset += skip;
    }
  }
  oar_status_t status;
  {
    std::lock_guard one(lock_);
    if (stream) {
      if (std::find(used_by_.begin(), used_by_.end(), stream) == used_by_.end()) used_by_.push_back(stream);
      std::lock_guard hold(stream->lock);
      f.stream = stream_for(*stream, pack_);
      status = function()(state_, &f);
    } else {
      status = function()(state_, &f);
    }
  }
  if (block.size_bytes) device_free(d, block, stream);
  if (status == OAR_OK) return {};
  if (status == OAR_DEVICE_LOST) d.lost = true;
  return plugin_failure(*pack_->plugin, status < 0 ? status : OAR_INTERNAL, "group on " + d.name);
}

}  // namespace oarlock::graph
