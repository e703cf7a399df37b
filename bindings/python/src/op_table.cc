// The op table as data, calls by name, and why a kernel is chosen.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <deque>

#include "bind.h"
#include "caster.h"

namespace nb = nanobind;

namespace oarlock::python {
namespace {

// Attributes of a call by name, as the C interface wants them.
struct Attributes {
  std::vector<oar_attr_t> list;
  std::deque<std::vector<int64_t>> integers;
  std::deque<std::vector<double>> reals;
  std::deque<std::string> texts;

  Attributes(const OpInfo& op, const nb::dict& given) {
    for (auto [key, value] : given) {
      bool known = false;
      for (const OpAttribute& a : op.attributes) known |= a.name == nb::cast<std::string>(key);
      if (!known) raise_type(op.name + ": there is no attribute '" + nb::cast<std::string>(key) + "'.");
    }
    for (const OpAttribute& a : op.attributes) {
      nb::object v = nb::steal(PyDict_GetItemString(given.ptr(), a.name.c_str()));
      v.inc_ref();
      if (!v.is_valid() || v.is_none()) {
        if (a.required) raise_type(op.name + ": the attribute " + a.name + " is missing.");
        list.push_back(a.default_value);
        continue;
      }
      list.push_back(one(op, a, v.ptr()));
    }
  }

  oar_attr_t one(const OpInfo& op, const OpAttribute& a, PyObject* v) {
    const char *where = op.name.c_str(), *what = a.name.c_str();
    oar_attr_t out{};
    out.is_set = 1;
    if (a.kind == "integers" || a.kind == "dims" || a.kind == "axes") {
      integers_from(v, integers.emplace_back(), where, what);
      out.type = OAR_ATTR_INTS;
      out.count = integers.back().size();
      out.value.ints = integers.back().data();
    } else if (a.kind == "reals") {
      std::vector<double>& l = reals.emplace_back();
      for (nb::handle x : nb::handle(v)) l.push_back(real_from(x.ptr(), where, what));
      out.type = OAR_ATTR_FLOATS;
      out.count = l.size();
      out.value.floats = l.data();
    } else if (a.kind == "flag") {
      out.type = OAR_ATTR_BOOL;
      out.value.i = PyObject_IsTrue(v);
    } else if (a.kind == "real") {
      out.type = OAR_ATTR_FLOAT;
      out.value.f = real_from(v, where, what);
    } else if (a.kind == "dtype") {
      out.type = OAR_ATTR_DTYPE;
      out.value.i = int64_t(dtype_from_object(v, where));
    } else if (a.kind == "text" || a.kind == "choice") {
      texts.push_back(nb::cast<std::string>(nb::handle(v)));
      out.type = OAR_ATTR_STRING;
      out.count = texts.back().size();
      out.value.str = texts.back().data();
    } else {
      out.type = OAR_ATTR_INT;
      out.value.i = integer_from(v, where, what);
    }
    return out;
  }
};

std::vector<Tensor> operands(const nb::args& args, const char* where) {
  std::vector<Tensor> list;
  for (nb::handle h : args)
    list.push_back(h.is_none() ? Tensor()
                               : tensor_from(h.ptr(), DType::none, std::nullopt, Sharing::if_possible, where));
  return list;
}

std::vector<std::string> words(DTypeSet set) {
  std::vector<std::string> out;
  for (int i = 1; i < 63; ++i)
    if (set >> i & 1) out.push_back(python_name(DType(i)));
  return out;
}

}  // namespace

void bind_op_table(nb::module_& m) {
  nb::class_<OpOperand>(m, "OpOperand", "An input or output of an op.")
      .def_ro("name", &OpOperand::name)
      .def_ro("spec", &OpOperand::spec)
      .def_ro("range", &OpOperand::range)
      .def_ro("optional", &OpOperand::optional)
      .def_ro("variadic", &OpOperand::variadic)
      .def_ro("hidden", &OpOperand::hidden)
      .def("__repr__", [](const OpOperand& o) { return "OpOperand('" + o.name + " " + o.spec + "')"; });
  nb::class_<OpTypeVar>(m, "OpTypeVar", "A dtype that operands of an op share.")
      .def_ro("name", &OpTypeVar::name)
      .def_ro("mixing", &OpTypeVar::mixing)
      .def_prop_ro("dtypes", [](const OpTypeVar& t) { return words(t.set); });
  nb::class_<OpAttribute>(m, "OpAttribute", "An attribute of an op.")
      .def_ro("name", &OpAttribute::name)
      .def_ro("kind", &OpAttribute::kind)
      .def_ro("default", &OpAttribute::default_text)
      .def_ro("required", &OpAttribute::required)
      .def_ro("choices", &OpAttribute::choices)
      .def("__repr__", [](const OpAttribute& a) { return "OpAttribute('" + a.name + "', " + a.kind + ")"; });
  nb::class_<OpInfo>(m, "OpInfo", "An op of the table: what it takes, gives and means.")
      .def_ro("name", &OpInfo::name)
      .def_ro("summary", &OpInfo::summary)
      .def_ro("source", &OpInfo::source)
      .def_ro("plugin", &OpInfo::plugin)
      .def_ro("signature", &OpInfo::signature)
      .def_ro("gradient", &OpInfo::gradient)
      .def_ro("version", &OpInfo::version)
      .def_ro("primitive", &OpInfo::primitive)
      .def_ro("has_gradient", &OpInfo::has_gradient)
      .def_ro("is_view", &OpInfo::is_view)
      .def_ro("inputs", &OpInfo::inputs)
      .def_ro("outputs", &OpInfo::outputs)
      .def_ro("types", &OpInfo::types)
      .def_ro("attributes", &OpInfo::attributes)
      .def("__repr__",
           [](const OpInfo& o) { return "OpInfo('" + o.name + "', version " + std::to_string(o.version) + ")"; });
  nb::class_<Candidate>(m, "Candidate", "A kernel that was asked to take a call, and its answer.")
      .def_ro("plugin", &Candidate::plugin)
      .def_ro("kernel", &Candidate::kernel)
      .def_ro("priority", &Candidate::priority)
      .def_ro("chosen", &Candidate::chosen)
      .def_ro("reason", &Candidate::reason)
      .def("__repr__", [](const Candidate& c) {
        return "Candidate(" + c.plugin + ": " + c.kernel +
               (c.chosen           ? ", chosen"
                : c.reason.empty() ? ""
                                   : ", refused: " + c.reason) +
               ")";
      });
  m.def("op_names", &op_names, "The names of all ops.");
  m.def("op_info", &op_info, nb::arg("name"), nb::rv_policy::reference, "What the op table says of an op.");
  m.def(
      "explain",
      [](std::string_view name, nb::args inputs, nb::kwargs attributes) {
        const OpInfo& op = op_info(name);
        std::vector<Tensor> list = operands(inputs, op.name.c_str());
        Attributes attrs(op, attributes);
        return explain(name, list, attrs.list);
      },
      nb::arg("name"), nb::arg("inputs"), nb::arg("attributes"),
      "Which kernel a call would take and why the others refused; nothing runs. Attributes by their names in the op "
      "table.");
  m.def(
      "call_op",
      [](std::string_view name, nb::args inputs, nb::kwargs attributes) {
        const OpInfo& op = op_info(name);
        std::vector<Tensor> list = operands(inputs, op.name.c_str());
        Attributes attrs(op, attributes);
        std::vector<Tensor> out;
        {
          nb::gil_scoped_release unlocked;
          out = call_op(name, list, attrs.list);
        }
        nb::list outs;
        for (Tensor& t : out) outs.append(nb::cast(t));
        return nb::tuple(outs);
      },
      nb::arg("name"), nb::arg("inputs"), nb::arg("attributes"),
      "Calls any op by name, plugins' own included; gives a tuple.");
}

}  // namespace oarlock::python
