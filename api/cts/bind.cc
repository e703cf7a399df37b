// The names in an op's strings, from the shapes of a call that somebody else made.
#include <algorithm>

#include "api/cts/draw.h"

namespace oarlock::cts {

namespace {

bool many(const Item& item) {
  return item.kind == Item::batch || item.kind == Item::pack || item.kind == Item::attribute_pack ||
         item.kind == Item::any_pack;
}

// How many axes an item takes, if that is known: one, a pack that is bound, an attribute's list.
int64_t width(const Schema& schema, const Draw& d, const Item& item) {
  if (!many(item)) return 1;
  if (item.kind == Item::attribute_pack) {
    int a = schema.attribute(item.text);
    return a < 0 || size_t(a) >= d.attrs.size() ? -1 : int64_t(d.attrs[size_t(a)].ints.size());
  }
  auto it = d.names.find(item.text);
  return item.kind == Item::pack && it != d.names.end() ? int64_t(it->second.size()) : -1;
}

}  // namespace

void bind_names(const Schema& schema, Draw& d) {
  for (int round = 0; round < 2; ++round)  // a pack may be bound by a later operand
    for (size_t i = 0; i < d.inputs.size(); ++i) {
      if (!d.inputs[i].present) continue;
      const Spec& spec = schema.input_spec(i);
      const auto& shape = d.inputs[i].shape;
      int64_t known = 0, open = 0;
      for (const Item& item : spec.items) {
        int64_t w = width(schema, d, item);
        if (w < 0) ++open;
        else known += w;
      }
      if (open > 1 || known > int64_t(shape.size())) continue;
      size_t axis = 0;
      for (const Item& item : spec.items) {
        int64_t w = width(schema, d, item);
        if (w < 0) w = int64_t(shape.size()) - known;
        if (axis + size_t(w) > shape.size()) break;
        bool one = item.kind == Item::name && !(item.or_one && shape[axis] == 1);
        if (one || item.kind == Item::pack)
          d.names.emplace(item.text,
                          std::vector<int64_t>(shape.begin() + int64_t(axis), shape.begin() + int64_t(axis) + w));
        axis += size_t(w);
      }
    }
}

}  // namespace oarlock::cts
