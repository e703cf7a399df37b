#include <omp.h>

#include <memory>

#include "pack.h"

namespace oarlock::onednn {
ThreadLimit::ThreadLimit(const oar_host_t* host) {
  const int budget = static_cast<int>(host->thread_count(host));
  const int now = omp_get_max_threads();
  if (budget < 1 || budget >= now) return;
  before_ = now;
  omp_set_num_threads(budget);
}

ThreadLimit::~ThreadLimit() {
  if (before_ != 0) omp_set_num_threads(before_);
}

void Prepared::bind(int argument, const dnnl::memory::desc& desc, int operand) {
  hold(argument, dnnl::memory(desc, engine_, DNNL_MEMORY_NONE));
  bound_.push_back({memories_.back().get(), operand});
}

void Prepared::hold(int argument, const dnnl::memory& memory) {
  memories_.push_back(memory);
  arguments_.push_back({argument, memory.get()});
}

void Prepared::hold(int argument, std::shared_ptr<dnnl::memory> shared) {
  hold(argument, dnnl::memory(shared->get_desc(), engine_, shared->get_data_handle()));
  shared_.push_back(std::move(shared));
}

void Prepared::scratchpad(const dnnl::memory::desc& desc) {
  if (desc.get_size() == 0) return;
  hold(DNNL_ARG_SCRATCHPAD, dnnl::memory(desc, engine_, DNNL_MEMORY_NONE));
  scratchpad_ = memories_.back().get();
}

oar_status_t Prepared::launch(const oar_frame_t* frame) {
  const uint32_t n_inputs = frame->n_inputs;
  for (const Bound& bound : bound_) {
    const auto operand = static_cast<uint32_t>(bound.operand);
    const oar_view_t* view = operand < n_inputs ? frame->inputs[operand] : frame->outputs[operand - n_inputs];
    dnnl_memory_set_data_handle(bound.memory, view->data);
  }
  if (scratchpad_ != nullptr)
    dnnl_memory_set_data_handle(scratchpad_, static_cast<char*>(frame->workspace.data) + frame->workspace.byte_offset);
  const ThreadLimit limit(host_);
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_success) return OAR_OK;
  return oar_kit_error(host_, status == dnnl_out_of_memory ? OAR_OUT_OF_MEMORY : OAR_INTERNAL, status,
                       "oneDNN could not execute the primitive (status %d)", static_cast<int>(status));
}

oar_status_t launch(void* state, const oar_frame_t* frame) { return static_cast<Prepared*>(state)->launch(frame); }

void release(void* state) { delete static_cast<Prepared*>(state); }

void finish(oar_prepared_t* out_prepared, Prepared* state, const dnnl::memory::desc& scratchpad, uint64_t cost_ns) {
  std::unique_ptr<Prepared> owned(state);
  state->scratchpad(scratchpad);
  out_prepared->workspace_bytes = scratchpad.get_size();
  out_prepared->workspace_alignment = 64;
  if (out_prepared->verdict != nullptr) out_prepared->verdict->cost_ns = cost_ns;
  out_prepared->state = owned.release();
}

std::vector<int64_t> strides_of(const oar_value_t& value, int operand) {
  if (value.layout >= OAR_LAYOUT_OPAQUE) throw kit::Refusal(OAR_REASON_LAYOUT, operand, "operands must be strided");
  std::vector<int64_t> strides(value.n_dims);
  if (value.layout == OAR_LAYOUT_STRIDED) strides.assign(value.strides, value.strides + value.n_dims);
  else oar_kit_strides(value.n_dims, value.shape, strides.data());
  return strides;
}

}  // namespace oarlock::onednn
