#include "api/cts/op_call.h"

#include <string.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <oarlock/base/plugin.h>
#include <oarlock/base/settings.h>

#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

bool exists(const char* op) {
  static const std::vector<std::string> names = op_names();
  return std::find(names.begin(), names.end(), op) != names.end();
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

oar_attr_t integers(const std::vector<int64_t>& v) { return {OAR_ATTR_INTS, 1, v.size(), {.ints = v.data()}}; }

HostTensor to_host(const Tensor& t) {
  HostTensor h;
  if (!t) return h;
  h.shape = t.shape();
  h.dtype = t.dtype();
  h.bytes.resize(size_t(size_bytes(h.dtype, uint64_t(h.count()))));
  if (!h.bytes.empty()) t.copy_to_host(h.bytes.data());
  return h;
}

}  // namespace

bool Target::has_kernels(const std::string& op) const {
  if (plugin.empty()) return false;
  for (const KernelInfo& k : kernels_of(op))
    if (k.plugin == plugin) return true;
  return false;
}

const Target& target_of(const std::string& path) {
  static const Target target = [&] {
    Target t;
    if (path == "host") return t;
    PluginInfo info = load_plugin(path).take();
    t.plugin = info.name;
    if (!info.devices.empty()) {
      t.device = Device(info.devices[0]);
      t.own_device = true;
      throw_if(set_setting("fallback", "off"));  // what the host computes says nothing about the plugin
    }
    return t;
  }();
  return target;
}

Layout draw_layout(Random& random) {
  int64_t n = random.between(0, 3);
  return n == 0 ? Layout::permuted : n == 1 ? Layout::sliced : Layout::contiguous;
}

std::optional<StridedBlock> strided_block(const Operand& o) {
  size_t rank = o.shape.size();
  if (o.strides.size() != rank || o.count() == 0) return {};
  // Axes from the outermost in memory; one that repeats (stride 0) is made by expand.
  std::vector<size_t> order;
  StridedBlock b;
  std::vector<int64_t> dense = o.shape;  // before expanding
  for (size_t i = 0; i < rank; ++i) {
    if (o.strides[i] == 0 && o.shape[i] > 1) dense[i] = 1, b.expanded = o.shape;
    if (dense[i] > 1) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t k) { return o.strides[i] > o.strides[k]; });
  std::vector<size_t> all = order;
  for (size_t i = 0; i < rank; ++i)
    if (dense[i] <= 1) all.insert(all.begin(), i);
  std::vector<int64_t> sizes, steps(rank, 1), block(rank, 1);
  for (size_t i : all) sizes.push_back(dense[i]);
  int64_t unit = 1;
  for (size_t k = rank; k-- > 0;) {
    if (sizes[k] <= 1) continue;
    int64_t stride = o.strides[all[k]];
    if (k + 1 == rank) steps[k] = stride;
    else if (stride % unit != 0 || stride < unit) return {};
    int64_t reach = (sizes[k] - 1) * steps[k] + 1;  // of this axis, in units
    int64_t next = 0;
    for (size_t m = k; m-- > 0 && next == 0;)
      if (sizes[m] > 1) next = o.strides[all[m]];
    if (next) {
      int64_t inside = k + 1 == rank ? 1 : stride;
      if (next % inside != 0 || next / inside < reach) return {};
      block[k] = next / inside;
      unit = next;
    } else {
      block[k] = reach;
    }
  }
  if (sizes != block || std::any_of(steps.begin(), steps.end(), [](int64_t s) { return s != 1; })) {
    b.starts.assign(rank, 0);
    b.sizes = sizes;
    b.steps = steps;
  }
  std::vector<int64_t> axes(rank);
  for (size_t k = 0; k < rank; ++k) axes[all[k]] = int64_t(k);
  if (!std::is_sorted(axes.begin(), axes.end())) b.axes = axes;
  b.block = block;
  int64_t total = 1, width = info(o.dtype).bits / 8;
  for (int64_t n : block) total *= n;
  if (total > (int64_t(1) << 28)) return {};
  b.bytes.assign(size_t(total * width), uint8_t(o.dtype == DType::boolean ? 1 : 0x7f));
  std::vector<int64_t> inner = strides_of(o.shape), outer = strides_of(block);
  for (int64_t i = 0; i < o.count(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t index = dense[d] == 1 ? 0 : i / inner[d] % o.shape[d];
      at += index * steps[size_t(axes[d])] * outer[size_t(axes[d])];
    }
    memcpy(&b.bytes[size_t(at * width)], &o.bytes[size_t(i * width)], size_t(width));
  }
  return b;
}

// In memory of the operand's own strides.
static Tensor make_strided(const Operand& o, const StridedBlock& b, const Device& device) {
  Tensor t = Tensor::from_host(b.bytes.data(), Shape(b.block), o.dtype, device);
  std::vector<oar_attr_t> attrs;
  if (!b.sizes.empty()) {
    attrs = {integers(b.starts), integers(b.sizes), integers(b.steps)};
    t = call_op("slice", std::span(&t, 1), attrs)[0];
  }
  if (!b.axes.empty()) {
    attrs = {integers(b.axes)};
    t = call_op("permute", std::span(&t, 1), attrs)[0];
  }
  if (!b.expanded.empty()) {
    attrs = {integers(b.expanded)};
    t = call_op("expand", std::span(&t, 1), attrs)[0];
  }
  return t;
}

Tensor make_tensor(const Operand& o, const Device& device, Layout layout, Random& random) {
  if (!o.strides.empty())
    if (auto block = strided_block(o)) return make_strided(o, *block, device);
  int rank = int(o.shape.size());
  int64_t width = info(o.dtype).bits / 8, n = o.count();
  if (rank == 0 || n == 0 || info(o.dtype).bits % 8 != 0) layout = Layout::contiguous;
  if (layout == Layout::permuted && (rank < 2 || !exists("permute"))) layout = Layout::contiguous;
  if (layout == Layout::sliced && !exists("slice")) layout = Layout::contiguous;
  if (layout == Layout::contiguous) return Tensor::from_host(o.bytes.data(), Shape(o.shape), o.dtype, device);

  // A larger or turned block of memory in which the operand is a view.
  std::vector<int64_t> outer, axes(size_t(rank), 0), starts(size_t(rank), 0), steps(size_t(rank), 1);
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) order[size_t(i)] = i;
  if (layout == Layout::permuted) {
    random.shuffle(order);
    if (std::is_sorted(order.begin(), order.end())) std::swap(order.front(), order.back());
    for (int64_t axis : order) outer.push_back(o.shape[size_t(axis)]);
    for (int i = 0; i < rank; ++i) axes[size_t(order[size_t(i)])] = i;
  } else {
    for (int i = 0; i < rank; ++i) {
      starts[size_t(i)] = random.between(0, 2);
      steps[size_t(i)] = random.between(1, 2);
      outer.push_back(starts[size_t(i)] + o.shape[size_t(i)] * steps[size_t(i)] + random.between(0, 1));
    }
  }
  int64_t total = 1;
  for (int64_t s : outer) total *= s;
  std::vector<uint8_t> bytes(size_t(total * width));
  for (uint8_t& b : bytes)
    b = o.dtype == DType::boolean ? 1 : uint8_t(0x7f);  // a value that would show if it were read
  std::vector<int64_t> inner = strides_of(o.shape), stride = strides_of(outer);
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0;
    for (int k = 0; k < rank; ++k) {
      int64_t index = i / inner[size_t(k)] % o.shape[size_t(k)];
      at += layout == Layout::permuted ? index * stride[size_t(axes[size_t(k)])]
                                       : (starts[size_t(k)] + index * steps[size_t(k)]) * stride[size_t(k)];
    }
    memcpy(&bytes[size_t(at * width)], &o.bytes[size_t(i * width)], size_t(width));
  }
  Tensor block = Tensor::from_host(bytes.data(), Shape(outer), o.dtype, device);
  std::vector<oar_attr_t> attrs;
  if (layout == Layout::permuted) {
    attrs = {integers(axes)};
    return call_op("permute", std::span(&block, 1), attrs)[0];
  }
  attrs = {integers(starts), integers(o.shape), integers(steps)};
  return call_op("slice", std::span(&block, 1), attrs)[0];
}

std::vector<HostTensor> run_call(const Schema& schema, const Draw& draw, const Device& device,
                                 const CallOptions& options, Random* layouts) {
  Random none(0);
  try {
    std::vector<Tensor> inputs;
    for (const Operand& o : draw.inputs) {
      if (!o.present) {
        inputs.emplace_back();
        continue;
      }
      Layout layout = layouts && !o.mutated && !o.host ? draw_layout(*layouts) : Layout::contiguous;
      inputs.push_back(make_tensor(o, o.host ? Device() : device, layout, layouts ? *layouts : none));
    }
    std::vector<HostTensor> all;
    for (const Tensor& t : call_op(schema.info.name, inputs, draw.wire(), options)) all.push_back(to_host(t));
    for (size_t i = 0; i < draw.inputs.size(); ++i)
      if (draw.inputs[i].mutated && draw.inputs[i].present) all.push_back(to_host(inputs[i]));
    return all;
  } catch (const Error& e) {
    // No kernel takes it, or the device can't even store such elements.
    if (e.code() == Code::refused || e.code() == Code::unsupported) throw RefusedCall{e.what()};
    // Small operands may be large when spelt out: a convolution's windows. run_child keeps host memory short.
    if (e.code() == Code::out_of_memory &&
        std::string_view(e.what()).find("host_memory_limit") != std::string_view::npos)
      throw RefusedCall{e.what()};
    throw;
  }
}

namespace {

// How many input elements one output element depends on, as far as the strings tell: names that no output has are
// summed
// over, an axis attribute covers its axis. Composites may read all of their named dimensions.
double elements_read(const Schema& schema, const Draw& draw, const std::vector<HostTensor>& want) {
  double reads = 0;
  auto in_output = [&](const std::string& name) {
    for (const Spec& s : schema.outputs)
      for (const Item& i : s.items)
        if (i.text == name) return true;
    return false;
  };
  int64_t least = INT64_MAX;
  for (const HostTensor& w : want)
    if (w.dtype != DType::none) least = std::min(least, w.count());
  bool open = schema.info.has_infer;
  for (size_t i = 0; i < draw.inputs.size(); ++i) {
    if (!draw.inputs[i].present || draw.inputs[i].host) continue;
    double one = 1;
    for (const Item& item : schema.input_spec(i).items) {
      if (item.kind != Item::name && item.kind != Item::pack) continue;
      auto it = draw.names.find(item.text);
      if (it == draw.names.end()) continue;
      bool kept = in_output(item.text);
      if (kept && (schema.info.primitive || item.kind == Item::pack)) continue;
      for (int64_t n : it->second) one *= double(std::max<int64_t>(n, 1));
    }
    if (open && schema.input_spec(i).has(Item::any_pack))
      one *= std::max(1.0, std::ceil(double(draw.inputs[i].count()) / double(std::max<int64_t>(least, 1))));
    reads += one;
  }
  if (!draw.inputs.empty())
    for (size_t a = 0; a < draw.attrs.size(); ++a) {
      const OpAttribute& info = schema.info.attributes[a];
      const auto& x = draw.inputs[0].shape;
      auto size = [&](int64_t axis) {
        if (axis < 0) axis += int64_t(x.size());
        return axis >= 0 && axis < int64_t(x.size()) ? double(std::max<int64_t>(x[size_t(axis)], 1)) : 1.0;
      };
      bool reduced = !open && !schema.info.is_view;
      if (info.kind == "axis" && reduced) reads *= size(draw.attrs[a].i);
      if (info.kind == "axes" && reduced) {
        if (!draw.attrs[a].is_set) reads *= double(std::max<int64_t>(draw.inputs[0].count(), 1));
        for (int64_t axis : draw.attrs[a].ints) reads *= size(axis);
      }
    }
  return std::max(reads, 1.0);
}

// Numbers of the op's main type, integers that will promote too; indices keep their sign.
Draw absolute(const Schema& schema, Draw draw) {
  for (size_t k = 0; k < draw.inputs.size(); ++k) {
    Operand& o = draw.inputs[k];
    const OpOperand& about = schema.info.inputs[std::min(k, schema.info.inputs.size() - 1)];
    if (!o.present || !(is_float(o.dtype) || about.spec.starts_with("["))) continue;
    for (int64_t i = 0; i < o.count(); ++i)
      put_number(o.bytes.data(), o.dtype, i, std::fabs(get_number(o.bytes.data(), o.dtype, i)));
  }
  return draw;
}

Draw widened(Draw draw) {
  for (Operand& o : draw.inputs) {
    if (!o.present || !is_float(o.dtype) || o.dtype == DType::f64) continue;
    std::vector<uint8_t> wide(size_t(o.count()) * 8);
    for (int64_t i = 0; i < o.count(); ++i)
      put_number(wide.data(), DType::f64, i, get_number(o.bytes.data(), o.dtype, i));
    o.bytes = std::move(wide);
    o.dtype = DType::f64;
  }
  return draw;
}

std::vector<HostTensor> right_answer(const Schema& schema, const Draw& draw) {
  const OpInfo& op = schema.info;
  CallOptions options;
  if (op.has_reference) options.route = Route::reference;
  else if (op.has_decomposition) options.route = Route::decomposition;
  if (op.has_reference || op.is_view) return run_call(schema, draw, Device(), options, nullptr);
  // No reference: its decomposition in f64, rounded once.
  std::vector<Tensor> placeholders;
  for (const Operand& o : draw.inputs)
    placeholders.push_back(o.present ? Tensor::from_host(o.bytes.data(), Shape(o.shape), o.dtype) : Tensor());
  Inferred inferred = infer_op(op.name, placeholders, draw.wire());
  std::vector<DType> dtypes = inferred.dtypes;
  for (const Operand& o : draw.inputs)
    if (o.mutated && o.present) dtypes.push_back(o.dtype);
  std::vector<HostTensor> want = run_call(schema, widened(draw), Device(), options, nullptr);
  for (size_t i = 0; i < want.size() && i < dtypes.size(); ++i) {
    HostTensor& w = want[i];
    if (w.dtype == dtypes[i] || w.dtype != DType::f64 || !is_float(dtypes[i])) continue;
    std::vector<uint8_t> narrow(size_t(size_bytes(dtypes[i], uint64_t(w.count()))));
    for (int64_t k = 0; k < w.count(); ++k)
      put_number(narrow.data(), dtypes[i], k, get_number(w.bytes.data(), DType::f64, k));
    w.bytes = std::move(narrow);
    w.dtype = dtypes[i];
  }
  return want;
}

// A composite without a reference rounds between its steps, at the size of its operands: they bound the scale from
// below.
void round_in_between(const Draw& draw, Oracle& oracle) {
  double largest = 0;
  for (const Operand& o : draw.inputs)
    for (int64_t i = 0; o.present && is_float(o.dtype) && i < o.count(); ++i) {
      double x = std::fabs(get_number(o.bytes.data(), o.dtype, i));
      if (std::isfinite(x)) largest = std::max(largest, x);
    }
  if (oracle.scale.empty()) oracle.scale = oracle.want;
  for (HostTensor& s : oracle.scale)
    for (int64_t i = 0; is_float(s.dtype) && i < s.count(); ++i) {
      double x = std::fabs(get_number(s.bytes.data(), s.dtype, i));
      if (!(x >= largest)) put_number(s.bytes.data(), s.dtype, i, largest);
    }
}

// x with every float moved by one unit of its dtype's rounding, up or down.
Draw nudged(Draw draw) {
  for (Operand& o : draw.inputs)
    for (int64_t i = 0; o.present && !o.host && is_float(o.dtype) && i < o.count(); ++i) {
      double x = get_number(o.bytes.data(), o.dtype, i), way = uint64_t(i) * 0x9E3779B97F4A7C15u >> 63 ? 1 : -1;
      put_number(o.bytes.data(), o.dtype, i, x * (1 + way * epsilon(o.dtype)));
    }
  return draw;
}

// Where a composite answers small changes with large ones, its own rounding shows as much: that much of it is forgiven.
void allow_for_condition(const Schema& schema, const Draw& draw, Oracle& oracle) {
  std::vector<HostTensor> moved = right_answer(schema, nudged(draw));
  for (size_t k = 0; k < moved.size() && k < oracle.scale.size(); ++k) {
    HostTensor& s = oracle.scale[k];
    if (!is_float(s.dtype) || !(moved[k].shape == s.shape) || moved[k].dtype != s.dtype) continue;
    for (int64_t i = 0; i < s.count(); ++i) {
      double by = std::fabs(get_number(moved[k].bytes.data(), s.dtype, i) -
                            get_number(oracle.want[k].bytes.data(), s.dtype, i));
      double scale = by / epsilon(s.dtype);
      if (scale > std::fabs(get_number(s.bytes.data(), s.dtype, i)) && scale <= largest(s.dtype))
        put_number(s.bytes.data(), s.dtype, i, scale);
    }
  }
}

}  // namespace

Oracle oracle_of(const Schema& schema, const Draw& draw) {
  Oracle oracle;
  oracle.want = right_answer(schema, draw);
  if (schema.info.tolerance_of_absolutes) {
    oracle.scale = right_answer(schema, absolute(schema, draw));
    if (oracle.scale.size() != oracle.want.size()) oracle.scale.clear();
  }
  if (!schema.info.has_reference && !schema.info.is_view) {
    round_in_between(draw, oracle);
    allow_for_condition(schema, draw, oracle);
  }
  oracle.tolerance.ulps = schema.info.tolerance_ulps;
  oracle.tolerance.exact = schema.info.is_view;
  for (const Operand& o : draw.inputs)
    for (int64_t i = 0; o.present && is_float(o.dtype) && i < o.count(); ++i)
      oracle.tolerance.finite_operands &= !std::isinf(get_number(o.bytes.data(), o.dtype, i));
  oracle.tolerance.reads = elements_read(schema, draw, oracle.want);
  bool floats = std::any_of(draw.inputs.begin(), draw.inputs.end(),
                            [](const Operand& o) { return is_float(o.dtype) && o.dtype != DType::f64; });
  oracle.independent = schema.info.has_reference || floats;
  return oracle;
}

std::optional<std::string> compare_all(const Oracle& oracle, const std::vector<HostTensor>& got) {
  if (got.size() != oracle.want.size()) return fmt::format("{} outputs, want {}", got.size(), oracle.want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    auto wrong = compare(got[i], oracle.want[i], oracle.scale.empty() ? nullptr : &oracle.scale[i], oracle.tolerance);
    if (wrong) return (got.size() > 1 ? fmt::format("output {}: ", i) : "") + *wrong;
  }
  return {};
}

}  // namespace oarlock::cts
