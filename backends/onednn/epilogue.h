// Elementwise calls that follow a product or a convolution, as oneDNN's post-ops.
#ifndef OARLOCK_ONEDNN_EPILOGUE_H_
#define OARLOCK_ONEDNN_EPILOGUE_H_

#include <vector>

#include "pack.h"

namespace oarlock::onednn {

// What a step reads beside the running value: all elements of the output, one a channel, or one.
struct Extra {
  enum Kind { whole, channel, one } kind;
  int argument, operand;
};

struct Epilogue {
  dnnl::post_ops steps;
  std::vector<Extra> extras;
  int bias = -1;  // the operand that is added first, one a channel; not among the extras
  bool any_whole() const;
};

// How a primitive takes an extra operand; throws a Refusal if it can't.
class Describe {
 public:
  virtual ~Describe() = default;
  virtual Extra::Kind kind(const oar_value_t& value, int operand) const = 0;
  virtual dnnl::memory::desc desc(const Extra& extra) const = 0;
};

// Throws a Refusal where oneDNN has no such step or one that gives other values than ours. bias_allowed: the primitive has
// no bias of its own.
Epilogue epilogue_of(const oar_call_t& call, bool bias_allowed, const Describe& describe);

// How many of a call's inputs are the op's own: the others stand behind them, and some step reads each.
uint32_t own_inputs(const oar_call_t& call);

}  // namespace oarlock::onednn
#endif
