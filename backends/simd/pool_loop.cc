// max_pool, avg_pool and their gradients. Images whose channels lie innermost are pooled channel by channel in vectors,
// and their results are made to lie so too; others plane by plane, in lines of the last axis. f16 and bf16 are pooled in f32,
// through the workspace.
#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "pack.h"

namespace oarlock::simd {
namespace {

constexpr int64_t kTaps = 64;      // rows handed to a kernel at a time
constexpr int64_t kLine = 256;     // windows of a line
constexpr int64_t kChannels = 64;  // of one unit of work of a gradient

enum PoolOp : int { kMaxPool, kAvgPool, kMaxPoolGradient, kAvgPoolGradient };
constexpr PoolOp kPoolOps[] = {kMaxPool, kAvgPool, kMaxPoolGradient, kAvgPoolGradient};

// A window along one axis: where it starts (before 0 in the padding), its taps on elements, and how many count.
struct Span {
  int64_t start, low, high, counted;
};
// A tap of a line of windows along the last axis: it lies on elements for windows [low, high) of the line, the first of
// which takes element at.
struct LineTap {
  int64_t low, high, at;
};
// axes of the large image (x or dx) and of the windows (out or dy).
struct State {
  oar_pack_t* pack;
  PoolOp op;
  int axes = 0;
  bool channels_last = false;
  int64_t images = 0, channels = 0, plane = 1, places = 1;
  int64_t in[kMaxRank], out[kMaxRank], stride[kMaxRank], dilation[kMaxRank];
  std::vector<Span> spans[kMaxRank];
  std::vector<std::vector<LineTap>> lines;  // of each kLine windows along the last axis
  uint64_t half_bytes[2] = {};              // of f16 and bf16: room for the large image and for the windows in f32
};

// Strides of a view by [N, C, *D].
struct Image {
  const State* state;
  const PoolKernels* kernels;
  int size;
  const oar_view_t *big, *small;      // the image, and its windows' results
  const oar_view_t* index = nullptr;  // of max_pool and its gradient
  std::atomic<int64_t> bad_index{-1};
};

// The taps of one window that lie on elements, as offsets into an image and as places in its plane, in pieces.
template <class Each>
void each_piece(const State& s, const Span* const* spans, const int64_t* strides, Each each) {
  int64_t at[kTaps], place[kTaps], k[kMaxRank], n = 0;
  for (int a = 0; a < s.axes; ++a) {
    if (spans[a]->low >= spans[a]->high) return each(at, place, 0, true);
    k[a] = spans[a]->low;
  }
  bool first = true;
  const int last = s.axes - 1;
  for (;;) {
    int64_t offset = 0, p = 0;
    for (int a = 0; a < last; ++a) {
      const int64_t i = spans[a]->start + k[a] * s.dilation[a];
      offset += i * strides[a];
      p = p * s.in[a] + i;
    }
    p *= s.in[last];
    for (int64_t t = spans[last]->low; t < spans[last]->high; ++t) {
      const int64_t i = spans[last]->start + t * s.dilation[last];
      if (n == kTaps) {
        each(at, place, n, first);
        first = false;
        n = 0;
      }
      at[n] = offset + i * strides[last];
      place[n++] = p + i;
    }
    int a = last - 1;
    for (; a >= 0; --a) {
      if (++k[a] < spans[a]->high) break;
      k[a] = spans[a]->low;
    }
    if (a < 0) break;
  }
  each(at, place, n, first);
}

// The spans of window number i, and its offset in a view of the windows.
int64_t window_find(const State& s, int64_t i, const oar_view_t& view, const Span** out_spans) {
  int64_t at = 0;
  for (int a = s.axes - 1; a >= 0; --a) {
    const int64_t o = i % s.out[a];
    i /= s.out[a];
    at += o * view.strides[a + 2];
    out_spans[a] = &s.spans[a][static_cast<size_t>(o)];
  }
  return at;
}
int64_t counted(const State& s, const Span* const* spans) {
  int64_t n = 1;
  for (int a = 0; a < s.axes; ++a) n *= spans[a]->counted;
  return std::max<int64_t>(n, 1);
}
char* element(const oar_view_t& view, int64_t at, int size) { return static_cast<char*>(view.data) + at * size; }

template <class T>
void fill_lowest(void* to, int64_t n) {
  std::fill_n(static_cast<T*>(to), n, -std::numeric_limits<T>::infinity());
}

// -- Channels innermost. Units: windows.
void pool_channels(void* context, int64_t begin, int64_t end) {
  const Image& job = *static_cast<const Image*>(context);
  const State& s = *job.state;
  const oar_view_t &x = *job.big, &out = *job.small;
  const Span* spans[kMaxRank];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t image = unit / s.places, window = unit % s.places;
    void* to = element(out, image * out.strides[0] + window_find(s, window, out, spans), job.size);
    const char* from = element(x, image * x.strides[0], job.size);
    int64_t* index = nullptr;
    if (job.index != nullptr)
      index = static_cast<int64_t*>(job.index->data) + image * job.index->strides[0] +
              window_find(s, window, *job.index, spans);
    const int64_t n = s.channels;
    int64_t left = 1;
    for (int a = 0; a < s.axes; ++a) left *= std::max<int64_t>(0, spans[a]->high - spans[a]->low);
    const auto divisor = static_cast<double>(counted(s, spans));
    each_piece(s, spans, x.strides + 2, [&](const int64_t* at, const int64_t* place, int64_t taps, bool first) {
      left -= taps;
      if (s.op == kAvgPool) {
        job.kernels->sum_taps(from, at, taps, n, left == 0 ? divisor : 0, to, first);
      } else if (taps > 0) {
        job.kernels->max_taps(from, at, place, taps, n, to, index, first);
      } else {
        if (job.size == 4) fill_lowest<float>(to, n);
        else fill_lowest<double>(to, n);
        if (index != nullptr) std::fill_n(index, n, s.plane);
      }
    });
  }
}

// Zeroes channels [c, c + n) of an image.
void zero_channels(const State& s, const oar_view_t& view, int64_t at, int64_t n, int size) {
  int64_t index[kMaxRank] = {};
  do std::memset(element(view, at, size), 0, static_cast<size_t>(n * size));
  while (oar_kit_next(static_cast<uint32_t>(s.axes), s.in, view.strides + 2, index, &at));
}

// Units: blocks of channels.
void spread_channels(void* context, int64_t begin, int64_t end) {
  const Image& job = *static_cast<const Image*>(context);
  const State& s = *job.state;
  const oar_view_t &dx = *job.big, &dy = *job.small;
  const int64_t blocks = (s.channels + kChannels - 1) / kChannels;
  const Span* spans[kMaxRank];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t image = unit / blocks, c = unit % blocks * kChannels, n = std::min(kChannels, s.channels - c);
    zero_channels(s, dx, image * dx.strides[0] + c, n, job.size);
    void* to = element(dx, image * dx.strides[0] + c, job.size);
    for (int64_t w = 0; w < s.places; ++w) {
      const void* from = element(dy, image * dy.strides[0] + c + window_find(s, w, dy, spans), job.size);
      const auto divisor = static_cast<double>(counted(s, spans));
      each_piece(s, spans, dx.strides + 2, [&](const int64_t* at, const int64_t*, int64_t taps, bool) {
        job.kernels->spread_taps(from, divisor, to, at, taps, n);
      });
    }
  }
}

// -- Planes. Units: planes.
// One line of windows along the last axis at a time: each(from the line's first window, how many, spans of the other axes,
// offset of the first one in the windows' view).
template <class Each>
void each_line(const State& s, const oar_view_t& windows, Each each) {
  const int last = s.axes - 1;
  const int64_t width = s.out[last];
  const Span* spans[kMaxRank];
  for (int64_t w = 0; w < s.places; w += width)
    for (int64_t first = 0; first < width; first += kLine) {
      const int64_t at = window_find(s, w + first, windows, spans);
      each(first, std::min(kLine, width - first), spans, at);
    }
}
std::vector<LineTap> line_taps(const State& s, int64_t first, int64_t n) {
  const int last = s.axes - 1;
  const std::vector<Span>& along = s.spans[last];
  int64_t least = INT64_MAX, most = 0;
  for (int64_t i = first; i < first + n; ++i) {
    const Span& span = along[static_cast<size_t>(i)];
    if (span.low >= span.high) continue;
    least = std::min(least, span.low);
    most = std::max(most, span.high);
  }
  std::vector<LineTap> taps;
  for (int64_t t = least; t < most; ++t) {
    int64_t low = 0, high = n;
    while (low < high && t < along[static_cast<size_t>(first + low)].low) ++low;
    while (high > low && t >= along[static_cast<size_t>(first + high - 1)].high) --high;
    if (low < high) taps.push_back({low, high, along[static_cast<size_t>(first + low)].start + t * s.dilation[last]});
  }
  return taps;
}
// Each tap of a line: each(offset in the image of the first window's element, its place, range of the windows).
template <class Each>
void each_tap(const State& s, const Span* const* spans, const int64_t* strides, int64_t first, Each each) {
  const int last = s.axes - 1;
  const std::vector<LineTap>& taps = s.lines[static_cast<size_t>(first / kLine)];
  int64_t k[kMaxRank];
  for (int a = 0; a < last; ++a) {
    if (spans[a]->low >= spans[a]->high) return;
    k[a] = spans[a]->low;
  }
  for (;;) {
    int64_t offset = 0, place = 0;
    for (int a = 0; a < last; ++a) {
      const int64_t i = spans[a]->start + k[a] * s.dilation[a];
      offset += i * strides[a];
      place = place * s.in[a] + i;
    }
    for (const LineTap& tap : taps)
      each(offset + tap.at * strides[last], place * s.in[last] + tap.at, tap.low, tap.high - tap.low);
    int a = last - 1;
    for (; a >= 0; --a) {
      if (++k[a] < spans[a]->high) break;
      k[a] = spans[a]->low;
    }
    if (a < 0) return;
  }
}
int64_t plane_offset(const State& s, const oar_view_t& view, int64_t plane) {
  return plane / s.channels * view.strides[0] + plane % s.channels * view.strides[1];
}

template <class T>
void zero_plane(const State& s, const oar_view_t& view, T* image) {
  if (oar_kit_contiguous(static_cast<uint32_t>(s.axes), s.in, view.strides + 2)) {
    std::memset(image, 0, static_cast<size_t>(s.plane) * sizeof(T));
    return;
  }
  int64_t index[kMaxRank] = {}, at = 0;
  do image[at] = 0;
  while (oar_kit_next(static_cast<uint32_t>(s.axes), s.in, view.strides + 2, index, &at));
}

template <class T>
void max_planes(void* context, int64_t begin, int64_t end) {
  const Image& job = *static_cast<const Image*>(context);
  const State& s = *job.state;
  const oar_view_t &x = *job.big, &out = *job.small;
  const int last = s.axes - 1;
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  T best[kLine];
  Index index[kLine];
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* from = static_cast<const T*>(x.data) + plane_offset(s, x, plane);
    each_line(s, out, [&](int64_t first, int64_t n, const Span** spans, int64_t at) {
      std::fill_n(best, n, -std::numeric_limits<T>::infinity());
      std::fill_n(index, n, static_cast<Index>(s.plane));
      each_tap(s, spans, x.strides + 2, first, [&](int64_t offset, int64_t place, int64_t low, int64_t count) {
        job.kernels->max_line(from + offset, s.stride[last] * x.strides[last + 2], place, s.stride[last], count,
                              best + low, index + low, s.plane);
      });
      T* to = static_cast<T*>(out.data) + plane_offset(s, out, plane) + at;
      for (int64_t i = 0; i < n; ++i) to[i * out.strides[last + 2]] = best[i];
      if (job.index == nullptr) return;
      // The windows' offset in this view, whose strides are its own.
      int64_t row = 0;
      for (int a = 0; a < last; ++a) row += (spans[a] - s.spans[a].data()) * job.index->strides[a + 2];
      int64_t* places = static_cast<int64_t*>(job.index->data) + plane_offset(s, *job.index, plane) + row;
      for (int64_t i = 0; i < n; ++i) places[(first + i) * job.index->strides[last + 2]] = index[i];
    });
  }
}

template <class T>
void avg_planes(void* context, int64_t begin, int64_t end) {
  const Image& job = *static_cast<const Image*>(context);
  const State& s = *job.state;
  const oar_view_t &big = *job.big, &small = *job.small;
  const int last = s.axes - 1;
  const bool gradient = s.op == kAvgPoolGradient;
  double sum[kLine];
  T share[kLine];
  for (int64_t plane = begin; plane < end; ++plane) {
    T* image = static_cast<T*>(big.data) + plane_offset(s, big, plane);
    if (gradient) { zero_plane(s, big, image); }
    each_line(s, small, [&](int64_t first, int64_t n, const Span** spans, int64_t at) {
      T* windows = static_cast<T*>(small.data) + plane_offset(s, small, plane) + at;
      int64_t rows = 1;
      for (int a = 0; a < last; ++a) rows *= spans[a]->counted;
      const Span* along = s.spans[last].data() + first;
      auto count = [&](int64_t i) { return static_cast<double>(std::max<int64_t>(1, rows * along[i].counted)); };
      if (gradient)
        for (int64_t i = 0; i < n; ++i)
          share[i] = static_cast<T>(static_cast<double>(windows[i * small.strides[last + 2]]) / count(i));
      else std::fill_n(sum, n, 0.0);
      each_tap(s, spans, big.strides + 2, first, [&](int64_t offset, int64_t, int64_t low, int64_t taken) {
        const int64_t step = s.stride[last] * big.strides[last + 2];
        if (gradient) job.kernels->spread_line(share + low, taken, image + offset, step);
        else job.kernels->sum_line(image + offset, step, taken, sum + low);
      });
      if (gradient) return;
      for (int64_t i = 0; i < n; ++i) windows[i * small.strides[last + 2]] = static_cast<T>(sum[i] / count(i));
    });
  }
}

// Units: planes, or images where channels lie innermost.
template <class T>
void scatter_places(void* context, int64_t begin, int64_t end) {
  Image& job = *static_cast<Image*>(context);
  const State& s = *job.state;
  const oar_view_t &dx = *job.big, &dy = *job.small, &index = *job.index;
  const int64_t n = s.channels_last ? s.channels : 1;
  const int64_t step = dx.strides[s.axes + 1];  // the planes of dx have no gaps
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t plane = unit * n;
    T* to = static_cast<T*>(dx.data) + plane_offset(s, dx, plane);
    if (n > 1)
      for (int64_t p = 0; p < s.plane; ++p) std::memset(to + p * step, 0, static_cast<size_t>(n) * sizeof(T));
    else zero_plane(s, dx, to);
    int64_t at[kMaxRank] = {};
    const T* from = static_cast<const T*>(dy.data) + plane_offset(s, dy, plane);
    const int64_t* places = static_cast<const int64_t*>(index.data) + plane_offset(s, index, plane);
    for (int64_t w = 0; w < s.places; ++w) {
      for (int64_t c = 0; c < n; ++c) {
        const int64_t place = places[c * index.strides[1]];
        if (static_cast<uint64_t>(place) < static_cast<uint64_t>(s.plane)) {
          to[c * dx.strides[1] + place * step] += from[c * dy.strides[1]];
        } else if (place != s.plane) {
          int64_t none = -1;
          job.bad_index.compare_exchange_strong(none,
                                                &places[c * index.strides[1]] - static_cast<int64_t*>(index.data));
        }
      }
      for (int a = s.axes - 1; a >= 0; --a) {
        from += dy.strides[a + 2];
        places += index.strides[a + 2];
        if (++at[a] < s.out[a]) break;
        from -= dy.strides[a + 2] * s.out[a];
        places -= index.strides[a + 2] * s.out[a];
        at[a] = 0;
      }
    }
  }
}

// -- From the call to the loops
// Both lie alike and have no gaps.
struct Cast {
  Tile tile;
  const oar_view_t *from, *to;
};
void cast_whole(oar_pack_t* pack, const oar_view_t& from, const oar_view_t& to) {
  Cast job = {pack->kernels.cast[from.dtype][to.dtype], &from, &to};
  parallel(
      pack, count_of(from), kParallelElements,
      [](void* context, int64_t begin, int64_t end) {
        const Cast& c = *static_cast<const Cast*>(context);
        c.tile(element(*c.from, begin, size_of(c.from->dtype)), nullptr, nullptr,
               element(*c.to, begin, size_of(c.to->dtype)), end - begin);
      },
      &job);
}

oar_status_t launch(void* state, const oar_frame_t* frame) {
  const State& s = *static_cast<const State*>(state);
  oar_pack_t* pack = s.pack;
  const bool gradient = s.op == kMaxPoolGradient || s.op == kAvgPoolGradient;
  Image job;
  job.state = &s;
  job.big = gradient ? frame->outputs[0] : frame->inputs[0];
  job.small = gradient ? frame->inputs[0] : frame->outputs[0];
  oar_view_t as_f32[2];
  const oar_view_t* halves[2] = {job.big, job.small};
  if (s.half_bytes[0] != 0) {
    char* workspace = static_cast<char*>(frame->workspace.data) + frame->workspace.byte_offset;
    for (int i = 0; i < 2; ++i) {
      as_f32[i] = *halves[i];
      as_f32[i].data = workspace + (i == 0 ? 0 : s.half_bytes[0]);
      as_f32[i].dtype = OAR_DTYPE_F32;
    }
    cast_whole(pack, gradient ? *job.small : *job.big, gradient ? as_f32[1] : as_f32[0]);
    job.big = &as_f32[0];
    job.small = &as_f32[1];
  }
  if (s.op == kMaxPoolGradient) job.index = frame->inputs[1];
  if (s.op == kMaxPool && frame->n_outputs > 1) job.index = frame->outputs[1];
  job.size = size_of(job.big->dtype);
  const bool wide = job.size == 8;
  job.kernels = wide ? &pack->kernels.pool_f64 : &pack->kernels.pool_f32;
  const int64_t planes = s.images * s.channels;
  if (planes == 0 || count_of(gradient ? *job.big : *job.small) == 0) return OAR_OK;
  const int64_t per_plane = std::max<int64_t>(1, std::max(s.plane, s.places));
  auto grain = [&](int64_t elements) {
    return std::max<int64_t>(1, kParallelElements / 4 / std::max<int64_t>(1, elements));
  };
  if (s.op == kMaxPoolGradient) {
    const int64_t units = s.channels_last ? s.images : planes;
    parallel(pack, units, grain(per_plane * (planes / units)), wide ? scatter_places<double> : scatter_places<float>,
             &job);
    if (s.half_bytes[0] != 0) cast_whole(pack, *job.big, *halves[0]);
    const int64_t bad = job.bad_index.load();
    if (bad < 0) return OAR_OK;
    return oar_kit_error(pack->host, OAR_INVALID_ARGUMENT, 0, "max_pool_gradient: place %lld is outside 0..%lld",
                         static_cast<long long>(static_cast<const int64_t*>(job.index->data)[bad]),
                         static_cast<long long>(s.plane));
  }
  if (!s.channels_last) {
    Body body = wide ? avg_planes<double> : avg_planes<float>;
    if (s.op == kMaxPool) body = wide ? max_planes<double> : max_planes<float>;
    parallel(pack, planes, grain(per_plane * 2), body, &job);
  } else if (gradient) {
    parallel(pack, s.images * ((s.channels + kChannels - 1) / kChannels), grain(per_plane * kChannels), spread_channels,
             &job);
  } else {
    parallel(pack, s.images * s.places, grain(s.channels * (per_plane / s.places + 1)), pool_channels, &job);
  }
  if (s.half_bytes[0] != 0) cast_whole(pack, gradient ? *job.big : *job.small, gradient ? *halves[0] : *halves[1]);
  return OAR_OK;
}

void release(void* state) { delete static_cast<State*>(state); }

// Strides of an operand, row-major where the offer leaves them open.
void strides_of(const oar_value_t& value, int64_t* out_strides) {
  if (value.layout == OAR_LAYOUT_STRIDED && value.strides != nullptr)
    std::copy_n(value.strides, value.n_dims, out_strides);
  else oar_kit_strides(value.n_dims, value.shape, out_strides);
}

oar_status_t prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                     oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    auto state = std::make_unique<State>();
    State& s = *state;
    s.pack = pack;
    s.op = *static_cast<const PoolOp*>(decl->user);
    const bool gradient = s.op == kMaxPoolGradient || s.op == kAvgPoolGradient;
    const oar_value_t &given = *call->inputs[0], &made = *call->outputs[0];
    const oar_value_t &big = gradient ? made : given, &small = gradient ? given : made;
    s.axes = static_cast<int>(big.n_dims) - 2;
    s.images = big.shape[0];
    s.channels = big.shape[1];
    const uint32_t first = s.op == kAvgPoolGradient ? 1 : 0;  // of the lists among the attributes
    auto entry = [&](uint32_t list, int axis, int64_t fallback) {
      const std::span<const int64_t> given_list = kit::attr_ints(*call, first + list);
      if (given_list.empty()) return fallback;
      return given_list[given_list.size() == 1 ? 0 : static_cast<size_t>(axis)];
    };
    for (int a = 0; a < s.axes; ++a) {
      s.plane *= s.in[a] = big.shape[a + 2];
      s.places *= s.out[a] = small.shape[a + 2];
      if (s.op == kMaxPoolGradient) continue;
      const std::span<const int64_t> padding = kit::attr_ints(*call, first + 2);
      const int64_t before = entry(2, a, 0);
      const bool both = padding.size() > 1 && padding.size() == 2 * static_cast<size_t>(s.axes);
      const int64_t after = both ? padding[static_cast<size_t>(s.axes + a)] : before;
      const int64_t kernel = entry(0, a, 1);
      s.stride[a] = entry(1, a, 1);
      s.dilation[a] = entry(3, a, 1);
      const bool counts_padding = s.op != kMaxPool && kit::attr_bool(*call, first + 5, false);
      auto taps_below = [&](int64_t limit, int64_t start) {  // whose element lies before limit
        return std::clamp<int64_t>(limit <= start ? 0 : (limit - start + s.dilation[a] - 1) / s.dilation[a], 0, kernel);
      };
      for (int64_t o = 0; o < s.out[a]; ++o) {
        const int64_t start = o * s.stride[a] - before;
        const int64_t low = taps_below(0, start), high = taps_below(s.in[a], start);
        s.spans[a].push_back({start, low, high, counts_padding ? taps_below(s.in[a] + after, start) : high - low});
      }
    }
    if (s.op != kMaxPoolGradient && s.images * s.channels * s.places != 0)
      for (int64_t line = 0; line < s.out[s.axes - 1]; line += kLine)
        s.lines.push_back(line_taps(s, line, std::min(kLine, s.out[s.axes - 1] - line)));
    if (s.plane >= INT32_MAX) throw kit::Refusal(OAR_REASON_SHAPE, 0, "a plane has 2^31 elements or more");
    int64_t strides[kMaxRank];
    strides_of(given, strides);
    s.channels_last =
        s.channels > 1 && strides[1] == 1 && (given.shape[given.n_dims - 1] == 1 || strides[given.n_dims - 1] != 1);
    if (s.channels_last) {
      for (uint32_t j = 0; j < call->n_outputs; ++j) {
        if (call->outputs[j] == nullptr) continue;
        const oar_value_t& value = *call->outputs[j];
        oar_choice_t& choice = *out_prepared->outputs[j];
        int64_t next = value.shape[1];
        choice.strides[1] = 1;
        for (uint32_t d = value.n_dims - 1; d >= 2; --d) {
          choice.strides[d] = next;
          next *= std::max<int64_t>(value.shape[d], 1);
        }
        choice.strides[0] = next;
        choice.layout = OAR_LAYOUT_STRIDED;
      }
    }
    if (is_half(given.dtype)) {
      int64_t extent = 1;
      for (uint32_t d = 0; d < given.n_dims; ++d) extent += (given.shape[d] - 1) * strides[d];
      if (extent != oar_kit_count(given.n_dims, given.shape))
        throw kit::Refusal(OAR_REASON_LAYOUT, 0, "images of f16 and bf16 must lie without gaps");
      const oar_value_t* images[] = {&big, &small};
      for (int i = 0; i < 2; ++i)
        s.half_bytes[i] = (static_cast<uint64_t>(oar_kit_count(big.n_dims, images[i]->shape)) * 4 + 127) / 64 * 64;
      out_prepared->workspace_bytes = s.half_bytes[0] + s.half_bytes[1];
      out_prepared->workspace_alignment = 64;
    }
    out_prepared->state = state.release();
  });
}

oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  if (call->inputs[0]->n_dims < 3)
    return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "there is no axis behind [N, C]");
  if (call->inputs[0]->n_dims != call->outputs[0]->n_dims)
    return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "dy and dx have different numbers of axes");
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kReal};
constexpr uint64_t kMaxTypes[] = {kReal, kReal, OAR_BIT(OAR_DTYPE_I64)};
constexpr uint64_t kMaxGradientTypes[] = {kReal, OAR_BIT(OAR_DTYPE_I64), kReal};
template <size_t N>
constexpr oar_kernel_decl_t pooling(const char* op, const uint64_t (&masks)[N], PoolOp which) {
  oar_kernel_decl_t decl = declare(op, masks, nullptr, &kPoolOps[which], nullptr, check);
  decl.flags = OAR_KERNEL_DETERMINISTIC | OAR_KERNEL_REENTRANT;
  decl.prepare = prepare;
  decl.launch = launch;
  decl.release = release;
  return decl;
}
constexpr oar_kernel_decl_t kDecls[] = {
    pooling("max_pool", kMaxTypes, kMaxPool),
    pooling("avg_pool", kTypes, kAvgPool),
    pooling("max_pool_gradient", kMaxGradientTypes, kMaxPoolGradient),
    pooling("avg_pool_gradient", kTypes, kAvgPoolGradient),
};

}  // namespace

Declarations pool_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
