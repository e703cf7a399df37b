// Random legal calls of an op, made from nothing but its public row in the op table.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/cts/random.h"
#include "api/cts/spec.h"

namespace oarlock::cts {

// One attribute's value, with room of its own.
struct AttrValue {
  uint32_t type = 0;
  bool is_set = true;
  int64_t i = 0;
  double f = 0;
  std::string text;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  oar_attr_t wire() const;  // points into this
  std::string to_string() const;
};

struct Operand {
  bool present = true;
  std::vector<int64_t> shape;
  DType dtype = DType::none;
  bool host = false, mutated = false;
  std::vector<uint8_t> bytes;    // row-major elements
  std::vector<int64_t> strides;  // how it lies in memory, in elements; empty: row-major
  int64_t count() const;
};

// A call: operands with their elements, attributes, and how it came to be.
struct Draw {
  std::vector<Operand> inputs;
  std::vector<AttrValue> attrs;
  std::map<std::string, std::vector<int64_t>> names;  // dimensions (one entry) and packs
  std::vector<oar_attr_t> wire() const;
  std::string to_string(const Schema& schema) const;  // "matmul(f32[2, 3], f32[3, 5])"
};

// What to draw from.
struct Wishes {
  std::vector<int64_t> sizes = {0, 1, 2, 3, 5, 17, 64};
  std::vector<double> weights = {0.07, 0.15, 0.22, 0.2, 0.18, 0.12, 0.06};
  int max_rank = 3;                    // of packs
  int64_t max_elements = 4096;         // of one operand
  int64_t max_total = INT64_MAX;       // of all operands
  bool smooth = false;                 // values distinct and away from 0, for finite differences
  bool mix = true;                     // operands of other dtypes where the op promotes
  std::vector<int> devices = {0};      // for an attribute "device"
  std::map<std::string, DType> types;  // of type variables; the others are drawn
  const OpCase* a_case = nullptr;      // what it says is taken, the rest is drawn
};

class Generator {
 public:
  explicit Generator(const Schema& schema) : schema_(schema) {}
  // No value: nothing legal was found; reason() says what stood in the way.
  std::optional<Draw> draw(Random& random, const Wishes& wishes);
  const std::string& reason() const { return reason_; }

 private:
  bool attempt(Random& random, const Wishes& wishes, Draw& draw);
  bool draw_shapes(Random& random, const Wishes& wishes, Draw& draw);
  bool draw_types(Random& random, const Wishes& wishes, Draw& draw);
  bool draw_values(Random& random, const Wishes& wishes, Draw& draw);
  std::string along_axes(std::string range, const Draw& d);
  AttrValue draw_attribute(size_t which, Random& random, const Wishes& wishes, const Draw& draw);
  std::optional<int64_t> value_of(std::string_view name, const Draw& draw, bool draw_missing, Random* random,
                                  const Wishes* wishes);

  const Schema& schema_;
  std::string reason_;
  // Which way of drawing a list attribute led to legal calls before: tried first from then on.
  std::map<size_t, std::vector<int>> good_ways_;
  std::map<size_t, int> way_;
  std::vector<size_t> late_;                                             // inputs shaped after the others
  std::map<std::string, std::vector<std::vector<int64_t>>> case_names_;  // "...": one per input
};

// "M=2 K=0", "...=5x1|4", "S=2x3": names and their sizes; several where '|' separates the inputs' own.
std::map<std::string, std::vector<std::vector<int64_t>>> parse_dims(std::string_view text);
// "axis=0 keepdims=true shape=2x3". Throws std::runtime_error if it names no attribute or can't be read.
std::map<size_t, AttrValue> parse_attributes(const Schema& schema, std::string_view text);

// The sizes that the names in the strings stand for, from the operands' shapes.
void bind_names(const Schema& schema, Draw& draw);

// Fills an operand with what a case says of it ("-1..1 not 0 by 0.1", "distinct", "nan inf -inf"); false: it says
// nothing.
bool case_values(const OpCase& c, const std::string& input, Operand& operand, Random& random);

}  // namespace oarlock::cts
