// The attributes of windows that slide: stride, padding, dilation as oneDNN takes them.
#ifndef OARLOCK_ONEDNN_WINDOW_H_
#define OARLOCK_ONEDNN_WINDOW_H_

#include <string>

#include "pack.h"

namespace oarlock::onednn {

struct Window {
  dnnl::memory::dims stride, dilation, begin, end;
};

// One entry for all axes, one for each, or (padding) beginnings then ends. Places of the attributes: stride, padding,
// dilation.
inline Window window_of(const oar_call_t& call, uint32_t stride, uint32_t padding, uint32_t dilation, uint32_t axes) {
  auto list = [&](uint32_t attribute, int64_t fallback, uint32_t from) {
    const std::span<const int64_t> given = kit::attr_ints(call, attribute);
    dnnl::memory::dims all(axes, fallback);
    for (uint32_t i = 0; i < axes && !given.empty(); ++i)
      all[i] = given.size() == 1 ? given[0] : given[(from + i) % given.size()];
    return all;
  };
  Window w;
  w.stride = list(stride, 1, 0);
  w.dilation = list(dilation, 1, 0);
  for (int64_t& d : w.dilation) --d;  // oneDNN counts what is skipped
  w.begin = list(padding, 0, 0);
  w.end = list(padding, 0, axes);
  return w;
}

// One to three axes behind [N, C], nothing empty.
inline void check_image(const oar_value_t& value, int operand, uint32_t fewest = 3) {
  if (value.n_dims < fewest || value.n_dims > 5)
    throw kit::Refusal(
        OAR_REASON_RANK, operand,
        "oneDNN takes one to three axes behind [N, C], not " + std::to_string(static_cast<int>(value.n_dims) - 2));
  for (uint32_t d = 0; d < value.n_dims; ++d)
    if (value.shape[d] < 1) throw kit::Refusal(OAR_REASON_SHAPE, operand, "it is empty");
}

}  // namespace oarlock::onednn
#endif
