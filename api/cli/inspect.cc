// `oarlock inspect FILE`: what a saved program computes, as text, data or a drawing.
#include <fstream>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include <oarlock/exported.h>

#include "api/cli/command.h"
#include "api/cli/program.h"

namespace oarlock::cli {

namespace {

Json json_of(const jit::ProgramListing& p) {
  Json nodes = Json::array(), values = Json::array();
  for (const jit::ProgramNode& n : p.nodes)
    nodes.push_back({{"op", n.op},
                     {"version", n.version},
                     {"inputs", n.inputs},
                     {"outputs", n.outputs},
                     {"attributes", n.attributes},
                     {"multiply_adds", n.multiply_adds},
                     {"depth", n.depth},
                     {"where", n.where}});
  for (const jit::ProgramValue& v : p.values) {
    Json one = {{"name", v.name}, {"kind", v.kind}, {"type", v.type}};
    if (v.bytes >= 0) one["bytes"] = v.bytes;
    values.push_back(std::move(one));
  }
  Json results = Json::array();
  for (size_t i = 0; i < p.results.size(); ++i)
    results.push_back({{"name", i < p.outputs.size() ? p.outputs[i] : ""}, {"value", p.results[i]}});
  return {{"name", p.name}, {"inputs", p.inputs}, {"results", results}, {"values", values}, {"nodes", nodes}};
}

void print_table(const jit::ProgramListing& p) {
  std::map<std::string, const jit::ProgramValue*> value;
  for (const jit::ProgramValue& v : p.values) value[v.name] = &v;
  std::map<std::string, int> count;
  Table table({"op", "gives", "reads", "multiply-adds", "where"});
  double total = 0;
  for (const jit::ProgramNode& n : p.nodes) {
    std::string gives, reads;
    for (const std::string& o : n.outputs)
      if (o != "none") gives += (gives.empty() ? "" : ", ") + o + ": " + value.at(o)->type;
    for (const std::string& i : n.inputs) reads += (reads.empty() ? "" : ", ") + i;
    if (reads.size() > 60) reads = reads.substr(0, 57) + "...";
    table.add({std::string(size_t(n.depth) * 2, ' ') + n.op, gives, reads,
               n.multiply_adds == "0" ? "" : n.multiply_adds, n.where});
    ++count[n.op];
    total = total < 0 || n.multiply_adds_number < 0 ? -1 : total + n.multiply_adds_number;
  }
  table.print();
  int64_t weights = 0;
  for (const jit::ProgramValue& v : p.values)
    if (v.kind == "state" || v.kind == "constant") weights += std::max<int64_t>(v.bytes, 0);
  std::string ops;
  for (auto& [op, n] : count) ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", n, op);
  fmt::print("\n{}: {} nodes ({}); weights {} bytes{}\n", p.name, p.nodes.size(), ops, weights,
             total > 0 ? fmt::format("; {:.4g} million multiply-adds", total / 1e6) : "");
}

}  // namespace

std::vector<Shape> shapes_of(const std::vector<std::string>& texts) {
  std::vector<Shape> shapes;
  for (const std::string& text : texts) {
    Shape s;
    for (size_t from = 0; from < text.size();) {
      size_t end = std::min(text.find(',', from), text.size()), used = 0;
      std::string one = text.substr(from, end - from);
      long long n = -1;
      try {
        n = std::stoll(one, &used);
      } catch (const std::exception&) {}
      if (used != one.size() || n < 0 || s.rank == kMaxRank)
        throw std::runtime_error(fmt::format("--shape {}: '{}' is no size. Write sizes as 8,3,224,224.", text, one));
      s.push(n);
      from = end + 1;
    }
    shapes.push_back(s);
  }
  return shapes;
}

void add_inspect(CLI::App& app, int& out_exit) {
  struct Options {
    std::string file, svg;
    std::vector<std::string> shapes;
    bool text = false, json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("inspect", "What a saved program computes: its nodes, shapes and weights");
  c->add_option("FILE", options->file, "NAME.oarp")->required();
  c->add_flag("--text", options->text, "The program's text form, which reads back");
  c->add_flag("--json", options->json, "For machines");
  c->add_option("--svg", options->svg, "Draws the program to a file");
  c->add_option("--shape", options->shapes,
                "Of each input, in their order: 8,3,224,224. Gives named sizes their numbers")
      ->delimiter(' ');
  c->callback([options, &out_exit] {
    jit::ExportedProgram program = jit::load(options->file);
    out_exit = 0;
    if (options->text) return fmt::print("{}", program.text());
    jit::ProgramListing p = program.listing(shapes_of(options->shapes));
    if (!options->svg.empty()) {
      std::ofstream out(options->svg);
      out << svg_of(p);
      if (!out.flush()) throw std::runtime_error("inspect: can't write " + options->svg + ".");
      fmt::print("drew {} nodes to {}\n", p.nodes.size(), options->svg);
    } else if (options->json) {
      print_json(json_of(p));
    } else {
      print_table(p);
    }
  });
}

}  // namespace oarlock::cli
