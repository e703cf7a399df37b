#include <oarlock/nn/upsample.h>

#include <cmath>

#include <oarlock/base/ops.h>

#include "api/src/nn/made.h"
#include "api/src/nn/tuple.h"

namespace oarlock::nn {
namespace {

struct Mode {
  const char *name, *op_mode;
  int axes;  // 0: any number
};
constexpr Mode kModes[] = {
    {"nearest", "nearest", 0},  {"linear", "linear", 1}, {"bilinear", "linear", 2},
    {"trilinear", "linear", 3}, {"bicubic", "cubic", 2},
};
const Mode* find_mode(const std::string& name) {
  for (const Mode& m : kModes)
    if (name == m.name) return &m;
  return nullptr;
}

}  // namespace

Upsample::Upsample(UpsampleOptions options) : o_(std::move(options)) {
  const Mode* mode = find_mode(o_.mode);
  if (!mode)
    throw Error(Code::invalid_argument,
                "Upsample: mode is \"" + o_.mode + "\"; there are nearest, linear, bilinear, trilinear and bicubic.");
  if (o_.size.empty() == o_.scale_factor.empty())
    throw Error(Code::invalid_argument, o_.size.empty()
                                            ? "Upsample: neither size nor scale_factor is given. Give one of them."
                                            : "Upsample: both size and scale_factor are given. Give one of them.");
  if (o_.align_corners && !mode->axes)
    throw Error(Code::invalid_argument, "Upsample: mode nearest has no align_corners. Leave it out.");
  for (int64_t n : o_.size) check_positive("Upsample", "size", n);
  for (double s : o_.scale_factor)
    if (!(s > 0) || std::isinf(s))
      throw Error(Code::invalid_argument,
                  "Upsample: scale_factor is " + number_text(s) + ", expects a finite number above 0.");
  size_t given = std::max(o_.size.size(), o_.scale_factor.size());
  if (mode->axes && given != 1 && given != size_t(mode->axes))
    throw Error(Code::invalid_argument, "Upsample: " + std::to_string(given) + " sizes are given, mode " + o_.mode +
                                            " is for " + std::to_string(mode->axes) + " axes.");
}

Tensor Upsample::forward(const Tensor& x) {
  const Mode& mode = *find_mode(o_.mode);
  size_t given = std::max(o_.size.size(), o_.scale_factor.size());
  int axes = mode.axes ? mode.axes : given > 1 ? int(given) : x.rank() - 2;
  if (axes < 1)
    throw Error(Code::invalid_argument,
                "Upsample: x has shape " + oarlock::to_string(x.shape()) + ", axes behind [N, C] are wanted.");
  return batched(x, axes, "Upsample", [&](const Tensor& b) {
    Shape size;
    for (int i = 0; i < axes; ++i) {
      size_t k = given > 1 ? size_t(i) : 0;
      size.push(o_.size.empty() ? int64_t(std::floor(double(b.size(2 + i)) * o_.scale_factor[k])) : o_.size[k]);
    }
    if (!mode.axes) return resize(b, size, "nearest", "asymmetric", "floor");
    return resize(b, size, mode.op_mode, o_.align_corners ? "align_corners" : "half_pixel");
  });
}

std::string Upsample::extra_repr() const {
  std::string text;
  if (!o_.size.empty()) {
    text = "size=" + tuple(o_.size);
  } else {
    text = "scale_factor=(";
    for (size_t i = 0; i < o_.scale_factor.size(); ++i) text += (i ? ", " : "") + number_text(o_.scale_factor[i]);
    text += o_.scale_factor.size() == 1 ? ",)" : ")";
  }
  return text + ", mode=" + o_.mode + (o_.align_corners ? ", align_corners=True" : "");
}

}  // namespace oarlock::nn
