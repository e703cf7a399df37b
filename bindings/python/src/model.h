// Metrics and callbacks in Python, as the library sees them.
#pragma once
#include <oarlock/model.h>

#include "data.h"

namespace oarlock::python {

MetricPtr metric_from(nb::handle o);
nb::dict dict_of_logs(const Logs& logs);
// Those given, and one that hears of interrupts between batches. model: what they see as self.model.
std::vector<CallbackPtr> callbacks_from(nb::handle list, nb::handle model, Model& native);

}  // namespace oarlock::python
