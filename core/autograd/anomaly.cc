// Anomaly mode: the op that first makes a NaN is named while its operands can still be told.
#include <oarlock/base/autograd.h>
#include <oarlock/base/settings.h>

#include "core/autograd/tape.h"
#include "core/base/settings.h"
#include "core/op/element.h"
#include "core/tensor/impl.h"

namespace oarlock {
namespace {

std::atomic<std::string (*)()> teller{nullptr};

std::string describe(const Tensor& t) {
  return t.defined() ? std::string(to_string(t.dtype())) + to_string(t.shape()) : std::string("none");
}
// Lowest and highest, which tell most faults: log of 0, a division by 0, an overflow.
std::string range_of(const Tensor& t) {
  if (!t.defined() || !t.impl()->storage || t.element_count() == 0 || !(set_of(t.dtype()) & (kFloat | kInt))) return "";
  Tensor host = t.device().index() == 0 ? t : t.detach().to(Device());
  double low = INFINITY, high = -INFINITY;
  const oar_view_t& v = host.impl()->view;
  for (op::Walk w(v); w.more(); w.next()) {
    double x = op::load<double>(v, op::offset(v, w.index, v.n_dims));
    low = std::min(low, x);
    high = std::max(high, x);
  }
  char text[64];
  std::snprintf(text, sizeof text, " from %.6g to %.6g", low, high);
  return text;
}

}  // namespace

AnomalyMode::AnomalyMode(bool on) : before_(setting::anomaly.load() != 0) {
  throw_if(set_setting("anomaly", on ? "1" : "0"));
}
AnomalyMode::~AnomalyMode() { (void)set_setting("anomaly", before_ ? "1" : "0"); }

void set_call_site(std::string (*tell)()) { teller.store(tell, std::memory_order_relaxed); }
std::string call_site() {
  auto tell = teller.load(std::memory_order_relaxed);
  return tell ? tell() : std::string();
}

bool has_nan(const Tensor& t) {
  if (!t.defined() || !(set_of(t.dtype()) & kFloat) || !t.impl()->storage) return false;
  NoGrad off;
  Tensor host = t.device().index() == 0 ? t : t.detach().to(Device());
  const oar_view_t& v = host.impl()->view;
  for (op::Walk w(v); w.more(); w.next()) {
    double x = op::load<double>(v, op::offset(v, w.index, v.n_dims));
    if (x != x) return true;
  }
  return false;
}

Status check_for_nan(const std::string& what, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     const std::string& where) {
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!has_nan(outputs[o])) continue;
    for (const Tensor& t : inputs)
      if (has_nan(t)) return {};  // handed on, not made
    std::string text = what + ": made the first NaN, in result " + std::to_string(o) + " of shape " +
                       to_string(outputs[o].shape()) + "; none of its operands holds one:";
    for (size_t i = 0; i < inputs.size(); ++i) text += (i ? ", " : " ") + describe(inputs[i]) + range_of(inputs[i]);
    text += ".";
    if (!where.empty()) text += " Its forward call was made at " + where + ".";
    return invalid(text);
  }
  return {};
}

}  // namespace oarlock
