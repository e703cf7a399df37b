// A host of a few lines for testing one plugin: loads it by path, opens its pack for the host CPU, and makes calls from
// arrays. Failures come back as data.
#ifndef OARLOCK_TESTS_BACKENDS_HARNESS_H_
#define OARLOCK_TESTS_BACKENDS_HARNESS_H_

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <kit.hpp>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace oarlock::test {

using Dims = std::vector<int64_t>;

// A strided array in memory that it shares with its views.
class Array {
 public:
  // Row-major.
  Array(uint32_t dtype, Dims shape) : dtype_(dtype), shape_(std::move(shape)), strides_(shape_.size()) {
    oar_kit_strides(static_cast<uint32_t>(shape_.size()), shape_.data(), strides_.data());
    allocate(count());
  }
  // With strides; memory reaches from the first to the last element.
  Array(uint32_t dtype, Dims shape, Dims strides)
      : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {
    int64_t last = 0;
    for (size_t d = 0; d < shape_.size(); ++d) last += shape_[d] > 0 ? (shape_[d] - 1) * strides_[d] : 0;
    allocate(last + 1);
  }

  uint32_t dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  const Dims& strides() const { return strides_; }
  int64_t count() const { return oar_kit_count(static_cast<uint32_t>(shape_.size()), shape_.data()); }
  void* data() const { return data_.get(); }

  Array permuted(std::vector<int> axes) const {
    Array view = *this;
    for (size_t d = 0; d < axes.size(); ++d) {
      view.shape_[d] = shape_[axes[d]];
      view.strides_[d] = strides_[axes[d]];
    }
    return view;
  }

  // The same memory in another order.
  Array restrided(const Dims& strides) const {
    Array view = *this;
    view.strides_ = strides;
    return view;
  }

  // Memory offset of element i in row-major order of the shape.
  int64_t offset(int64_t i) const {
    int64_t at = 0;
    for (size_t d = shape_.size(); d-- > 0;) {
      at += i % shape_[d] * strides_[d];
      i /= shape_[d];
    }
    return at;
  }
  // Element i in row-major order of the shape.
  double get(int64_t i) const { return oar_kit_load(data(), dtype_, offset(i)); }
  int64_t get_int(int64_t i) const { return static_cast<int64_t>(oar_kit_load_int(data(), dtype_, offset(i))); }
  void set(int64_t i, double value) { oar_kit_store(data(), dtype_, offset(i), value); }
  Array& fill(const std::function<double(int64_t)>& value) {
    for (int64_t i = 0; i < count(); ++i) set(i, value(i));
    return *this;
  }
  // Uniform in [low, high).
  Array& random(unsigned seed, double low = -1, double high = 1) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> draw(low, high);
    return fill([&](int64_t) { return draw(generator); });
  }

  oar_view_t view() const {
    oar_view_t v = {};
    v.data = data();
    v.device = {1, 0};
    v.n_dims = static_cast<int32_t>(shape_.size());
    v.element.lanes = 1;
    v.shape = shape_.data();
    v.strides = strides_.data();
    v.dtype = dtype_;
    return v;
  }

 private:
  void allocate(int64_t elements) {
    const size_t bytes = (static_cast<size_t>(elements) * oar_kit_dtype_bytes(dtype_) + 127) / 64 * 64;
    data_ = std::shared_ptr<void>(std::aligned_alloc(64, bytes), std::free);
    std::memset(data_.get(), 0xA5, bytes);  // what a kernel forgets to write shows
  }

  uint32_t dtype_;
  Dims shape_, strides_;
  std::shared_ptr<void> data_;
};

inline oar_attr_t attr_int(int64_t value) {
  oar_attr_t a = {OAR_ATTR_INT, 1, 0, {}};
  a.value.i = value;
  return a;
}
inline oar_attr_t attr_bool(bool value) {
  oar_attr_t a = attr_int(value);
  a.type = OAR_ATTR_BOOL;
  return a;
}
inline oar_attr_t attr_float(double value) {
  oar_attr_t a = {OAR_ATTR_FLOAT, 1, 0, {}};
  a.value.f = value;
  return a;
}
// values must outlive the call.
inline oar_attr_t attr_ints(const Dims& values) {
  oar_attr_t a = {OAR_ATTR_INTS, 1, values.size(), {}};
  a.value.ints = values.data();
  return a;
}
inline oar_attr_t attr_none(uint32_t type) { return {type, 0, 0, {}}; }

struct Step {
  std::string op;
  std::vector<int> inputs;  // index among the call's inputs; -1: the running value
  std::vector<oar_attr_t> attrs = {};
};
struct Invocation {
  std::string op;
  std::vector<Array> inputs;  // the op's, then those of the epilogue
  Array out;
  std::vector<oar_attr_t> attrs = {};
  std::vector<Step> epilogue = {};
  std::set<int> constants = {};
  std::vector<Array> more_outputs = {};
  bool has_output = true;     // false: out is ignored
  std::set<int> absent = {};  // inputs, and outputs as n_inputs + j, that are NULL
  // An input at which a launch gets NULL instead of the data, to show that it is not read.
  int hidden = -1;
};
struct Outcome {
  oar_status_t status = OAR_REFUSED;
  uint32_t reason = OAR_REASON_OP;
  int32_t operand = -1;
  std::string text;  // of the refusal or the error
  uint64_t unread_inputs = 0;
  std::vector<Dims> strides;  // of each output, as prepare chose them
};

class Plugin {
 public:
  explicit Plugin(const char* path) {
    host_.struct_size = sizeof(Host);
    host_.abi_min = host_.abi_max = OAR_ABI_VERSION;
    host_.log = [](const oar_host_t*, int32_t, oar_str_t) {};
    host_.error_set = [](const oar_host_t* host, oar_status_t status, int64_t, oar_str_t text) {
      static_cast<Host*>(const_cast<oar_host_t*>(host))->error.assign(text.data, text.size);
      return status;
    };
    host_.alloc = [](const oar_host_t*, size_t bytes, size_t alignment) {
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    host_.free = [](const oar_host_t*, void* memory) { std::free(memory); };
    host_.parallel_for = [](const oar_host_t* host, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t),
                            void* context) {
      const uint32_t threads = static_cast<const Host*>(host)->threads;
      std::atomic<int64_t> next{0};
      auto work = [&] {
        for (int64_t i; (i = next.fetch_add(grain)) < n;) body(context, i, std::min(n, i + grain));
      };
      std::vector<std::thread> team;
      for (uint32_t t = 1; t < threads; ++t) team.emplace_back(work);
      work();
      for (std::thread& thread : team) thread.join();
    };
    host_.thread_count = [](const oar_host_t* host) { return static_cast<const Host*>(host)->threads; };
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    auto query = reinterpret_cast<decltype(&oar_plugin_query)>(dlsym(library, "oar_plugin_query"));
    if (query(&host_, &plugin_) != OAR_OK) throw std::runtime_error("oar_plugin_query failed");
    packs_ = static_cast<const oar_pack_table_t*>(plugin_->get_table(&host_, OAR_TABLE_PACK, 1, 1));
    kernels_ = static_cast<const oar_kernel_table_t*>(plugin_->get_table(&host_, OAR_TABLE_KERNEL, 1, 1));
    if (open("cpu", &pack_) != OAR_OK) throw std::runtime_error("pack open failed");
  }

  // Opens a pack for a device kind.
  oar_status_t open(const char* kind, oar_pack_t** out_pack) {
    oar_device_info_t info = {};
    info.struct_size = sizeof(info);
    info.kind = oar_kit_str(kind);
    oar_device_ref_t device = {};
    device.struct_size = sizeof(device);
    device.info = &info;
    return packs_->open(&host_, &device, nullptr, out_pack);
  }

  const oar_plugin_t& plugin() const { return *plugin_; }
  const oar_host_t* host() const { return &host_; }
  oar_pack_t* pack() const { return pack_; }
  void threads(uint32_t n) { host_.threads = n; }
  std::vector<const oar_kernel_decl_t*> declarations(oar_pack_t* pack) const {
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    kernels_->declarations(pack, &n, &decls);
    return {decls, decls + n};
  }
  const oar_kernel_decl_t* find(const std::string& op) const {
    for (const oar_kernel_decl_t* decl : declarations(pack_))
      if (kit::view(decl->op) == op) return decl;
    return nullptr;
  }

  Outcome call(const Invocation& what) {
    Outcome outcome;
    const oar_kernel_decl_t* decl = find(what.op);
    if (decl == nullptr) return outcome;
    std::vector<Array> operands = what.inputs;
    const size_t n = operands.size();
    if (what.has_output) operands.push_back(what.out);
    operands.insert(operands.end(), what.more_outputs.begin(), what.more_outputs.end());
    for (size_t i = 0; i < operands.size(); ++i) {
      const uint32_t dtype = operands[i].dtype();
      if (what.absent.count(static_cast<int>(i)) == 0 &&
          !oar_kit_in(decl->dtypes[std::min<size_t>(i, decl->n_masks - 1)], dtype)) {
        outcome.reason = OAR_REASON_DTYPE;
        outcome.operand = static_cast<int32_t>(i);
        return outcome;
      }
    }
    std::vector<oar_view_t> views;
    std::vector<oar_value_t> values(operands.size());
    for (const Array& operand : operands) views.push_back(operand.view());
    std::vector<const oar_view_t*> view_pointers;
    std::vector<const oar_value_t*> value_pointers;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool constant = what.constants.count(static_cast<int>(i)) != 0;
      values[i].struct_size = sizeof(oar_value_t);
      values[i].dtype = views[i].dtype;
      values[i].flags = constant ? OAR_VALUE_CONSTANT : 0;
      values[i].n_dims = static_cast<uint32_t>(views[i].n_dims);
      values[i].shape = views[i].shape;
      values[i].strides = views[i].strides;
      values[i].alignment = 64;
      values[i].constant = constant ? &views[i] : nullptr;
      const bool absent = what.absent.count(static_cast<int>(i)) != 0;
      view_pointers.push_back(absent ? nullptr : &views[i]);
      value_pointers.push_back(absent ? nullptr : &values[i]);
    }
    oar_call_t call = {};
    call.struct_size = sizeof(call);
    call.op_version = 1;
    call.op = kit::str(what.op);
    call.n_inputs = static_cast<uint32_t>(n);
    call.n_outputs = static_cast<uint32_t>(operands.size() - n);
    call.n_attrs = static_cast<uint32_t>(what.attrs.size());
    call.inputs = value_pointers.data();
    call.outputs = value_pointers.data() + n;
    call.attrs = what.attrs.data();
    std::vector<oar_call_t> steps(what.epilogue.size());
    std::vector<std::vector<const oar_value_t*>> step_inputs(steps.size());
    std::vector<const oar_call_t*> step_pointers;
    oar_value_t running = {};
    if (what.has_output) running = values[n];
    for (size_t s = 0; s < steps.size(); ++s) {
      for (int i : what.epilogue[s].inputs) step_inputs[s].push_back(i < 0 ? &running : &values[i]);
      steps[s].struct_size = sizeof(oar_call_t);
      steps[s].op_version = 1;
      steps[s].op = kit::str(what.epilogue[s].op);
      steps[s].n_inputs = static_cast<uint32_t>(step_inputs[s].size());
      steps[s].n_outputs = 1;
      steps[s].n_attrs = static_cast<uint32_t>(what.epilogue[s].attrs.size());
      steps[s].attrs = what.epilogue[s].attrs.data();
      steps[s].inputs = step_inputs[s].data();
      steps[s].outputs = call.outputs;
      step_pointers.push_back(&steps[s]);
    }
    call.n_epilogue = static_cast<uint32_t>(steps.size());
    call.epilogue = step_pointers.data();

    char text[200];
    alignas(16) char verdict_room[OAR_OUT_ROOM] = {};
    auto* verdict = reinterpret_cast<oar_verdict_t*>(verdict_room);
    verdict->struct_size = sizeof(oar_verdict_t);
    verdict->operand = -1;
    verdict->text = text;
    verdict->text_capacity = sizeof(text);
    auto refused = [&](oar_status_t status) {
      outcome.status = status;
      outcome.reason = verdict->reason;
      outcome.operand = verdict->operand;
      outcome.text = status == OAR_REFUSED ? std::string(text, verdict->text_size) : host_.error;
      return outcome;
    };
    host_.error.clear();
    if (decl->check != nullptr) {
      const oar_status_t status = decl->check(pack_, decl, &call, verdict);
      if (status != OAR_OK) return refused(status);
    }
    oar_frame_t frame = {};
    frame.struct_size = sizeof(frame);
    frame.n_inputs = call.n_inputs;
    frame.n_outputs = call.n_outputs;
    frame.inputs = view_pointers.data();
    frame.outputs = view_pointers.data() + n;
    if (decl->run != nullptr) {
      call.inputs = call.outputs = nullptr;
      frame.call = &call;
      return finish(&outcome, decl->run(pack_, decl, &frame));
    }
    alignas(16) char prepared_room[OAR_OUT_ROOM] = {};
    auto* prepared = reinterpret_cast<oar_prepared_t*>(prepared_room);
    prepared->struct_size = sizeof(oar_prepared_t);
    prepared->verdict = verdict;
    std::vector<oar_choice_t> choices(operands.size());
    std::vector<oar_choice_t*> choice_pointers;
    std::vector<Dims> strides;
    for (const Array& operand : operands) strides.push_back(operand.strides());
    for (size_t i = 0; i < operands.size(); ++i) {
      choices[i].struct_size = sizeof(oar_choice_t);
      choices[i].layout = i < n ? OAR_LAYOUT_STRIDED : OAR_LAYOUT_DENSE;
      choices[i].strides = strides[i].data();
      choice_pointers.push_back(&choices[i]);
    }
    prepared->inputs = choice_pointers.data();
    prepared->outputs = choice_pointers.data() + n;
    const oar_status_t status = decl->prepare(pack_, decl, &call, prepared);
    if (status != OAR_OK) return refused(status);
    outcome.unread_inputs = prepared->unread_inputs;
    outcome.strides.assign(strides.begin() + static_cast<int64_t>(n), strides.end());
    for (size_t i = n; i < operands.size(); ++i) views[i].strides = strides[i].data();
    std::unique_ptr<void, void (*)(void*)> workspace(nullptr, std::free);
    if (prepared->workspace_bytes != 0) {
      workspace.reset(std::aligned_alloc(64, (prepared->workspace_bytes + 63) / 64 * 64));
      frame.workspace = {workspace.get(), 0, prepared->workspace_bytes};
    }
    if (what.hidden >= 0) views[what.hidden].data = nullptr;
    finish(&outcome, decl->launch(prepared->state, &frame));
    decl->release(prepared->state);
    return outcome;
  }

 private:
  struct Host : oar_host_t {
    uint32_t threads = 2;
    std::string error;
  };
  Outcome& finish(Outcome* outcome, oar_status_t status) {
    outcome->status = status;
    outcome->reason = OAR_REASON_NONE;
    outcome->text = host_.error;
    return *outcome;
  }

  Host host_ = {};
  const oar_plugin_t* plugin_ = nullptr;
  const oar_pack_table_t* packs_ = nullptr;
  const oar_kernel_table_t* kernels_ = nullptr;
  oar_pack_t* pack_ = nullptr;
};

// The plugin under test, loaded once.
inline Plugin& plugin() {
  static Plugin* loaded = new Plugin(OARLOCK_PLUGIN);
  return *loaded;
}

// Value of input at element i of an output of shape out, broadcast right-aligned.
inline double broadcast_get(const Array& x, const Dims& out, int64_t i) {
  int64_t at = 0;
  for (size_t d = out.size(), own = x.shape().size(); d-- > 0;) {
    const int64_t index = i % out[d];
    i /= out[d];
    if (own > 0 && x.shape()[--own] != 1) at += index * x.strides()[own];
  }
  return oar_kit_load(x.data(), x.dtype(), at);
}

// Distance in units of the last place of f32 from what want rounds to.
inline double ulps_f32(float got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  const float rounded = static_cast<float>(want);
  if (got == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(got)) return 1e30;
  const double unit =
      std::max(std::ldexp(1.0, std::ilogb(rounded == 0 ? 1e-45f : rounded) - 23), std::ldexp(1.0, -149));
  return std::abs(got - want) / unit;
}

}  // namespace oarlock::test
#endif
