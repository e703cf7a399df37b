// Structs of a log, built again as the plugin saw them. One file because the reader, the bounds and the builders of all
// struct kinds lean on one another; each alone would be a page of declarations.
#include "core/device/layer/replay_build.h"

#include <algorithm>
#include <cstring>

#include <oarlock/base/dtype.h>

namespace oarlock::layer {
namespace {

constexpr uint64_t kMostRoom = 64 << 20;  // bytes of structs in one call

bool on_host(const oar_view_t& v) { return v.device.kind == 1 && v.device.index == 0; }
void set_pointer(char* at, const void* p) { std::memcpy(at, &p, sizeof p); }

// A view's fields as recorded, without its arrays; false if the node is no view.
struct RawView {
  uint64_t data, byte_offset;
  oar_view_t v;
};
bool raw_view(const Node& record, RawView* out, std::vector<int64_t>* shape, std::vector<int64_t>* strides) {
  const auto& f = record.children;
  if (record.text != "oar_view_t" || f.size() != 10 || !f[0].is(Tag::handle) || !f[1].is(Tag::bytes) ||
      f[1].text.size() != 8)
    return false;
  for (int i : {2, 6, 7, 8, 9})
    if (!f[i].is(Tag::integer)) return false;
  *out = {};
  out->data = f[0].value;
  std::memcpy(&out->v.device, f[1].text.data(), 8);
  out->v.n_dims = int32_t(f[2].value);
  auto array = [&](const Node& n, std::vector<int64_t>* to) {
    if (n.is(Tag::null)) return true;
    if (!n.is(Tag::list)) return false;
    for (const Node& x : n.children) {
      if (!x.is(Tag::integer)) return false;
      to->push_back(int64_t(x.value));
    }
    return true;
  };
  if (!array(f[4], shape) || !array(f[5], strides)) return false;
  out->byte_offset = f[6].value;
  out->v.dtype = uint32_t(f[7].value);
  out->v.space = uint32_t(f[8].value);
  out->v.layout = f[9].value;
  uint64_t n = uint64_t(uint32_t(out->v.n_dims));
  return out->v.n_dims >= 0 && shape->size() == n && (strides->size() == n || strides->empty());
}

}  // namespace

Allocation* ReplayWorld::find(uint64_t old, uint64_t* out_offset) {
  auto it = allocations.upper_bound(old);
  if (it == allocations.begin()) return nullptr;
  --it;
  *out_offset = old - it->first;
  if (*out_offset == 0) return &it->second;
  if (!it->second.addressable || *out_offset > it->second.size) return nullptr;
  return &it->second;
}

bool Builder::note(Problem p, std::string text) {
  if (problem_ != Problem::bad && (problem_ == Problem::none || p == Problem::bad)) {
    problem_ = p;
    text_ = std::move(text);
  }
  return false;
}

void* Builder::room(uint64_t size) {
  room_used_ += size + 16;
  if (size > kMostRoom || room_used_ > kMostRoom) {
    bad("takes more than 64 MiB of structs");
    return nullptr;
  }
  rooms_.push_back(std::make_unique<uint64_t[]>(size / 8 + 2));
  return rooms_.back().get();
}

bool Builder::find_handle(Handle kind, uint64_t old, void** out) {
  *out = nullptr;
  if (kind == Handle::decl) {
    auto it = world_.decls.find(old);
    if (it == world_.decls.end()) return skip("uses a kernel declaration that this plugin doesn't have");
    *out = const_cast<oar_kernel_decl_t*>(it->second);
    return true;
  }
  if (kind == Handle::state) {
    auto it = world_.states.find(old);
    if (it == world_.states.end()) return skip("uses a state that was not prepared here");
    states.push_back(&it->second);
    old_states.push_back(old);
    made_up |= it->second.made_up;
    *out = it->second.inner;
    return true;
  }
  if (old == 0) return true;
  auto it = world_.handles[int(kind)].find(old);
  if (it == world_.handles[int(kind)].end()) {
    if (kind == Handle::native) return skip("uses a native handle of another plugin");
    return skip("uses an object that was not created here");
  }
  *out = it->second;
  return true;
}

bool Builder::argument(const Member& m, const Node& node, void** out_at) {
  collect(node, 0);
  char* at = static_cast<char*>(room(16));
  *out_at = at;
  return at && value(m, node, at, false);
}

// Host tensors of one call that overlapped when they were recorded overlap again.
void Builder::collect(const Node& node, int depth) {
  if (depth > 64) return;
  if (node.is(Tag::with_payload)) {
    RawView raw;
    std::vector<int64_t> shape, strides;
    if (!raw_view(node.children[0], &raw, &shape, &strides) || !on_host(raw.v)) return;
    raw.v.shape = shape.data();
    raw.v.strides = strides.empty() ? nullptr : strides.data();
    Extent e;
    if (!extent_of(raw.v, &e) || e.span_bytes == 0 || raw.byte_offset > kLargestExtent) return;
    uint64_t begin = raw.data + raw.byte_offset, end = begin + e.span_bytes;
    if (begin < raw.data || end < begin) return;
    for (size_t i = 0; i < ranges_.size();) {
      if (ranges_[i].begin < end && begin < ranges_[i].end && !ranges_[i].buffer) {
        begin = std::min(begin, ranges_[i].begin);
        end = std::max(end, ranges_[i].end);
        ranges_.erase(ranges_.begin() + long(i));
        i = 0;
      } else {
        ++i;
      }
    }
    ranges_.push_back({begin, end, nullptr});
    return;
  }
  for (const Node& c : node.children) collect(c, depth + 1);
}

char* Builder::host_buffer(uint64_t old, uint64_t size) {
  for (HostRange& r : ranges_) {
    if (old < r.begin || old >= r.end || size > r.end - old) continue;
    if (!r.buffer) r.buffer = world_.budget.take(r.end - r.begin + r.begin % 64);
    if (!r.buffer) break;
    return r.buffer.get() + r.begin % 64 + (old - r.begin);  // as far from a cache line as it was
  }
  if (size == 0) {
    buffers_.push_back(world_.budget.take(0));
    if (buffers_.back()) return buffers_.back().get();
  }
  bad("takes more host memory than replay may hold: " + std::to_string(size) + " bytes");
  return nullptr;
}

bool Builder::inside(const Allocation& a, uint64_t offset, uint64_t size) {
  if (offset > a.size || size > a.size - offset)
    return bad("reaches " + std::to_string(size) + " bytes from byte " + std::to_string(offset) +
               " of memory that has " + std::to_string(a.size));
  return true;
}

BuiltView* Builder::view_of(const oar_view_t* v) {
  for (BuiltView& b : views)
    if (b.view == v) return &b;
  return nullptr;
}

bool Builder::contents(const Node& payload, uint32_t dtype, std::string* out, uint64_t size, bool* out_made_up) {
  *out_made_up = false;
  if (payload.have != 0 && payload.size != size)
    return bad("has " + std::to_string(payload.size) + " bytes of contents where " + std::to_string(size) + " belong");
  if (payload.have == 1) {
    out->assign(payload.text);
    return true;
  }
  if (payload.have == 2)
    if (const std::string* known = world_.cache.get(payload.value, size)) {
      *out = *known;
      return true;
    }
  if (size == 0) return true;
  out->assign(size, '\0');
  make_up(world_.seed + world_.regenerated++, dtype, out->data(), size);
  *out_made_up = made_up = true;
  return true;
}

bool Builder::view(const Node& node, char* at, bool output) {
  RawView raw;
  std::vector<int64_t> shape, strides;
  if (!node.is(Tag::with_payload) || !raw_view(node.children[0], &raw, &shape, &strides))
    return bad("holds a view that is none");
  oar_view_t& v = *reinterpret_cast<oar_view_t*>(at);
  v = raw.v;
  if (element_bits(v.dtype) == 0)
    return bad("holds a view of dtype " + std::to_string(v.dtype) + ", which doesn't exist");
  const DTypeInfo& dtype = info(DType(v.dtype));
  v.element = {dtype.dlpack_code, uint8_t(dtype.bits), 1};
  auto keep = [&](const std::vector<int64_t>& from) {
    auto to = static_cast<int64_t*>(room(std::max<uint64_t>(8, from.size() * 8)));
    if (to) std::copy(from.begin(), from.end(), to);
    return to;
  };
  v.shape = keep(shape);
  v.strides = strides.empty() && v.n_dims > 0 ? nullptr : keep(strides);
  if (!v.shape) return false;
  BuiltView built;
  built.view = &v;
  built.output = output;
  if (v.layout != OAR_LAYOUT_STRIDED) return opaque_view(&built, raw.data, raw.byte_offset);
  built.strided = true;
  if (!extent_of(v, &built.extent)) return bad("holds a view whose shape and strides make no sense");
  if (on_host(v)) {
    if (raw.byte_offset > kLargestExtent) return bad("holds a view with an offset beyond all memory");
    built.host = host_buffer(raw.data + raw.byte_offset, built.extent.span_bytes);
    if (!built.host) return false;
    v.data = built.host;
    v.byte_offset = 0;
    if (!output) {
      std::string bytes;
      if (!contents(node.children[1], v.dtype, &bytes, built.extent.packed_bytes, &built.made_up)) return false;
      scatter(v, built.extent, built.host, bytes.data());
    }
  } else if (raw.data == 0 && built.extent.elements == 0) {
    v.data = nullptr;
    v.byte_offset = raw.byte_offset;
  } else {
    uint64_t into = 0;
    built.allocation = world_.find(raw.data, &into);
    if (!built.allocation) return skip("reads or writes memory that was not allocated here");
    if (raw.byte_offset > kLargestExtent) return bad("holds a view with an offset beyond all memory");
    built.offset = into + raw.byte_offset;
    if (!inside(*built.allocation, built.offset, built.extent.span_bytes)) return false;
    v.data = static_cast<char*>(built.allocation->data) + into;
    v.byte_offset = raw.byte_offset;
    if (!output && built.allocation->made_up.touches(built.offset, built.offset + built.extent.span_bytes))
      made_up = true;
  }
  bool pointer = built.host || (built.allocation && built.allocation->addressable);
  uint64_t unit = std::clamp<uint64_t>(element_bits(v.dtype) / 8, 1, 8);
  if (pointer && (reinterpret_cast<uintptr_t>(v.data) + v.byte_offset) % unit != 0)
    return bad("holds a view at an address that its dtype doesn't allow");
  views.push_back(built);
  return true;
}

// Only the plugin knows what lies in such a tensor, so its contents are what the plugin itself wrote there before.
bool Builder::opaque_view(BuiltView* built, uint64_t old, uint64_t byte_offset) {
  oar_view_t& v = *built->view;
  auto token = world_.tokens.find(v.layout);
  if (token == world_.tokens.end() || states.empty() || !states[0]->token_bytes.count(v.layout))
    return skip("has a tensor in a layout that no prepare chose here");
  uint64_t size = states[0]->token_bytes[v.layout];
  v.layout = token->second;
  v.strides = nullptr;
  if (!on_host(v)) {
    uint64_t into = 0;
    built->allocation = world_.find(old, &into);
    if (!built->allocation) return skip("reads or writes memory that was not allocated here");
    if (byte_offset > kLargestExtent) return bad("holds a view with an offset beyond all memory");
    built->offset = into + byte_offset;
    if (!inside(*built->allocation, built->offset, size)) return false;
    v.data = static_cast<char*>(built->allocation->data) + into;
    built->extent.span_bytes = size;
    if (!built->output && built->allocation->made_up.touches(built->offset, built->offset + size)) made_up = true;
  } else {
    auto it = world_.opaque.find(old + byte_offset);
    if (built->output && (it == world_.opaque.end() || it->second.size < size)) {
      auto buffer = world_.budget.take(size);
      if (!buffer) return bad("takes more host memory than replay may hold");
      it = world_.opaque.insert_or_assign(old + byte_offset, ReplayWorld::Opaque{buffer, size, false}).first;
    }
    if (it == world_.opaque.end() || it->second.size < size)
      return skip("reads a tensor in a layout that was not written here");
    if (!built->output) made_up |= it->second.made_up;
    built->opaque = old + byte_offset;
    v.data = it->second.buffer.get();
    v.byte_offset = 0;
  }
  views.push_back(*built);
  return true;
}

bool Builder::text(const Node& node, oar_str_t* out) {
  if (!node.is(Tag::bytes)) return bad("lacks a text");
  *out = {node.text.data(), node.text.size()};
  return true;
}

bool Builder::attribute(const Node& node, oar_attr_t* a) {
  if (!a->is_set) return true;
  switch (a->type) {
    case OAR_ATTR_BOOL:
    case OAR_ATTR_INT:
    case OAR_ATTR_DTYPE:
    case OAR_ATTR_FLOAT:
      if (!node.is(Tag::integer)) return bad("has an attribute without its number");
      std::memcpy(&a->value, &node.value, 8);
      return true;
    case OAR_ATTR_STRING:
      if (!node.is(Tag::bytes) || node.text.size() != a->count) return bad("has a text attribute without its text");
      a->value.str = node.text.data();
      return true;
    case OAR_ATTR_INTS:
    case OAR_ATTR_FLOATS: {
      if (!node.is(Tag::list) || node.children.size() != a->count)
        return bad("has a list attribute without its numbers");
      auto to = static_cast<int64_t*>(room(8 + 8 * a->count));
      if (!to) return false;
      for (size_t i = 0; i < node.children.size(); ++i) {
        if (!node.children[i].is(Tag::integer)) return bad("has a list attribute without its numbers");
        to[i] = int64_t(node.children[i].value);
      }
      a->value.ints = to;
      return true;
    }
    case OAR_ATTR_TENSOR: {
      auto to = static_cast<char*>(room(sizeof(oar_view_t)));
      if (!to || !view(node, to, false)) return false;
      a->value.tensor = reinterpret_cast<oar_view_t*>(to);
      return true;
    }
    default: return bad("has an attribute of type " + std::to_string(a->type) + ", which doesn't exist");
  }
}

bool Builder::extensions(const Node& node, char* at) {
  if (node.is(Tag::null)) return true;
  if (!node.is(Tag::list)) return bad("has extensions that are none");
  const oar_ext_t* next = nullptr;
  for (size_t i = node.children.size(); i-- > 0;) {
    const Node& n = node.children[i];
    oar_ext_t head;
    if (!n.is(Tag::bytes) || n.text.size() < sizeof head) return bad("has an extension that is cut short");
    std::memcpy(&head, n.text.data(), sizeof head);
    if (head.struct_size != n.text.size()) return skip("has an extension that was not recorded whole");
    auto to = static_cast<char*>(room(n.text.size()));
    if (!to) return false;
    std::memcpy(to, n.text.data(), n.text.size());
    std::memcpy(to + offsetof(oar_ext_t, next), &next, sizeof next);
    next = reinterpret_cast<oar_ext_t*>(to);
  }
  set_pointer(at, next);
  return true;
}

bool Builder::span(oar_span_t* s) {
  if (s->size_bytes == 0) {
    s->data = nullptr;
    return true;
  }
  if (s->size_bytes > kLargestExtent || s->byte_offset > kLargestExtent) return bad("has a span beyond all memory");
  uint64_t into = 0;
  if (Allocation* a = world_.find(reinterpret_cast<uintptr_t>(s->data), &into)) {
    if (!inside(*a, into + s->byte_offset, s->size_bytes)) return false;
    s->data = static_cast<char*>(a->data) + into;
    return true;
  }
  buffers_.push_back(world_.budget.take(s->size_bytes));
  if (!buffers_.back()) return bad("takes more host memory than replay may hold");
  s->data = buffers_.back().get();
  s->byte_offset = 0;
  return true;
}

bool Builder::region(const Node& node, char* at) {
  if (!node.is(Tag::with_payload)) return bad("holds a region that is none");
  const layer::Record& r = layer::record(RecordId::region);
  if (!fields(r, node.children[0], at, false)) return false;
  auto& g = *reinterpret_cast<oar_region_t*>(at);
  BuiltRegion built;
  uint64_t dst_span, src_span, packed;
  if (!region_extent(g, g.dst_strides, &built.packed, &dst_span) ||
      !region_extent(g, g.src_strides, &packed, &src_span) || g.dst_offset > kLargestExtent ||
      g.src_offset > kLargestExtent)
    return bad("holds a region whose counts and strides make no sense");
  auto device_side = [&](void** data, uint64_t offset, uint64_t size, Allocation** out, uint64_t* out_at) {
    uint64_t into = 0;
    *out = world_.find(reinterpret_cast<uintptr_t>(*data), &into);
    if (!*out) return skip("reads or writes memory that was not allocated here");
    if (!inside(**out, into + offset, size)) return false;
    *data = static_cast<char*>((*out)->data) + into;
    *out_at = into + offset;
    return true;
  };
  Allocation *from = nullptr, *to = nullptr;
  uint64_t from_at = 0, to_at = 0;
  if (g.src_on_host) {
    std::string bytes;
    if (!contents(node.children[1], OAR_DTYPE_F32, &bytes, packed, &built.made_up)) return false;
    built.host_src = world_.budget.take(src_span);
    if (!built.host_src) return bad("takes more host memory than replay may hold");
    scatter_box(g, g.src_strides, built.host_src.get(), bytes.data());
    g.src = built.host_src.get();
    g.src_offset = 0;
  } else if (!device_side(&g.src, g.src_offset, src_span, &from, &from_at)) {
    return false;
  } else {
    built.made_up = from->made_up.touches(from_at, from_at + src_span);
    made_up |= built.made_up;
  }
  if (g.dst_on_host) {
    built.host_dst = world_.budget.take(dst_span);
    if (!built.host_dst) return bad("takes more host memory than replay may hold");
    g.dst = built.host_dst.get();
    g.dst_offset = 0;
  } else if (!device_side(&g.dst, g.dst_offset, dst_span, &to, &to_at)) {
    return false;
  } else if (built.made_up) {
    to->made_up.add(to_at, to_at + dst_span);
  } else if (packed == dst_span) {
    to->made_up.remove(to_at, to_at + dst_span);
  }
  if (g.n_dims > 0) {
    built.counts.assign(g.counts, g.counts + g.n_dims);
    built.dst_strides.assign(g.dst_strides, g.dst_strides + g.n_dims);
  }
  built.box = g;
  regions.push_back(std::move(built));
  return true;
}

bool Builder::record(const Record& r, const Node& node, void** out, bool output) {
  *out = nullptr;
  if (node.is(Tag::null)) return true;
  if (node.is(Tag::again)) {
    auto it = numbered_.find(node.value);
    if (it == numbered_.end() || it->second.record != &r || !it->second.whole)
      return bad("points back to a struct that isn't there");
    *out = it->second.at;
    return true;
  }
  auto at = static_cast<char*>(room(std::max<uint64_t>(r.size, 8)));
  if (!at) return false;
  *out = at;
  if (r.id == RecordId::view) return view(node, at, output);
  const Node& body = node.is(Tag::with_payload) ? node.children[0] : node;
  if (!body.is(Tag::record) || body.text != r.name) return bad(std::string("lacks a struct ") + r.name);
  if (!numbered_.emplace(body.value, Numbered{&r, at, false}).second && body.value != ~uint64_t(0))
    return bad("numbers two structs alike");
  bool good = r.id == RecordId::region ? region(node, at) : fields(r, body, at, output);
  if (!good) return false;
  if (r.id == RecordId::value) {
    auto v = reinterpret_cast<oar_value_t*>(at);
    if (v->layout >= OAR_LAYOUT_OPAQUE) {
      auto token = world_.tokens.find(v->layout);
      if (token == world_.tokens.end()) return skip("has a tensor in a layout that no prepare chose here");
      v->layout = token->second;
    }
    if (v->layout == OAR_LAYOUT_STRIDED && v->n_dims > 0 && !v->strides)
      return bad("holds a strided value without strides");
  }
  numbered_[body.value].whole = true;
  if (r.id == RecordId::frame) frames.push_back(reinterpret_cast<oar_frame_t*>(at));
  return true;
}

bool Builder::fields(const Record& r, const Node& node, char* at, bool output) {
  if (!node.is(Tag::record) || node.text != r.name) return bad(std::string("lacks a struct ") + r.name);
  size_t n = std::min<size_t>(node.children.size(), r.n_members);
  if (r.frozen && n != r.n_members) return bad(std::string("holds a short struct ") + r.name);
  // Counts first: the arrays are held against them.
  for (size_t i = 0; i < n; ++i) {
    const Member& m = r.members[i];
    if (m.type != Type::integer || m.stars != 0) continue;
    if (!value(m, node.children[i], at + m.offset, output)) return false;
  }
  if (!r.frozen) {
    uint32_t size = n == 0 ? 0 : r.members[n - 1].offset + r.members[n - 1].size;
    if (n == r.n_members) size = r.size;
    if (size < 4 || size < r.least) return bad(std::string("holds a short struct ") + r.name);
    std::memcpy(at, &size, sizeof size);
  }
  for (size_t i = 0; i < n; ++i) {
    const Member& m = r.members[i];
    if (m.type == Type::integer && m.stars == 0) continue;
    if (r.id == RecordId::attr && m.type == Type::bytes) {
      if (!attribute(node.children[i], reinterpret_cast<oar_attr_t*>(at))) return false;
      continue;
    }
    bool is_output = output || std::strcmp(m.name, "outputs") == 0 || std::strcmp(m.name, "output") == 0;
    if (m.many()) {
      const Member& c = r.members[int(m.count)];
      uint64_t want = 0;
      std::memcpy(&want, at + c.offset, c.size);
      uint64_t have = node.children[i].is(Tag::list) ? node.children[i].children.size() : 0;
      bool may_lack = node.children[i].is(Tag::null) && m.nullable();
      if (want != have && !may_lack)
        return bad(std::string("says ") + c.name + " " + std::to_string(want) + " but has " + std::to_string(have) +
                   " of " + m.name);
    }
    if (!value(m, node.children[i], at + m.offset, is_output)) return false;
  }
  if (r.id == RecordId::span) return span(reinterpret_cast<oar_span_t*>(at));
  return true;
}

bool Builder::list(const Member& m, const Node& node, char* at, bool output) {
  if (node.is(Tag::null)) return true;
  if (!node.is(Tag::list)) return bad(std::string("lacks the list ") + m.name);
  uint64_t n = node.children.size();
  size_t each = m.type == Type::integer || m.type == Type::text ? m.element
                : m.type == Type::record && m.stars == 1        ? m.record->size
                                                                : sizeof(void*);
  auto to = static_cast<char*>(room(std::max<uint64_t>(8, n * each)));
  if (!to) return false;
  set_pointer(at, to);
  for (uint64_t i = 0; i < n; ++i) {
    const Node& c = node.children[i];
    char* here = to + i * each;
    bool good = true;
    if (m.type == Type::integer) {
      good = c.is(Tag::integer) || bad(std::string("lacks a number in ") + m.name);
      if (good) std::memcpy(here, &c.value, m.element);
    } else if (m.type == Type::text) {
      good = text(c, reinterpret_cast<oar_str_t*>(here));
    } else if (m.type == Type::handle) {
      void* handle = nullptr;
      good = c.is(Tag::handle) && c.handle == m.handle ? find_handle(m.handle, c.value, &handle)
                                                       : bad(std::string("lacks a handle in ") + m.name);
      set_pointer(here, handle);
    } else if (m.type == Type::record && m.stars == 1) {
      good = fields(*m.record, c, here, output);
    } else if (m.type == Type::record) {
      void* one = nullptr;
      good = record(*m.record, c, &one, output);
      set_pointer(here, one);
    } else {
      good = bad(std::string("has a list where none belongs: ") + m.name);
    }
    if (!good) return false;
  }
  return true;
}

bool Builder::value(const Member& m, const Node& node, char* at, bool output) {
  if (m.type == Type::host || m.type == Type::opaque || m.type == Type::function) return true;
  if (m.type == Type::record && m.record->id == RecordId::ext) return extensions(node, at);
  if (m.many()) return list(m, node, at, output);
  switch (m.type) {
    case Type::integer:
      if (m.stars > 0) return true;  // an array whose length the header doesn't tell
      if (!node.is(Tag::integer)) return bad(std::string("lacks the number ") + m.name);
      std::memcpy(at, &node.value, m.element);
      return true;
    case Type::text: return text(node, reinterpret_cast<oar_str_t*>(at));
    case Type::bytes:
      if (!node.is(Tag::bytes) || node.text.size() != m.size) return bad(std::string("lacks the bytes ") + m.name);
      std::memcpy(at, node.text.data(), m.size);
      return true;
    case Type::memory:
      if (!node.is(Tag::handle)) return bad(std::string("lacks the address ") + m.name);
      set_pointer(at, reinterpret_cast<void*>(uintptr_t(node.value)));  // old; whoever knows the size translates it
      return true;
    case Type::handle: {
      if (!node.is(Tag::handle) || node.handle != m.handle) return bad(std::string("lacks the handle ") + m.name);
      void* handle = nullptr;
      if (!find_handle(m.handle, node.value, &handle)) return false;
      set_pointer(at, handle);
      return true;
    }
    case Type::record: {
      if (m.stars == 0) return fields(*m.record, node, at, output);
      if (m.stars == 2) return true;  // choices: the caller makes them
      void* one = nullptr;
      if (!record(*m.record, node, &one, output)) return false;
      if (one && m.record->id == RecordId::call) call = static_cast<oar_call_t*>(one);
      if (one && m.record->id == RecordId::graph) graph = static_cast<oar_graph_t*>(one);
      set_pointer(at, one);
      return true;
    }
    default: return true;
  }
}

oar_choice_t** Builder::offers(uint32_t n, const oar_value_t* const* values) {
  auto list = static_cast<oar_choice_t**>(room(8 * (uint64_t(n) + 1)));
  if (!list) return nullptr;
  for (uint32_t i = 0; i < n; ++i) {
    const oar_value_t* v = values ? values[i] : nullptr;
    if (values && !v) continue;
    auto c = static_cast<oar_choice_t*>(room(OAR_OUT_ROOM));
    uint32_t dims = v ? v->n_dims : 32;
    auto strides = static_cast<int64_t*>(room(8 * (uint64_t(dims) + 1)));
    if (!c || !strides) return nullptr;
    c->struct_size = sizeof *c;
    c->strides = strides;
    if (v) {
      c->space = v->space;
      c->layout = v->layout;
      c->alignment = v->alignment;
      int64_t dense = 1;
      for (uint32_t d = dims; d-- > 0;) {
        strides[d] = v->strides ? v->strides[d] : dense;
        if (__builtin_mul_overflow(dense, std::max<int64_t>(v->shape ? v->shape[d] : 1, 1), &dense)) dense = 1;
      }
    }
    list[i] = c;
  }
  return list;
}

}  // namespace oarlock::layer
