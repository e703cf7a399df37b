#include "api/cts/html.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace oarlock::cts {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 32 && c != '\n' ? ' ' : c;
    }
  return out;
}

namespace {

constexpr const char* kDtypes[] = {"bool", "i8",  "i16",  "i32", "i64", "u8", "u16",
                                   "u32",  "u64", "bf16", "f16", "f32", "f64"};

struct Look {
  Coverage coverage;
  const char *mark, *name, *style;
};
constexpr Look kLooks[] = {
    {Coverage::kernel, "K", "kernel takes every call", "k"},   {Coverage::partly, "k", "kernel takes some", "p"},
    {Coverage::refused, "R", "kernel refuses all", "r"},       {Coverage::decomposed, "D", "decomposed", "d"},
    {Coverage::absent, "\xc2\xb7", "no kernel declared", "a"}, {Coverage::failed, "F", "failed", "f"},
};
const Look& look(Coverage c) {
  return *std::find_if(std::begin(kLooks), std::end(kLooks), [&](const Look& l) { return l.coverage == c; });
}

const char* text(Outcome o) { return o == Outcome::passed ? "passed" : o == Outcome::failed ? "failed" : "skipped"; }

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5d6673; --line: #d9dee5; --paper: #fff; --panel: #f6f8fa;
  --k: #1f7a4d; --p: #7fb98f; --r: #d9822b; --d: #3b73c4; --a: #eceff3; --f: #c62f3c; --mark: #fff; --pmark: #10301c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #98a2b0; --line: #333a44; --paper: #14171b; --panel: #1c2127;
    --k: #2f9e68; --p: #2f6d4a; --r: #c9762a; --d: #4a82d4; --a: #262c34; --f: #d8434f; --pmark: #e4f4ea; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 24px 20px 60px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 26px; margin: 0 0 2px; } h2 { font-size: 18px; margin: 36px 0 10px; }
p { margin: 4px 0 12px; max-width: 75ch; } .soft { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 18px 0; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.card b { font-size: 15px; } .card .sum { font-size: 13px; color: var(--soft); }
.bar { display: flex; height: 8px; border-radius: 4px; overflow: hidden; background: var(--a); margin: 8px 0 6px; }
.bar i { display: block; } .ok { background: var(--k); } .bad { background: var(--f); }
table { border-collapse: collapse; width: 100%; font-size: 14px; overflow-wrap: break-word; }
.what { min-width: 9em; } td.beside { white-space: normal; }
th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: 13px; } td.n, th.n { text-align: right; white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 16px; margin: 8px 0 14px; font-size: 13px; }
.legend span { display: inline-flex; align-items: center; gap: 6px; }
.c { display: block; width: 20px; height: 20px; line-height: 20px; border-radius: 4px; text-align: center; color: var(--mark);
  font-size: 12px; font-weight: 600; margin: 0 auto; }
.c.k { background: var(--k); } .c.p { background: var(--p); color: var(--pmark); } .c.r { background: var(--r); }
.c.d { background: var(--d); } .c.a { background: var(--a); color: var(--soft); } .c.f { background: var(--f); }
.grid { columns: 2; column-gap: 48px; }
.grid table { break-inside: avoid; table-layout: fixed; margin-bottom: 14px; font-size: 12.5px; }
.grid th, .grid td { padding: 1px 0; border: 0; }
.grid th.t { text-align: center; font-size: 10px; font-weight: 400; padding-bottom: 3px; }
.grid td.o, .grid th.o { width: 33%; padding-right: 4px; line-height: 1.25; vertical-align: middle; }
.grid tr:hover td { background: var(--panel); }
details { border-bottom: 1px solid var(--line); padding: 6px 0; } summary { cursor: pointer; }
details p { margin: 6px 0 2px 16px; font-size: 13px; color: var(--soft); max-width: none; }
code { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
.fail { border-left: 3px solid var(--f); padding: 4px 0 4px 12px; margin: 10px 0; }
@media (max-width: 900px) { .grid { columns: 1; } }
@media (max-width: 560px) { body { padding: 16px 12px 40px; font-size: 14px; } h1 { font-size: 22px; }
  .c { width: 17px; height: 17px; line-height: 17px; font-size: 10px; border-radius: 3px; }
  td.n, th.n { white-space: normal; overflow-wrap: normal; }
  .grid table { font-size: 11px; } .grid th.t { font-size: 8px; } .grid td.o, .grid th.o { width: 30%; }
  th, td { padding-right: 6px; } td.n, th.n { white-space: normal; } table { font-size: 13px; } }
)css";

constexpr size_t kOpsInATable = 20;

void add_levels(const Report& r, std::string& page) {
  page += "<div class=cards>\n";
  struct {
    const char *level, *about;
  } levels[] = {{"L0", "file, negotiation, faults"}, {"L1", "memory, order, threads"}, {"L2", "ops, dtypes, gradients"},
                {"L3", "graphs and blobs"},          {"M", "mutations noticed"},       {"P", "performance"}};
  for (auto& [level, about] : levels) {
    int p = r.count(Outcome::passed, level), f = r.count(Outcome::failed, level), s = r.count(Outcome::skipped, level);
    double seconds = 0;
    for (const Row& row : r.rows) seconds += row.level == level ? row.seconds : 0;
    if (p + f + s == 0) continue;
    double all = p + f + s;
    page += fmt::format(
        "<div class=card><b>{}</b> <span class=soft>{}</span><div class=bar><i class=ok style=\"width:{:.2f}%\"></i><i "
        "class=bad style=\"width:{:.2f}%\"></i></div><div class=sum>{} passed, {} failed,<br>{} skipped; {:.1f} "
        "s</div></div>\n",
        level, about, 100 * p / all, 100 * f / all, p, f, s, seconds);
  }
  page += "</div>\n";
}

void add_failures(const Report& r, std::string& page) {
  if (r.count(Outcome::failed) == 0) return;
  page += "<h2>Failed</h2>\n";
  for (const Row& row : r.rows)
    if (row.outcome == Outcome::failed)
      page += fmt::format("<div class=fail><b>{} {}</b><br><code>{}</code></div>\n", row.level, escaped(row.name),
                          escaped(row.reason));
}

void add_coverage(const Report& r, std::string& page) {
  std::vector<Cell> cells = coverage(r);
  if (cells.empty()) return;
  std::map<std::string, std::map<std::string, const Cell*>> by_op;
  std::map<Coverage, int> counts;
  for (const Cell& c : cells) by_op[c.op][c.dtype] = &c, ++counts[c.coverage];
  page += fmt::format(
      "<h2>Coverage: {} ops by dtype</h2>\n<p class=soft>What took the random calls of L2. Point at a "
      "cell for the reason. An empty place: the op has no such dtype.</p>\n<div class=legend>",
      by_op.size());
  bool core = r.plugin == "host";  // nothing but references and decompositions
  for (const Look& l : kLooks)
    if (!core || l.coverage == Coverage::decomposed || l.coverage == Coverage::failed)
      page +=
          fmt::format("<span><i class=\"c {}\" style=\"font-style:normal\">{}</i>{} ({})</span>", l.style, l.mark,
                      core && l.coverage == Coverage::decomposed ? "computed by the core" : l.name, counts[l.coverage]);
  page += "</div>\n<div class=grid>\n";
  size_t n = 0;
  for (auto& [op, row] : by_op) {
    if (n % kOpsInATable == 0) {
      page += "<table><tr><th class=o></th>";
      for (const char* t : kDtypes) page += fmt::format("<th class=t>{}</th>", t);
      page += "</tr>\n";
    }
    std::string name = escaped(op);
    for (size_t at = 0; (at = name.find('_', at)) != name.npos; at += 6) name.insert(at + 1, "<wbr>");
    page += "<tr><td class=o>" + name + "</td>";
    for (const char* t : kDtypes) {
      auto cell = row.find(t);
      if (cell == row.end()) {
        page += "<td></td>";
        continue;
      }
      const Look& l = look(cell->second->coverage);
      page += fmt::format("<td><span class=\"c {}\" title=\"{} of {}: {}{}{}\">{}</span></td>", l.style, escaped(op), t,
                          l.name, cell->second->why.empty() ? "" : "; ", escaped(cell->second->why), l.mark);
    }
    page += "</tr>\n";
    if (++n % kOpsInATable == 0 || n == by_op.size()) page += "</table>\n";
  }
  page += "</div>\n";
}

// Reasons, the most frequent first, with what they are about.
void add_reasons(const char* head, const char* about, const std::map<std::string, std::vector<std::string>>& reasons,
                 std::string& page) {
  if (reasons.empty()) return;
  page += fmt::format("<h2>{}</h2>\n<p class=soft>{}</p>\n", head, about);
  std::vector<std::pair<std::string, std::vector<std::string>>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second.size() > b.second.size(); });
  for (auto& [reason, names] : sorted) {
    page +=
        fmt::format("<details><summary>{} <span class=soft>({})</span></summary><p>", escaped(reason), names.size());
    for (size_t i = 0; i < names.size(); ++i) page += (i ? ", " : "") + escaped(names[i]);
    page += "</p></details>\n";
  }
}

std::string figure(double x) { return x < 1000 ? fmt::format("{:.3g}", x) : fmt::format("{:.0f}", x); }

void add_performance(const Report& r, std::string& page) {
  if (r.count(Outcome::passed, "P") == 0) return;
  page +=
      "<h2>Performance</h2>\n<table><tr><th>What</th><th class=n>Measured</th><th class=n>Beside it</th><th "
      "class=n>Ratio</th></tr>\n";
  for (const Row& row : r.rows) {
    if (row.level != "P" || row.outcome != Outcome::passed || !row.numbers.count("value")) continue;
    size_t cut = row.note.find("; ");
    std::string unit = row.note.substr(0, cut), beside = cut == row.note.npos ? "" : row.note.substr(cut + 2), size;
    if (size_t comma = unit.find(", "); comma != unit.npos) size = unit.substr(comma), unit.resize(comma);
    double value = row.numbers.at("value");
    page += fmt::format("<tr><td class=what>{}{}</td><td class=n>{} {}</td>", escaped(row.name), escaped(size),
                        figure(value), unit);
    if (row.numbers.count("beside"))
      page += fmt::format("<td class=\"n beside\">{} <span class=soft>{}</span></td><td class=n>{:.2f}</td></tr>\n",
                          figure(row.numbers.at("beside")), escaped(beside), value / row.numbers.at("beside"));
    else page += "<td></td><td></td></tr>\n";
  }
  page += "</table>\n";
}

void add_slowest(const Report& r, std::string& page) {
  std::vector<const Row*> rows;
  for (const Row& row : r.rows)
    if (row.level != "P" && row.seconds >= 0.01) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->seconds > b->seconds; });
  if (rows.size() > 15) rows.resize(15);
  if (rows.empty()) return;
  page += "<h2>The slowest tests</h2>\n<table><tr><th>Test</th><th>Outcome</th><th class=n>Seconds</th></tr>\n";
  for (const Row* row : rows)
    page += fmt::format("<tr><td>{} {}</td><td>{}</td><td class=n>{:.2f}</td></tr>\n", row->level, escaped(row->name),
                        text(row->outcome), row->seconds);
  page += "</table>\n";
}

}  // namespace

std::vector<Cell> coverage(const Report& report) {
  std::vector<Cell> cells;
  std::map<std::string, std::string> first;  // the variable of an op that came first
  for (const Row& row : report.rows) {
    size_t space = row.name.find(' '), equal = row.name.find('=');
    if (row.level != "L2" || space == row.name.npos || equal == row.name.npos ||
        row.name.find(' ', space + 1) != row.name.npos)
      continue;
    std::string op = row.name.substr(0, space), variable = row.name.substr(space + 1, equal - space - 1);
    if (first.emplace(op, variable).first->second != variable) continue;
    auto number = [&](const char* name) {
      auto it = row.numbers.find(name);
      return it == row.numbers.end() ? 0.0 : it->second;
    };
    if (row.reason == "the op has no such dtype") continue;
    Cell c{op, row.name.substr(equal + 1), Coverage::absent, row.note};
    if (row.outcome == Outcome::failed) c.coverage = Coverage::failed, c.why = row.reason;
    else if (number("kernel") > 0) c.coverage = number("refused") > 0 ? Coverage::partly : Coverage::kernel;
    else if (number("declared") > 0) c.coverage = Coverage::refused;
    else if (number("elsewhere") > 0) c.coverage = Coverage::decomposed;
    else c.why = row.reason;
    cells.push_back(std::move(c));
  }
  return cells;
}

std::string html_of(const Report& r) {
  int passed = r.count(Outcome::passed), failed = r.count(Outcome::failed), skipped = r.count(Outcome::skipped);
  std::string name = escaped(r.plugin);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width, initial-scale=1\">\n<title>{0}: conformance</title>\n<style>{1}</style></head>\n"
      "<body>\n<h1>{0}</h1>\n<p class=soft>Oarlock conformance kit: {2} of {3} pass, {4} skipped</p>\n",
      name, kStyle, passed, passed + failed, skipped);
  add_levels(r, page);
  add_failures(r, page);
  add_performance(r, page);
  add_coverage(r, page);
  std::map<std::string, std::vector<std::string>> refusals, skips;
  for (const Row& row : r.rows) {
    if (row.level == "L2" && row.outcome == Outcome::passed && !row.note.empty())
      refusals[row.note].push_back(row.name);
    if (row.outcome != Outcome::skipped) continue;
    bool refused = row.reason.starts_with("kernel refused: ");
    (refused ? refusals[row.reason.substr(16)] : skips[row.reason])
        .push_back((refused ? "" : row.level + " ") + row.name);
  }
  add_reasons("Refused, and why", "Calls that a kernel was asked for and did not take; others carried them out.",
              refusals, page);
  add_reasons("Skipped, and why", "Tests that had nothing to say about this plugin.", skips, page);
  add_slowest(r, page);
  return page + "</body></html>\n";
}

}  // namespace oarlock::cts
