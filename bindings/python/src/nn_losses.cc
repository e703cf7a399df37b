// Losses, attention, summary.
#include <nanobind/stl/optional.h>

#include <oarlock/nn/loss.h>
#include <oarlock/nn/summary.h>
#include <oarlock/nn/transformer.h>

#include "bind.h"
#include "nn.h"

namespace oarlock::python {
namespace {
using nb::arg;

Tensor maybe(nb::handle o) {
  return o.is_none() ? Tensor() : tensor_from(o.ptr(), DType::none, std::nullopt, Sharing::if_possible, "loss");
}

// Losses compute from two tensors and are not derived from in Python: a loss of one's own is a function or a Layer.
template <class L>
nb::class_<L, nn::Layer> loss_class(nb::module_& m, const char* name, const char* doc) {
  nb::class_<L, nn::Layer> c(m, name, doc, nb::is_final());
  c.def(
      "forward", [](L& self, const Tensor& input, const Tensor& label) { return self.loss(input, label); },
      arg("input"), arg("label"));
  c.attr("_inputs") = nb::make_tuple("input", "label");
  return c;
}
template <class L>
void reduced(nb::module_& m, const char* name, const char* doc) {
  loss_class<L>(m, name, doc).def(nb::init<std::string>(), arg("reduction") = "mean");
}

}  // namespace

void bind_losses(nb::module_& m) {
  loss_class<nn::CrossEntropyLoss>(m, "CrossEntropyLoss",
                                   "CrossEntropyLoss(weight=None, ignore_index=-100, reduction='mean', ...)\n\nMinus "
                                   "the logarithm of the softmax of input at the label.")
      .def(
          "__init__",
          [](nn::CrossEntropyLoss* self, nb::handle weight, int64_t ignore, std::string reduction, bool soft, int axis,
             double smoothing) {
            new (self) nn::CrossEntropyLoss({maybe(weight), ignore, std::move(reduction), soft, axis, smoothing});
          },
          arg("weight") = nb::none(), arg("ignore_index") = -100, arg("reduction") = "mean", arg("soft_label") = false,
          arg("axis") = -1, arg("label_smoothing") = 0.0);
  loss_class<nn::NLLLoss>(
      m, "NLLLoss",
      "NLLLoss(weight=None, ignore_index=-100, reduction='mean')\n\nThe same for logarithms of probabilities.")
      .def(
          "__init__",
          [](nn::NLLLoss* self, nb::handle weight, int64_t ignore, std::string reduction) {
            new (self) nn::NLLLoss(maybe(weight), ignore, std::move(reduction));
          },
          arg("weight") = nb::none(), arg("ignore_index") = -100, arg("reduction") = "mean");
  reduced<nn::MSELoss>(m, "MSELoss", "MSELoss(reduction='mean')\n\nThe square of the difference.");
  reduced<nn::L1Loss>(m, "L1Loss", "L1Loss(reduction='mean')\n\nThe size of the difference.");
  loss_class<nn::SmoothL1Loss>(m, "SmoothL1Loss",
                               "SmoothL1Loss(reduction='mean', delta=1)\n\nSquared below delta, straight above.")
      .def(nb::init<std::string, double>(), arg("reduction") = "mean", arg("delta") = 1.0);
  loss_class<nn::BCELoss>(m, "BCELoss",
                          "BCELoss(weight=None, reduction='mean')\n\nThe cross entropy of probabilities of yes and no.")
      .def(
          "__init__",
          [](nn::BCELoss* self, nb::handle weight, std::string reduction) {
            new (self) nn::BCELoss(maybe(weight), std::move(reduction));
          },
          arg("weight") = nb::none(), arg("reduction") = "mean");
  loss_class<nn::BCEWithLogitsLoss>(m, "BCEWithLogitsLoss",
                                    "BCEWithLogitsLoss(weight=None, reduction='mean', pos_weight=None)\n\nThe same of "
                                    "numbers whose sigmoid is the probability.")
      .def(
          "__init__",
          [](nn::BCEWithLogitsLoss* self, nb::handle weight, std::string reduction, nb::handle pos) {
            new (self) nn::BCEWithLogitsLoss(maybe(weight), std::move(reduction), maybe(pos));
          },
          arg("weight") = nb::none(), arg("reduction") = "mean", arg("pos_weight") = nb::none());
  loss_class<nn::KLDivLoss>(m, "KLDivLoss",
                            "KLDivLoss(reduction='mean', log_target=False)\n\nKullback and Leibler's divergence.")
      .def(nb::init<std::string, bool>(), arg("reduction") = "mean", arg("log_target") = false);

  auto attention =
      layer_class<nn::MultiHeadAttention>(m, "MultiHeadAttention",
                                          "MultiHeadAttention(embed_dim, num_heads, dropout=0, ...)\n\nOf query [N, L, "
                                          "E], key and value [N, S, E], with an optional mask.");
  attention.def(
      "__init__",
      [](nb::pointer_and_handle<nn::MultiHeadAttention> self, int64_t width, int64_t heads, double dropout,
         std::optional<int64_t> kdim, std::optional<int64_t> vdim, bool need_weights, nb::handle weight_attr,
         nb::handle bias_attr, bool causal) {
        make_layer<nn::MultiHeadAttention>(self, width, heads,
                                           nn::AttentionOptions{dropout, kdim, vdim, need_weights, causal,
                                                                attr_from(weight_attr), attr_from(bias_attr)});
      },
      arg("embed_dim"), arg("num_heads"), arg("dropout") = 0.0, arg("kdim") = nb::none(), arg("vdim") = nb::none(),
      arg("need_weights") = false, arg("weight_attr") = nb::none(), arg("bias_attr") = nb::none(),
      arg("causal") = false);
  attention.attr("_inputs") = nb::make_tuple("query", "key", "value", "attn_mask");
  auto encoder_layer = layer_class<nn::TransformerEncoderLayer>(
      m, "TransformerEncoderLayer",
      "TransformerEncoderLayer(d_model, nhead, dim_feedforward, dropout=0.1, activation='relu', ...)\n\nAttention over "
      "src [N, L, d_model], then two linears.");
  encoder_layer.def(
      "__init__",
      [](nb::pointer_and_handle<nn::TransformerEncoderLayer> self, int64_t width, int64_t heads, int64_t inner,
         double dropout, std::string activation, std::optional<double> attn_dropout, std::optional<double> act_dropout,
         bool normalize_before, nb::handle weight_attr, nb::handle bias_attr, double epsilon, bool causal) {
        make_layer<nn::TransformerEncoderLayer>(
            self, width, heads, inner,
            nn::EncoderOptions{dropout, std::move(activation), attn_dropout, act_dropout, normalize_before, causal,
                               epsilon, attr_from(weight_attr), attr_from(bias_attr)});
      },
      arg("d_model"), arg("nhead"), arg("dim_feedforward"), arg("dropout") = 0.1, arg("activation") = "relu",
      arg("attn_dropout") = nb::none(), arg("act_dropout") = nb::none(), arg("normalize_before") = false,
      arg("weight_attr") = nb::none(), arg("bias_attr") = nb::none(), arg("layer_norm_eps") = 1e-5,
      arg("causal") = false);
  encoder_layer.attr("_inputs") = nb::make_tuple("src", "src_mask");
  auto encoder = layer_class<nn::TransformerEncoder>(
      m, "TransformerEncoder",
      "TransformerEncoder(encoder_layer, num_layers, norm=None)\n\nEncoder layers one after another.");
  encoder.def(
      "__init__",
      [](nb::pointer_and_handle<nn::TransformerEncoder> self, std::shared_ptr<nn::TransformerEncoderLayer> layer,
         int64_t n, nb::handle norm) {
        make_layer<nn::TransformerEncoder>(self, std::move(layer), n,
                                           norm.is_none() ? nn::LayerPtr() : nb::cast<nn::LayerPtr>(norm));
      },
      arg("encoder_layer"), arg("num_layers"), arg("norm") = nb::none());
  encoder.attr("_inputs") = nb::make_tuple("src", "src_mask");

  nb::class_<nn::Summary>(m, "Summary", "What a network is made of, in one table.")
      .def_ro("parameters", &nn::Summary::parameters)
      .def_ro("trainable", &nn::Summary::trainable)
      .def_ro("multiply_adds", &nn::Summary::multiply_adds)
      .def_ro("parameter_bytes", &nn::Summary::parameter_bytes)
      .def("__repr__", &nn::Summary::to_string);
  m.def(
      "summary",
      [](nn::Layer& net, nb::args inputs) {
        std::vector<Shape> shapes;
        std::vector<Tensor> tensors;
        for (nb::handle h : inputs) {
          if (const Tensor* t = tensor_of(h.ptr())) tensors.push_back(*t);
          else shapes.push_back(shape_from(h.ptr(), "summary"));
        }
        if (!tensors.empty() && !shapes.empty()) raise_type("summary: inputs are tensors and shapes. Give either.");
        return tensors.empty() ? nn::summary(net, shapes) : nn::summary(net, tensors);
      },
      arg("net"), arg("inputs"),
      "summary(net, *inputs)\n\nRuns the network once on zeros of these shapes, or on these tensors, and tells what it "
      "is made of.");
}

}  // namespace oarlock::python
