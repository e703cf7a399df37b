#include <omp.h>

#include <memory>

#include "pack.h"

namespace oarlock::onednn {
namespace {

struct Rows {
  const oar_view_t* view;
  int64_t columns;
};

// Rows [begin, end) of a view that is dense along its last dimension.
void relu_rows(void* context, int64_t begin, int64_t end) {
  const Rows& rows = *static_cast<const Rows*>(context);
  const oar_view_t& view = *rows.view;
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, at = 0;
    for (int d = view.n_dims - 2; d >= 0; --d) {
      at += rest % view.shape[d] * view.strides[d];
      rest /= view.shape[d];
    }
    if (view.dtype == OAR_DTYPE_F32) {
      float* x = static_cast<float*>(view.data) + at;
      for (int64_t i = 0; i < rows.columns; ++i) x[i] = x[i] < 0 ? 0 : x[i];
    } else {
      uint16_t* x = static_cast<uint16_t*>(view.data) + at;
      for (int64_t i = 0; i < rows.columns; ++i)
        x[i] = x[i] > 0x8000 && x[i] <= 0xff80 ? 0 : x[i];  // from the smallest negative to -infinity
    }
  }
}

}  // namespace

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
  if (status == dnnl_success) {
    if (!relu_) return OAR_OK;
    const oar_view_t& out = *frame->outputs[0];
    Rows rows = {&out, out.shape[out.n_dims - 1]};
    const int64_t n = oar_kit_view_count(&out) / rows.columns;
    if (n * rows.columns < 32768) relu_rows(&rows, 0, n);
    else host_->parallel_for(host_, n, 1 + 16384 / rows.columns, relu_rows, &rows);
    return OAR_OK;
  }
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
