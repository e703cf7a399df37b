#include <oarlock/model/callback.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <oarlock/model.h>

namespace oarlock {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

bool is_terminal(std::FILE* out) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(out)) && !(term && !std::strcmp(term, "dumb"));
}
size_t columns(std::FILE* out) {
  winsize w{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
  return 80;
}
std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, v != 0 && std::abs(v) < 1e-3 ? "%.2e" : "%.4f", v);
  return text;
}
std::string duration(double s) {
  char text[32];
  int64_t n = int64_t(std::min(s, 1e9) + 0.5);
  if (n < 3600) std::snprintf(text, sizeof text, "%d:%02d", int(n / 60), int(n % 60));
  else std::snprintf(text, sizeof text, "%d:%02d:%02d", int(n / 3600), int(n / 60 % 60), int(n % 60));
  return text;
}

}  // namespace

namespace callbacks {

ProgBarLogger::ProgBarLogger(int verbose, std::FILE* out, int terminal)
    : out_(out ? out : stdout), verbose_(verbose), terminal_(terminal < 0 ? is_terminal(out_) : terminal > 0) {}

void ProgBarLogger::draw(const std::string& text, bool last) {
  if (!terminal_) {
    std::fprintf(out_, "%s\n", text.c_str());
  } else {
    // Cut to the terminal's width: a line that wraps could not be redrawn.
    std::fprintf(out_, "\r%s\033[K%s", text.substr(0, columns(out_) - 1).c_str(), last ? "\n" : "");
    dirty_ = !last;
  }
  std::fflush(out_);
}

std::string ProgBarLogger::line(const char* what, int64_t step, int64_t steps, const Logs& logs, bool bar) const {
  const Progress& p = model().progress();
  std::string text;
  if (training_) text = "epoch " + std::to_string(p.epoch + 1) + "/" + std::to_string(p.epochs) + "  ";
  text += std::string(what) + " " + std::to_string(step) + (steps >= 0 ? "/" + std::to_string(steps) : "");
  if (bar && steps > 0) {
    int64_t width = 20, full = std::min(width, step * width / steps);
    text += " [" + std::string(size_t(full), '=') + (full < width ? ">" : "") +
            std::string(size_t(std::max<int64_t>(0, width - full - 1)), '.') + "]";
  }
  for (auto& [name, value] : logs) text += "  " + name + " " + number(value);
  return text;
}

void ProgBarLogger::on_train_begin() { training_ = true; }
void ProgBarLogger::on_train_end(const Logs&) { training_ = false; }
void ProgBarLogger::on_train_failed() {
  if (dirty_) std::fputc('\n', out_);
  dirty_ = training_ = false;
}
void ProgBarLogger::on_epoch_begin(int64_t) {
  begin_ = Clock::now();
  drawn_ = {};
  skipped_ = model().progress().samples;  // a resumed epoch begins in its middle
}

void ProgBarLogger::on_train_batch_end(int64_t step, const Logs& logs) {
  if (verbose_ != 1) return;
  const Progress& p = model().progress();
  bool last = step == p.steps;
  if (last) return;  // the epoch's own line follows
  if (terminal_) {
    if (seconds_since(drawn_) < 0.1) return;
  } else {
    int64_t tenth = p.steps > 0 ? (p.steps + 9) / 10 : 100;
    if (step % std::max(p.log_freq, tenth)) return;
  }
  drawn_ = Clock::now();
  double took = seconds_since(begin_), rate = took > 0 ? double(p.samples - skipped_) / took : 0;
  std::string text = "  " + std::to_string(int64_t(rate)) + " samples/s";
  if (p.steps > 0 && p.samples > skipped_)
    text += "  " +
            duration(took / double(p.samples - skipped_) * double(p.samples) / double(step) * double(p.steps - step)) +
            " left";
  std::string whole = line("step", step, p.steps, logs, terminal_) + text;
  if (terminal_ && whole.size() >= columns(out_)) whole = line("step", step, p.steps, logs, false) + text;
  draw(whole, false);
}

void ProgBarLogger::on_epoch_end(int64_t, const Logs& logs) {
  if (!verbose_) return;
  const Progress& p = model().progress();
  double took = seconds_since(begin_);
  draw(line("step", p.step, p.steps, logs, false) + "  " +
           std::to_string(int64_t(took > 0 ? double(p.samples - skipped_) / took : 0)) + " samples/s  " +
           duration(took),
       true);
}

void ProgBarLogger::on_eval_begin(int64_t steps) {
  eval_steps_ = steps;
  drawn_ = {};
}
void ProgBarLogger::on_eval_batch_end(int64_t step, const Logs& logs) {
  if (verbose_ != 1 || !terminal_ || seconds_since(drawn_) < 0.1) return;
  drawn_ = Clock::now();
  draw(line("evaluate", step, eval_steps_, logs, true), false);
}
void ProgBarLogger::on_eval_end(const Logs& logs) {
  if (!verbose_ || training_) return;  // in training the epoch's line has the values
  std::string text = "evaluate";
  for (auto& [name, value] : logs) text += "  " + name + " " + number(value);
  draw(text, true);
}

}  // namespace callbacks
}  // namespace oarlock
