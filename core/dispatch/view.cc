// Views: shape, strides and offset follow at once from the op's rule; no kernel.
#include <algorithm>

#include "core/dispatch/role.h"
#include "core/dispatch/run.h"
#include "core/op/infer.h"

namespace oarlock::dispatch {

// Surely no overflow and nothing negative: what is nearly always so is cheap to see.
static bool small(const Shape& s) {
  uint64_t bits = 0;
  for (Dim d : s) bits += uint64_t(64 - __builtin_clzll(uint64_t(d.n) | 1));
  return bits <= 48;
}

Status run_view(const Call& c, Tensor* output) {
  const op::OpDef& def = *c.op.def;
  TensorImpl* x = c.inputs[0];
  LastView* last = nullptr;
  if (c.n_attrs == 1 && c.attrs[0].type == OAR_ATTR_INTS && c.attrs[0].is_set && c.attrs[0].count <= kMaxRank &&
      (c.attrs[0].value.ints || !c.attrs[0].count) && x->contiguous && info(x->dtype).bits >= 8) {
    last = &Cache::of_thread().last_view(c.op.id);
    if (last->fits(c.op.id, x->shape, c.attrs[0])) {
      *output = Tensor::adopt(alias_tensor(*x, last->out, last->strides, last->offset));
      return {};
    }
  }
  op::AttrScratch scratch;
  op::Attrs attrs(c.attrs, c.n_attrs);
  if (!op::is_normal(def, c.attrs, c.n_attrs)) {
    OAR_TRY(op::normalise(def, &x->shape, c.attrs, c.n_attrs, scratch));
    attrs = op::Attrs(scratch.values, uint32_t(def.attributes.count));
  }
  Tensor row_major;
  for (int attempt = 0; attempt < 2; ++attempt) {
    op::ViewCall view(def, attrs, x->shape, x->strides, x->contiguous);
    bool alias = def.view(view);
    if (!view.status.ok()) return std::move(view.status);
    if (!small(view.out)) OAR_TRY(check_sizes(view.out, x->dtype, def.name));
    if (info(x->dtype).bits < 8 && view.out_offset * info(x->dtype).bits % 8 != 0) alias = false;
    if (alias) {
      if (last) {
        last->op = c.op.id;
        last->n_integers = c.attrs[0].count;
        std::copy_n(c.attrs[0].value.ints, c.attrs[0].count, last->integers);
        last->in = x->shape;
        last->out = view.out;
        std::copy_n(view.out_strides, view.out.rank, last->strides);
        last->offset = view.out_offset;
      }
      *output = Tensor::adopt(alias_tensor(*x, view.out, view.out_strides, view.out_offset));
      return {};
    }
    if (x->contiguous) {  // the copy would be no different: only the decomposition can do it
      Call whole = c;
      whole.route = Route::decomposition;
      std::vector<Tensor> out;
      OAR_TRY(run_call(whole, out));
      *output = std::move(out[0]);
      return {};
    }
    detail::retain(x);
    Tensor t = Tensor::adopt(x);
    OAR_TRY(role::copy(t, &row_major));
    x = row_major.impl();
  }
  return {Code::internal, std::string(def.name) + ": its view rule refused a row-major operand."};
}

}  // namespace oarlock::dispatch
