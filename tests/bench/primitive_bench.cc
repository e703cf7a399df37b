// Convolutions, their gradients and matrix products through the public C++ API against the bare oneDNN primitive, in
// turns. The bare one has every operand in the layout it likes best, reordered before the clock starts, and writes to
// memory of its own; ours takes weights row-major, as a network that trains has them, and images channels last, as the
// layer before leaves them. Both results are compared first. Prints one JSON object a call, for primitive.py.
//
// primitive_bench [bf16] [WORD]: in bf16; only the rows in which WORD occurs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <oarlock/oarlock.h>

#include "backends/onednn/dnnl_api.h"

using namespace oarlock;
namespace ours = oarlock;
using dnnl::memory;
using onednn::Desc;
using onednn::Dims;

namespace {

DType dtype = DType::f32;
std::string only;
const dnnl::engine& engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
dnnl::stream& stream() {
  static dnnl::stream s(engine());
  return s;
}
memory::data_type data_type() { return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32; }
Dims dims_of(const Tensor& t) {
  Dims d;
  for (int i = 0; i < t.rank(); ++i) d.push_back(t.size(i));
  return d;
}
Desc free_layout(const Tensor& t) { return {dims_of(t), data_type(), memory::format_tag::any}; }
Desc as_it_lies(const Tensor& t) { return {dims_of(t), data_type(), Dims(t.strides(), t.strides() + t.rank())}; }
// The tensor's elements in another layout.
memory held(const Tensor& t, const Desc& desc) {
  memory from(as_it_lies(t), engine(), t.data()), to(desc, engine());
  dnnl::reorder(from, to).execute(stream(), from, to);
  stream().wait();
  return to;
}

Tensor random(const Shape& shape, uint64_t seed) {
  return cast(random_uniform(Tensor::of<int64_t>({int64_t(seed), 0}, {2}), shape) - 0.5, dtype);
}
Tensor channels_last(const Tensor& t) { return permute(copy(permute(t, {0, 2, 3, 1})), {0, 3, 1, 2}); }

// A primitive with its memory.
struct Bare {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  int out;
  void run() {
    primitive.execute(stream(), arguments);
    stream().wait();
  }
};

// Largest difference over largest element.
double difference(const Tensor& a, Bare& bare) {
  Tensor b = Tensor::empty(a.shape(), dtype);
  memory to(as_it_lies(b), engine(), b.data());
  dnnl::reorder(bare.arguments[bare.out], to).execute(stream(), bare.arguments[bare.out], to);
  stream().wait();
  Tensor x = cast(copy(a), DType::f32), y = cast(b, DType::f32);
  return max(abs(x - y)).item() / std::max(1e-30, max(abs(y)).item());
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + std::ptrdiff_t(all.size() / 2), all.end());
  return all[all.size() / 2];
}

void compare(const std::string& network, const std::string& call, const std::string& shape,
             const std::function<Tensor()>& mine, Bare bare) {
  using Clock = std::chrono::steady_clock;
  Tensor z = mine();
  bare.run();
  if (double d = difference(z, bare); !(d < (dtype == DType::f32 ? 1e-4 : 2e-2))) {
    std::fprintf(stderr, "%s %s %s: the results differ by %g of the largest element\n", network.c_str(), call.c_str(),
                 shape.c_str(), d);
    std::exit(1);
  }
  auto us = [](auto&& f) {
    const auto begin = Clock::now();
    f();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  auto our_turn = [&] {
    z = {};  // its memory is the next result's
    return us([&] { z = mine(); });
  };
  auto bare_turn = [&] { return us([&] { bare.run(); }); };
  for (int i = 0; i < 3; ++i) {
    our_turn();
    bare_turn();
  }
  std::vector<double> a, b;
  double spent = 0;
  while (a.size() < 15 || (spent < 4e5 && a.size() < 2'000)) {
    a.push_back(our_turn());
    b.push_back(bare_turn());
    spent += a.back() + b.back();
  }
  std::printf(
      "{\"network\": \"%s\", \"call\": \"%s\", \"shape\": \"%s\", \"ours\": %.1f, \"bare\": %.1f, "
      "\"our_median\": %.1f, \"bare_median\": %.1f}\n",
      network.c_str(), call.c_str(), shape.c_str(), *std::min_element(a.begin(), a.end()),
      *std::min_element(b.begin(), b.end()), median(a), median(b));
  std::fflush(stdout);
}

bool wanted(const std::string& row) { return only.empty() || row.find(only) != std::string::npos; }

struct Conv {
  const char* network;
  int64_t n, in, out, size, kernel, stride, padding;
  bool first = false;  // the images need no gradient
};

void conv_rows(const Conv& c) {
  const int64_t e = (c.size + 2 * c.padding - c.kernel) / c.stride + 1;
  const std::string shape = std::to_string(c.n) + "x" + std::to_string(c.in) + "x" + std::to_string(c.size) + "^2, " +
                            std::to_string(c.out) + " of " + std::to_string(c.kernel) + "^2 by " +
                            std::to_string(c.stride);
  if (!wanted(std::string(c.network) + " conv " + shape)) return;
  Tensor x = random({c.n, c.in, c.size, c.size}, 1), dy = channels_last(random({c.n, c.out, e, e}, 3));
  if (c.in > 3) x = channels_last(x);  // a network's input lies as it was read
  const Tensor w = random({c.out, c.in, c.kernel, c.kernel}, 2);
  const Dims stride(2, c.stride), none(2, 0), padding(2, c.padding);
  dnnl::primitive_attr attr;
  {
    const auto desc = onednn::conv_desc(engine(), free_layout(x), free_layout(w), nullptr, free_layout(dy), stride,
                                        none, padding, padding, attr);
    compare(c.network, "conv", shape, [&] { return ours::conv(x, w, {}, {c.stride}, {c.padding}); },
            {dnnl::convolution_forward(desc),
             {{DNNL_ARG_SRC, held(x, desc.src_desc())},
              {DNNL_ARG_WEIGHTS, held(w, desc.weights_desc())},
              {DNNL_ARG_DST, memory(desc.dst_desc(), engine())}},
             DNNL_ARG_DST});
  }
  if (!c.first) {
    const auto desc = onednn::conv_input_gradient_desc(engine(), free_layout(x), free_layout(w), free_layout(dy),
                                                       stride, none, padding, padding, attr);
    compare(c.network, "input gradient", shape,
            [&] {
              return conv_input_gradient(dy, w, {c.size, c.size}, {c.stride}, {c.padding});
            },
            {dnnl::convolution_backward_data(desc),
             {{DNNL_ARG_DIFF_DST, held(dy, desc.diff_dst_desc())},
              {DNNL_ARG_WEIGHTS, held(w, desc.weights_desc())},
              {DNNL_ARG_DIFF_SRC, memory(desc.diff_src_desc(), engine())}},
             DNNL_ARG_DIFF_SRC});
  }
  const auto desc = onednn::conv_weight_gradient_desc(engine(), free_layout(x), free_layout(w), free_layout(dy), stride,
                                                      none, padding, padding, attr);
  compare(c.network, "weight gradient", shape,
          [&] {
            return conv_weight_gradient(dy, x, {c.kernel, c.kernel}, {c.stride}, {c.padding});
          },
          {dnnl::convolution_backward_weights(desc),
           {{DNNL_ARG_DIFF_DST, held(dy, desc.diff_dst_desc())},
            {DNNL_ARG_SRC, held(x, desc.src_desc())},
            {DNNL_ARG_DIFF_WEIGHTS, memory(desc.diff_weights_desc(), engine())}},
           DNNL_ARG_DIFF_WEIGHTS});
}

// a [.., M, K] b [.., K, N], each given as it is or with its last two axes exchanged.
void matmul_row(const char* network, const char* call, Shape a_shape, bool a_turned, Shape b_shape, bool b_turned) {
  auto make = [](Shape shape, bool turned, uint64_t seed) {
    if (turned) std::swap(shape.d[shape.rank - 1], shape.d[shape.rank - 2]);
    return turned ? matrix_transpose(random(shape, seed)) : random(shape, seed);
  };
  const std::string shape = to_string(a_shape) + " " + to_string(b_shape);
  if (!wanted(std::string(network) + " " + call + " " + shape)) return;
  Tensor a = make(a_shape, a_turned, 1), b = make(b_shape, b_turned, 2);
  Shape out = a_shape;
  out.d[out.rank - 1] = b_shape.d[b_shape.rank - 1];
  Tensor like = Tensor::empty(out, dtype);
  const auto desc = onednn::matmul_desc(engine(), free_layout(a), free_layout(b), nullptr, free_layout(like), {});
  compare(network, call, shape, [&] { return matmul(a, b); },
          {dnnl::matmul(desc),
           {{DNNL_ARG_SRC, held(a, desc.src_desc())},
            {DNNL_ARG_WEIGHTS, held(b, desc.weights_desc())},
            {DNNL_ARG_DST, memory(desc.dst_desc(), engine())}},
           DNNL_ARG_DST});
}
// The three products of a layer of `out` neurons on `rows` rows of `in`.
void linear_rows(const char* network, int64_t rows, int64_t in, int64_t out) {
  matmul_row(network, "linear", {rows, in}, false, {in, out}, true);
  matmul_row(network, "linear's input gradient", {rows, out}, false, {out, in}, false);
  matmul_row(network, "linear's weight gradient", {in, rows}, true, {rows, out}, false);
}

constexpr Conv kConvs[] = {
    {"LeNet b64", 64, 1, 6, 28, 5, 1, 2, true},     {"LeNet b64", 64, 6, 16, 14, 5, 1, 0},
    {"demo b64", 64, 1, 16, 28, 3, 1, 1, true},     {"demo b64", 64, 16, 32, 28, 3, 2, 1},
    {"demo b64", 64, 32, 32, 14, 3, 1, 1},          {"demo b64", 64, 16, 32, 28, 1, 2, 0},
    {"demo b64", 64, 32, 64, 14, 3, 2, 1},          {"demo b64", 64, 64, 64, 7, 3, 1, 1},
    {"demo b64", 64, 32, 64, 14, 1, 2, 0},          {"ResNet-18 b64", 64, 3, 64, 32, 3, 1, 1, true},
    {"ResNet-18 b64", 64, 64, 64, 32, 3, 1, 1},     {"ResNet-18 b64", 64, 64, 128, 32, 3, 2, 1},
    {"ResNet-18 b64", 64, 64, 128, 32, 1, 2, 0},    {"ResNet-18 b64", 64, 128, 128, 16, 3, 1, 1},
    {"ResNet-18 b64", 64, 128, 256, 16, 3, 2, 1},   {"ResNet-18 b64", 64, 256, 256, 8, 3, 1, 1},
    {"ResNet-18 b64", 64, 256, 512, 8, 3, 2, 1},    {"ResNet-18 b64", 64, 512, 512, 4, 3, 1, 1},
    {"ResNet-50 b8", 8, 3, 64, 224, 7, 2, 3, true}, {"ResNet-50 b8", 8, 64, 64, 56, 1, 1, 0},
    {"ResNet-50 b8", 8, 64, 64, 56, 3, 1, 1},       {"ResNet-50 b8", 8, 64, 256, 56, 1, 1, 0},
    {"ResNet-50 b8", 8, 256, 64, 56, 1, 1, 0},      {"ResNet-50 b8", 8, 256, 512, 56, 1, 2, 0},
    {"ResNet-50 b8", 8, 128, 128, 28, 3, 1, 1},     {"ResNet-50 b8", 8, 512, 128, 28, 1, 1, 0},
    {"ResNet-50 b8", 8, 256, 256, 14, 3, 1, 1},     {"ResNet-50 b8", 8, 256, 1024, 14, 1, 1, 0},
    {"ResNet-50 b8", 8, 1024, 256, 14, 1, 1, 0},    {"ResNet-50 b8", 8, 512, 512, 7, 3, 1, 1},
    {"ResNet-50 b8", 8, 512, 2048, 7, 1, 1, 0},     {"ResNet-50 b8", 8, 2048, 512, 7, 1, 1, 0},
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "bf16") == 0) dtype = DType::bf16;
    else only = argv[i];
  }
  throw_if(set_setting("backends", OARLOCK_BACKEND_DIR));
  devices();
  NoGrad off;
  for (const Conv& c : kConvs) conv_rows(c);
  linear_rows("LeNet b64", 64, 400, 120);
  linear_rows("LeNet b64", 64, 120, 84);
  linear_rows("BERT-small b8", 1024, 512, 512);
  linear_rows("BERT-small b8", 1024, 512, 2048);
  linear_rows("BERT-small b8", 1024, 2048, 512);
  matmul_row("BERT-small b8", "scores", {8, 8, 128, 64}, false, {8, 8, 64, 128}, true);
  matmul_row("BERT-small b8", "context", {8, 8, 128, 128}, false, {8, 8, 128, 64}, false);
  return 0;
}
