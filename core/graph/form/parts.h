// What both forms are made of.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/program.h"

namespace oarlock::graph {

inline constexpr uint32_t kFormat = 1;
inline constexpr int kMaxBodies = 200;  // within one another
inline constexpr size_t kMaxValues = 1 << 22;

// Every size that shapes, attributes and guards speak of and that is no number, each once, in the order they are met.
std::vector<Dim> sizes_of(const Program& p);

// An attribute as it is written in a file.
struct WrittenAttr {
  std::string name;
  oar_attr_t value{};  // its list or text lies below
  std::string text{};
  std::vector<int64_t> integers{};
  std::vector<double> reals{};
};
// Gives the node, whose op, version and operands are there, its attributes: what is left out gets its default, all are made
// normal. A node of an older version comes out as one or more of today's, for which p grows; they go to the end of `nodes`.
Status finish_node(Program& p, std::vector<Node>& nodes, Node node, std::vector<WrittenAttr>& attrs);

// A constant's elements on the host, row-major, and a tensor of them.
Result<std::string> bytes_of(const Tensor& t);
Result<Tensor> constant_of(std::string_view bytes, DType dtype, const Shape& shape);
// "[1, 2.5]", or x"0a1b" where decimals would not read back bit for bit.
Result<std::string> elements_text(const Tensor& t);

}  // namespace oarlock::graph
