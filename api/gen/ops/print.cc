// Writes every op definition as JSON, one op a line. Compiled by generate.py after the data halves of all op files and
// their table kAll; rules are declared there but not defined, so nothing here may call one.
#include <cstdio>
#include <string_view>

namespace {
using namespace oarlock;
using namespace oarlock::op;

const char* g_separator = "";
void key(const char* name) {
  printf("%s\"%s\": ", g_separator, name);
  g_separator = ", ";
}
void text(const char* s) {
  if (!s) {
    printf("null");
    return;
  }
  putchar('"');
  for (; *s; ++s) {
    if (*s == '"' || *s == '\\') putchar('\\');
    putchar(*s);
  }
  putchar('"');
}
void number(double v) {
  if (v == INFINITY || v == -INFINITY) printf("\"%sinf\"", v < 0 ? "-" : "");
  else printf("%.17g", v);
}
void field(const char* name, const char* s) { key(name), text(s); }
void field(const char* name, int64_t v) { key(name), printf("%lld", static_cast<long long>(v)); }
void field(const char* name, uint64_t v) { key(name), printf("%llu", static_cast<unsigned long long>(v)); }
void field(const char* name, double v) { key(name), number(v); }
void field(const char* name, bool v) { key(name), printf(v ? "true" : "false"); }

template <class L, class F>
void list(const char* name, const L& items, F one) {
  key(name);
  putchar('[');
  const char* between = "";
  for (auto& x : items) {
    printf("%s{", between);
    between = ", ";
    g_separator = "";
    one(x);
    putchar('}');
  }
  putchar(']');
  g_separator = ", ";
}

void print(const OpDef& d) {
  static const char* const kMixing[] = {"same", "promotes", "promotes_to_float"};
  static const char* const kKinds[] = {"flag", "integer", "real", "text", "integers", "reals",
                                       "dim",  "dims",    "axis", "axes", "dtype"};
  static const char* const kNeeds[] = {"defaulted", "required", "may_be_none"};
  g_separator = "";
  putchar('{');
  field("name", d.name);
  field("version", int64_t(d.version));
  field("summary", d.summary);
  field("source", d.source);
  auto operand = [](const Input& x) {
    field("name", x.name);
    field("spec", x.spec);
    field("range", x.range);
    field("optional", (x.flags & optional) != 0);
    field("variadic", (x.flags & variadic) != 0);
    field("host", (x.flags & host) != 0);
    field("mutated", (x.flags & mutated) != 0);
    field("constant", (x.flags & constant) != 0);
    field("hidden", (x.flags & hidden) != 0);
  };
  list("inputs", d.inputs, operand);
  list("outputs", d.outputs, operand);
  list("types", d.types, [](const TypeVar& t) {
    field("name", t.name);
    field("set", uint64_t(t.set));
    field("mixing", kMixing[t.mixing]);
  });
  list("attributes", d.attributes, [](const Attribute& a) {
    field("name", a.name);
    field("kind", kKinds[int(a.kind)]);
    field("need", kNeeds[a.need]);
    field("since", int64_t(a.since));
    field("i", a.i);
    field("f", a.f);
    field("s", a.s);
    field("low", a.low);
    field("high", a.high);
  });
  field("infer", bool(d.infer));
  field("view", bool(d.view));
  field("gradient", bool(d.gradient));
  field("decompose", bool(d.decompose));
  field("reference", bool(d.reference));
  field("no_gradient", d.no_gradient);
  list("saves", d.saves, [](const Saved& s) {
    field("name", s.name);
    field("wanted_by", s.wanted_by);
  });
  field("regions", int64_t(d.regions.count));
  field("role", int64_t(d.role));
  field("ulps", d.tolerance.ulps);
  field("of_absolutes", d.tolerance.of_absolutes);
  list("cases", d.cases, [](const Case& c) {
    field("name", c.name);
    field("dims", c.dims);
    field("attributes", c.attributes);
    field("values", c.values);
  });
  printf("}\n");
}
}  // namespace

int main() {
  for (const OpDef* d : kAll) print(*d);
}
