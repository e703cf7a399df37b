// The op table as a program sees it: what ops there are, what each takes, and how to call one by name.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock {

struct OpOperand {
  std::string name, spec, range;  // "a", "[..., M, K]", "-V..V-1"
  bool optional = false, variadic = false, host = false, mutated = false, constant = false, hidden = false;
};
struct OpTypeVar {
  std::string name;
  DTypeSet set = 0;
  std::string mixing;  // "same", "promotes", "promotes_to_float"
};
struct OpAttribute {
  std::string name, kind;    // kind as op files write it: "flag", "integer", "real", "choice", "axes", ...
  std::string default_text;  // as op files write it; empty: required or none
  bool required = false, may_be_none = false;
  int since = 1;
  double low = 0, high = 0;  // limits, infinite where there are none
  std::vector<std::string> choices;
  oar_attr_t default_value{};  // points into the table
};
struct OpCase {
  std::string name, dims, attributes, values;
};
struct OpInfo {
  std::string name, summary, source, no_gradient;
  // Of an op that a plugin defined: the plugin, the text it registered and its gradient op with the map. Else empty.
  std::string plugin, signature, gradient;
  int version = 1;
  bool primitive = false;  // has no decomposition
  bool has_reference = false, has_decomposition = false, has_gradient = false, is_view = false, has_infer = false;
  std::vector<OpOperand> inputs, outputs;
  std::vector<OpTypeVar> types;
  std::vector<OpAttribute> attributes;
  std::vector<OpCase> cases;
  std::vector<std::pair<std::string, std::string>> saves;  // value, wanted by (empty: all)
  double tolerance_ulps = 4;
  bool tolerance_of_absolutes = false;
};
// Sorted by name; plugins' ops last. Stable for the life of the process; any thread.
OAR_EXPORT std::vector<std::string> op_names();
// Throws Error if there is none of that name.
OAR_EXPORT const OpInfo& op_info(std::string_view name);

// Who computes a call.
enum class Route {
  dispatch,       // as always: the best kernel, else the decomposition, else the reference
  kernel,         // only a plugin's kernel on the operands' device; refused otherwise
  decomposition,  // only the op's own decomposition
  reference,      // only the reference, on the host
};
struct CallOptions {
  Route route = Route::dispatch;
  std::string_view plugin = {};  // with Route::kernel: only this plugin's
  int device = -1;  // where an op without tensor operands makes its result; -1: the thread's current device
  int version = 0;  // the op version that attrs are written for; 0: today's. Older ones are upgraded.
};
// Calls op by name. attrs in schema order; fewer than all: the rest are defaults. Optional inputs may have no value.
// Throws Error.
OAR_EXPORT std::vector<Tensor> call_op(std::string_view name, std::span<const Tensor> inputs,
                                       std::span<const oar_attr_t> attrs = {}, const CallOptions& options = {});

// One candidate for a call, in the order asked.
struct Candidate {
  std::string plugin, kernel;  // "onednn", "matmul"; "core", "decomposition" or "reference"
  int priority = 0;
  bool chosen = false;
  std::string reason;  // why refused; empty if it would take the call
};
// Which kernel a call would take and why the others refused. Operands need shapes, dtypes and devices; nothing runs.
OAR_EXPORT std::vector<Candidate> explain(std::string_view name, std::span<const Tensor> inputs,
                                          std::span<const oar_attr_t> attrs = {});
// Every kernel that loaded plugins declare for an op: "onednn", its device kind, dtype masks in words.
struct KernelInfo {
  std::string plugin, device_kind;
  int op_min = 0, op_max = 0, priority = 0;
  std::vector<DTypeSet> dtypes;  // per operand, inputs then outputs; the last serves the rest
};
OAR_EXPORT std::vector<KernelInfo> kernels_of(std::string_view name);

// The generated table of shape, dtype and output rules without running anything: what shapes and dtypes a call gives.
struct Inferred {
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
};
OAR_EXPORT Inferred infer_op(std::string_view name, std::span<const Tensor> inputs,
                             std::span<const oar_attr_t> attrs = {});

}  // namespace oarlock
