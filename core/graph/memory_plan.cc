#include "core/graph/memory_plan.h"

#include <algorithm>

#include "core/device/device_memory.h"

namespace oarlock::graph {

static uint64_t padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

Status MemoryPlan::make() {
  lifetimes();
  merge_in_place();
  for (auto* list : {&plan_.results_, &plan_.gradients_})
    for (const Plan::Given& g : *list) keep_out(g.spot);
  return arrange();
}

void MemoryPlan::lifetimes() {
  for (size_t i = 0; i < plan_.steps_.size(); ++i) {
    auto touch = [&](Home& h) {
      if (h.first < 0) h.first = int(i);
      h.last = int(i);
    };
    const Step& s = plan_.steps_[i];
    for (int spot : s.in)
      if (spot >= 0) touch(plan_.home_of(spot));
    for (int spot : s.out)
      if (spot >= 0) touch(plan_.home_of(spot));
    if (s.workspace >= 0) touch(plan_.homes_[size_t(s.workspace)]);
  }
  int end = int(plan_.steps_.size());
  for (auto* list : {&plan_.results_, &plan_.gradients_})
    for (const Plan::Given& g : *list) plan_.home_of(g.spot).last = end;
}

void MemoryPlan::merge_in_place() {
  for (size_t i = 0; i < plan_.steps_.size(); ++i) {
    const Step& s = plan_.steps_[i];
    if (!s.entry || s.entry->kind != dispatch::Kind::kernel || !s.entry->kernel.decl->inplace) continue;
    for (size_t o = 0; o < s.out.size(); ++o) {
      int k = s.entry->kernel.decl->inplace[o];
      if (k < 0 || size_t(k) >= s.in.size() || s.in[size_t(k)] < 0 || s.out[o] < 0) continue;
      int from = plan_.root(plan_.spots_[size_t(s.in[size_t(k)])].home),
          to = plan_.root(plan_.spots_[size_t(s.out[o])].home);
      Home &a = plan_.homes_[size_t(from)], &b = plan_.homes_[size_t(to)];
      const TensorImpl &x = plan_.at(s.in[size_t(k)]), &y = plan_.at(s.out[o]);
      bool alone = std::count_if(s.in.begin(), s.in.end(), [&](int in) {
                     return in >= 0 && plan_.root(plan_.spots_[size_t(in)].home) == from;
                   }) == 1;
      bool alike = x.shape == y.shape && x.dtype == y.dtype &&
                   std::equal(x.strides, x.strides + x.shape.rank, y.strides) &&
                   plan_.spots_[size_t(s.in[size_t(k)])].byte_offset == 0;
      if (from == to || !alone || !alike || a.kind != Home::arena || b.kind != Home::arena || a.device != b.device ||
          a.last != int(i) || b.first != int(i) || a.bytes != b.bytes)
        continue;
      b.merged = from;
      a.last = b.last;
      ++plan_.info_.in_place;
    }
  }
}

// What the caller keeps is memory of its own, made anew at each run.
void MemoryPlan::keep_out(int spot) {
  int home = plan_.root(plan_.spots_[size_t(spot)].home);
  Home& h = plan_.homes_[size_t(home)];
  if (h.kind != Home::arena) return;
  h.kind = Home::bound;
  plan_.bound_.push_back({Plan::Bound::result, 0, home});
}

Status MemoryPlan::arrange() {
  for (size_t i = 0; i < plan_.spots_.size(); ++i) {  // merged homes: their spots move
    Spot& s = plan_.spots_[i];
    int to = plan_.root(s.home);
    if (to == s.home) continue;
    plan_.homes_[size_t(to)].spots.push_back(int(i));
    s.home = to;
    TensorImpl& t = *s.tensor.impl();
    retain(plan_.homes_[size_t(to)].storage);
    release(std::exchange(t.storage, plan_.homes_[size_t(to)].storage));
  }
  for (int place = 0; place < 2; ++place) {
    if (place && device_.is_host()) break;
    DeviceState& d = place ? device_ : host_device();
    std::vector<Home*> homes, placed;
    for (Home& h : plan_.homes_)
      if (h.kind == Home::arena && h.merged < 0 && h.device == &d && h.first >= 0) homes.push_back(&h);
    std::stable_sort(homes.begin(), homes.end(), [](const Home* a, const Home* b) { return a->bytes > b->bytes; });
    uint64_t total = 0;
    for (Home* h : homes) {
      plan_.info_.values_bytes += h->bytes;
      ++plan_.info_.values;
      uint64_t at = 0;  // placed is kept by offset: the first gap between those alive at the same time
      for (const Home* other : placed) {
        if (other->last < h->first || h->last < other->first) continue;
        if (other->offset >= at + padded(h->bytes)) break;
        at = std::max(at, other->offset + padded(other->bytes));
      }
      h->offset = at;
      total = std::max(total, at + padded(h->bytes));
      placed.insert(std::upper_bound(placed.begin(), placed.end(), h,
                                     [](const Home* a, const Home* b) { return a->offset < b->offset; }),
                    h);
    }
    plan_.info_.arena_bytes += total;
    if (!total) continue;
    Result<Block> arena = device_allocate(d, total, place ? current_stream(d) : nullptr);
    if (!arena) return std::move(arena.status());
    plan_.arena_[place] = *arena;
    if (place) plan_.used_by_ = current_stream(d);
    for (Home* h : homes) settle(*h, *arena);
  }
  for (Step& s : plan_.steps_) {
    s.frame.inputs = s.inputs.data();
    s.frame.outputs = s.outputs.data();
    if (s.workspace < 0) continue;
    const Home& h = plan_.homes_[size_t(s.workspace)];
    s.frame.workspace = {h.storage->block.data, h.storage->block.byte_offset, h.bytes};
  }
  plan_.used_by_ = nullptr;  // so that the first run gives the steps their streams
  return {};
}

void MemoryPlan::settle(Home& h, const Block& arena) {
  auto place = [&](uint64_t offset) {
    Block b = arena;
    if (h.device->addressable) b.data = static_cast<char*>(arena.data) + offset;
    else b.byte_offset = arena.byte_offset + offset;
    b.size_bytes = h.bytes;
    return b;
  };
  h.storage->block = place(h.offset);
  for (int s : h.spots) {
    Spot& spot = plan_.spots_[size_t(s)];
    Block b = place(h.offset + spot.byte_offset);
    spot.tensor.impl()->view.data = b.data;
    spot.tensor.impl()->view.byte_offset = h.device->addressable ? 0 : b.byte_offset;
  }
}

}  // namespace oarlock::graph
