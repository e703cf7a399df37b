// Carrying out a call once it is known who does.
#pragma once
#include <vector>

#include "core/dispatch/entry.h"

namespace oarlock::dispatch {

// All outputs of the op, hidden ones last and left without a value unless call.with_hidden. On failure outputs are untouched.
Status run_entry(Entry& entry, const Call& call, std::vector<Tensor>& outputs);
// The whole way: key, cache, selection, run; not recorded.
Status run_call(const Call& call, std::vector<Tensor>& outputs);
// Operands cast to e.cast_to; call then points to in.
Status cast_operands(const Entry& e, Call& call, std::vector<Tensor>& keep, std::vector<TensorImpl*>& in);
// If the operands' dtypes have to be cast first: casts them, on the tape, and points call at the results.
Status promote_operands(Call& call, std::vector<Tensor>& keep, std::vector<TensorImpl*>& in);
// The op's decomposition, run (or recorded) on the call's operands; e: what the call was inferred to.
Status run_decomposition(Entry& e, const Call& call, std::vector<Tensor>& outputs);
// Ops that need no kernel. move.cc, view.cc
Status run_view(const Call& call, Tensor* output);
Status run_assign(const Call& call);
Status run_transfer(const Call& call, Tensor* output);
// Carries out a call whose device is set, whatever kind of op it is; nothing is recorded.
Status perform(const Call& call, std::vector<Tensor>& outputs);
// May the op run on the host instead of the device of e? By the setting fallback.
Status allow_fallback(const Entry& e, const Call& call);
// Calls any op with the tape as it stands. For the public call_op.
Status call_with(Call& call, std::vector<Tensor>& outputs);
// The device of the operands: all the same one, host arguments on the host.
Status find_device(Call& call);

}  // namespace oarlock::dispatch
