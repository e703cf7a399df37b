// What a network is made of, in one table.
#pragma once
#include <oarlock/nn/layer.h>

namespace oarlock::nn {

struct SummaryRow {
  std::string name, type;  // "fc", "Linear"; of the network itself "" and its type
  int depth = 0;
  std::vector<Shape> outputs;  // empty where it was not called
  int64_t parameters = 0;      // of its own, without those below; each counted once in the table
  double multiply_adds = 0;    // of its own, all calls together
  int calls = 0;
};
struct OAR_EXPORT Summary {
  std::vector<SummaryRow> rows;
  int64_t parameters = 0, trainable = 0;
  double multiply_adds = 0;
  uint64_t parameter_bytes = 0;
  std::string to_string() const;  // the table
};
// Runs the network once in eval mode, unrecorded, on zeros of these shapes (dtypes: f32 unless given), and sets it back to the
// mode it was in. Throws what the network throws.
OAR_EXPORT Summary summary(Layer& net, const std::vector<Shape>& input_shapes, const std::vector<DType>& dtypes = {});
OAR_EXPORT Summary summary(Layer& net, const std::vector<Tensor>& inputs);

}  // namespace oarlock::nn
