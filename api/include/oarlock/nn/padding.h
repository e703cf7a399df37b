// Elements around a tensor's axes behind [N, C].
#pragma once
#include <oarlock/nn/layer.h>
#include <oarlock/nn/sizes.h>

namespace oarlock::nn {

// mode: "constant" (value), "reflect" (mirrored, the edge itself not repeated), "replicate" (the edge) or "circular" (from the
// other end). before and after: for the last axes of x.
OAR_EXPORT Tensor pad_axes(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                           const std::string& mode, double value, const std::string& who);

// padding: one size for all ends, or {left, right}, {left, right, top, bottom}, {left, right, top, bottom, front, back}: the
// last axis first, as paddle has it.
class OAR_EXPORT PadLayer : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 protected:
  PadLayer(int axes, const char* name, const Sizes& padding, std::string mode, double value);

 private:
  int axes_;
  std::string name_, mode_;
  std::vector<int64_t> before_, after_;
  double value_;
};
class OAR_EXPORT Pad1D : public PadLayer {
 public:
  explicit Pad1D(Sizes padding, std::string mode = "constant", double value = 0)
      : PadLayer(1, "Pad1D", padding, std::move(mode), value) {}
  std::string type_name() const override { return "Pad1D"; }
};
class OAR_EXPORT Pad2D : public PadLayer {
 public:
  explicit Pad2D(Sizes padding, std::string mode = "constant", double value = 0)
      : PadLayer(2, "Pad2D", padding, std::move(mode), value) {}
  std::string type_name() const override { return "Pad2D"; }
};
class OAR_EXPORT Pad3D : public PadLayer {
 public:
  explicit Pad3D(Sizes padding, std::string mode = "constant", double value = 0)
      : PadLayer(3, "Pad3D", padding, std::move(mode), value) {}
  std::string type_name() const override { return "Pad3D"; }
};
class OAR_EXPORT ZeroPad2D : public PadLayer {
 public:
  explicit ZeroPad2D(Sizes padding) : PadLayer(2, "ZeroPad2D", padding, "constant", 0) {}
  std::string type_name() const override { return "ZeroPad2D"; }
};

}  // namespace oarlock::nn
