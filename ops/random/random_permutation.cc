#include "core/op/opdef.h"
namespace oarlock::op::random_permutation_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "random_permutation",
    .summary = "The numbers 0 to length-1 in an order that is a function of seed alone: that of random_uniform's "
               "elements in f64.",
    .source = "Knuth 1997, The art of computer programming 2, 3.4.2",
    .inputs = {{"seed", "i64[2]", host}},
    .outputs = {{"out", "i64[length]"}},
    .attributes = {dim("length")},
    .no_gradient = "it does not depend on numbers",
    .decompose = decompose,
    .cases = {{"some", "", "length=9"}, {"none", "", "length=0"}},
});
}  // namespace oarlock::op::random_permutation_

#include "rules.h"
namespace oarlock::op::random_permutation_ {
static void decompose(RuleCall& c) { c.set(0, argsort(random_uniform(c.in(0), {c.attrs.dim(0)}, DType::f64))); }
}  // namespace oarlock::op::random_permutation_
