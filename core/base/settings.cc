#include "core/base/settings.h"

#include "core/base/generation.h"
#include "core/profile/trace.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace oarlock {

bool elevated_privilege() { return getauxval(AT_SECURE) != 0 || getuid() != geteuid() || getgid() != getegid(); }

namespace {
struct Row {
  const char* name;
  const char* type;
  const char* about;
  std::atomic<int64_t>* number;  // null: a text
  std::string text, default_value, origin = "default", problem;
};
std::mutex& lock() {
  static std::mutex* m = new std::mutex;
  return *m;
}
Status take(Row& row, std::string_view text, std::string_view origin);
}  // namespace

namespace setting {
#define OAR_DEFINE_flag(name, value) std::atomic<int64_t> name{value};
#define OAR_DEFINE_integer(name, value) std::atomic<int64_t> name{value};
#define OAR_DEFINE_choice(name, value) std::atomic<int64_t> name{0};
#define OAR_DEFINE_text(name, value)
#define X(name, type, value, about) OAR_DEFINE_##type(name, value)
OAR_SETTINGS(X)
#undef X
}  // namespace setting

namespace {
#define OAR_NUMBER_flag(name) &setting::name
#define OAR_NUMBER_integer(name) &setting::name
#define OAR_NUMBER_choice(name) &setting::name
#define OAR_NUMBER_text(name) nullptr
#define OAR_DEFAULT_flag(value) std::to_string(int64_t(value))
#define OAR_DEFAULT_integer(value) std::to_string(int64_t(value))
#define OAR_DEFAULT_choice(value) std::string(value).substr(0, std::string_view(value).find('|'))
#define OAR_DEFAULT_text(value) std::string(value)
#define OAR_TYPE_flag(value) "flag"
#define OAR_TYPE_integer(value) "integer"
#define OAR_TYPE_choice(value) "choice " value
#define OAR_TYPE_text(value) "text"

std::vector<Row>& rows() {
  static auto* all = new std::vector<Row>{
#define X(name, type, value, about) \
  Row{#name,                        \
      OAR_TYPE_##type(value),       \
      about,                        \
      OAR_NUMBER_##type(name),      \
      OAR_DEFAULT_##type(value),    \
      OAR_DEFAULT_##type(value)},
      OAR_SETTINGS(X)
#undef X
  };
  return *all;
}

std::string environment_name(const Row& row) {
  std::string e = "OARLOCK_";
  for (const char* c = row.name; *c; ++c) e += char(std::toupper(*c));
  return e;
}

Row* find(std::string_view name) {
  for (Row& r : rows())
    if (name == r.name) return &r;
  return nullptr;
}

Status take(Row& row, std::string_view text, std::string_view origin) {
  auto wrong = [&](std::string_view expects) {
    return invalid("setting " + std::string(row.name) + ": \"" + std::string(text.substr(0, 80)) + "\" is not " +
                   std::string(expects) + ". It stays at " + row.text + ".");
  };
  std::string_view type = row.type;
  if (constexpr std::string_view kChoice = "choice "; type.starts_with(kChoice)) {
    std::string_view words = type.substr(kChoice.size());
    int64_t place = 0;
    for (std::string_view left = words;; ++place) {
      size_t end = left.find('|');
      if (left.substr(0, end) == text) break;
      if (end == std::string_view::npos) return wrong(words);
      left.remove_prefix(end + 1);
    }
    row.number->store(place, std::memory_order_relaxed);
    row.text = std::string(text);
  } else if (row.number) {
    int64_t v = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    bool number = error == std::errc() && end == text.data() + text.size() && !text.empty();
    if (type == "flag") {
      if (text == "true" || text == "on" || text == "yes") v = 1, number = true;
      if (text == "false" || text == "off" || text == "no" || text.empty()) v = 0, number = true;
      if (!number || (v != 0 && v != 1)) return wrong("0 or 1");
    } else if (!number || v < 0) {
      return wrong("a whole number from 0 up");
    }
    row.number->store(v, std::memory_order_relaxed);
    row.text = std::to_string(v);
  } else {
    row.text = std::string(text);
  }
  row.origin = std::string(origin);
  something_changed();
  trace::on.fetch_or(trace::kUnread, std::memory_order_relaxed);
  return {};
}
}  // namespace

namespace setting {
#define OAR_READ_flag(name)
#define OAR_READ_integer(name)
#define OAR_READ_choice(name)
#define OAR_READ_text(name)       \
  std::string name() {            \
    load_environment();           \
    std::lock_guard hold(lock()); \
    return find(#name)->text;     \
  }
#define X(name, type, value, about) OAR_READ_##type(name)
OAR_SETTINGS(X)
#undef X

void load_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (elevated_privilege()) return;
    std::lock_guard hold(lock());
    for (Row& r : rows())
      if (const char* text = std::getenv(environment_name(r).c_str())) {
        Status s = take(r, text, "environment");
        if (!s.ok()) r.problem = std::string(s.text());
      }
  });
}

bool given(const char* name) {
  load_environment();
  std::lock_guard hold(lock());
  return find(name)->origin != "default";
}
}  // namespace setting

std::vector<SettingInfo> settings() {
  setting::load_environment();
  std::lock_guard hold(lock());
  std::vector<SettingInfo> all;
  for (const Row& r : rows())
    all.push_back({r.name, r.type, environment_name(r), r.about, r.default_value, r.text, r.origin, r.problem});
  return all;
}

Status set_setting(std::string_view name, std::string_view value) {
  setting::load_environment();
  std::lock_guard hold(lock());
  Row* row = find(name);
  if (!row) {
    std::string all;
    for (const Row& r : rows()) all += (all.empty() ? "" : ", ") + std::string(r.name);
    return invalid("setting " + std::string(name) + ": there is none of that name. There are: " + all + ".");
  }
  return take(*row, value, "program");
}

}  // namespace oarlock
