// <oarlock/base/op.h>: calling, explaining and listing by name.
#include <oarlock/base/op.h>

#include "core/autograd/tape.h"
#include "core/dispatch/run.h"
#include "core/op/calls.h"

namespace oarlock {
namespace {

op::OpId id_of(std::string_view name) {
  op::OpId id = op::find_op(name);
  if (id == op::kNoOp && name.find('.') != name.npos) {  // a plugin's, and none is loaded yet
    ensure_plugins_loaded();
    id = op::find_op(name);
  }
  if (id == op::kNoOp)
    throw_if(invalid("op: there is no \"" + std::string(name.substr(0, 80)) + "\". `oarlock ops` lists them."));
  if (const op::OpDef& def = *op::op_at(id).def; def.regions.count)
    throw_if(invalid(std::string(name) + ": it calls functions, which a call by name can't give. Use jit::" + def.name +
                     "."));
  return id;
}
struct Inputs {
  std::vector<TensorImpl*> list;
  explicit Inputs(std::span<const Tensor> inputs) {
    for (const Tensor& t : inputs) list.push_back(t.impl());
  }
};
const Plugin* plugin_named(const op::Op& op, DeviceState& device, std::string_view name) {
  for (Pack* p : device.packs)
    if (p->plugin->info.name == name) return p->plugin;
  throw Error(Code::unsupported, std::string(op.def->name) + " on " + device.name + ": no plugin named \"" +
                                     std::string(name) + "\" has kernels for it.");
}

}  // namespace

std::vector<Tensor> call_op(std::string_view name, std::span<const Tensor> inputs, std::span<const oar_attr_t> attrs,
                            const CallOptions& options) {
  const op::Op& op = op::op_at(id_of(name));
  Inputs in(inputs);
  std::vector<Tensor> out;
  if (options.version && options.version < op.def->version) {
    if (!op.def->upgrade)
      throw_if(invalid(std::string(name) + ": version " + std::to_string(options.version) +
                       " was asked for, this is version " + std::to_string(op.def->version) + " and has no upgrade."));
    op::UpgradeCall call{options.version, inputs, op::Attrs(attrs.data(), uint32_t(attrs.size())), out};
    op.def->upgrade(call);
    return out;
  }
  if (options.version > op.def->version)
    throw_if(invalid(std::string(name) + ": version " + std::to_string(options.version) +
                     " is newer than this core, which has " + std::to_string(op.def->version) + ". Update Oarlock."));
  dispatch::Call c{.op = op,
                   .inputs = in.list.data(),
                   .n_inputs = int(in.list.size()),
                   .attrs = attrs.data(),
                   .n_attrs = uint32_t(attrs.size())};
  c.route = options.route;
  ensure_plugins_loaded();
  if (options.device >= device_count())
    throw_if(invalid(std::string(name) + ": there is no device " + std::to_string(options.device) + "; there are " +
                     device_list() + "."));
  DeviceScope scope(options.device >= 0 ? Device(options.device) : current_device());
  if (!options.plugin.empty()) {
    throw_if(dispatch::find_device(c));
    c.only = plugin_named(op, *c.device, options.plugin);
  }
  throw_if(dispatch::call_with(c, out));
  if (out.size() == size_t(op.def->outputs.count))
    out.resize(size_t(op.visible_outputs));  // hidden ones are the tape's
  return out;
}

std::vector<Candidate> explain(std::string_view name, std::span<const Tensor> inputs,
                               std::span<const oar_attr_t> attrs) {
  ensure_plugins_loaded();
  const op::Op& op = op::op_at(id_of(name));
  Inputs in(inputs);
  dispatch::Call c{.op = op,
                   .inputs = in.list.data(),
                   .n_inputs = int(in.list.size()),
                   .attrs = attrs.data(),
                   .n_attrs = uint32_t(attrs.size())};
  throw_if(dispatch::find_device(c));
  std::vector<Candidate> log;
  if (op.def->view || op.def->role == op::Role::assign || op.def->role == op::Role::transfer) {
    throw_if(op.def->view ? Status() : std::move(dispatch::make_entry(c).status()));
    log.push_back({"core", op.def->view ? "view, no kernel" : "memory copy", 0, true, ""});
    return log;
  }
  Result<std::shared_ptr<dispatch::Entry>> e = dispatch::make_entry(c, &log);
  throw_if(e.status());
  return log;
}

std::vector<KernelInfo> kernels_of(std::string_view name) {
  ensure_plugins_loaded();
  op::OpId id = id_of(name);
  std::vector<KernelInfo> all;
  for (int i = 0; i < device_count(); ++i)
    for (const Kernel& k : kernel_index(device_at(i)).by_op[id]) {
      const oar_kernel_decl_t& d = *k.decl;
      all.push_back({k.pack->plugin->info.name, device_at(i).kind, int(d.op_min), int(d.op_max), d.priority,
                     std::vector<DTypeSet>(d.dtypes, d.dtypes + d.n_masks)});
    }
  return all;
}

Inferred infer_op(std::string_view name, std::span<const Tensor> inputs, std::span<const oar_attr_t> attrs) {
  const op::Op& op = op::op_at(id_of(name));
  Inputs in(inputs);
  dispatch::Call c{.op = op,
                   .inputs = in.list.data(),
                   .n_inputs = int(in.list.size()),
                   .attrs = attrs.data(),
                   .n_attrs = uint32_t(attrs.size())};
  throw_if(dispatch::find_device(c));
  if (op.def->view) {
    Tensor out;
    throw_if(dispatch::run_view(c, &out));
    return {{out.shape()}, {out.dtype()}};
  }
  Result<std::shared_ptr<dispatch::Entry>> e = dispatch::make_entry(c);
  throw_if(e.status());
  Inferred all;
  for (int i = 0; i < (*e)->n_outputs; ++i) {
    all.shapes.push_back((*e)->shapes[size_t(i)]);
    all.dtypes.push_back((*e)->dtypes[size_t(i)]);
  }
  return all;
}

}  // namespace oarlock
