// Level P: how fast the usual things are. Times are the best of several batches, after warming up; a result that is
// wrong fails, a slow one never does.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string.h>

#include <oarlock/base/op.h>
#include <oarlock/base/ops.h>

#include "api/cts/level2.h"
#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Seconds of one call of body, where body(n) makes n of them and waits: the best of several batches.
template <class F>
double best_seconds(F body, double for_seconds = 0.25) {
  body(1);
  int64_t n = 1;
  double took = 0;
  for (;; n *= 2) {
    auto start = Clock::now();
    body(n);
    took = seconds_since(start);
    if (took > for_seconds / 10 || n > (int64_t(1) << 30)) break;
  }
  double best = took / double(n);
  auto start = Clock::now();
  while (seconds_since(start) < for_seconds) {
    auto batch = Clock::now();
    body(n);
    best = std::min(best, seconds_since(batch) / double(n));
  }
  return best;
}

void wait(const Target& target) {
  if (target.own_device) target.device.synchronize();
}

Operand random_operand(const std::vector<int64_t>& shape, DType dtype, Random& random) {
  Operand o;
  o.shape = shape;
  o.dtype = dtype;
  o.bytes.resize(size_t(size_bytes(dtype, uint64_t(o.count()))));
  for (int64_t i = 0; i < o.count(); ++i) put_number(o.bytes.data(), dtype, i, random.real(-1, 1));
  return o;
}
double at(const Operand& o, int64_t i) { return get_number(o.bytes.data(), o.dtype, i); }

AttrValue list(std::vector<int64_t> values) {
  AttrValue a;
  a.type = OAR_ATTR_INTS;
  a.ints = std::move(values);
  return a;
}

// A call that is measured: what it computes, how much that is, and each result in double by its definition, with the
// sum of the terms' sizes.
struct Work {
  std::string op;
  std::vector<Operand> inputs;
  std::vector<AttrValue> attrs;
  double operations = 0;
  std::vector<int64_t> result;
  std::function<std::pair<double, double>(int64_t element)> right;
  double reads = 1;
};

Work product(int64_t n, DType dtype, Random& random) {
  Work w;
  w.op = "matmul";
  w.inputs = {random_operand({n, n}, dtype, random), random_operand({n, n}, dtype, random)};
  w.operations = 2.0 * double(n) * double(n) * double(n);
  w.result = {n, n};
  w.reads = double(2 * n);
  w.right = [n, a = w.inputs[0], b = w.inputs[1]](int64_t i) {
    double sum = 0, size = 0;
    for (int64_t k = 0; k < n; ++k) {
      double term = at(a, i / n * n + k) * at(b, k * n + i % n);
      sum += term;
      size += std::fabs(term);
    }
    return std::pair(sum, size);
  };
  return w;
}

// Images [N, 64, 28, 28], 64 windows of 3 x 3, padded by 1. which: 0 forward, 1 by the input, 2 by the weights.
Work convolution(int64_t images, int which, DType dtype, Random& random) {
  constexpr int64_t C = 64, H = 28, K = 3;
  Work w;
  w.op = which == 0 ? "conv" : which == 1 ? "conv_input_gradient" : "conv_weight_gradient";
  Operand x = random_operand({images, C, H, H}, dtype, random), f = random_operand({C, C, K, K}, dtype, random);
  Schema schema(op_info(w.op));
  w.attrs.resize(schema.info.attributes.size());
  for (size_t i = 0; i < w.attrs.size(); ++i) {
    const OpAttribute& a = schema.info.attributes[i];
    if (a.name == "padding") w.attrs[i] = list({1});
    else if (a.name == "size") w.attrs[i] = which == 1 ? list({H, H}) : list({K, K});
    else if (a.kind == "integers") w.attrs[i] = list({});
    else w.attrs[i].type = OAR_ATTR_INT, w.attrs[i].i = 1;
  }
  w.operations = 2.0 * double(images * C * C * K * K * H * H);
  w.inputs = which == 2 ? std::vector<Operand>{random_operand(x.shape, dtype, random), x} : std::vector<Operand>{x, f};
  w.result = which == 2 ? f.shape : x.shape;
  w.reads = which == 2 ? double(2 * images * H * H) : double(2 * C * K * K);
  w.right = [=, a = w.inputs[0], b = w.inputs[1]](int64_t i) {
    double sum = 0, size = 0;
    auto add = [&](double term) { sum += term, size += std::fabs(term); };
    auto pixel = [&](const Operand& o, int64_t n, int64_t c, int64_t y, int64_t z) {
      return y < 0 || z < 0 || y >= H || z >= H ? 0.0 : at(o, ((n * C + c) * H + y) * H + z);
    };
    if (which == 2) {
      int64_t kx = i % K, ky = i / K % K, c = i / K / K % C, o = i / K / K / C;
      for (int64_t n = 0; n < images; ++n)
        for (int64_t y = 0; y < H; ++y)
          for (int64_t z = 0; z < H; ++z) add(pixel(a, n, o, y, z) * pixel(b, n, c, y + ky - 1, z + kx - 1));
    } else {
      int64_t z = i % H, y = i / H % H, c = i / H / H % C, n = i / H / H / C;
      for (int64_t k = 0; k < C; ++k)
        for (int64_t ky = 0; ky < K; ++ky)
          for (int64_t kx = 0; kx < K; ++kx)
            if (which == 0) add(pixel(a, n, k, y + ky - 1, z + kx - 1) * at(b, ((c * C + k) * K + ky) * K + kx));
            else add(pixel(a, n, k, y - ky + 1, z - kx + 1) * at(b, ((k * C + c) * K + ky) * K + kx));
    }
    return std::pair(sum, size);
  };
  return w;
}

std::vector<oar_attr_t> wire(const Work& w) {
  std::vector<oar_attr_t> all;
  for (const AttrValue& a : w.attrs) all.push_back(a.wire());
  return all;
}

std::vector<Tensor> tensors(const Work& w, const Device& device) {
  std::vector<Tensor> all;
  for (const Operand& o : w.inputs) all.push_back(Tensor::from_host(o.bytes.data(), Shape(o.shape), o.dtype, device));
  return all;
}

// Some results against their definition.
void check_result(Check& check, const Work& w, const Tensor& got, Random& random) {
  check.need(got.shape() == Shape(w.result), "{} gave {}, want {}", w.op, to_string(got.shape()),
             to_string(Shape(w.result)));
  std::vector<uint8_t> bytes(size_t(size_bytes(got.dtype(), uint64_t(got.element_count()))));
  got.copy_to_host(bytes.data());
  for (int k = 0; k < 64; ++k) {
    int64_t i = random.between(0, got.element_count() - 1);
    auto [want, size] = w.right(i);
    double is = get_number(bytes.data(), got.dtype(), i);
    double allowed = op_info(w.op).tolerance_ulps * epsilon(got.dtype()) * std::sqrt(w.reads) * size;
    if (!check.expect(std::fabs(is - want) <= allowed, "{}: element {} is {:.9g}, want {:.9g} (allowed {:.3g})", w.op,
                      i, is, want, allowed))
      return;
  }
}

// Of the largest size of which a call takes no more than a quarter of a second, as far as the one before tells. power: how
// the work grows with the size.
void measure_work(Check& check, const Target& target, const std::function<Work(int64_t)>& make,
                  const std::vector<int64_t>& sizes, const std::string& size_name, int power, Random& random) {
  CallOptions how;
  Work first = make(sizes[0]);
  if (!target.plugin.empty()) {
    if (!target.has_kernels(first.op)) {
      if (!target.own_device || !op_info(first.op).has_decomposition)
        check.skip(target.plugin + " declares no kernel for " + first.op);
    } else if (!target.own_device) {
      how.route = Route::kernel;
      how.plugin = target.plugin;
    }
  } else if (op_info(first.op).has_reference) {
    how.route = Route::reference;
  }
  int64_t size = 0;
  double rate = 0;
  for (int64_t n : sizes) {
    Work w = n == sizes[0] ? first : make(n);
    std::vector<Tensor> inputs = tensors(w, target.device);
    auto attrs = wire(w);
    std::vector<Tensor> out;
    double once;
    try {
      out = call_op(w.op, inputs, attrs, how);
      wait(target);
      auto start = Clock::now();
      out = call_op(w.op, inputs, attrs, how);
      wait(target);
      once = seconds_since(start);
    } catch (const Error& e) {
      if (e.code() != Code::refused && e.code() != Code::unsupported) throw;
      if (size) break;
      check.skip(fmt::format("kernel refused: {}", e.what()));
    }
    check_result(check, w, out[0], random);
    if (check.failed()) return;
    double seconds = best_seconds(
        [&](int64_t calls) {
          for (int64_t i = 0; i < calls; ++i) out = call_op(w.op, inputs, attrs, how);
          wait(target);
        },
        once > 0.1 ? 0 : 0.3);
    size = n;
    rate = w.operations / seconds / 1e9;
    auto next = std::find(sizes.begin(), sizes.end(), n) + 1;
    if (next == sizes.end() || once * std::pow(double(*next) / double(n), power) > 0.25) break;
  }
  check.numbers["value"] = rate;
  check.numbers["size"] = double(size);
  check.note = fmt::format("GFLOP/s, {} {}; ", size_name, size);
  if (!target.plugin.empty() && op_info(first.op).has_reference && first.inputs[0].dtype == DType::f32) {
    std::vector<Tensor> inputs = tensors(first, Device());
    auto attrs = wire(first);
    CallOptions reference;
    reference.route = Route::reference;
    double seconds = best_seconds(
        [&](int64_t calls) {
          for (int64_t i = 0; i < calls; ++i) call_op(first.op, inputs, attrs, reference);
        },
        0);
    check.numbers["beside"] = first.operations / seconds / 1e9;
    check.note += fmt::format("the reference, {} {}", size_name, sizes[0]);
  }
}

void launch(Check& check, const Target& target, bool waiting, Random& random) {
  if (waiting && !target.own_device) check.skip("on the host a call is done when it returns");
  Operand x = random_operand({16}, DType::f32, random), y = random_operand({16}, DType::f32, random);
  std::vector<Tensor> in = {Tensor::from_host(x.bytes.data(), Shape(x.shape), DType::f32, target.device),
                            Tensor::from_host(y.bytes.data(), Shape(y.shape), DType::f32, target.device)};
  std::vector<Candidate> who = explain("add", in);
  auto chosen = std::find_if(who.begin(), who.end(), [](const Candidate& c) { return c.chosen; });
  if (!target.plugin.empty() && (chosen == who.end() || chosen->plugin != target.plugin))
    check.skip(target.plugin + " takes no add of f32[16]");
  Tensor out;
  auto many = [&](int64_t calls) {
    for (int64_t i = 0; i < calls; ++i) {
      out = oarlock::add(in[0], in[1]);
      if (waiting || i % 256 == 255) wait(target);
    }
    wait(target);
  };
  double seconds = best_seconds(many);
  float got[16];
  out.copy_to_host(got);
  for (int64_t i = 0; i < 16; ++i)
    check.expect(got[i] == float(at(x, i)) + float(at(y, i)), "element {} of the sum is {}, want {}", i, got[i],
                 at(x, i) + at(y, i));
  check.numbers["value"] = seconds * 1e9;
  check.note = "ns; ";
}

enum class Way { to_device, to_host, on_device };

void copying(Check& check, const Target& target, Way way, Random& random) {
  if (!target.own_device && way != Way::on_device) check.skip("it brings no device of its own");
  constexpr int64_t kFloats = 16 << 20;
  std::vector<uint8_t> bytes(size_t(kFloats) * 4), back(bytes.size());
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = random.bits();
    memcpy(&bytes[i], &word, 8);
  }
  Tensor host = Tensor::from_host(bytes.data(), Shape({kFloats}), DType::u32);
  Tensor device = host.to(target.device), out;
  if (way == Way::on_device) {
    std::vector<Tensor> in = {device};
    std::vector<Candidate> who = explain("copy", in);
    auto chosen = std::find_if(who.begin(), who.end(), [](const Candidate& c) { return c.chosen; });
    if (!target.plugin.empty() && !target.own_device && (chosen == who.end() || chosen->plugin != target.plugin))
      check.skip(target.plugin + " takes no copy of u32");
  }
  double seconds = best_seconds([&](int64_t calls) {
    for (int64_t i = 0; i < calls; ++i) {
      if (way == Way::to_device) out = host.to(target.device);
      if (way == Way::to_host) device.copy_to_host(back.data());
      if (way == Way::on_device) out = call_op("copy", std::span(&device, 1))[0];
    }
    wait(target);
  });
  if (way != Way::to_host) out.copy_to_host(back.data());
  check.expect(back == bytes, "what was copied is not what arrived");
  check.numbers["value"] = double(bytes.size()) / seconds / 1e9;
  double plain = best_seconds([&](int64_t calls) {
    for (int64_t i = 0; i < calls; ++i) memcpy(back.data(), bytes.data(), bytes.size());
  });
  check.numbers["beside"] = double(bytes.size()) / plain / 1e9;
  check.note = "GB/s; memcpy";
}

}  // namespace

std::vector<Test> performance(const Options& options) {
  std::vector<Test> tests;
  auto add = [&](const std::string& name, auto body) {
    tests.push_back({"P", name, [options, name, body](Check& check) {
                       Random random(seed_of(options.seed, name));
                       body(check, target_of(options.plugin), random);
                     }});
  };
  add("launch: add of f32[16], prepared and found again",
      [](Check& check, const Target& target, Random& random) { launch(check, target, false, random); });
  add("launch and wait: add of f32[16]",
      [](Check& check, const Target& target, Random& random) { launch(check, target, true, random); });
  struct {
    const char* name;
    Way way;
  } ways[] = {{"copy of 64 MiB to the device", Way::to_device},
              {"copy of 64 MiB to the host", Way::to_host},
              {"copy of 64 MiB within the device", Way::on_device}};
  for (auto [name, way] : ways)
    add(name, [way = way](Check& check, const Target& target, Random& random) { copying(check, target, way, random); });
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    add(fmt::format("matmul of {}", to_string(dtype)), [dtype](Check& check, const Target& target, Random& random) {
      measure_work(
          check, target, [&](int64_t n) { return product(n, dtype, random); }, {128, 256, 512, 1024}, "size", 3,
          random);
    });
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (int which = 0; which < 3; ++which) {
      const char* names[] = {"conv", "conv_input_gradient", "conv_weight_gradient"};
      add(fmt::format("{} of {}", names[which], to_string(dtype)),
          [dtype, which](Check& check, const Target& target, Random& random) {
            measure_work(
                check, target, [&](int64_t n) { return convolution(n, which, dtype, random); }, {1, 4, 16}, "images", 1,
                random);
          });
    }
  return tests;
}

}  // namespace oarlock::cts
