// Programs drawn: layered, with the crossings of arrows reduced by barycentres (Sugiyama et al. 1981, Methods for visual
// understanding of hierarchical system structures). Arrows that pass layers get a place in each.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "api/cli/program.h"
#include "api/cts/html.h"

namespace oarlock::cli {

using cts::escaped;

namespace {

constexpr double kLetter = 7.3, kLine = 16, kMargin = 8, kGap = 22, kBetween = 34;
constexpr size_t kLetters = 46;

std::string cut(const std::string& s) {
  if (s.size() <= kLetters) return s;
  size_t end = kLetters - 3;
  while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xc0) == 0x80) --end;  // not within a letter
  return s.substr(0, end) + "...";
}

struct Box {
  std::vector<std::string> lines;  // none: a place that an arrow passes
  std::string style, about;
  int layer = 0;
  double x = 0, y = 0, width = 10, height = 0;
  std::vector<int> above, below;
  double middle() const { return x + width / 2; }
};

class Drawing {
 public:
  explicit Drawing(const jit::ProgramListing& p) : p_(p) {
    for (const jit::ProgramValue& v : p.values) value_[v.name] = &v;
    for (const std::string& name : p.inputs) made_by_[name] = add({name, type(name)}, "in", name + ": " + type(name));
    for (const jit::ProgramNode& n : p.nodes) node(n);
    for (size_t i = 0; i < p.results.size(); ++i) {
      std::string name = i < p.outputs.size() && !p.outputs[i].empty() ? p.outputs[i] : p.results[i];
      int box = add({name, type(p.results[i])}, "out", name + ": " + type(p.results[i]));
      link(p.results[i], box);
    }
  }
  std::string svg() {
    route();
    arrange();
    double width = 0, height = 0;
    for (const Box& b : boxes_) {
      width = std::max(width, b.x + b.width);
      height = std::max(height, b.y + b.height);
    }
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\">\n"
        "<title>{2}</title>\n<style>text{{font:12px monospace;fill:#1c2733}} .name{{font-weight:bold}} "
        "rect{{fill:#eef3f8;stroke:#7d93a8}} .in rect{{fill:#e6f4e6;stroke:#6aa36a}} "
        ".out rect{{fill:#fdf0dd;stroke:#c9994a}} .work rect{{fill:#dfe9fb;stroke:#5578b8}} "
        "path{{fill:none;stroke:#8a98a6;stroke-width:1.3}}</style>\n"
        "<rect x=\"0\" y=\"0\" width=\"{0:.0f}\" height=\"{1:.0f}\" style=\"fill:#ffffff;stroke:none\"/>\n",
        width + 2 * kGap, height + 2 * kGap, escaped(p_.name));
    for (const Box& b : boxes_)
      for (int below : b.below) {
        const Box& to = boxes_[size_t(below)];
        double x = b.middle() + kGap, y = b.y + b.height + kGap, tx = to.middle() + kGap, ty = to.y + kGap;
        out += fmt::format("<path d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n", x, y, x,
                           y + kBetween / 2, tx, ty - kBetween / 2, tx, ty);
        if (b.lines.empty() && b.height > 0)
          out += fmt::format("<path d=\"M{:.1f} {:.1f} V{:.1f}\"/>\n", x, b.y + kGap, y);
      }
    for (const Box& b : boxes_) {
      if (b.lines.empty()) continue;
      out += fmt::format(
          "<g class=\"{}\"><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "rx=\"4\"/>",
          b.style, escaped(b.about), b.x + kGap, b.y + kGap, b.width, b.height);
      for (size_t i = 0; i < b.lines.size(); ++i)
        out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", b.x + kGap + kMargin,
                           b.y + kGap + kLine * double(i + 1), i ? "" : " class=\"name\"", escaped(b.lines[i]));
      out += "</g>\n";
    }
    return out + "</svg>\n";
  }

 private:
  std::string type(const std::string& value) const {
    auto it = value_.find(value);
    return it == value_.end() ? "" : it->second->type;
  }
  int add(std::vector<std::string> lines, const char* style, std::string about) {
    Box b;
    for (std::string& line : lines) {
      line = cut(line);
      b.width = std::max(b.width, kLetter * double(line.size()) + 2 * kMargin);
    }
    b.height = kLine * double(lines.size()) + 8;
    b.lines = std::move(lines);
    b.style = style;
    b.about = std::move(about);
    boxes_.push_back(std::move(b));
    return int(boxes_.size()) - 1;
  }
  void link(const std::string& value, int to) {
    auto it = made_by_.find(value);
    if (it == made_by_.end() || it->second == to) return;
    Box &from = boxes_[size_t(it->second)], &box = boxes_[size_t(to)];
    if (std::find(box.above.begin(), box.above.end(), it->second) != box.above.end()) return;
    box.above.push_back(it->second);
    from.below.push_back(to);
    box.layer = std::max(box.layer, from.layer + 1);
  }
  void node(const jit::ProgramNode& n) {
    std::string gives;
    for (const std::string& o : n.outputs)
      if (o != "none") gives += (gives.empty() ? "" : ", ") + type(o);
    if (n.depth > 0 && last_ >= 0) {  // of a body: a line in the box of its node
      Box& b = boxes_[size_t(last_)];
      b.lines.push_back(cut(std::string(size_t(n.depth) * 2, ' ') + n.op + " " + gives));
      b.width = std::max(b.width, kLetter * double(b.lines.back().size()) + 2 * kMargin);
      b.height += kLine;
      for (const std::string& in : n.inputs) link(in, last_);
      for (const std::string& o : n.outputs) made_by_[o] = last_;
      return;
    }
    std::vector<std::string> lines{n.op};
    for (const std::string& in : n.inputs) {
      auto it = value_.find(in);
      if (it != value_.end() && (it->second->kind == "state" || it->second->kind == "constant"))
        lines.push_back(in + " " + it->second->type);
    }
    lines.push_back(gives);
    bool work = n.multiply_adds != "0";
    if (work) lines.push_back(n.multiply_adds + " multiply-adds");
    last_ = add(std::move(lines), work ? "work" : "node",
                n.op + "(" + n.attributes + ")" + (n.where.empty() ? "" : " at " + n.where));
    for (const std::string& in : n.inputs) link(in, last_);
    for (const std::string& o : n.outputs)
      if (o != "none") made_by_[o] = last_;
  }
  // Arrows that pass layers get a place in each.
  void route() {
    const size_t n = boxes_.size();
    for (size_t i = n; i-- > 0;) {  // what reads weights alone stands right above who reads it
      Box& b = boxes_[i];
      if (!b.above.empty() || b.below.empty() || b.style == "in") continue;
      int first = INT32_MAX;
      for (int to : b.below) first = std::min(first, boxes_[size_t(to)].layer);
      b.layer = first - 1;
    }
    for (size_t i = 0; i < n; ++i) {
      std::vector<int> below = boxes_[i].below;
      for (int to : below) {
        int from = int(i);
        for (int layer = boxes_[i].layer + 1; layer < boxes_[size_t(to)].layer; ++layer) {
          int bend = int(boxes_.size());
          boxes_.emplace_back();
          Box& b = boxes_.back();
          b.layer = layer;
          b.above = {from};
          b.below = {to};
          std::replace(boxes_[size_t(from)].below.begin(), boxes_[size_t(from)].below.end(), to, bend);
          std::replace(boxes_[size_t(to)].above.begin(), boxes_[size_t(to)].above.end(), from, bend);
          from = bend;
        }
      }
    }
  }
  void arrange() {
    int n_layers = 0;
    for (const Box& b : boxes_) n_layers = std::max(n_layers, b.layer + 1);
    std::vector<std::vector<int>> layers(static_cast<size_t>(n_layers));
    for (size_t i = 0; i < boxes_.size(); ++i) layers[size_t(boxes_[i].layer)].push_back(int(i));
    double y = 0;
    for (auto& layer : layers) {
      double tallest = 0;
      for (int i : layer) tallest = std::max(tallest, boxes_[size_t(i)].height);
      for (int i : layer) {
        Box& b = boxes_[size_t(i)];
        b.y = y;
        if (b.lines.empty()) b.height = tallest;
      }
      y += tallest + kBetween;
      pack(layer, false);
    }
    for (int sweep = 0; sweep < 8; ++sweep) {
      bool down = sweep % 2 == 0;
      for (size_t k = 0; k < layers.size(); ++k) {
        auto& layer = layers[down ? k : layers.size() - 1 - k];
        auto wish = [&](int i) {
          const Box& b = boxes_[size_t(i)];
          const std::vector<int>& near = down ? b.above : b.below;
          double sum = 0;
          for (int j : near) sum += boxes_[size_t(j)].middle();
          return near.empty() ? b.middle() : sum / double(near.size());
        };
        std::stable_sort(layer.begin(), layer.end(), [&](int a, int b) { return wish(a) < wish(b); });
        std::map<int, double> wanted;
        for (int i : layer) wanted[i] = wish(i);
        for (int i : layer) boxes_[size_t(i)].x = wanted[i] - boxes_[size_t(i)].width / 2;
        pack(layer, true);
      }
    }
    double left = 0;
    for (const Box& b : boxes_) left = std::min(left, b.x);
    for (Box& b : boxes_) b.x -= left;
  }
  // Left to right without overlap; keep: as near to where they are as that allows, on the whole.
  void pack(const std::vector<int>& layer, bool keep) {
    double at = keep ? -1e18 : 0, moved = 0;
    for (int i : layer) {
      Box& b = boxes_[size_t(i)];
      double before = b.x;
      b.x = keep ? std::max(b.x, at) : at;
      moved += b.x - before;
      at = b.x + b.width + kGap;
    }
    if (!keep || layer.empty()) return;
    for (int i : layer) boxes_[size_t(i)].x -= moved / double(layer.size());
  }

  const jit::ProgramListing& p_;
  std::map<std::string, const jit::ProgramValue*> value_;
  std::map<std::string, int> made_by_;
  std::vector<Box> boxes_;
  int last_ = -1;
};

}  // namespace

std::string svg_of(const jit::ProgramListing& program) { return Drawing(program).svg(); }

}  // namespace oarlock::cli
