// What a call of one signature came to: who runs it and what its outputs are. Found once, kept per thread.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <oarlock/base/op.h>

#include "core/device/device.h"
#include "core/op/attrs.h"
#include "core/op/infer.h"
#include "core/op/table.h"
#include "core/tensor/impl.h"

namespace oarlock::dispatch {

// An elementwise call on the result of the one before it, for a kernel that does both.
struct Following {
  const op::Op* op;
  op::Attrs attrs;          // normalised
  std::vector<int> inputs;  // places in Outlook::extra; -1: the running value
  DType dtype;              // of its result, whose shape is the running value's
};
// What a plan knows of a call beyond its operands.
struct Outlook {
  uint64_t constants = 0;  // of all operands, extra ones last: those that never change; bit i is operand i
  std::span<const Following> following{};
  std::span<TensorImpl* const> extra{};  // what the following calls read beside the running value
};

// A call on its way through.
struct Call {
  const op::Op& op;
  TensorImpl* const* inputs;
  int n_inputs;
  const oar_attr_t* attrs;
  uint32_t n_attrs;
  Route route = Route::dispatch;
  const Plugin* only = nullptr;   // with Route::kernel
  bool with_hidden = false;       // somebody will differentiate
  bool decompose = false;         // record the decomposition, since there is no gradient rule
  DeviceState* device = nullptr;  // where it runs
  const Outlook* outlook = nullptr;
};

// The signature of a call; key.h fills it in.
struct Key {
  static constexpr int kMost = 448;
  uint64_t word[kMost];
  int n = 0;
  uint64_t hash = 0;
  bool fits = true;
  void push(uint64_t w) {
    if (n < kMost) word[n++] = w;
    else fits = false;
  }
};

using AxisOrder = std::vector<int8_t>;  // order.h

// memory: a copy without a kernel, which every device can do.
enum class Kind : uint8_t { promote, kernel, decomposition, reference, memory, fallback };
const char* route_name(Kind kind);

struct Entry : std::enable_shared_from_this<Entry> {
  std::vector<uint64_t> key;
  uint64_t hash = 0;
  uint64_t used = 0;  // tick of the last use: the oldest goes first
  const op::Op* op = nullptr;
  DeviceState* device = nullptr;
  Kind kind = Kind::reference;
  Kernel kernel{};
  void* state = nullptr;  // of a prepared kernel
  bool prepared = false;
  uint64_t workspace_bytes = 0;
  uint64_t make_contiguous = 0;  // inputs to copy row-major first; bit 63 speaks for all later ones
  bool expand = false;           // inputs with "..." to expand first
  op::OwnedAttrs attrs;          // normalised, all of them
  oar_call_t call{};             // for run: op, version, attributes
  std::vector<DType> cast_to;    // per input; none: as it is
  int n_outputs = 0;
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  std::vector<std::vector<int64_t>> strides;  // of outputs that are not row-major
  AxisOrder order;                            // in which the kernel sees the axes; empty: as they are
  bool dynamic = false;                       // some size is known only afterwards
  bool launch = true;                         // false: every output is empty
  Tensor like;                                // of the one output of a simple entry: its geometry
  uint64_t like_bytes = 0;
  bool simple = false;  // a kernel on the host, one output, nothing to arrange: the straight line in call()
  std::string reason;   // why nothing better took it
  bool warned = false;
  std::atomic<uint64_t> calls{0}, host_ns{0};
  ~Entry();
};

// Infers, then asks the candidates. log: if given, gets every candidate and nothing is kept prepared.
Result<std::shared_ptr<Entry>> make_entry(const Call& call, std::vector<Candidate>* log = nullptr);
// One kernel for the call and all of call.outlook->following. Null where none takes them: why says which refused, and why.
Result<std::shared_ptr<Entry>> make_fused_entry(const Call& call, std::string& why);

// The call's outputs by its op's strings: shapes and dtypes of e, its attributes normalised, and what operands are cast to
// (then e.kind is promote). guards: where comparisons of symbolic sizes that can't be decided go.
Status infer_call(const Call& call, Entry& e, std::vector<op::Guard>* guards = nullptr);

// What a view of a row-major operand by one list of integers came to (reshape, permute, expand ...): such a view depends
// on nothing else, so the next one of the same sizes needs no rule.
struct LastView {
  op::OpId op = op::kNoOp;
  uint64_t n_integers = 0;
  int64_t integers[kMaxRank];
  Shape in, out;
  int64_t strides[kMaxRank];
  int64_t offset = 0;
  bool fits(op::OpId id, const Shape& shape, const oar_attr_t& list) const {
    if (op != id || n_integers != list.count || !(in == shape)) return false;
    uint64_t differ = 0;
    for (uint64_t i = 0; i < n_integers; ++i) differ |= uint64_t(integers[i] ^ list.value.ints[i]);
    return differ == 0;
  }
};

// The entries of one thread: eight ways a set, the least recently used goes.
class Cache {
 public:
  Entry* find(const Key& key);
  // The last simple entry of an op, if it fits this call: most loops call one op with one signature again and again.
  Entry*& last(op::OpId op) { return last_[op % kLast]; }
  LastView& last_view(op::OpId op) { return last_views_[op % kLastViews]; }
  bool current();  // what is here was chosen under today's plugins and settings; else it is dropped
  Entry* add(const Key& key, std::shared_ptr<Entry> entry);
  void remove(Entry* entry);
  void clear();
  static Cache& of_thread();
  void each(const std::function<void(const Entry&)>& see);  // any thread
  ~Cache();

 private:
  friend struct CacheOwner;
  void forget(Entry* entry);  // its counts are kept, pointers to it are not
  Cache();
  static constexpr int kWays = 8;
  std::mutex lock_;  // against each(); the owner takes it only to change the table
  size_t sets_;
  std::vector<std::shared_ptr<Entry>> table_;  // shared with calls that call others while they run
  uint64_t tick_ = 0, generation_ = 0;
  static constexpr int kLast = 256;
  Entry* last_[kLast] = {};
  static constexpr int kLastViews = 32;
  LastView last_views_[kLastViews];
};

// ---- placement.cc
void retire(const Entry& entry);  // its counts go to the report before it goes
void count_transfer(const DeviceState& from, const DeviceState& to, uint64_t bytes, uint64_t host_ns);
// What this thread copies between devices for, while it lives; without one, the program asked for it.
class TransferReason {
 public:
  explicit TransferReason(std::string why);
  ~TransferReason();
  TransferReason(const TransferReason&) = delete;
  TransferReason& operator=(const TransferReason&) = delete;

 private:
  std::string before_;
};
void each_cache(const std::function<void(Cache&)>& see);

}  // namespace oarlock::dispatch
