// A function or layer as a program of its own: what it computes in inference, and its weights, without the code that made it.
//
//   jit::ExportedProgram program = jit::export_layer(net, {{.shape = {"N", 784}, .name = "image"}});
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <oarlock/jit.h>

namespace oarlock::graph {
struct Program;
}
namespace oarlock::nn {
class Layer;
}

namespace oarlock::jit {

// A program as data, for tools. Texts are those of ExportedProgram::text.
struct ProgramValue {
  std::string name, kind, type;  // "%7", "computed", "f32[N, 3]"
  int64_t bytes = -1;            // -1: a size has no number yet
};
struct ProgramNode {
  std::string op, attributes, where;  // "softmax", "axis = 1", "net.py:12"
  int version = 0, depth = 0;         // depth: in so many bodies of the nodes before it
  std::vector<std::string> inputs, outputs;
  // Of matrix products, convolutions and attention; of others 0. Both where sizes have names: "1024*N".
  std::string multiply_adds;
  double multiply_adds_number = 0;  // -1: a size has no number yet
};
struct ProgramListing {
  std::string name;
  std::vector<std::string> inputs, outputs;  // values, and the names of results
  std::vector<std::string> results;          // values
  std::vector<ProgramValue> values;
  std::vector<ProgramNode> nodes;
};

struct ExportOptions {
  std::string name = "main";
  std::vector<std::string> output_names{};  // as many as there are results; empty: "out0", "out1", ...
  NamedTensors states{};                    // names for the tensors that the function reads
};

// Never changes: any thread. Copies share everything.
class OAR_EXPORT ExportedProgram {
 public:
  // The names of inputs and outputs, in the order that a run takes and gives them.
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  // Copies of what the function read, made when it was exported. Not to be written to.
  NamedTensors parameters() const;
  // As a safetensors file under the names of parameters(), written as save() writes.
  void save_weights(const std::string& path) const;
  // The same program with the weights of that file, on the host mapped from it (LoadOptions in save.h). Throws Error with
  // every disagreement if names, dtypes and shapes are not exactly the program's, or if the file is damaged.
  ExportedProgram with_weights(const std::string& path) const;
  // The program in words: a line a node, with shapes.
  std::string text() const;
  // The same as data. shapes: one per input, which give named sizes their numbers; none: they stay names. Throws Error for
  // shapes that the program does not take.
  ProgramListing listing(std::span<const Shape> shapes = {}) const;
  const graph::Program& program() const { return *program_; }

 private:
  friend OAR_EXPORT ExportedProgram export_function(const Function& function, const std::vector<InputSpec>& inputs,
                                                    const ExportOptions& options);
  friend OAR_EXPORT ExportedProgram load(const std::string& path, const std::string& weights_path);
  std::shared_ptr<const graph::Program> program_;
};

// Calls the function once on stand-ins, without gradients. Inputs without a name are "x0", "x1", ... Throws Error: names
// that are unfit or not unique, a function that writes to tensors it reads or asks its surroundings for numbers.
OAR_EXPORT ExportedProgram export_function(const Function& function, const std::vector<InputSpec>& inputs,
                                           const ExportOptions& options = {});
// The layer's call in inference mode, under the names of its state_dict; its mode is afterwards what it was before.
OAR_EXPORT ExportedProgram export_layer(nn::Layer& layer, const std::vector<InputSpec>& inputs,
                                        ExportOptions options = {});

// Two files: PATH.oarp, the program (protobuf, core/graph/form/program.proto), and PATH.safetensors, its weights. Each is
// replaced as a whole, as save() in save.h does it, the weights first; a PATH that ends in .oarp is taken without it. Throws
// Error: a folder that is not there, a full disk, weights of dtypes that safetensors has no name for.
OAR_EXPORT void save(const ExportedProgram& program, const std::string& path);
// What save wrote, by any build that is not newer in what it used: ops of older versions are brought up to date. Weights lie
// on the host, mapped from the file. weights_path: another file with tensors of the same names, dtypes and shapes. Throws
// Error: no such file, damage with its place, ops that no loaded plugin knows, weights of another program.
OAR_EXPORT ExportedProgram load(const std::string& path, const std::string& weights_path = {});

}  // namespace oarlock::jit
