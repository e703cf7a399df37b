// What the files of this plugin share: the opened pack, prepared primitives and how they are launched.
#ifndef OARLOCK_ONEDNN_PACK_H_
#define OARLOCK_ONEDNN_PACK_H_

#include <kit.hpp>
#include <kit_list.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "dnnl_api.h"

namespace oarlock::onednn {

// Constants in the layouts that primitives like best, shared by all states that hold the same one: plans for other shapes
// and other threads. The host keeps a constant where it is for as long as a state that was prepared with it. Any thread.
class PackedConstants {
 public:
  std::shared_ptr<dnnl::memory> find_or_pack(const dnnl::engine& engine, void* data, const dnnl::memory::desc& given,
                                             const dnnl::memory::desc& wanted);

 private:
  struct Held {
    const void* data;
    dnnl::memory::desc given, wanted;
    std::weak_ptr<dnnl::memory> packed;
  };
  std::mutex lock_;
  std::vector<Held> held_;
};

}  // namespace oarlock::onednn

struct oar_pack {
  const oar_host_t* host;
  dnnl::engine engine;
  oarlock::onednn::PackedConstants constants{};
};

namespace oarlock::onednn {

// oneDNN runs on OpenMP and asks omp_get_max_threads(), which in OpenMP belongs to the calling thread (it is a variable
// of the task, not of the process). While one of these lives, the calling thread has the host's budget; afterwards its
// own again. Where both agree, as they do if the host's pool is the OpenMP team, nothing is written.
class ThreadLimit {
 public:
  explicit ThreadLimit(const oar_host_t* host);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_ = 0;  // 0: untouched
};

// A primitive with its memory objects, held from prepare to release. Handles are set at launch, so one thread at a
// time.
class Prepared {
 public:
  Prepared(oar_pack_t* pack, const dnnl::primitive& primitive)
      : host_(pack->host), engine_(pack->engine), stream_(pack->engine), primitive_(primitive) {}
  // Memory of an operand: input i is i, output j is n_inputs + j.
  void bind(int argument, const dnnl::memory::desc& desc, int operand);
  // Memory that the state owns, or shares with others.
  void hold(int argument, const dnnl::memory& memory);
  void hold(int argument, std::shared_ptr<dnnl::memory> shared);
  void scratchpad(const dnnl::memory::desc& desc);
  oar_status_t launch(const oar_frame_t* frame);

 private:
  struct Bound {
    dnnl_memory_t memory;
    int operand;
  };
  const oar_host_t* host_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<Bound> bound_;
  std::vector<std::shared_ptr<dnnl::memory>> shared_;
  dnnl_memory_t scratchpad_ = nullptr;
};

oar_status_t launch(void* state, const oar_frame_t* frame);
void release(void* state);

// Gives a state away: fills in state and workspace.
void finish(oar_prepared_t* out_prepared, Prepared* state, const dnnl::memory::desc& scratchpad, uint64_t cost_ns);

// The primitive descriptor that make() returns. Refuses where oneDNN has none, or only a reference loop, which is slower
// than anyone's.
template <class Make>
auto described_by(const char* what, Make make) {
  try {
    auto desc = make();
    if (std::string_view(desc.impl_info_str()).substr(0, 3) == "ref")
      throw kit::Refusal(OAR_REASON_SLOWER, -1, std::string("oneDNN has only its reference ") + what + " for this");
    return desc;
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
    throw kit::Refusal(OAR_REASON_DEVICE, -1, std::string("oneDNN has no such ") + what + " on this CPU");
  }
}

constexpr uint64_t kF32 = OAR_BIT(OAR_DTYPE_F32);
constexpr uint64_t kBf16 = OAR_BIT(OAR_DTYPE_BF16);

inline dnnl::memory::data_type type_of(uint32_t dtype) {
  return dtype == OAR_DTYPE_BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}
// Strides of a value; row-major ones where the offer leaves them open. Throws a Refusal for opaque layouts.
std::vector<int64_t> strides_of(const oar_value_t& value, int operand);

}  // namespace oarlock::onednn
#endif
