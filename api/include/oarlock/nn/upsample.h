// Images of another size.
#pragma once
#include <string>
#include <vector>

#include <oarlock/nn/layer.h>

namespace oarlock::nn {

struct UpsampleOptions {
  std::vector<int64_t> size;         // of the axes behind [N, C], or one for all of them; or
  std::vector<double> scale_factor;  // the same as multiples of x's sizes, rounded down
  // "nearest", "linear" (one axis), "bilinear" (two), "trilinear" (three), "bicubic" (two)
  std::string mode = "nearest";
  bool align_corners = false;  // not for nearest: the first and the last elements stay where they are
};
// x [N, C, ...] or [C, ...] by op resize: linear and cubic read at half pixels unless align_corners; nearest takes element
// floor(i * in / out). Coordinates follow from the sizes, also where scale_factor is no whole number. The constructor throws Error: an
// unknown mode, both or neither of size and scale_factor, sizes below 1; forward: another number of axes.
class OAR_EXPORT Upsample : public Layer {
 public:
  explicit Upsample(UpsampleOptions options);
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "Upsample"; }
  std::string extra_repr() const override;

 private:
  UpsampleOptions o_;
};

}  // namespace oarlock::nn
