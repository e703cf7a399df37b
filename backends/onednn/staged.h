// A primitive that takes some operands in a layout of its own: they are reordered on the way in or out, through workspace.
#ifndef OARLOCK_ONEDNN_STAGED_H_
#define OARLOCK_ONEDNN_STAGED_H_

#include <memory>

#include "pack.h"

namespace oarlock::onednn {

class Staged {
 public:
  Staged(oar_pack_t* pack, const dnnl::primitive& primitive)
      : pack_(pack), stream_(pack->engine), primitive_(primitive) {}

  // Operand as the host has it and as the primitive wants it. Input i is operand i, output j is n_inputs + j.
  void input(int argument, int operand, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  void output(int argument, int operand, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  // Memory that the state owns, or shares with others: packed constants.
  void hold(int argument, const dnnl::memory& memory);
  void hold(int argument, std::shared_ptr<dnnl::memory> shared);
  // Scratch of one launch under an argument; returns its offset in the workspace.
  uint64_t scratch(int argument, const dnnl::memory::desc& desc);
  uint64_t workspace_bytes() const { return workspace_; }

  oar_status_t launch(const oar_frame_t* frame);
  // What a kernel does around the primitive, on the host.
  using Step = void (*)(const void* user, const oar_frame_t* frame, char* workspace);
  void before(Step step) { before_ = step; }
  void after(Step step) { after_ = step; }
  std::shared_ptr<void> user;

 private:
  static constexpr uint64_t kNowhere = ~uint64_t(0);
  struct Argument {
    dnnl::memory given, inside;  // inside: only where it is reordered
    dnnl::reorder reorder;
    int operand;
    bool is_output;
    uint64_t offset = kNowhere;
  };
  void add(int argument, int operand, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted,
           bool is_output);
  uint64_t take(size_t bytes);

  oar_pack_t* pack_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<std::pair<dnnl::memory, uint64_t>> scratch_;
  std::vector<dnnl::memory> held_;
  std::vector<std::shared_ptr<dnnl::memory>> shared_;
  std::vector<dnnl_exec_arg_t> exec_;
  uint64_t workspace_ = 0;
  Step before_ = nullptr, after_ = nullptr;
};

oar_status_t staged_launch(void* state, const oar_frame_t* frame);
void staged_release(void* state);
// Gives a state away: fills in state, workspace and cost.
void finish(oar_prepared_t* out_prepared, std::unique_ptr<Staged> state, uint64_t cost_ns);

// A constant operand packed once, for hold(); null if the host doesn't promise that it stays, or it lies right already.
std::shared_ptr<dnnl::memory> packed_constant(oar_pack_t* pack, const oar_value_t& value,
                                              const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);

// The type to compute operands of a dtype in. Without bf16 instructions oneDNN imitates them, four times slower than f32:
// there bf16 becomes f32 on the way in and is rounded once on the way out.
dnnl::memory::data_type computed_in(uint32_t dtype);

// -- [N, C, *D] tensors
// Channels innermost: the layout in which oneDNN's kernels and ours both run fast.
dnnl::memory::desc channels_last(const oar_value_t& value);
dnnl::memory::desc channels_last(const oar_value_t& value, dnnl::memory::data_type type);
// As its strides say, in the words of channels_last where they mean the same.
dnnl::memory::desc described(const oar_value_t& value, int operand);
// Tells the host that output j lies channels last.
void choose_channels_last(oar_prepared_t* out_prepared, int j, const oar_value_t& value);

}  // namespace oarlock::onednn
#endif
