#include "staged.h"

namespace oarlock::onednn {

using dnnl::memory;

uint64_t Staged::take(size_t bytes) {
  uint64_t at = workspace_;
  workspace_ += (bytes + 63) / 64 * 64;
  return at;
}

void Staged::add(int argument, int operand, const memory::desc& given, const memory::desc& wanted, bool is_output) {
  Argument a;
  a.operand = operand;
  a.is_output = is_output;
  a.given = memory(given, pack_->engine, DNNL_MEMORY_NONE);
  if (given != wanted) {
    a.inside = memory(wanted, pack_->engine, DNNL_MEMORY_NONE);
    a.offset = take(wanted.get_size());
    a.reorder = is_output ? dnnl::reorder(a.inside, a.given) : dnnl::reorder(a.given, a.inside);
  }
  exec_.push_back({argument, a.offset == kNowhere ? a.given.get() : a.inside.get()});
  arguments_.push_back(std::move(a));
}
void Staged::input(int argument, int operand, const memory::desc& given, const memory::desc& wanted) {
  add(argument, operand, given, wanted, false);
}
void Staged::output(int argument, int operand, const memory::desc& given, const memory::desc& wanted) {
  add(argument, operand, given, wanted, true);
}
void Staged::hold(int argument, const memory& held) {
  held_.push_back(held);
  exec_.push_back({argument, held.get()});
}
void Staged::hold(int argument, std::shared_ptr<memory> shared) {
  hold(argument, memory(shared->get_desc(), pack_->engine, shared->get_data_handle()));
  shared_.push_back(std::move(shared));
}
uint64_t Staged::scratch(int argument, const memory::desc& desc) {
  if (desc.get_size() == 0) return 0;
  scratch_.emplace_back(memory(desc, pack_->engine, DNNL_MEMORY_NONE), take(desc.get_size()));
  exec_.push_back({argument, scratch_.back().first.get()});
  return scratch_.back().second;
}

oar_status_t Staged::launch(const oar_frame_t* frame) {
  char* workspace = static_cast<char*>(frame->workspace.data) + frame->workspace.byte_offset;
  const ThreadLimit limit(pack_->host);
  if (before_ != nullptr) before_(user.get(), frame, workspace);
  dnnl_status_t status = dnnl_success;
  auto run = [&](dnnl_primitive_t primitive, const dnnl_exec_arg_t* args, size_t n) {
    if (status == dnnl_success) status = dnnl_primitive_execute(primitive, stream_.get(), static_cast<int>(n), args);
  };
  for (Argument& a : arguments_) {
    const auto operand = static_cast<uint32_t>(a.operand);
    const oar_view_t* view =
        operand < frame->n_inputs ? frame->inputs[operand] : frame->outputs[operand - frame->n_inputs];
    dnnl_memory_set_data_handle(a.given.get(), static_cast<char*>(view->data) + view->byte_offset);
    if (a.offset == kNowhere) continue;
    dnnl_memory_set_data_handle(a.inside.get(), workspace + a.offset);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, a.given.get()}, {DNNL_ARG_TO, a.inside.get()}};
    if (!a.is_output) run(a.reorder.get(), args, 2);
  }
  for (auto& [scratch, offset] : scratch_) dnnl_memory_set_data_handle(scratch.get(), workspace + offset);
  run(primitive_.get(), exec_.data(), exec_.size());
  for (Argument& a : arguments_) {
    if (!a.is_output || a.offset == kNowhere) continue;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, a.inside.get()}, {DNNL_ARG_TO, a.given.get()}};
    run(a.reorder.get(), args, 2);
  }
  if (status != dnnl_success)
    return oar_kit_error(pack_->host, status == dnnl_out_of_memory ? OAR_OUT_OF_MEMORY : OAR_INTERNAL, status,
                         "oneDNN could not execute the primitive (status %d)", static_cast<int>(status));
  if (after_ != nullptr) after_(user.get(), frame, workspace);
  return OAR_OK;
}

oar_status_t staged_launch(void* state, const oar_frame_t* frame) { return static_cast<Staged*>(state)->launch(frame); }
void staged_release(void* state) { delete static_cast<Staged*>(state); }

void finish(oar_prepared_t* out_prepared, std::unique_ptr<Staged> state, uint64_t cost_ns) {
  out_prepared->workspace_bytes = state->workspace_bytes();
  out_prepared->workspace_alignment = 64;
  if (out_prepared->verdict != nullptr) out_prepared->verdict->cost_ns = cost_ns;
  out_prepared->state = state.release();
}

std::shared_ptr<memory> packed_constant(oar_pack_t* pack, const oar_value_t& value, const memory::desc& given,
                                        const memory::desc& wanted) {
  if ((value.flags & OAR_VALUE_CONSTANT) == 0 || value.constant == nullptr || value.constant->data == nullptr ||
      value.constant->layout != OAR_LAYOUT_STRIDED || given == wanted)
    return nullptr;
  void* data = static_cast<char*>(value.constant->data) + value.constant->byte_offset;
  return pack->constants.find_or_pack(pack->engine, data, given, wanted);
}

std::shared_ptr<memory> PackedConstants::find_or_pack(const dnnl::engine& engine, void* data, const memory::desc& given,
                                                      const memory::desc& wanted) {
  const std::lock_guard<std::mutex> hold(lock_);
  std::erase_if(held_, [](const Held& h) { return h.packed.expired(); });
  for (const Held& h : held_)
    if (h.data == data && h.given == given && h.wanted == wanted)
      if (std::shared_ptr<memory> have = h.packed.lock()) return have;
  memory plain(given, engine, data);
  auto packed = std::make_shared<memory>(wanted, engine);
  dnnl::stream stream(engine);
  dnnl::reorder(plain, *packed).execute(stream, plain, *packed);
  stream.wait();
  held_.push_back({data, given, wanted, packed});
  return packed;
}

memory::data_type computed_in(uint32_t dtype) {
  constexpr auto bf16 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);  // a set of bits
  static const bool native = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bf16) == bf16;
  return native ? type_of(dtype) : memory::data_type::f32;
}

namespace {

memory::format_tag last_tag(uint32_t n_dims) {
  switch (n_dims) {
    case 2: return memory::format_tag::nc;
    case 3: return memory::format_tag::nwc;
    case 4: return memory::format_tag::nhwc;
    default: return memory::format_tag::ndhwc;
  }
}
memory::dims dims_of(const oar_value_t& value) { return {value.shape, value.shape + value.n_dims}; }

std::vector<int64_t> last_strides(const oar_value_t& value) {
  std::vector<int64_t> strides(value.n_dims);
  int64_t next = value.shape[1];
  strides[1] = 1;
  for (uint32_t d = value.n_dims - 1; d >= 2; --d) {
    strides[d] = next;
    next *= value.shape[d];
  }
  strides[0] = next;
  return strides;
}

}  // namespace

memory::desc channels_last(const oar_value_t& value) { return channels_last(value, type_of(value.dtype)); }
memory::desc channels_last(const oar_value_t& value, memory::data_type type) {
  return {dims_of(value), type, last_tag(value.n_dims)};
}

memory::desc described(const oar_value_t& value, int operand) {
  std::vector<int64_t> strides = strides_of(value, operand), last = last_strides(value);
  bool same = true;
  for (uint32_t d = 0; d < value.n_dims; ++d) {
    same &= value.shape[d] == 1 || strides[d] == last[d];
    if (value.shape[d] != 1 && strides[d] == 0)
      throw kit::Refusal(OAR_REASON_LAYOUT, operand, "it repeats elements by a stride of 0");
  }
  return same ? channels_last(value) : memory::desc(dims_of(value), type_of(value.dtype), memory::dims(strides));
}

void choose_channels_last(oar_prepared_t* out_prepared, int j, const oar_value_t& value) {
  oar_choice_t& choice = *out_prepared->outputs[j];
  const std::vector<int64_t> strides = last_strides(value);
  std::copy(strides.begin(), strides.end(), choice.strides);
  choice.layout = OAR_LAYOUT_STRIDED;
}

}  // namespace oarlock::onednn
