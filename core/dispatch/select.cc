// Choosing who runs a call: the strings give the outputs, then candidates are asked in order and each refusal is kept.
#include <algorithm>
#include <cstring>

#include "core/base/settings.h"
#include "core/dispatch/operands.h"
#include "core/dispatch/order.h"
#include "core/profile/trace.h"

namespace oarlock::dispatch {
namespace {

using op::InferCall;

std::string text_of(std::string_view s) { return std::string(s); }

const char* reason_text(uint32_t reason) {
  switch (reason) {
    case OAR_REASON_OP: return "it does not have this op";
    case OAR_REASON_VERSION: return "it has another version of this op";
    case OAR_REASON_DTYPE: return "it does not take this dtype";
    case OAR_REASON_SHAPE: return "it does not take this shape";
    case OAR_REASON_RANK: return "it does not take this rank";
    case OAR_REASON_LAYOUT: return "it does not take this layout";
    case OAR_REASON_ALIGNMENT: return "it wants another alignment";
    case OAR_REASON_ATTRIBUTE: return "it does not take this attribute value";
    case OAR_REASON_EPILOGUE: return "it does not take this epilogue";
    case OAR_REASON_DEVICE: return "it does not serve this device";
    case OAR_REASON_SPACE: return "it wants another memory space";
    case OAR_REASON_MEMORY: return "it lacks memory";
    case OAR_REASON_SLOWER: return "it would be slower";
    default: return "it gave no reason";
  }
}

struct Verdict {
  bool taken = false;
  bool by_layout = false;  // a contiguous or expanded operand might help
  bool failed = false;     // not a refusal but a failure
  std::string reason;
};

Verdict refuse(std::string why) { return {.reason = std::move(why)}; }

Verdict check_masks(const Kernel& k, const Call& c, const Entry& e) {
  const oar_kernel_decl_t& d = *k.decl;
  int version = c.op.def->version;
  if (setting::deterministic.load(std::memory_order_relaxed) && !(d.flags & OAR_KERNEL_DETERMINISTIC))
    return refuse("it may give other bits from run to run, and the setting deterministic is on");
  if (version < int(d.op_min))
    return refuse("it has versions " + std::to_string(d.op_min) + " and up of this op, not " + std::to_string(version));
  if (version > int(d.op_max)) {  // fine while what is newer stands at its default
    op::Attrs a = e.attrs.view();
    for (int i = 0; i < c.op.def->attributes.count; ++i) {
      const op::Attribute& at = c.op.def->attributes[i];
      if (at.since <= d.op_max) continue;
      bool plain = at.kind == op::AttrKind::real ? a.real(i) == at.f
                   : at.kind == op::AttrKind::text
                       ? a.text(i) == std::string_view(at.s).substr(0, std::string_view(at.s).find('|'))
                   : at.need == op::Attribute::may_be_none ? a.none(i)
                   : at.kind == op::AttrKind::integers || at.kind == op::AttrKind::dims || at.kind == op::AttrKind::axes
                       ? a.integers(i).empty()
                       : a.integer(i) == at.i;
      if (!plain)
        return refuse(std::string("it knows this op up to version ") + std::to_string(d.op_max) + ", which has no " +
                      at.name);
    }
  }
  auto in_mask = [&](int operand, DType t) {
    return (d.dtypes[std::min<uint32_t>(uint32_t(operand), d.n_masks - 1)] & set_of(t)) != 0;
  };
  for (int i = 0; i < c.n_inputs; ++i)
    if (c.inputs[i] && !in_mask(i, c.inputs[i]->dtype))
      return refuse("it does not take " + text_of(to_string(c.inputs[i]->dtype)) + " for " +
                    c.op.def->inputs[std::min(i, c.op.def->inputs.count - 1)].name);
  for (int i = 0; i < e.n_outputs; ++i)
    if (!in_mask(c.n_inputs + i, e.dtypes[size_t(i)]))
      return refuse("it does not give " + text_of(to_string(e.dtypes[size_t(i)])));
  // Host arguments have to be where the kernel reads them.
  for (int i = 0; i < c.n_inputs; ++i) {
    bool host_arg = c.op.host_inputs >> std::min(i, 63) & 1, reads_host = d.host_inputs >> std::min(i, 63) & 1;
    if (!c.device->is_host() && host_arg != reads_host)
      return refuse(host_arg ? "its declaration does not mark the host argument"
                             : "it wants an operand in host memory");
  }
  return {.taken = true};
}

std::string operand_name(const Call& c, int32_t operand) {
  if (operand < 0) return "";
  if (operand < c.n_inputs) return c.op.def->inputs[std::min<int>(operand, c.op.def->inputs.count - 1)].name;
  int extra = c.outlook ? int(c.outlook->extra.size()) : 0;
  if (operand < c.n_inputs + extra) return "an operand of what follows";
  int o = operand - c.n_inputs - extra;
  return c.op.def->outputs.count ? c.op.def->outputs[std::min<int>(o, c.op.def->outputs.count - 1)].name : "";
}

// A struct the plugin writes, with the room that a newer plugin may write into.
template <class T>
struct Out {
  union {
    T value;
    char room[OAR_OUT_ROOM];
  };
  Out() {
    std::memset(room, 0, sizeof room);
    value.struct_size = sizeof(T);
  }
};

Verdict ask(const Kernel& k, const Call& c, Entry& e, Operands& operands, bool keep) {
  Verdict v = check_masks(k, c, e);
  if (!v.taken) return v;
  const oar_kernel_decl_t& d = *k.decl;
  char words[512] = {0};
  Out<oar_verdict_t> verdict;
  verdict.value.operand = -1;
  verdict.value.text = words;
  verdict.value.text_capacity = sizeof words;
  uint32_t n_attrs = operands.call.n_attrs;
  uint32_t known = 0;  // attributes of the op version it was written for
  for (int i = 0; i < c.op.def->attributes.count; ++i) known += c.op.def->attributes[i].since <= d.op_max;
  oar_call_t call = operands.call;
  call.n_attrs = std::min(n_attrs, known);
  call.op_version = std::min<uint32_t>(call.op_version, d.op_max);
  auto read = [&](oar_status_t s, const char* function) {
    if (s == OAR_OK) return Verdict{.taken = true};
    if (s > 0) {
      size_t n = OAR_HAS(&verdict.value, text_size) && verdict.value.text == words
                     ? std::min(verdict.value.text_size, sizeof words)
                     : 0;
      std::string why(words, n);
      if (why.empty()) why = reason_text(verdict.value.reason);
      if (std::string o = operand_name(c, verdict.value.operand); !o.empty()) why = o + ": " + why;
      bool layout = verdict.value.reason == OAR_REASON_LAYOUT || verdict.value.reason == OAR_REASON_SHAPE ||
                    verdict.value.reason == OAR_REASON_ALIGNMENT;
      return Verdict{.by_layout = layout, .reason = why};
    }
    return Verdict{.failed = true, .reason = std::string(plugin_failure(*k.pack->plugin, s, function).text())};
  };
  if (d.check) {
    v = read(d.check(k.pack->handle, &d, &call, &verdict.value), "kernel.check");
    if (!v.taken) return v;
  }
  if (!d.prepare) return v;

  size_t n = operands.n, m = size_t(e.n_outputs);
  std::vector<Out<oar_choice_t>> choices(n + m);
  std::vector<oar_choice_t*> pointers(n + m);
  for (size_t i = 0; i < n + m; ++i) {
    oar_choice_t& choice = choices[i].value;
    choice.layout = operands.values[i].layout;
    choice.strides = operands.strides[i].data();  // it may write there; compared below
    pointers[i] = &choice;
  }
  auto offered = operands.strides;
  Out<oar_prepared_t> prepared;
  prepared.value.inputs = pointers.data();
  prepared.value.outputs = pointers.data() + n;
  prepared.value.verdict = &verdict.value;
  prepared.value.n_inputs = uint32_t(n);
  prepared.value.n_outputs = uint32_t(m);
  v = read(d.prepare(k.pack->handle, &d, &call, &prepared.value), "kernel.prepare");
  if (!v.taken) {
    operands.strides = offered;
    return v;
  }
  if (!OAR_HAS(&prepared.value, state) || prepared.value.struct_size > OAR_OUT_ROOM) {
    if (prepared.value.state) d.release(prepared.value.state);
    return {.failed = true,
            .reason = "kernel.prepare: " + k.pack->plugin->info.name + " wrote struct_size " +
                      std::to_string(prepared.value.struct_size) +
                      " into what it prepared; it has to be left or be sizeof the struct."};
  }
  auto give_up = [&](std::string why, bool layout) {
    d.release(prepared.value.state);
    operands.strides = offered;
    return Verdict{.by_layout = layout, .reason = std::move(why)};
  };
  std::vector<std::vector<int64_t>> out_strides(m);
  for (size_t i = 0; i < n + m; ++i) {
    if (!OAR_HAS(&choices[i].value, layout)) continue;  // an older plugin that chose nothing
    if (choices[i].value.space != 0) return give_up("it wants an operand in another memory space", false);
    uint64_t layout = choices[i].value.layout;
    if (layout >= OAR_LAYOUT_OPAQUE)
      return give_up("it wants a blocked layout, which only compiled programs have", false);
    int rank = operands.shapes[i].rank;
    bool changed = !std::equal(offered[i].begin(), offered[i].begin() + rank, operands.strides[i].begin());
    if (!changed) continue;
    if (i < n) {
      // The host can give row-major; anything else is for the kernel itself to read.
      if (row_major(operands.shapes[i], operands.strides[i].data()))
        return give_up("it wants a row-major operand", true);
      return give_up("it wants an operand in an order of its own", false);
    }
    out_strides[i - n].assign(operands.strides[i].begin(), operands.strides[i].begin() + rank);
  }
  if (!keep) {
    d.release(prepared.value.state);
    return v;
  }
  e.state = prepared.value.state;
  e.prepared = true;
  e.workspace_bytes = OAR_HAS(&prepared.value, workspace_bytes) ? prepared.value.workspace_bytes : 0;
  if (std::any_of(out_strides.begin(), out_strides.end(), [](auto& s) { return !s.empty(); }))
    e.strides = std::move(out_strides);
  return v;
}

// Every reason why no kernel took the call, in one sentence.
void note(std::string& all, const Kernel& k, const std::string& why) {
  if (!all.empty()) all += "; ";
  all += k.pack->plugin->info.name + ": " + why;
}

// The output in memory as the kernel sees it: row-major in its order of axes, unless it chose strides there.
void lay_out_as_seen(Entry& e) {
  Shape seen = e.shapes[0];
  int64_t strides[kMaxRank] = {};
  reorder_axes(e.order, seen, strides);
  if (e.strides.empty()) row_major_strides(seen, strides);
  else std::copy(e.strides[0].begin(), e.strides[0].end(), strides);
  e.strides.assign(1, std::vector<int64_t>(e.order.size()));
  for (size_t k = 0; k < e.order.size(); ++k) e.strides[0][size_t(e.order[k])] = strides[k];
}

}  // namespace

Status infer_call(const Call& c, Entry& e, std::vector<op::Guard>* guards) {
  const op::OpDef& def = *c.op.def;
  const Shape* shapes[256];
  DType types[256];
  if (c.n_inputs > 256)
    return invalid(std::string(def.name) + ": takes at most 256 operands, given " + std::to_string(c.n_inputs) + ".");
  for (int i = 0; i < c.n_inputs; ++i) {
    shapes[i] = c.inputs[i] ? &c.inputs[i]->shape : nullptr;
    types[i] = c.inputs[i] ? c.inputs[i]->dtype : DType::none;
  }
  op::AttrScratch scratch;
  OAR_TRY(op::normalise(def, c.n_inputs ? shapes[0] : nullptr, c.attrs, c.n_attrs, scratch));
  e.attrs = op::OwnedAttrs(op::Attrs(scratch.values, uint32_t(def.attributes.count)));
  constexpr int kMost = InferCall::kMaxOutputs;
  std::vector<Shape> out(kMost);
  std::vector<DType> out_type(kMost);
  DType var[op::Rule::kTypes]{};
  op::Report report;
  InferCall call(def, c.op.rule, e.attrs.view(), c.n_inputs, shapes, types, def.outputs.count, out.data(),
                 out_type.data(), var, report);
  std::vector<const oar_view_t*> host(size_t(c.n_inputs), nullptr);
  for (int i = 0; i < c.n_inputs; ++i)
    if (c.inputs[i] && (c.op.host_inputs >> std::min(i, 63) & 1))
      host[size_t(i)] = c.inputs[i]->storage ? &c.inputs[i]->view : nullptr;
  call.host_values = host.data();
  if (!call.run()) return invalid(report.error);
  if (guards) guards->insert(guards->end(), report.guards.begin(), report.guards.end());
  e.n_outputs = call.out_count;
  e.launch = call.out_count == 0;
  for (int i = 0; i < call.out_count; ++i) {
    const op::Spec& spec = c.op.rule.out[std::min(i, def.outputs.count - 1)];
    bool fresh = std::any_of(c.op.rule.item + spec.first, c.op.rule.item + spec.first + spec.count,
                             [](const op::Item& it) { return it.kind == op::Item::fresh; });
    bool known = std::all_of(out[size_t(i)].begin(), out[size_t(i)].end(), [](Dim d) { return d.known(); });
    e.dynamic |= fresh && !known;
    if (known) OAR_TRY(check_sizes(out[size_t(i)], out_type[size_t(i)], def.name));
    e.launch |= !known || count(out[size_t(i)]) != 0;
    e.shapes.push_back(out[size_t(i)]);
    e.dtypes.push_back(out_type[size_t(i)]);
  }
  bool cast = false;
  e.cast_to.assign(size_t(c.n_inputs), DType::none);
  for (int i = 0; i < c.n_inputs; ++i) {
    const op::Spec& s = c.op.rule.in[std::min(i, def.inputs.count - 1)];
    if (!c.inputs[i] || s.type != 'v' || s.wide || var[s.type_slot] == DType::none || var[s.type_slot] == types[i])
      continue;
    e.cast_to[size_t(i)] = var[s.type_slot];
    cast = true;
  }
  if (cast) e.kind = Kind::promote;
  return {};
}

// run sees the call at launch: version and attributes of the op version it was written for, no values.
static void call_of_launch(Entry& e, const Kernel& k, const oar_call_t& call) {
  e.call = call;
  e.call.op_version = std::min<uint32_t>(e.call.op_version, k.decl->op_max);
  e.call.n_inputs = e.call.n_outputs = 0;
  e.call.inputs = e.call.outputs = nullptr;
  uint32_t known = 0;
  for (int i = 0; i < e.op->def->attributes.count; ++i) known += e.op->def->attributes[i].since <= k.decl->op_max;
  e.call.n_attrs = std::min(e.call.n_attrs, known);
}

Result<std::shared_ptr<Entry>> make_fused_entry(const Call& c, std::string& why) {
  auto e = std::make_shared<Entry>();
  e->op = &c.op;
  e->device = c.device;
  OAR_TRY(infer_call(c, *e));
  std::shared_ptr<Entry> none;
  if (e->kind == Kind::promote || e->dynamic || !e->launch) {
    why = "it is no plain call";
    return none;
  }
  if (e->order = axis_order(c, *e); !e->order.empty()) {
    why = "its operands do not lie row-major";
    return none;
  }
  Operands operands(c, *e, false, false);
  for (const Kernel& k : kernel_index(*c.device).by_op[c.op.id]) {
    if (!k.decl->prepare) continue;
    Verdict v = ask(k, c, *e, operands, true);
    if (!v.taken) {
      note(why, k, v.reason);
      continue;
    }
    e->kind = Kind::kernel;
    e->kernel = k;
    e->dtypes[0] = c.outlook->following.back().dtype;
    return e;
  }
  if (why.empty()) why = "no kernel there takes what follows";
  return none;
}

Result<std::shared_ptr<Entry>> make_entry(const Call& c, std::vector<Candidate>* log) {
  auto e = std::make_shared<Entry>();
  e->op = &c.op;
  e->device = c.device;
  OAR_TRY(infer_call(c, *e));
  if (e->kind == Kind::promote && !log) return e;
  const op::OpDef& def = *c.op.def;
  bool chosen = false;
  auto consider = [&](Candidate candidate) {
    candidate.chosen = candidate.reason.empty() && !chosen;
    chosen |= candidate.chosen;
    if (log) log->push_back(std::move(candidate));
  };

  bool kernels = (c.route == Route::dispatch || c.route == Route::kernel) && !c.decompose && !def.view && e->launch;
  if (kernels) {
    const auto& list = kernel_index(*c.device).by_op[c.op.id];
    bool contiguous = std::all_of(c.inputs, c.inputs + c.n_inputs, [](TensorImpl* t) { return !t || t->contiguous; });
    std::string reasons;
    e->order = axis_order(c, *e);
    for (int attempt = 0; attempt < 3 && !chosen; ++attempt) {
      if (attempt == 1 && contiguous) continue;
      if (attempt && c.op.mutated) break;  // a write to a copy of the operand would be lost
      if (attempt) e->order.clear();
      bool by_layout = false, expands = false;
      if (attempt == 2)
        for (int i = 0; i < c.n_inputs; ++i)
          expands |= c.inputs[i] && Operands::wants_expanding(c, *e, i) && !(c.inputs[i]->shape == e->shapes[0]);
      if (attempt == 2 && !expands) continue;
      Operands operands(c, *e, attempt >= 1, attempt == 2);
      for (const Kernel& k : list) {
        if (c.only && k.pack->plugin != c.only) continue;
        Verdict v = ask(k, c, *e, operands, !log && !chosen);
        by_layout |= v.by_layout;
        if (v.failed && !log) return Status(Code::internal, v.reason);
        if (attempt == 0 || v.taken) {
          if (!v.taken) note(reasons, k, v.reason);
          std::string name = text_of({k.decl->op.data, k.decl->op.size});
          consider({k.pack->plugin->info.name, name, k.priority, false, v.taken ? "" : v.reason});
        }
        if (v.taken && (!log || attempt > 0)) {
          if (!log) {
            e->kind = Kind::kernel;
            e->kernel = k;
            if (attempt >= 1) {
              e->expand = attempt == 2;
              e->make_contiguous = ~uint64_t(0);
            }
            call_of_launch(*e, k, operands.call);
          }
          chosen = true;
          break;
        }
      }
      if (!by_layout) break;
    }
    e->reason = reasons;
    if (!chosen) e->order.clear();
    if (chosen && !log) {
      if (!e->order.empty()) lay_out_as_seen(*e);
      e->simple = e->kind == Kind::kernel && c.device->is_host() && e->n_outputs == 1 && def.outputs.count == 1 &&
                  !e->make_contiguous && !e->workspace_bytes && !e->dynamic && !c.op.mutated && e->strides.empty() &&
                  c.n_inputs <= 8;
      if (e->simple) {
        e->like = Tensor::adopt(make_tensor(*c.device, e->dtypes[0], e->shapes[0], nullptr, nullptr, 0));
        e->like_bytes = size_bytes(e->dtypes[0], uint64_t(count(e->shapes[0])));
      }
      return e;
    }
    if (c.route == Route::kernel && !log)
      return Status(Code::unsupported, std::string(def.name) + " on " + c.device->name + ": no kernel" +
                                           (c.only ? " of " + c.only->info.name : std::string()) + " takes this call" +
                                           (reasons.empty() ? "; none is declared." : ". " + reasons + "."));
  }

  bool device_reference = def.reference && c.device->is_host();
  if (def.decompose && c.route != Route::reference && c.route != Route::kernel) {
    consider({"core", "decomposition", 0, false, ""});
    e->kind = Kind::decomposition;
    if (!log) return e;
  }
  if (device_reference && c.route != Route::decomposition && c.route != Route::kernel) {
    consider({"core", "reference", 0, false, ""});
    e->kind = Kind::reference;
    if (!log) {
      e->order = axis_order(c, *e);
      if (!e->order.empty()) lay_out_as_seen(*e);
      return e;
    }
  }
  if (def.role == op::Role::copy && !c.device->is_host() && c.route == Route::dispatch) {
    consider({"core", "memory copy", 0, false, ""});
    e->kind = Kind::memory;
    if (!log) return e;
  }
  if (log) {
    if (!c.device->is_host() && !def.view && !def.plugin) consider({"core", "fallback to cpu", 0, false, ""});
    return e;
  }
  if (c.route == Route::decomposition)
    return Status(Code::unsupported, std::string(def.name) + ": it has no decomposition.");
  if (c.route == Route::reference)
    return Status(Code::unsupported,
                  std::string(def.name) + ": it has no reference on " + c.device->name + "; references run on cpu.");
  if (!e->launch) {  // nothing to compute, so nobody has to
    e->kind = Kind::reference;
    return e;
  }
  if (def.plugin && (c.device->is_host() || kernel_index(host_device()).by_op[c.op.id].empty()))
    return Status(Code::unsupported, std::string(def.name) + " on " + c.device->name + ": no kernel takes this call (" +
                                         (e->reason.empty() ? "none is declared there" : e->reason) +
                                         "), and ops that a plugin defines (" + def.plugin +
                                         ") have no decomposition and no reference.");
  e->kind = Kind::fallback;
  return e;
}

}  // namespace oarlock::dispatch
