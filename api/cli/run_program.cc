// `oarlock run FILE` and `oarlock bench FILE`: saved programs, run once or measured.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include <oarlock/base/ops.h>
#include <oarlock/base/profile.h>
#include <oarlock/data.h>
#include <oarlock/inference.h>

#include "api/cli/command.h"
#include "api/cli/program.h"

namespace oarlock::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string file, weights, device = "cpu", out, trace;
  std::vector<std::string> inputs, shapes, off;
  double seconds = 3;
  int threads = 1;
  bool json = false;
};

void add_options(CLI::App* c, Options& o) {
  c->add_option("FILE", o.file, "NAME.oarp")->required();
  c->add_option("--weights", o.weights, "A safetensors file instead of the one beside the program");
  c->add_option("--device", o.device, "Where it runs")->capture_default_str();
  c->add_option("--input", o.inputs, "NAME=FILE.npy; inputs without one are drawn at random (integers: 0)");
  c->add_option("--shape", o.shapes, "Of each input, in their order: 8,3,224,224. Needed where sizes have names");
  c->add_option("--without", o.off, "Names of passes to leave out");
  c->add_option("--trace", o.trace, "Writes a Chrome trace of one run to a file");
  c->add_flag("--json", o.json, "For machines");
}

// The program, what it is given, and its predictor.
struct Job {
  jit::ExportedProgram program;
  std::vector<Tensor> inputs;
  std::vector<Shape> shapes;
  inference::Predictor predictor;

  explicit Job(const Options& o) : Job(o, jit::load(o.file, o.weights)) {}

 private:
  Job(const Options& o, jit::ExportedProgram p) : program(p), predictor(config(o, p)) {
    std::map<std::string, std::string> given;
    for (const std::string& text : o.inputs) {
      size_t equal = text.find('=');
      if (equal == std::string::npos) throw std::runtime_error(fmt::format("--input {}: write NAME=FILE.npy.", text));
      given[text.substr(0, equal)] = text.substr(equal + 1);
    }
    const jit::ProgramListing listing = p.listing();
    for (auto& [name, file] : given)
      if (std::find(listing.inputs.begin(), listing.inputs.end(), name) == listing.inputs.end())
        throw std::runtime_error(fmt::format("--input {}: the program has no such input.", name));
    const std::vector<Shape> wanted = shapes_of(o.shapes);
    for (size_t i = 0; i < listing.inputs.size(); ++i) {
      const std::string& name = listing.inputs[i];
      if (auto it = given.find(name); it != given.end()) {
        inputs.push_back(data::read_npy(it->second));
      } else {
        auto v = std::find_if(listing.values.begin(), listing.values.end(), [&](auto& x) { return x.name == name; });
        inputs.push_back(drawn(name, v->type, i < wanted.size() ? &wanted[i] : nullptr, i));
      }
      shapes.push_back(inputs.back().shape());
    }
  }
  static inference::Config config(const Options& o, const jit::ExportedProgram& p) {
    inference::Config c(p);
    c.set_device(Device(o.device));
    for (const std::string& pass : o.off) c.delete_pass(pass);
    return c;
  }
  static Tensor drawn(const std::string& name, const std::string& type, const Shape* given, size_t i) {
    size_t open = type.find('[');
    DType dtype = dtype_from(type.substr(0, open));
    Shape shape;
    if (given) shape = *given;
    else try {
        std::string sizes = type.substr(open + 1, type.size() - open - 2);
        std::erase(sizes, ' ');
        shape = shapes_of({sizes})[0];
      } catch (const std::runtime_error&) {
        throw std::runtime_error(fmt::format(
            "input {} is {}: give each input's sizes with --shape, or {}=FILE.npy with --input.", name, type, name));
      }
    bool real = info(dtype).kind == DTypeKind::real;
    if (!real) return full(shape, 0, dtype);
    return cast(random_uniform(Tensor::of<int64_t>({int64_t(i) + 1, 0}, {2}), shape), dtype);
  }
};

void write_trace(Job& job, const std::string& path) {
  profile_start();
  job.predictor.run(job.inputs);
  throw_if(profile_stop(path));
}

void run(const Options& o) {
  Job job(o);
  std::vector<Tensor> out = job.predictor.run(job.inputs);
  Json outputs = Json::array();
  Table table({"output", "type", "mean", "least", "most", "file"});
  if (!o.out.empty()) std::filesystem::create_directories(o.out);
  for (size_t i = 0; i < out.size(); ++i) {
    std::string name = job.program.output_names()[i], file;
    Tensor host = out[i].to(Device()).contiguous();
    if (!o.out.empty()) data::write_npy(file = o.out + "/" + name + ".npy", host);
    Json row = {{"name", name}, {"type", std::string(to_string(host.dtype())) + to_string(host.shape())}};
    std::string mean_text, low, high;
    bool numbers = info(host.dtype()).kind != DTypeKind::complex && host.element_count() > 0;
    if (numbers) {
      Tensor wide = cast(host, DType::f64);
      row["mean"] = mean(wide).item(), row["least"] = min(wide).item(), row["most"] = max(wide).item();
      mean_text = fmt::format("{:.6g}", row["mean"].get<double>());
      low = fmt::format("{:.6g}", row["least"].get<double>());
      high = fmt::format("{:.6g}", row["most"].get<double>());
    }
    table.add({name, row["type"], mean_text, low, high, file});
    outputs.push_back(std::move(row));
  }
  if (!o.trace.empty()) write_trace(job, o.trace);
  if (o.json) print_json({{"program", job.program.listing().name}, {"device", o.device}, {"outputs", outputs}});
  else table.print();
}

double at(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, size_t(share * double(sorted.size())))];
}

// Steps of some runs under the profiler, by op and by whom: microseconds a run, from the median of each step.
Json steps_of(Job& job, const std::string& keep) {
  std::string path =
      keep.empty() ? fmt::format("{}/oarlock_bench_{}.json", std::filesystem::temp_directory_path().string(), getpid())
                   : keep;
  const int runs = 15;
  profile_start();
  for (int i = 0; i < runs; ++i) job.predictor.run(job.inputs);
  throw_if(profile_stop(path));
  std::ifstream in(path);
  nlohmann::json trace = nlohmann::json::parse(in);
  in.close();
  if (keep.empty()) std::filesystem::remove(path);
  struct Row {
    std::string op, detail;
    std::vector<double> each;
    int calls = 0;
    double us = 0;
  };
  std::map<std::string, Row> rows;
  for (const auto& e : trace.is_array() ? trace : trace["traceEvents"]) {
    if (e.value("cat", "") != "step") continue;
    std::string detail = e.contains("args") ? e["args"].value("detail", "") : "";
    Row& r = rows[e["name"].get<std::string>() + " " + detail];
    r.op = e["name"];
    r.detail = detail;
    r.each.push_back(e["dur"].get<double>());
  }
  std::vector<Row> sorted;
  double total = 0;
  for (auto& [key, r] : rows) {
    r.calls = int(r.each.size()) / runs;
    std::nth_element(r.each.begin(), r.each.begin() + std::ptrdiff_t(r.each.size() / 2), r.each.end());
    r.us = r.each[r.each.size() / 2] * r.calls;
    total += r.us;
    sorted.push_back(std::move(r));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.us > b.us; });
  Json out = Json::array();
  for (const Row& r : sorted) {
    size_t space = r.detail.find(' ');
    out.push_back({{"op", r.op},
                   {"by", r.detail.substr(0, space)},
                   {"shapes", space == std::string::npos ? "" : r.detail.substr(space + 1)},
                   {"calls", r.calls},
                   {"us", r.us},
                   {"share", total > 0 ? r.us / total : 0}});
  }
  return out;
}

Json measured(Job& job, const Options& o) {
  auto begin = Clock::now();
  job.predictor.run(job.inputs);
  double first = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  std::vector<std::vector<double>> each(static_cast<size_t>(o.threads));
  std::vector<std::string> failed(static_cast<size_t>(o.threads));
  begin = Clock::now();
  auto end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.seconds));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < each.size(); ++t)
    threads.emplace_back([&, t] {
      try {
        for (auto from = Clock::now(); from < end || each[t].size() < 3;) {
          job.predictor.run(job.inputs)[0].device().synchronize();
          auto to = Clock::now();
          each[t].push_back(std::chrono::duration<double, std::milli>(to - from).count());
          from = to;
        }
      } catch (const std::exception& e) { failed[t] = e.what(); }
    });
  for (std::thread& t : threads) t.join();
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const std::string& why : failed)
    if (!why.empty()) throw std::runtime_error(why);
  std::vector<double> all;
  for (auto& list : each) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  double sum = 0;
  for (double ms : all) sum += ms;
  inference::Predictor::PlanMemory memory = job.predictor.plan_memory();
  return {{"runs", all.size()},
          {"threads", o.threads},
          {"per_second", double(all.size()) / seconds},
          {"first_ms", first},
          {"mean_ms", sum / double(all.size())},
          {"least_ms", all.front()},
          {"p50_ms", at(all, 0.5)},
          {"p90_ms", at(all, 0.9)},
          {"p99_ms", at(all, 0.99)},
          {"most_ms", all.back()},
          {"plans", memory.plans},
          {"plan_bytes", memory.bytes}};
}

void bench(const Options& o) {
  if (o.threads < 1 || o.threads > 256) throw std::runtime_error("--threads is 1 to 256.");
  auto begin = Clock::now();
  Job job(o);
  double load = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  Json m = measured(job, o);
  m["load_ms"] = load;
  m["steps"] = steps_of(job, o.trace);
  if (o.json) return print_json(m);
  auto ms = [&](const char* key) { return fmt::format("{:.3f}", m[key].get<double>()); };
  fmt::print("{} on {}: {} runs, {} thread{}, {:.1f} runs a second\n", o.file, o.device, m["runs"].get<size_t>(),
             o.threads, o.threads == 1 ? "" : "s", m["per_second"].get<double>());
  fmt::print("loaded in {} ms, first run {} ms; {} plans that hold {} bytes of intermediate values\n\n", ms("load_ms"),
             ms("first_ms"), m["plans"].get<int>(), m["plan_bytes"].get<uint64_t>());
  Table latency({"ms", "mean", "least", "p50", "p90", "p99", "most"});
  latency.add({"", ms("mean_ms"), ms("least_ms"), ms("p50_ms"), ms("p90_ms"), ms("p99_ms"), ms("most_ms")});
  latency.print();
  fmt::print("\n");
  Table steps({"op", "by", "calls", "us a run", "share", "shapes"});
  for (const Json& s : m["steps"])
    steps.add({s["op"], s["by"], std::to_string(s["calls"].get<int>()), fmt::format("{:.1f}", s["us"].get<double>()),
               fmt::format("{:.1f} %", 100 * s["share"].get<double>()), s["shapes"]});
  if (steps.empty())
    fmt::print("no steps: the program runs node by node, since it has sizes that are known only while it runs\n");
  else steps.print();
}

}  // namespace

void add_run(CLI::App& app, int& out_exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("run", "Runs a saved program once, on arrays or on random numbers");
  add_options(c, *o);
  c->add_option("--out", o->out, "A folder for the outputs, NAME.npy each");
  c->callback([o, &out_exit] {
    run(*o);
    out_exit = 0;
  });
}

void add_bench(CLI::App& app, int& out_exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("bench", "Measures a saved program: how long runs take, and which steps of it");
  add_options(c, *o);
  c->add_option("--seconds", o->seconds, "For so long")->capture_default_str()->check(CLI::PositiveNumber);
  c->add_option("--threads", o->threads, "That run it at the same time")->capture_default_str();
  c->callback([o, &out_exit] {
    bench(*o);
    out_exit = 0;
  });
}

}  // namespace oarlock::cli
