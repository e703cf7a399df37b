// Predictors of oarlock/app.h.
#include <map>
#include <mutex>

#include <oarlock/inference.h>

#include "api/src/c/argument.h"

using namespace oarlock;
using namespace oarlock::c;

namespace {

using inference::Predictor;

// Handles are numbers that are never given out twice, so that a stale one is noticed.
struct Live {
  std::mutex lock;
  std::map<uintptr_t, std::shared_ptr<const Predictor>> predictors;
  uintptr_t next = uintptr_t(0x5052) << 32 | 1;  // far from what tensors' handles look like
};
Live& live() {
  static Live& all = *new Live;  // outlives every thread that may still release
  return all;
}
std::shared_ptr<const Predictor> predictor(oar_predictor_t* handle, const char* function) {
  Live& all = live();
  std::lock_guard hold(all.lock);
  auto it = all.predictors.find(reinterpret_cast<uintptr_t>(handle));
  if (it == all.predictors.end())
    throw Error(
        Code::invalid_argument,
        std::string(function) + (handle ? ": the predictor's handle is not alive; it was released, or never given out."
                                        : ": the predictor is NULL."));
  return it->second;
}
void expect(size_t want, size_t given, const char* function, const char* what) {
  if (want != given)
    throw Error(Code::invalid_argument, std::string(function) + ": the program has " + std::to_string(want) + " " +
                                            what + ", given room for " + std::to_string(given) + ".");
}
oar_status_t name(const std::vector<std::string>& names, size_t i, const char* function, const char* what, char* buffer,
                  size_t capacity, size_t* out_size) {
  if (i >= names.size())
    throw Error(Code::invalid_argument, std::string(function) + ": there is no " + what + " " + std::to_string(i) +
                                            ", there are " + std::to_string(names.size()) + ".");
  write_text(names[i], function, buffer, capacity, out_size);
  return OAR_OK;
}

}  // namespace

oar_status_t OAR_CALL oar_predictor_create(oar_str_t path, const oar_predictor_config_t* given,
                                           oar_predictor_t** out_predictor) {
  static const char* const kWho = "oar_predictor_create";
  return guard([&]() -> oar_status_t {
    need(out_predictor, kWho, "out_predictor");
    const oar_predictor_config_t c = given ? *given : oar_predictor_config_t OAR_PREDICTOR_CONFIG_INIT;
    if (c.struct_size < sizeof(oar_predictor_config_t))
      throw Error(Code::invalid_argument, std::string(kWho) + ": struct_size of the config is " +
                                              std::to_string(c.struct_size) + ", at least " +
                                              std::to_string(sizeof(oar_predictor_config_t)) +
                                              " is needed. Begin with OAR_PREDICTOR_CONFIG_INIT.");
    if (c.n_passes_off) need(c.passes_off, kWho, "passes_off");
    inference::Config config(std::string(view(path)), std::string(view(c.weights_path)));
    config.set_device(device(c.device, kWho));
    config.set_plan_limits(int(std::min<uint32_t>(c.max_plans, INT32_MAX)), c.max_plan_bytes);
    config.set_cpu_math_library_num_threads(int(std::min<uint32_t>(c.threads, INT32_MAX)));
    for (size_t i = 0; i < c.n_passes_off; ++i) config.delete_pass(std::string(view(c.passes_off[i])));
    auto made = std::make_shared<const Predictor>(config);
    Live& all = live();
    std::lock_guard hold(all.lock);
    all.predictors.emplace(all.next, std::move(made));
    *out_predictor = reinterpret_cast<oar_predictor_t*>(all.next++);
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_predictor_release(oar_predictor_t* handle) {
  return guard([&]() -> oar_status_t {
    if (!handle) return OAR_OK;
    std::shared_ptr<const Predictor> last = predictor(handle, "oar_predictor_release");  // gone outside of the lock
    std::lock_guard hold(live().lock);
    live().predictors.erase(reinterpret_cast<uintptr_t>(handle));
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_predictor_count(oar_predictor_t* handle, size_t* out_inputs, size_t* out_outputs) {
  return guard([&]() -> oar_status_t {
    auto p = predictor(handle, "oar_predictor_count");
    if (out_inputs) *out_inputs = p->get_input_names().size();
    if (out_outputs) *out_outputs = p->get_output_names().size();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_predictor_input_name(oar_predictor_t* handle, size_t i, char* buffer, size_t capacity,
                                               size_t* out_size) {
  static const char* const kWho = "oar_predictor_input_name";
  return guard(
      [&] { return name(predictor(handle, kWho)->get_input_names(), i, kWho, "input", buffer, capacity, out_size); });
}
oar_status_t OAR_CALL oar_predictor_output_name(oar_predictor_t* handle, size_t i, char* buffer, size_t capacity,
                                                size_t* out_size) {
  static const char* const kWho = "oar_predictor_output_name";
  return guard(
      [&] { return name(predictor(handle, kWho)->get_output_names(), i, kWho, "output", buffer, capacity, out_size); });
}
oar_status_t OAR_CALL oar_predictor_warm_up(oar_predictor_t* handle, const int32_t* ranks, size_t n_inputs,
                                            const int64_t* sizes) {
  static const char* const kWho = "oar_predictor_warm_up";
  return guard([&]() -> oar_status_t {
    auto p = predictor(handle, kWho);
    expect(p->get_input_names().size(), n_inputs, kWho, "inputs");
    if (n_inputs) need(ranks, kWho, "ranks");
    std::vector<Shape> shapes;
    for (size_t i = 0; i < n_inputs; ++i) {
      shapes.push_back(shape_of(ranks[i], sizes, kWho));
      if (ranks[i]) sizes += ranks[i];
    }
    p->warm_up(shapes);
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_predictor_run(oar_predictor_t* handle, oar_tensor_t* const* inputs, size_t n_inputs,
                                        oar_tensor_t** out_tensors, size_t n_outputs) {
  static const char* const kWho = "oar_predictor_run";
  return guard([&]() -> oar_status_t {
    auto p = predictor(handle, kWho);
    expect(p->get_output_names().size(), n_outputs, kWho, "outputs");
    if (n_outputs) need(out_tensors, kWho, "out_tensors");
    std::vector<Tensor> out = p->run(tensors(inputs, n_inputs, kWho, "inputs"));
    for (size_t i = 0; i < n_outputs; ++i) out_tensors[i] = give(std::move(out[i]));
    return OAR_OK;
  });
}
