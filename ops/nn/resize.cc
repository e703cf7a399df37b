#include "core/op/opdef.h"
namespace oarlock::op::resize_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "resize",
    .summary = "x with other sizes behind [N, C], axis by axis. Element i of E reads x of D elements at (i + 0.5) * D "
               "/ E - 0.5 (half_pixel; pytorch_half_pixel: 0 where E is 1), i * (D - 1) / (E - 1) (align_corners) or i "
               "* D / E (asymmetric); nearest: at the element that rounding gives, linear: between two, cubic: between "
               "four with a = -0.75. Edges repeat.",
    .source = "ONNX operator set 19, Resize, without antialiasing; Keys 1981, Cubic convolution interpolation",
    .inputs = {{"x", "[N, C, *D]"}},
    .outputs = {{"out", "[N, C, *size]"}},
    .types = {{"T", kFloat}},
    .attributes = {dims("size"), choice("mode", "nearest|linear|cubic"),
                   choice("coordinates", "half_pixel|align_corners|asymmetric|pytorch_half_pixel"),
                   choice("rounding", "round_prefer_floor|round_prefer_ceil|floor|ceil")},
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .tolerance = {.ulps = 16, .of_absolutes = true},
    .cases = {{"larger, nearest", "N=1 C=2 D=3x4", "size=5,7 mode=nearest"},
              {"smaller, linear", "N=2 C=1 D=5x6", "size=3,4 mode=linear"},
              {"corners", "N=1 C=1 D=3x4", "size=5,7 mode=linear coordinates=align_corners"},
              {"cubic", "N=1 C=1 D=4x5", "size=7,3 mode=cubic"},
              {"to one", "N=1 C=1 D=4", "size=1 mode=cubic coordinates=pytorch_half_pixel"},
              {"from one", "N=1 C=1 D=1", "size=3 mode=linear coordinates=align_corners"},
              {"no images", "N=0 C=2 D=3", "size=4"},
              {"no elements", "N=1 C=2 D=0x3", "size=0,4"}},
});
}  // namespace oarlock::op::resize_

#include "rules.h"
#include "resize.h"
namespace oarlock::op::resize_ {
static void infer(InferCall& c) { infer_resize(c); }
static void gradient(GradientCall& c) {
  const Shape& x = c.in(0).shape();
  Shape size;
  size.push(x.d + 2, x.rank - 2);
  c.set(0, resize_gradient(c.dout(0), size, c.attrs.text(1), c.attrs.text(2), c.attrs.text(3)));
}
static void reference(KernelCall& c) { resize_axes(c, true); }
}  // namespace oarlock::op::resize_
