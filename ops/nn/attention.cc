#include "core/op/opdef.h"
namespace oarlock::op::attention_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "attention",
    .summary = "softmax(q k^T * scale) v over the last two axes; the axes before them broadcast. scale: none is 1 / "
               "sqrt(E). mask: true where a query may look, or numbers to add to the scores. causal: query i looks at "
               "keys 0 to i only. A query that may look nowhere gets 0.",
    .source = "Vaswani et al. 2017, Attention is all you need; ONNX operator set 23, Attention",
    .inputs = {{"q", "[..., L, E]"},
               {"k", "[..., S, E]"},
               {"v", "[..., S, F]"},
               {"mask", "M[..., L|1, S|1]", optional | constant}},
    .outputs = {{"out", "[..., L, F]"}, {"log_sum", "T+[..., L]", hidden}},
    .types = {{"T", kFloat}, {"M", kBool | kFloat}},
    .attributes = {flag("causal", false), real("scale").or_none()},
    .gradient = gradient,
    .saves = {{"q"}, {"k"}, {"v"}, {"mask"}, {"out"}, {"log_sum"}},
    .decompose = decompose,
    .tolerance = {.ulps = 16, .of_absolutes = true},
    .cases = {{"heads", "...=2x3 L=4 E=3 S=5 F=2", "causal=false scale=none"},
              {"causal", "...=2 L=4 E=3 S=4 F=2", "causal=true"},
              {"more keys than queries", "...=2 L=2 E=3 S=4 F=2", "causal=true"},
              {"keys for all heads", "...=2x3|1|1|1 L=2 E=3 S=4 F=2"},
              {"nowhere to look", "...= L=2 E=3 S=0 F=2"},
              {"no queries", "...=2 L=0 E=3 S=4 F=2"},
              {"nothing to compare", "...=2 L=2 E=0 S=4 F=2"},
              {"no values", "...=2 L=2 E=3 S=4 F=0"}},
});
}  // namespace oarlock::op::attention_

#include "rules.h"
#include "attention.h"
namespace oarlock::op::attention_ {
static void gradient(GradientCall& c) {
  const Tensor &q = c.in(0), &k = c.in(1), &v = c.in(2), &out = c.out(0), &total = c.out(1);
  Tensor mask = c.count() > 3 ? c.in(3) : Tensor();
  bool causal = c.attrs.flag(0);
  auto given = given_scale(c.attrs);
  Tensor dq, dk;
  if (c.dout(0)) {
    AttentionGradientResult d = attention_gradient(c.dout(0), q, k, v, out, total, mask, causal, given);
    dq = d.dq;
    dk = d.dk;
    c.set(2, d.dv);
  }
  if (c.dout(1)) {  // higher orders: the sum depends on the scores too
    Tensor scale = attention_scale(q, given);
    Tensor p = attention_weights(attention_scores(q, k, mask, causal, scale), total);
    Tensor ds = as(multiply(multiply(p, unsqueeze(c.dout(1), {-1})), as(scale, p.dtype())), q.dtype());
    Tensor q2 = matmul(ds, k), k2 = matmul(matrix_transpose(ds), q);
    dq = dq ? add(dq, q2) : q2;
    dk = dk ? add(dk, k2) : k2;
  }
  c.set(0, dq);
  c.set(1, dk);
}
static void decompose(RuleCall& c) {
  const Tensor &q = c.in(0), &k = c.in(1), &v = c.in(2);
  Tensor s =
      attention_scores(q, k, c.has(3) ? c.in(3) : Tensor(), c.attrs.flag(0), attention_scale(q, given_scale(c.attrs)));
  Tensor most = max(s, {-1}, true), none = equal(most, number(-INFINITY, most));
  Tensor e = exp(subtract(s, where(none, number(0, most), most))), total = sum(e, {-1}, true);
  Tensor p = as(divide(e, where(none, number(1, total), total)), q.dtype());
  Tensor out = matmul(p, v), all = add(most, log(total));
  Shape one = out.shape();
  one.d[one.rank - 1] = 1;
  c.set(0, out);
  c.set(1, squeeze(expand(all, one), {-1}));  // v may have more heads
}
}  // namespace oarlock::op::attention_
