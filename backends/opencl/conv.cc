// conv and its two gradients. What is small runs one item to a result; the rest over images that are packed first.
#include <algorithm>
#include <numeric>

#include "pack.h"

namespace oarlock::opencl {
namespace {

constexpr int kAxes = 3;
constexpr int64_t kRows = 8, kTile = 16, kWide = 32;  // as in kernels/conv_packed.cl
constexpr int64_t kMostClasses = 16;                  // launches of one input gradient
constexpr int64_t kSlack = 64;                        // floats that vector loads may reach over the end

// `convolution` of kernels/conv.cl.
struct Convolution {
  int64_t images, groups, inner, outputs;
  int64_t in[kAxes], kernel[kAxes], out[kAxes], stride[kAxes], before[kAxes], dilation[kAxes];
  int64_t x[2 + kAxes], w[2 + kAxes], y[2 + kAxes];
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t results() const { return out[0] * out[1] * out[2]; }
  int64_t elements() const { return in[0] * in[1] * in[2]; }
  int64_t work() const { return images * groups * outputs * results() * inner * taps(); }
};
// `packing`, `weights`, `windows` and `slopes` of kernels/conv_packed.cl.
struct Packing {
  int64_t rows, channels, size[kAxes], before[kAxes], padded[kAxes], stride[2 + kAxes];
  int64_t elements() const { return rows * padded[2] * channels; }
  // From element to element along an axis of what is packed.
  int64_t step(int axis) const {
    int64_t n = channels;
    for (int d = kAxes - 1; d > axis; --d) n *= padded[d];
    return n;
  }
};
struct Weights {
  int64_t groups, panels, width, outputs, inner, taps[kAxes], group, output, channel, tap[kAxes], first;
  int64_t rows() const { return taps[0] * taps[1] * taps[2] * inner; }
  int64_t elements() const { return groups * panels * (rows() + 1) * width; }
};
struct Windows {
  int64_t places, count[kAxes], image, step[kAxes], first, tap[kAxes], taps[kAxes], run, w_first, w_tap[kAxes], rows,
      to_image, to_step[kAxes], to_first, to_channel, panels, outputs, group_in, group_out;
};
struct Slopes {
  int64_t images, per_part, count[kAxes], image, step[kAxes], tap[kAxes], taps[kAxes], run, panels, inner, outputs,
      results, all_taps, w_tap[kAxes], size;
};

enum Way { kForward, kToInput, kToWeight };
constexpr Way kWays[] = {kForward, kToInput, kToWeight};

void strides_of(const oar_value_t& v, bool dense, int64_t (&out)[2 + kAxes]) {
  int64_t own[2 + kAxes];
  if (dense) oar_kit_strides(v.n_dims, v.shape, own);
  else std::copy_n(v.strides, v.n_dims, own);
  std::fill(out, out + 2 + kAxes, 0);
  std::copy_n(own, 2, out);
  std::copy(own + 2, own + v.n_dims, out + 4 + kAxes - v.n_dims);
}
void sizes_of(const oar_value_t& v, int64_t (&out)[kAxes]) {
  std::fill(out, out + kAxes, 1);
  std::copy(v.shape + 2, v.shape + v.n_dims, out + 2 + kAxes - v.n_dims);
}

// x, w, y: of the convolution, whatever is input and output of the op. first: the attribute stride.
Convolution convolution_of(const oar_call_t& call, const oar_value_t& x, const oar_value_t& w, const oar_value_t& y,
                           uint32_t first, Way way) {
  Convolution g = {};
  const int axes = static_cast<int>(x.n_dims) - 2;
  g.images = x.shape[0];
  g.groups = kit::attr_int(call, first + 3, 1);
  g.inner = w.shape[1];
  g.outputs = w.shape[0] / g.groups;
  sizes_of(x, g.in);
  sizes_of(w, g.kernel);
  sizes_of(y, g.out);
  auto list = [&](uint32_t attr, int64_t otherwise, int64_t* out) {
    const auto given = kit::attr_ints(call, attr);
    for (int d = 0; d < kAxes; ++d) {
      const int axis = d - (kAxes - axes);
      out[d] = axis < 0 || given.empty() ? otherwise : given[given.size() == 1 ? 0 : static_cast<size_t>(axis)];
    }
  };
  list(first, 1, g.stride);
  list(first + 1, 0, g.before);
  list(first + 2, 1, g.dilation);
  strides_of(x, way == kToInput, g.x);
  strides_of(w, way == kToWeight, g.w);
  strides_of(y, way == kForward, g.y);
  return g;
}

// The image that windows of a convolution read, zeros around it.
Packing packing_of(const Convolution& g) {
  Packing p = {};
  p.channels = g.groups * g.inner;
  for (int d = 0; d < kAxes; ++d) {
    p.size[d] = g.in[d];
    p.before[d] = g.before[d];
    p.padded[d] = (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
  }
  p.rows = g.images * p.padded[0] * p.padded[1];
  std::copy_n(g.x, 2 + kAxes, p.stride);
  return p;
}

void launch_packing(oar_stream_t* stream, bool cpu, const oar_view_t& x, const oar_span_t& to, uint64_t at,
                    const Packing& p) {
  Launch launch(stream, "conv_packed", "", cpu ? "pack_rows" : "pack_elements");
  launch.view(&x).span(to, at).value(p).value<cl_int>(static_cast<cl_int>(x.dtype));
  if (cpu) launch.groups({static_cast<size_t>(p.rows)}, {1});
  else launch.items(p.elements());
}

uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }
uint64_t bytes_for(int64_t floats) { return aligned(static_cast<uint64_t>(floats + kSlack) * sizeof(float)); }

struct Direct final : Prepared {
  Convolution g;
  Way way;
  Direct(oar_pack_t* p, const Convolution& g_, Way w) : Prepared(p), g(g_), way(w) {}
  void launch(const oar_frame_t& frame) const override {
    const oar_view_t &a = *frame.inputs[0], &b = *frame.inputs[1];
    const oar_view_t* bias = way == kForward && frame.n_inputs > 2 ? frame.inputs[2] : nullptr;
    const char* const names[] = {"forward", "to_input", "to_weight"};
    Launch launch(frame.stream, "conv", "", names[way]);
    launch.view(&a).view(&b);
    if (way == kForward) launch.view(bias);
    launch.view(frame.outputs[0]).value(g);
    if (way == kForward) launch.value<cl_long>(bias != nullptr ? bias->strides[0] : -1);
    launch.value<cl_int>(static_cast<cl_int>(a.dtype)).items(count_of(*frame.outputs[0]));
  }
};

// forward and to_input: products of the windows of a packed image and panels of weights, one launch for each class of
// places that read the same taps.
struct Products final : Prepared {
  bool cpu;
  Packing image;
  Weights weights;
  std::vector<Windows> classes;
  bool biased;
  Products(oar_pack_t* p, bool b) : Prepared(p), cpu(p->device->cpu_shaped), image(), weights(), biased(b) {}
  uint64_t weights_at() const { return bytes_for(image.elements()); }
  uint64_t workspace() const { return weights_at() + bytes_for(weights.elements()); }

  // weights in the order in which the taps of a window stand in the image.
  void set_weights(const Convolution& g, bool to_input) {
    weights.groups = g.groups;
    weights.outputs = to_input ? g.inner : g.outputs;
    weights.inner = to_input ? g.outputs : g.inner;
    weights.width = cpu ? (weights.outputs > kWide / 2 ? kWide : kWide / 2) : kTile;
    weights.panels = (weights.outputs + weights.width - 1) / weights.width;
    weights.group = g.outputs * g.w[0];
    weights.output = g.w[to_input ? 1 : 0];
    weights.channel = g.w[to_input ? 0 : 1];
    weights.first = 0;
    for (int d = 0; d < kAxes; ++d) {
      weights.taps[d] = g.kernel[d];
      weights.tap[d] = to_input ? -g.w[2 + d] : g.w[2 + d];
      if (to_input) weights.first += (g.kernel[d] - 1) * g.w[2 + d];
    }
  }
  int64_t w_step(int axis) const {
    int64_t n = weights.inner;
    for (int d = kAxes - 1; d > axis; --d) n *= weights.taps[d];
    return n;
  }
  // What all classes have in common; `to` has the strides of the result.
  Windows windows(const int64_t (&to)[2 + kAxes]) const {
    Windows v = {};
    v.image = image.step(-1);
    v.run = weights.inner;
    v.rows = weights.rows();
    v.to_image = to[0];
    v.to_channel = to[1];
    v.panels = weights.panels;
    v.outputs = weights.outputs;
    v.group_in = weights.inner;
    v.group_out = weights.outputs * to[1];
    return v;
  }
  void add(Windows v, int64_t images) {
    v.places = images * v.count[0] * v.count[1] * v.count[2];
    // Taps side by side are one run.
    if (v.taps[2] > 0 && v.tap[2] == weights.inner && v.w_tap[2] == weights.inner && weights.groups == 1) {
      v.run *= v.taps[2];
      v.taps[2] = 1;
    }
    if (v.places > 0) classes.push_back(v);
  }

  void launch(const oar_frame_t& frame) const override {
    const oar_view_t &x = *frame.inputs[0], &w = *frame.inputs[1], &out = *frame.outputs[0];
    const oar_view_t* bias = biased ? frame.inputs[2] : nullptr;
    const auto dtype = static_cast<cl_int>(out.dtype);
    launch_packing(frame.stream, cpu, x, frame.workspace, 0, image);
    Launch(frame.stream, "conv_packed", "", "pack_weights")
        .view(&w)
        .view(bias)
        .span(frame.workspace, weights_at())
        .value(weights)
        .value<cl_long>(bias != nullptr ? bias->strides[0] : -1)
        .value<cl_int>(static_cast<cl_int>(w.dtype))
        .items(weights.elements());
    for (const Windows& v : classes) {
      Launch launch(frame.stream, "conv_packed", "",
                    !cpu                     ? "windows_tiled"
                    : weights.width == kWide ? "windows_wide"
                                             : "windows_narrow");
      launch.span(frame.workspace).span(frame.workspace, weights_at()).view(&out).value(v);
      const auto panels = static_cast<size_t>(v.panels), groups = static_cast<size_t>(weights.groups);
      if (cpu) {
        const int64_t all = (v.places + kRows - 1) / kRows;
        const int64_t blocks = std::clamp<int64_t>(all / (pack->device->listed->units * 16), 1, 16);
        launch.value<cl_long>(blocks).value(dtype).groups(
            {static_cast<size_t>((all + blocks - 1) / blocks), panels, groups}, {1, 1, 1});
      } else {
        const size_t tile = kTile, rows = static_cast<size_t>((v.places + kTile - 1) / kTile);
        launch.value<cl_long>(weights.groups)
            .value(dtype)
            .groups({panels * tile, rows * tile, groups}, {tile, tile, 1});
      }
    }
  }
};

std::unique_ptr<Products> forward_products(oar_pack_t* pack, const Convolution& g, bool biased) {
  auto s = std::make_unique<Products>(pack, biased);
  s->image = packing_of(g);
  s->set_weights(g, false);
  Windows v = s->windows(g.y);
  for (int d = 0; d < kAxes; ++d) {
    v.count[d] = g.out[d];
    v.step[d] = g.stride[d] * s->image.step(d);
    v.tap[d] = g.dilation[d] * s->image.step(d);
    v.taps[d] = g.kernel[d];
    v.w_tap[d] = s->w_step(d);
    v.to_step[d] = g.y[2 + d];
  }
  s->add(v, g.images);
  return s;
}

// Elements r, r + stride, .. of x along an axis: how many, and the taps that reach them, in the order of their windows.
struct Residue {
  int64_t count, taps = 0, last_tap = 0, tap_step, first = 0,
                 step;  // first: window of element r by the first of the taps
  Residue(const Convolution& g, int d, int64_t r) {
    const int64_t s = g.stride[d], common = std::gcd(s, g.dilation[d]);
    count = (g.in[d] - r + s - 1) / s;
    tap_step = s / common;
    step = g.dilation[d] / common;
    for (int64_t k = 0; k < g.kernel[d]; ++k) {
      const int64_t from = r + g.before[d] - k * g.dilation[d];
      if (from % s != 0) continue;
      ++taps;
      last_tap = k;
      first = from / s;
    }
  }
};

std::unique_ptr<Products> input_products(oar_pack_t* pack, const Convolution& g) {
  auto s = std::make_unique<Products>(pack, false);
  std::vector<Residue> residues[kAxes];
  int64_t low[kAxes], all = 1;
  for (int d = 0; d < kAxes; ++d) all *= std::min(g.stride[d], g.in[d]);
  if (all > kMostClasses) return nullptr;
  Packing& p = s->image;
  p = {};
  p.channels = g.groups * g.outputs;
  for (int d = 0; d < kAxes; ++d) {
    int64_t high = 0;
    low[d] = 0;
    for (int64_t r = 0; r < std::min(g.stride[d], g.in[d]); ++r) {
      const Residue& c = residues[d].emplace_back(g, d, r);
      if (c.taps == 0) continue;
      low[d] = std::min(low[d], c.first);
      high = std::max(high, c.first + (c.taps - 1) * c.step + c.count - 1);
    }
    p.size[d] = g.out[d];
    p.before[d] = -low[d];
    p.padded[d] = high - low[d] + 1;
  }
  p.rows = g.images * p.padded[0] * p.padded[1];
  std::copy_n(g.y, 2 + kAxes, p.stride);
  s->set_weights(g, true);
  for (const Residue& r0 : residues[0])
    for (const Residue& r1 : residues[1])
      for (const Residue& r2 : residues[2]) {
        const Residue* const of[kAxes] = {&r0, &r1, &r2};
        Windows v = s->windows(g.x);
        for (int d = 0; d < kAxes; ++d) {
          const Residue& r = *of[d];
          v.count[d] = r.count;
          v.step[d] = p.step(d);
          v.tap[d] = r.step * p.step(d);
          v.taps[d] = r.taps;
          v.w_tap[d] = r.tap_step * s->w_step(d);
          v.to_step[d] = g.stride[d] * g.x[2 + d];
          v.to_first += (&r - residues[d].data()) * g.x[2 + d];
          if (r.taps == 0) continue;
          v.first += (r.first - low[d]) * p.step(d);
          v.w_first += (g.kernel[d] - 1 - r.last_tap) * s->w_step(d);
        }
        s->add(v, g.images);
      }
  return s;
}

// to_weight: sums over places, parts of the images each by itself.
struct Sums final : Prepared {
  bool cpu;
  Packing dy, x;
  Slopes s = {};
  int64_t parts;
  explicit Sums(oar_pack_t* p, const Convolution& g) : Prepared(p), cpu(p->device->cpu_shaped), dy(), x(packing_of(g)) {
    dy.channels = g.groups * g.outputs;
    for (int d = 0; d < kAxes; ++d) dy.size[d] = dy.padded[d] = g.out[d];
    dy.rows = g.images * g.out[0] * g.out[1];
    std::copy_n(g.y, 2 + kAxes, dy.stride);
    s.images = g.images;
    s.image = x.step(-1);
    s.all_taps = g.taps();
    for (int d = 0; d < kAxes; ++d) {
      s.count[d] = g.out[d];
      s.step[d] = g.stride[d] * x.step(d);
      s.tap[d] = g.dilation[d] * x.step(d);
      s.taps[d] = g.kernel[d];
      s.w_tap[d] = d == 2 ? 1 : d == 1 ? g.kernel[2] : g.kernel[1] * g.kernel[2];
    }
    s.run = s.inner = g.inner;
    if (g.dilation[2] == 1 && g.groups == 1) {
      s.run *= s.taps[2];
      s.taps[2] = 1;
    }
    s.outputs = g.outputs;
    s.results = g.groups * g.outputs;
    s.size = s.results * s.inner * s.all_taps;
    s.panels = (s.run + width() - 1) / width();
    // Enough items for every unit, and sums that are short enough for f32.
    const int64_t wanted = pack->device->listed->units * (cpu ? 32 : 64);
    const int64_t long_sums = (g.images * g.results() + 8191) / 8192;
    const int64_t most = std::max<int64_t>(1, (int64_t{64} << 20) / std::max<int64_t>(1, 4 * s.size));
    parts = std::min({g.images, std::max(long_sums, (wanted + items() - 1) / items()), most});
    s.per_part = (g.images + parts - 1) / parts;
    parts = (g.images + s.per_part - 1) / s.per_part;
  }
  int64_t width() const { return cpu ? kWide : kTile; }
  int64_t runs() const { return s.panels * s.taps[0] * s.taps[1] * s.taps[2]; }
  int64_t blocks() const {
    const int64_t rows = cpu ? kRows : kTile;
    return s.results / s.outputs * ((s.outputs + rows - 1) / rows);
  }
  int64_t items() const { return runs() * blocks(); }
  uint64_t x_at() const { return bytes_for(dy.elements()); }
  uint64_t parts_at() const { return x_at() + bytes_for(x.elements()); }
  uint64_t workspace() const { return parts_at() + bytes_for(parts * s.size); }

  void launch(const oar_frame_t& frame) const override {
    const oar_view_t& out = *frame.outputs[0];
    launch_packing(frame.stream, cpu, *frame.inputs[0], frame.workspace, 0, dy);
    launch_packing(frame.stream, cpu, *frame.inputs[1], frame.workspace, x_at(), x);
    Launch launch(frame.stream, "conv_packed", "", cpu ? "slopes_wide" : "slopes_tiled");
    launch.span(frame.workspace).span(frame.workspace, x_at()).span(frame.workspace, parts_at()).value(s);
    const size_t tile = cpu ? 1 : kTile;
    launch.groups(
        {static_cast<size_t>(runs()) * tile, static_cast<size_t>(blocks()) * tile, static_cast<size_t>(parts)},
        {tile, tile, 1});
    Launch(frame.stream, "conv_packed", "", "add_parts")
        .span(frame.workspace, parts_at())
        .view(&out)
        .value<cl_long>(s.size)
        .value<cl_long>(parts)
        .value<cl_int>(static_cast<cl_int>(out.dtype))
        .items(s.size);
  }
};

oar_status_t check_conv(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                        oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  const uint32_t rank = call->inputs[0]->n_dims;
  if (rank >= 2 && rank <= 2 + kAxes) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "up to %d axes behind [N, C], not %d", kAxes,
                        static_cast<int>(rank) - 2);
}

oar_status_t prepare_conv(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const Way way = *static_cast<const Way*>(decl->user);
    const oar_value_t &a = *call->inputs[0], &b = *call->inputs[1], &out = *call->outputs[0];
    const Convolution g = way == kForward   ? convolution_of(*call, a, b, out, 0, way)
                          : way == kToInput ? convolution_of(*call, out, b, a, 1, way)
                                            : convolution_of(*call, b, out, a, 1, way);
    const bool packs = a.dtype != OAR_DTYPE_F64 && g.work() > 0 && g.work() >= pack->device->special_work;
    if (packs && way == kToWeight) {
      auto state = std::make_unique<Sums>(pack, g);
      const uint64_t bytes = state->workspace();
      return finish(out_prepared, std::move(state), bytes);
    }
    if (packs) {
      const bool biased = way == kForward && call->n_inputs > 2 && call->inputs[2] != nullptr;
      if (auto state = way == kForward ? forward_products(pack, g, biased) : input_products(pack, g)) {
        const uint64_t bytes = state->workspace();
        return finish(out_prepared, std::move(state), bytes);
      }
    }
    finish(out_prepared, std::make_unique<Direct>(pack, g, way));
  });
}

constexpr uint64_t kFloatsMask[] = {kFloats};
const oar_kernel_decl_t kDecls[] = {
    declare_prepared("conv", kFloatsMask, prepare_conv, &kWays[0], check_conv),
    declare_prepared("conv_input_gradient", kFloatsMask, prepare_conv, &kWays[1], check_conv),
    declare_prepared("conv_weight_gradient", kFloatsMask, prepare_conv, &kWays[2], check_conv)};

}  // namespace

Declarations conv_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
