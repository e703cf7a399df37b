// IDX, npy and npz files.
#include <oarlock/data/idx.h>
#include <oarlock/data/npy.h>

#include "bind.h"
#include "data.h"
#include "nn.h"

namespace oarlock::python {
namespace {
using nb::arg;

std::span<const std::byte> span_of(const nb::bytes& b) { return {static_cast<const std::byte*>(b.data()), b.size()}; }
template <class F>
auto unlocked(F&& f) {
  nb::gil_scoped_release release;
  return f();
}

}  // namespace

void bind_readers(nb::module_& m) {
  m.def(
      "read_idx",
      [](nb::handle path) {
        std::string p = path_from(path);
        return unlocked([&] { return data::read_idx(p); });
      },
      arg("path"), "The tensor of an IDX file, plain or gzip: the format of MNIST.");
  m.def(
      "parse_idx", [](nb::bytes b, const std::string& name) { return data::parse_idx(span_of(b), name); }, arg("data"),
      arg("name") = "IDX", "As read_idx, of bytes.");
  m.def(
      "read_npy",
      [](nb::handle path) {
        std::string p = path_from(path);
        return unlocked([&] { return data::read_npy(p); });
      },
      arg("path"), "The tensor of a NumPy file.");
  m.def(
      "parse_npy", [](nb::bytes b, const std::string& name) { return data::parse_npy(span_of(b), name); }, arg("data"),
      arg("name") = "npy", "As read_npy, of bytes.");
  m.def(
      "write_npy",
      [](nb::handle path, const Tensor& x) {
        std::string p = path_from(path);
        unlocked([&] { data::write_npy(p, x); });
      },
      arg("path"), arg("x"), "Writes a tensor as a NumPy file, beside the target, then renamed over it.");
  m.def(
      "format_npy",
      [](const Tensor& x) {
        std::string b = data::format_npy(x);
        return nb::bytes(b.data(), b.size());
      },
      arg("x"), "The bytes that write_npy writes.");
  m.def(
      "read_npz",
      [](nb::handle path) {
        std::string p = path_from(path);
        return dict_of(unlocked([&] { return data::read_npz(p); }));
      },
      arg("path"), "The tensors of a NumPy archive, a dict.");
  m.def(
      "parse_npz", [](nb::bytes b, const std::string& name) { return dict_of(data::parse_npz(span_of(b), name)); },
      arg("data"), arg("name") = "npz", "As read_npz, of bytes.");
  m.def(
      "write_npz",
      [](nb::handle path, nb::handle tensors) {
        std::string p = path_from(path);
        NamedTensors members = named_tensors_from(tensors, "write_npz");
        unlocked([&] { data::write_npz(p, members); });
      },
      arg("path"), arg("tensors"), "Writes a dict of tensors as a NumPy archive.");
}

}  // namespace oarlock::python
