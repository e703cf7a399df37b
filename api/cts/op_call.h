// Running a drawn call: on a device, with operands laid out in several ways, by one route; and the oracle for it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <oarlock/base/op.h>

#include "api/cts/compare.h"
#include "api/cts/draw.h"

namespace oarlock::cts {

// Where the calls of level 2 run: the plugin's own device, else the host CPU with the plugin's kernels, else just
// the host.
struct Target {
  std::string plugin;  // empty: the core alone
  Device device;
  bool own_device = false;
  bool has_kernels(const std::string& op) const;
};
// Loads the plugin on the first call. Throws Error.
const Target& target_of(const std::string& plugin_path);

// Thrown by run_call when nobody would take the call by that route.
struct RefusedCall {
  std::string reason;
};

enum class Layout { contiguous, permuted, sliced };
// On a device, holding the operand's elements.
Tensor make_tensor(const Operand& operand, const Device& device, Layout layout, Random& random);
// The same as views by which memory of the operand's own strides is seen, where there are such; else contiguous. steps:
// each view's block, and the op that makes the next one of it.
struct StridedBlock {
  std::vector<int64_t> block;                 // shape of the memory
  std::vector<int64_t> starts, sizes, steps;  // of `slice`; empty: the whole
  std::vector<int64_t> axes;                  // of `permute`; empty: as they are
  std::vector<int64_t> expanded;              // shape for `expand`; empty: as it is
  std::vector<uint8_t> bytes;                 // the block's elements
};
// No value: the strides overlap in another way than by repeating an axis.
std::optional<StridedBlock> strided_block(const Operand& operand);
// A layout at random, contiguous half of the time.
Layout draw_layout(Random& random);

// Outputs, then the mutated inputs, all on the host.
std::vector<HostTensor> run_call(const Schema& schema, const Draw& draw, const Device& device,
                                 const CallOptions& options, Random* layouts);

// What is right, and how far off one may be.
struct Oracle {
  std::vector<HostTensor> want, scale;  // scale empty: |want|
  Tolerance tolerance;
  bool independent = true;  // false: on the host this is the very thing under test
};
Oracle oracle_of(const Schema& schema, const Draw& draw);

// Compares all outputs; the first mismatch in words, or nothing.
std::optional<std::string> compare_all(const Oracle& oracle, const std::vector<HostTensor>& got);

}  // namespace oarlock::cts
