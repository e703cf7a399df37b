// What the settings `call_report` and `capture` want to see of a call, around the carrying out of it.
#pragma once
#include <vector>

#include "core/dispatch/entry.h"

namespace oarlock::dispatch {

// Without being watched. run.cc
Status carry_out(Entry& entry, const Call& call, std::vector<Tensor>& outputs);
Status run_watched(Entry& entry, const Call& call, std::vector<Tensor>& outputs);

}  // namespace oarlock::dispatch
