// Recording: while one lives, calls of its thread become nodes instead of being run. That is how functions are captured, how
// decompositions are lowered and how rewrites say what they put in place of what they found.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/device/device.h"
#include "core/dispatch/recorder.h"
#include "core/graph/program.h"
#include "core/op/control.h"

namespace oarlock::graph {

// Stand-ins are tensors with a dtype, a shape (sizes may be symbols) and a device, but no elements: those of a program's
// values. Gradients are recorded for them as for any tensor. They are good until the Recording ends; afterwards calls with
// them are errors. One thread, one Recording at a time.
class Recording : public dispatch::Recorder {
 public:
  // New nodes go to the end of `nodes`, which may be program.body.nodes or a list of its own.
  Recording(Program& program, std::vector<Node>& nodes, Device device);
  ~Recording() override;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The stand-in of a value; the same one each time. Constants and states have one as well: with elements it would be the
  // tensor itself.
  Tensor tensor(ValueId v);
  // The value of a stand-in; of a tensor with elements, the state or constant it was taken up as. Tensors of one element
  // on the host that require no gradient are taken up as constants, as they are now; all others are states: a run reads
  // what they hold then.
  ValueId value(const Tensor& t);
  // Adds a value of its own: an input or parameter of a body.
  Tensor add_input(std::string name, DType dtype, const Shape& shape, Kind kind = Kind::input, bool host = false);
  // Takes a tensor up as a state under that name (a dot path). Once per tensor.
  ValueId add_state(const Tensor& t, std::string name);

  // The tensors with elements that were taken up so far and require a gradient.
  std::vector<Tensor> leaves() const;

  // Updates and gradients of the states go into the program; leaves get the gradients back that they had before.
  void finish();

  // Until the matching end, nodes go to `body`: a body of a node to come. It sees all values that are there already, and may
  // write to those only that it made itself; what it makes is gone when it ends.
  void begin_body(Body& body);
  void end_body();
  // A node with bodies, of outputs of these types.
  std::vector<Tensor> emit(Node node, std::span<const op::ValueType> outputs);
  // Nodes once more, making new values. to: what stands for which value that they read; gets what stands for those they made.
  void repeat(const std::vector<Node>& nodes, std::unordered_map<ValueId, ValueId>& to);
  Program& program() { return p_; }
  uint64_t serial() const { return serial_; }  // no other one has it
  bool is_host(const Tensor& t) const;         // and the program runs elsewhere
  // From here on nodes get this place instead of the caller's.
  void set_where(std::string where) { where_ = std::move(where); }

  // -- what dispatch calls
  Status record(dispatch::Call& call, std::vector<Tensor>& outputs) override;
  bool owns(const TensorImpl& t) const override;
  uint32_t version(const TensorImpl& t) const override;
  Tensor feed(DType dtype, const Shape& shape, bool random, std::function<Tensor()> next) override;
  Status set_data(const Tensor& to, const Tensor& from) override;

 private:
  struct Slot;
  Slot* slot_of(const TensorImpl& t) const;
  Slot* take_up(const Tensor& t, Slot* slot);
  Slot* alias_of(const TensorImpl& t) const;
  Slot* new_slot(ValueId v);
  TensorImpl* stand_in(ValueId v, Slot* slot);
  Status take(dispatch::Call& call, std::vector<Tensor>& outputs);
  Status emit(dispatch::Call& call, std::span<const Shape> shapes, std::span<const DType> dtypes,
              const op::OwnedAttrs& attrs, std::vector<Tensor>& outputs);
  Status may_write(const Slot& slot, const dispatch::Call& call) const;
  Status written(TensorImpl& t, ValueId after, const dispatch::Call& call);
  const Slot& visible(const Slot& slot) const;

  Program& p_;
  std::vector<std::vector<Node>*> nodes_;  // the innermost body last
  std::vector<int> open_{0};               // its number, and those around it
  int n_bodies_ = 0;
  std::unordered_set<ValueId> gone_;  // written to
  DeviceState& device_;
  op::SymbolScope symbols_;
  std::string where_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unordered_set<const Slot*> known_;
  struct Taken;
  std::vector<Taken> taken_;  // tensors with elements, in the order they were taken up
  std::unordered_map<const TensorImpl*, size_t> place_;
  std::vector<Slot*> of_value_;
  uint64_t serial_;
  bool finished_ = false;
};

}  // namespace oarlock::graph
