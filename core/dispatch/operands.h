// The operands of one attempt to give a call to a kernel, as plugins see them.
#pragma once
#include <algorithm>
#include <cstring>
#include <deque>

#include "core/dispatch/entry.h"
#include "core/dispatch/order.h"

namespace oarlock::dispatch {

struct Operands {
  size_t n;  // inputs, those of the epilogue last
  std::vector<oar_value_t> values;
  std::vector<const oar_value_t*> inputs, outputs;
  std::vector<Shape> shapes;
  std::vector<std::array<int64_t, kMaxRank>> strides;
  oar_call_t call{};

  Operands(const Call& c, const Entry& e, bool contiguous, bool expand) {
    std::span<TensorImpl* const> extra;
    if (c.outlook) extra = c.outlook->extra;
    size_t own = size_t(c.n_inputs), m = size_t(e.n_outputs);
    n = own + extra.size();
    values.resize(n + m);
    shapes.resize(n + m);
    strides.resize(n + m);
    for (size_t i = 0; i < n; ++i) {
      const TensorImpl* t = i < own ? c.inputs[i] : extra[i - own];
      if (!t) {
        inputs.push_back(nullptr);
        continue;
      }
      shapes[i] = t->shape;
      if (expand && wants_expanding(c, e, int(i))) shapes[i] = e.shapes[0];
      if (contiguous || expand) row_major_strides(shapes[i], strides[i].data());
      else std::copy_n(t->strides, t->shape.rank, strides[i].data());
      if (!e.order.empty()) reorder_axes(e.order, shapes[i], strides[i].data());
      uint64_t address = t->device->addressable ? reinterpret_cast<uint64_t>(t->view.data) : t->view.byte_offset;
      uint64_t alignment = address == 0 ? 64 : std::min<uint64_t>(64, address & (~address + 1));
      fill(i, t->dtype, alignment);
      if (i < own && (c.op.host_inputs >> std::min<size_t>(i, 63) & 1)) values[i].flags |= OAR_VALUE_HOST;
      if (i < own && (c.op.mutated >> std::min<size_t>(i, 63) & 1)) values[i].flags |= OAR_VALUE_MUTATED;
      bool as_it_lies = !contiguous && !expand && e.order.empty();
      if (c.outlook && i < 64 && as_it_lies && (c.outlook->constants >> i & 1)) {
        values[i].flags |= OAR_VALUE_CONSTANT;
        values[i].constant = &t->view;
      }
      inputs.push_back(&values[i]);
    }
    for (size_t i = 0; i < m; ++i) {
      shapes[n + i] = e.shapes[i];
      if (!e.order.empty()) reorder_axes(e.order, shapes[n + i], strides[n + i].data());
      row_major_strides(shapes[n + i], strides[n + i].data());
      fill(n + i, e.dtypes[i], 64);
      values[n + i].layout = OAR_LAYOUT_DENSE;
      bool hidden = int(i) >= c.op.visible_outputs && e.n_outputs == c.op.def->outputs.count;
      outputs.push_back(hidden && !c.with_hidden ? nullptr : &values[n + i]);
    }
    call.struct_size = sizeof call;
    call.op_version = c.op.def->version;
    call.op = {c.op.def->name, std::strlen(c.op.def->name)};
    call.n_inputs = uint32_t(n);
    call.n_outputs = uint32_t(m);
    call.inputs = inputs.data();
    call.outputs = outputs.data();
    op::Attrs a = e.attrs.view();
    call.n_attrs = a.n;
    call.attrs = a.v;
    if (c.outlook) follow(*c.outlook, own);
  }
  static bool wants_expanding(const Call& c, const Entry& e, int i) {
    const op::Rule& r = c.op.rule;
    const op::Spec& spec = r.in[std::min(i, c.op.def->inputs.count - 1)];
    return e.n_outputs == 1 && spec.count == 1 && r.item[spec.first].kind == op::Item::batch && r.out[0].count == 1 &&
           r.item[r.out[0].first].kind == op::Item::batch;
  }

 private:
  struct Step {
    oar_call_t call{};
    oar_value_t result;  // the running value from here on
    std::vector<const oar_value_t*> inputs;
    const oar_value_t* output;
  };
  std::deque<Step> steps_;
  std::vector<const oar_call_t*> epilogue_;

  // The epilogue. Of the call itself the output becomes that of the last step.
  void follow(const Outlook& o, size_t own) {
    if (o.following.empty()) return;
    const oar_value_t* running = &steps_.emplace_back(Step{{}, values[n], {}, nullptr}).result;
    for (const Following& f : o.following) {
      Step& s = steps_.emplace_back(Step{{}, values[n], {}, nullptr});
      s.result.dtype = uint32_t(f.dtype);
      for (int i : f.inputs) s.inputs.push_back(i < 0 ? running : &values[own + size_t(i)]);
      running = &s.result;
      s.output = running;
      s.call.struct_size = sizeof s.call;
      s.call.op_version = f.op->def->version;
      s.call.op = {f.op->def->name, std::strlen(f.op->def->name)};
      s.call.n_inputs = uint32_t(s.inputs.size());
      s.call.n_outputs = 1;
      s.call.inputs = s.inputs.data();
      s.call.outputs = &s.output;
      s.call.n_attrs = f.attrs.n;
      s.call.attrs = f.attrs.v;
      epilogue_.push_back(&s.call);
    }
    values[n].dtype = running->dtype;
    steps_.back().output = &values[n];
    call.n_epilogue = uint32_t(epilogue_.size());
    call.epilogue = epilogue_.data();
  }
  void fill(size_t k, DType t, uint64_t alignment) {
    oar_value_t& v = values[k];
    v.struct_size = sizeof v;
    v.dtype = uint32_t(t);
    v.n_dims = uint32_t(shapes[k].rank);
    v.shape = reinterpret_cast<const int64_t*>(shapes[k].d);
    v.strides = strides[k].data();
    v.layout = OAR_LAYOUT_STRIDED;
    v.alignment = alignment;
  }
};

}  // namespace oarlock::dispatch
