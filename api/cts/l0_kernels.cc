// Level 0: kernel declarations are constant data that can be read without any hardware.
#include <oarlock/plugin.h>

#include <oarlock/base/op.h>

#include <string.h>

#include <algorithm>
#include <set>

#include "api/cts/host_cpu.h"
#include "api/cts/level0.h"
#include "api/cts/raw.h"

namespace oarlock::cts {

namespace {

void need_kernels(Check& check, const Plugin& p) {
  if (!p.kernel) check.skip("the plugin offers no kernel table");
}

const oar_kernel_decl_t* const* declarations(Check& check, const Plugin& p, oar_pack_t* pack, uint32_t& out_n) {
  const oar_kernel_decl_t* const* decls = nullptr;
  out_n = UINT32_MAX;
  oar_status_t status = p.kernel->declarations(pack, &out_n, &decls);
  check.need(status == OAR_OK, "declarations gave {}{}", status, because());
  check.need(out_n != UINT32_MAX, "declarations left *out_n untouched");
  check.need(out_n == 0 || decls, "declarations gives {} kernels and no array", out_n);
  return decls;
}

void check_decl(Check& check, const oar_kernel_decl_t& d, const Plugin& p, const std::string& who) {
  check.need(OAR_HAS(&d, host_inputs), "{}: struct_size is {}, too small for what a kernel must say", who,
             d.struct_size);
  check.expect(d.op_min >= 1 && d.op_min <= d.op_max, "{}: op versions {} to {}", who, d.op_min, d.op_max);
  check.expect(d.n_masks == 0 || d.dtypes, "{}: {} masks and no array", who, d.n_masks);
  for (uint32_t i = 0; d.dtypes && i < d.n_masks; ++i) {
    check.expect(d.dtypes[i] != 0, "{}: mask {} is empty, so no call can ever fit", who, i);
    if (p.info->abi_minor <= OAR_ABI_MINOR)
      check.expect((d.dtypes[i] & ~kKnownDtypes) == 0, "{}: mask {} has dtypes that do not exist ({:#x})", who, i,
                   d.dtypes[i]);
  }
  bool run = OAR_FIELD(&d, run), prepare = OAR_FIELD(&d, prepare), launch = OAR_FIELD(&d, launch),
       release = OAR_FIELD(&d, release);
  check.expect(run ? !prepare && !launch && !release : prepare && launch && release,
               "{}: give run alone, or prepare, launch and release together", who);
}

void decls_without_hardware(Check& check, const std::string& path) {
  Plugin p(check, path);
  need_kernels(check, p);
  uint32_t n = 0;
  auto decls = declarations(check, p, nullptr, n);
  std::vector<std::string> known = op_names();
  for (uint32_t i = 0; i < n; ++i) {
    check.need(decls[i] != nullptr, "declaration {} is NULL", i);
    const oar_kernel_decl_t& d = *decls[i];
    std::string op(view(d.op)), who = fmt::format("kernel {} ({})", i, op);
    check_decl(check, d, p, who);
    bool own = op.find('.') != std::string::npos;  // "vendor.name", registered when its device opens
    if (!check.expect(own || std::binary_search(known.begin(), known.end(), op), "{}: there is no op of that name",
                      who) ||
        own)
      continue;
    const OpInfo& info = op_info(op);
    check.expect(int(d.op_min) <= info.version, "{}: for op versions {} to {}, today's is {}", who, d.op_min, d.op_max,
                 info.version);
    size_t operands = info.inputs.size() + info.outputs.size();
    check.expect(d.n_masks >= 1 && d.n_masks <= operands, "{}: {} dtype masks for {} operands", who, d.n_masks,
                 operands);
    for (size_t k = 0; k < info.inputs.size() && k < 63; ++k)
      check.expect(!(d.host_inputs >> k & 1) || info.inputs[k].host,
                   "{}: takes input {} from host memory, but the op says it lies on the device", who,
                   info.inputs[k].name);
    const int8_t* inplace = OAR_FIELD(&d, inplace);
    for (size_t k = 0; inplace && k < info.outputs.size(); ++k)
      check.expect(inplace[k] >= -1 && inplace[k] < int(info.inputs.size()), "{}: inplace[{}] is {}", who, k,
                   inplace[k]);
  }
  uint32_t again = 0;
  auto second = declarations(check, p, nullptr, again);
  check.expect(again == n && second == decls, "a second call gives other declarations");
}

// Packs on whatever the plugin serves: its own device, or the host CPU.
void packs(Check& check, const std::string& path) {
  Plugin p(check, path);
  if (!p.pack) check.skip("the plugin offers no pack table");
  static const oar_device_info_t strange = [] {
    oar_device_info_t d = host_cpu();
    d.dlpack_kind = 12;
    d.kind = oar_str_t OAR_STR("a-device-that-nobody-makes");
    return d;
  }();
  oar_options_t options{sizeof(oar_options_t)};
  int opened = 0;
  auto try_on = [&](const oar_device_ref_t& ref, bool must_refuse) {
    for (int round = 0; round < 2; ++round) {  // opening twice gives two packs
      oar_pack_t* pack = nullptr;
      last_error();
      oar_status_t status = p.pack->open(&kit_host(), &ref, &options, &pack);
      std::string kind(view(ref.info->kind));
      if (status == OAR_REFUSED) return;
      if (must_refuse) {
        check.expect(status != OAR_OK, "a pack opens on a device of kind {}, which it can't know", kind);
        if (status == OAR_OK && pack) p.pack->close(pack);
        return;
      }
      if (!check.expect(status == OAR_OK && pack, "pack open on {} gave {}{}", kind, status, because())) return;
      ++opened;
      if (p.kernel) {
        uint32_t n = 0, all = 0;
        auto decls = declarations(check, p, pack, n);
        auto coverage = declarations(check, p, nullptr, all);
        std::set<const oar_kernel_decl_t*> listed(coverage, coverage + all);
        for (uint32_t i = 0; i < n; ++i) {
          check.expect(decls[i] && listed.count(decls[i]),
                       "on {}: kernel {} is not among the declarations of pack NULL", kind, i);
          if (decls[i])
            check_decl(check, *decls[i], p, fmt::format("on {}: kernel {} ({})", kind, i, view(decls[i]->op)));
        }
        uint32_t again = 0;
        check.expect(declarations(check, p, pack, again) == decls && again == n,
                     "on {}: declarations differ from call to call", kind);
      }
      p.pack->close(pack);
    }
  };
  oar_device_ref_t ref{sizeof(oar_device_ref_t), 0, &host_cpu(), nullptr, nullptr};
  try_on(ref, false);
  ref.index = 7;
  ref.info = &strange;
  try_on(ref, true);
  uint32_t n = 0;
  const oar_device_info_t* const* infos = nullptr;
  if (p.device && p.device->enumerate(&kit_host(), &n, &infos) == OAR_OK && n > 0) {
    oar_device_t* device = nullptr;
    if (p.device->open(&kit_host(), 0, &options, &device) == OAR_OK && device) {
      oar_device_ref_t own{sizeof(oar_device_ref_t), 1, infos[0], device, nullptr};
      if (OAR_HAS(p.device, native) && p.device->native) own.native = p.device->native(device);
      int before = opened;
      try_on(own, false);
      check.expect(opened > before, "the plugin's pack refuses the plugin's own device");
      p.device->close(device);
    }
  }
}

// A pack on the plugin's own device, else on the host CPU, closed at the end.
struct OpenPack {
  Plugin& p;
  oar_device_t* device = nullptr;
  oar_pack_t* pack = nullptr;
  OpenPack(Check& check, Plugin& plugin) : p(plugin) {
    if (!p.pack) check.skip("the plugin offers no pack table");
    oar_options_t options{sizeof(oar_options_t)};
    oar_device_ref_t ref{sizeof(oar_device_ref_t), 0, &host_cpu(), nullptr, nullptr};
    uint32_t n = 0;
    const oar_device_info_t* const* infos = nullptr;
    if (p.device && p.device->enumerate(&kit_host(), &n, &infos) == OAR_OK && n > 0 &&
        p.device->open(&kit_host(), 0, &options, &device) == OAR_OK) {
      ref = {sizeof(oar_device_ref_t), 1, infos[0], device, nullptr};
      if (OAR_HAS(p.device, native) && p.device->native) ref.native = p.device->native(device);
    }
    oar_status_t status = p.pack->open(&kit_host(), &ref, &options, &pack);
    if (status != OAR_OK) check.skip(fmt::format("no pack opens here: {}{}", status, because()));
  }
  ~OpenPack() {
    if (pack) p.pack->close(pack);
    if (device) p.device->close(device);
  }
};

// The question "would you take this call?" for shapes beyond all reason: an answer, never a crash.
void checks_of_odd_calls(Check& check, const std::string& path) {
  Plugin p(check, path);
  need_kernels(check, p);
  OpenPack open(check, p);
  uint32_t n = 0;
  auto decls = declarations(check, p, open.pack, n);
  std::vector<std::string> known = op_names();
  int asked = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const oar_kernel_decl_t& d = *decls[i];
    std::string op(view(d.op));
    if (!OAR_FIELD(&d, check) || !d.dtypes || !std::binary_search(known.begin(), known.end(), op)) continue;
    const OpInfo& info = op_info(op);
    auto elementwise = [](const OpOperand& o) { return o.spec.ends_with("[...]") && !o.variadic && !o.host; };
    if (!std::all_of(info.inputs.begin(), info.inputs.end(), elementwise) || !info.attributes.empty() ||
        info.inputs.empty())
      continue;
    for (int rank : {0, 1, 16, 20}) {
      std::vector<int64_t> shape(size_t(rank), rank == 1 ? 0 : 1), strides(size_t(rank), 1);
      size_t n_in = info.inputs.size(), n_out = info.outputs.size();
      std::vector<oar_value_t> values(n_in + n_out);
      std::vector<const oar_value_t*> pointers;
      for (size_t k = 0; k < values.size(); ++k) {
        uint64_t mask = d.dtypes[std::min<size_t>(k, d.n_masks - 1)];
        values[k] = oar_value_t{.struct_size = sizeof(oar_value_t),
                                .dtype = uint32_t(__builtin_ctzll(mask)),
                                .n_dims = uint32_t(rank),
                                .shape = shape.data(),
                                .strides = strides.data(),
                                .layout = k < n_in ? oar_layout_t(OAR_LAYOUT_STRIDED) : oar_layout_t(OAR_LAYOUT_DENSE),
                                .alignment = 1};
        pointers.push_back(&values[k]);
      }
      oar_call_t call{.struct_size = sizeof(oar_call_t),
                      .op_version = d.op_max,
                      .op = d.op,
                      .n_inputs = uint32_t(n_in),
                      .n_outputs = uint32_t(n_out),
                      .inputs = pointers.data(),
                      .outputs = pointers.data() + n_in};
      Out<oar_verdict_t> verdict;
      char text[200];
      memset(text, 0x5A, sizeof(text));
      verdict->text = text;
      verdict->text_capacity = 100;
      oar_status_t status = d.check(open.pack, &d, &call, verdict.get());
      ++asked;
      check.expect(status == OAR_OK || status == OAR_REFUSED, "{}: check of rank {} gave {}{}", op, rank, status,
                   because());
      check.expect(verdict.guard_intact(), "{}: check writes past the room of its verdict", op);
      check.expect(verdict->text_size <= 100, "{}: the verdict's text_size is {} of 100", op, verdict->text_size);
      for (int k = 100; k < 200; ++k)
        if (!check.expect(text[k] == 0x5A, "{}: check writes past text_capacity", op)) break;
      if (status == OAR_REFUSED)
        check.expect(verdict->reason != OAR_REASON_NONE, "{}: refuses rank {} without a reason", op, rank);
    }
  }
  if (!asked) check.skip("no kernel with a check of its own that the kit can ask");
}

// A kernel that is offered what follows it takes all of that or refuses; here is what it can't know.
void epilogues_of_nobody(Check& check, const std::string& path) {
  Plugin p(check, path);
  need_kernels(check, p);
  OpenPack open(check, p);
  uint32_t n = 0;
  auto decls = declarations(check, p, open.pack, n);
  std::vector<std::string> known = op_names();
  int asked = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const oar_kernel_decl_t& d = *decls[i];
    std::string op(view(d.op));
    if (!OAR_FIELD(&d, prepare) || !d.dtypes || !std::binary_search(known.begin(), known.end(), op)) continue;
    const OpInfo& info = op_info(op);
    bool square = info.attributes.empty() && !info.inputs.empty() && info.outputs.size() == 1;
    for (const OpOperand& o : info.inputs)  // those that are right for matrices of one size
      square = square && !o.variadic && !o.host && !o.mutated && (o.spec.ends_with("[...]") || op == "matmul");
    if (!square) continue;
    const int64_t shape[] = {64, 64}, strides[] = {64, 1};
    size_t n_in = info.inputs.size();
    std::vector<oar_value_t> values(n_in + 2);  // the output, and the running value
    std::vector<const oar_value_t*> pointers;
    for (size_t k = 0; k < values.size(); ++k) {
      uint64_t mask = d.dtypes[std::min<size_t>({k, n_in, d.n_masks - 1})];
      values[k] = oar_value_t{.struct_size = sizeof(oar_value_t),
                              .dtype = uint32_t(__builtin_ctzll(mask)),
                              .n_dims = 2,
                              .shape = shape,
                              .strides = strides,
                              .layout = k < n_in ? oar_layout_t(OAR_LAYOUT_STRIDED) : oar_layout_t(OAR_LAYOUT_DENSE),
                              .alignment = 64};
      pointers.push_back(&values[k]);
    }
    oar_call_t step{.struct_size = sizeof(oar_call_t),
                    .op_version = 1,
                    .op = OAR_STR("an-op-that-nobody-makes"),
                    .n_inputs = 1,
                    .n_outputs = 1,
                    .inputs = &pointers[n_in + 1],
                    .outputs = &pointers[n_in]};
    const oar_call_t* steps[] = {&step};
    oar_call_t call{.struct_size = sizeof(oar_call_t),
                    .op_version = d.op_max,
                    .op = d.op,
                    .n_inputs = uint32_t(n_in),
                    .n_outputs = 1,
                    .n_epilogue = 1,
                    .inputs = pointers.data(),
                    .outputs = pointers.data() + n_in,
                    .epilogue = steps};
    Out<oar_verdict_t> verdict;
    char text[200];
    verdict->text = text;
    verdict->text_capacity = sizeof(text);
    ++asked;
    oar_status_t status = OAR_FIELD(&d, check) ? d.check(open.pack, &d, &call, verdict.get()) : OAR_OK;
    if (status == OAR_OK) {
      std::vector<int64_t> chosen(2 * (n_in + 1));
      std::vector<Out<oar_choice_t>> choices(n_in + 1);
      std::vector<oar_choice_t*> choice_pointers;
      for (size_t k = 0; k <= n_in; ++k) {
        choices[k]->layout = values[k].layout;
        choices[k]->strides = &chosen[2 * k];
        std::copy_n(strides, 2, choices[k]->strides);
        choice_pointers.push_back(choices[k].get());
      }
      Out<oar_prepared_t> prepared;
      prepared->inputs = choice_pointers.data();
      prepared->outputs = choice_pointers.data() + n_in;
      prepared->verdict = verdict.get();
      prepared->n_inputs = uint32_t(n_in);
      prepared->n_outputs = 1;
      status = d.prepare(open.pack, &d, &call, prepared.get());
      if (status == OAR_OK) d.release(prepared->state);
    }
    check.expect(status == OAR_REFUSED,
                 "{}: takes a call that is followed by an op which does not exist ({}). Refuse with "
                 "OAR_REASON_EPILOGUE what n_epilogue counts, unless the kernel does all of it",
                 op, status);
  }
  if (!asked) check.skip("no prepared kernel that the kit can ask");
}

}  // namespace

void level0_kernels(const Options& options, std::vector<Test>& tests) {
  auto add = [&](const char* name, void (*body)(Check&, const std::string&)) {
    tests.push_back({"L0", name, [body, path = options.plugin](Check& c) { body(c, path); }});
  };
  add("declarations without hardware", decls_without_hardware);
  add("packs", packs);
  add("check of odd calls", checks_of_odd_calls);
  add("epilogues of nobody", epilogues_of_nobody);
}

}  // namespace oarlock::cts
