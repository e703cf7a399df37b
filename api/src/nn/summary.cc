#include <oarlock/nn/summary.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

namespace oarlock::nn {
namespace {

struct Modes {  // puts every layer back into the mode it was in
  std::vector<std::pair<Layer*, bool>> before;
  explicit Modes(Layer& net) {
    before.emplace_back(&net, net.training());
    for (auto& l : net.sublayers()) before.emplace_back(l.get(), l->training());
    net.eval();
  }
  ~Modes() {
    // Outer layers first: train() reaches what is below.
    for (auto& [layer, on] : before) layer->train(on);
  }
};
struct Hooks {
  std::vector<HookHandle> list;
  ~Hooks() {
    for (HookHandle& h : list) h.remove();
  }
};

std::string grouped(double n) {  // 1,234,567
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.0f", n);
  std::string out;
  size_t length = std::char_traits<char>::length(digits);
  for (size_t i = 0; i < length; ++i) {
    if (i && (length - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}
std::string left(std::string s, size_t width) {
  s.resize(std::max(width, s.size()), ' ');
  return s;
}
std::string right(const std::string& s, size_t width) {
  return s.size() < width ? std::string(width - s.size(), ' ') + s : s;
}

}  // namespace

Summary summary(Layer& net, const std::vector<Tensor>& inputs) {
  Summary table;
  std::unordered_map<const Layer*, size_t> row_of;
  std::unordered_set<const TensorImpl*> counted;
  auto add_row = [&](const std::string& name, const Layer& l, int depth) {
    SummaryRow row{name, l.type_name(), depth, {}, 0, 0, 0};
    for (auto& [n, p] : l.named_parameters({}, false)) {
      if (!counted.insert(p.impl()).second) continue;
      row.parameters += p.element_count();
      if (p.requires_grad()) table.trainable += p.element_count();
      table.parameter_bytes += size_bytes(p.dtype(), uint64_t(p.element_count()));
    }
    table.parameters += row.parameters;
    row_of[&l] = table.rows.size();
    table.rows.push_back(std::move(row));
  };
  add_row("", net, 0);
  auto all = net.named_sublayers();
  for (auto& [name, layer] : all) add_row(name, *layer, 1 + int(std::count(name.begin(), name.end(), '.')));
  {
    Modes modes(net);
    Hooks hooks;
    auto hook = [&](Layer& l) {
      hooks.list.push_back(
          l.register_forward_post_hook([&](Layer& called, std::span<const Tensor> in, std::span<const Tensor> out) {
            SummaryRow& row = table.rows[row_of.at(&called)];
            if (row.calls++ == 0)
              for (const Tensor& t : out) row.outputs.push_back(t.defined() ? t.shape() : Shape());
            double work = called.multiply_adds(in, out);
            row.multiply_adds += work;
            table.multiply_adds += work;
            return std::vector<Tensor>();
          }));
    };
    hook(net);
    for (auto& [name, layer] : all) hook(*layer);
    NoGrad off;
    net.call(inputs);
  }
  return table;
}
Summary summary(Layer& net, const std::vector<Shape>& shapes, const std::vector<DType>& dtypes) {
  std::vector<Tensor> inputs;
  auto parameters = net.parameters();
  Device device = parameters.empty() ? Device() : parameters[0].device();
  for (size_t i = 0; i < shapes.size(); ++i)
    inputs.push_back(full(shapes[i], 0, i < dtypes.size() ? dtypes[i] : DType::f32).to(device));
  return summary(net, inputs);
}

std::string Summary::to_string() const {
  std::vector<std::array<std::string, 4>> cells{{"Layer", "Output shape", "Parameters", "Multiply-adds"}};
  for (const SummaryRow& r : rows) {
    std::string shapes;
    for (const Shape& s : r.outputs) shapes += (shapes.empty() ? "" : ", ") + oarlock::to_string(s);
    std::string name = r.name.substr(r.name.rfind('.') + 1);
    cells.push_back({std::string(size_t(r.depth) * 2, ' ') + r.type + (name.empty() ? "" : " (" + name + ")"),
                     r.calls ? shapes : "-", grouped(double(r.parameters)), grouped(r.multiply_adds)});
  }
  size_t width[4] = {};
  for (auto& row : cells)
    for (size_t i = 0; i < 4; ++i) width[i] = std::max(width[i], row[i].size());
  std::string rule(width[0] + width[1] + width[2] + width[3] + 6, '-'), out;
  for (size_t k = 0; k < cells.size(); ++k) {
    auto& row = cells[k];
    out += left(row[0], width[0]) + "  " + left(row[1], width[1]) + "  " + right(row[2], width[2]) + "  " +
           right(row[3], width[3]) + "\n";
    if (k == 0) out += rule + "\n";
  }
  char size[64];
  std::snprintf(size, sizeof size, "%.2f MiB", double(parameter_bytes) / (1 << 20));
  return out + rule + "\nParameters: " + grouped(double(parameters)) + " (" + grouped(double(trainable)) +
         " trainable), " + size + ". Multiply-adds: " + grouped(multiply_adds) + ".\n";
}

}  // namespace oarlock::nn
