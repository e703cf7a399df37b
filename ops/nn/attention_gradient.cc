#include "core/op/opdef.h"
namespace oarlock::op::attention_gradient_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "attention_gradient",
    .summary = "The gradients of attention's result with respect to q, k and v, from its result y and log_sum, the "
               "logarithm of "
               "the sum of exp(score) of each query, which is -infinity where it looks nowhere. The attributes are "
               "those of attention.",
    .source = "Dao et al. 2022, FlashAttention, appendix B",
    .inputs = {{"dy", "[..., L, F]"},
               {"q", "[..., L, E]"},
               {"k", "[..., S, E]"},
               {"v", "[..., S, F]"},
               {"y", "[..., L, F]"},
               {"log_sum", "T+[..., L]"},
               {"mask", "M[..., L|1, S|1]", optional | constant}},
    .outputs = {{"dq", "[..., L, E]"}, {"dk", "[..., S, E]"}, {"dv", "[..., S, F]"}},
    .types = {{"T", kFloat}, {"M", kBool | kFloat}},
    .attributes = {flag("causal", false), real("scale").or_none()},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"heads", "...=2x3 L=4 E=3 S=5 F=2", "causal=false scale=none", "log_sum: 1..2"},
              {"causal", "...=2 L=4 E=3 S=4 F=2", "causal=true", "log_sum: 1..2"},
              {"nowhere to look", "...= L=2 E=3 S=0 F=2"},
              {"no queries", "...=2 L=0 E=3 S=4 F=2"}},
});
}  // namespace oarlock::op::attention_gradient_

#include "rules.h"
#include "attention.h"
namespace oarlock::op::attention_gradient_ {
static void decompose(RuleCall& c) {
  // f16 would overflow long before its results do.
  DType own = c.in(0).dtype(), t = own == DType::f16 ? DType::f32 : own;
  Tensor mask = c.has(6) ? c.in(6) : Tensor();
  Tensor d = as(c.in(0), t), q = as(c.in(1), t), k = as(c.in(2), t), v = as(c.in(3), t), y = as(c.in(4), t);
  d = with_batch_of(d, {{&q, 2}, {&k, 2}, {&v, 2}, {&y, 2}, {&c.in(5), 1}, {&mask, 2}});
  Tensor scale = attention_scale(q, given_scale(c.attrs));
  Tensor p = attention_weights(attention_scores(q, k, mask, c.attrs.flag(0), scale), c.in(5));
  Tensor along = sum(as(multiply(d, y), p.dtype()), {-1}, true);
  Tensor ds = multiply(p, subtract(as(matmul(d, matrix_transpose(v)), p.dtype()), along));
  ds = as(multiply(ds, as(scale, ds.dtype())), t);
  c.set(0, as(matmul(ds, k), own));
  c.set(1, as(matmul(matrix_transpose(ds), q), own));
  c.set(2, as(matmul(matrix_transpose(as(p, t)), d), own));
}
}  // namespace oarlock::op::attention_gradient_
