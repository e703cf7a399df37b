// Writing into existing memory, and moving between devices: the core's own, by memory copies.
#include "core/dispatch/entry.h"
#include "core/dispatch/role.h"
#include "core/dispatch/run.h"
#include "core/profile/trace.h"

namespace oarlock::dispatch {

Status run_assign(const Call& c) {
  TensorImpl *to = c.inputs[0], *from = c.inputs[1];
  if (!(to->shape == from->shape) || to->dtype != from->dtype) {
    Result<std::shared_ptr<Entry>> entry = make_entry(c);  // for its error text
    if (!entry) return std::move(entry.status());
    return {Code::internal, "assign: operands disagree"};
  }
  Tensor keep;
  if (to->storage == from->storage && to->storage) {  // they may overlap
    detail::retain(from);
    OAR_TRY(role::copy(Tensor::adopt(from), &keep));
    from = keep.impl();
  }
  trace::Span span("copy", "assign");
  OAR_TRACE_STOP("assign: copied into the target's memory");
  OAR_TRY(copy_elements(*from, *to));
  if (to->storage) to->storage->version.fetch_add(1, std::memory_order_relaxed);
  return {};
}

Status run_transfer(const Call& c, Tensor* output) {
  const op::OpDef& def = *c.op.def;
  op::AttrScratch scratch;
  OAR_TRY(op::normalise(def, &c.inputs[0]->shape, c.attrs, c.n_attrs, scratch));
  int64_t index = scratch.values[0].value.i;
  if (index < 0 || index >= device_count())
    return invalid(std::string(def.name) + ": there is no device " + std::to_string(index) + "; there are " +
                   device_list() + ".");
  detail::retain(c.inputs[0]);
  Tensor x = Tensor::adopt(c.inputs[0]);
  if (!c.inputs[0]->contiguous) OAR_TRY(role::copy(x, &x));
  DeviceState& to = device_at(int(index));
  if (!(to.storage_dtypes & set_of(x.dtype())))
    return Status(Code::unsupported, std::string(def.name) + ": " + to.name + " can't store " +
                                         std::string(to_string(x.dtype())) + ". Cast it before moving it.");
  trace::Span span("copy", "transfer");
  OAR_TRACE_STOP("transfer from " + c.inputs[0]->device->name + " to " + to.name);
  Result<TensorImpl*> t = allocate_tensor(to, x.dtype(), x.shape(), current_stream(to));
  if (!t) return std::move(t.status());
  Tensor out = Tensor::adopt(*t);
  bool timed = trace::active() & trace::kPlacementTime;
  uint64_t begin = timed ? trace::now_ns() : 0;
  OAR_TRY(copy_elements(*x.impl(), *out.impl()));
  const DeviceState& from = *c.inputs[0]->device;
  count_transfer(from, to, uint64_t(x.element_count()) * info(x.dtype()).bits / 8, timed ? trace::now_ns() - begin : 0);
  *output = std::move(out);
  return {};
}

}  // namespace oarlock::dispatch
