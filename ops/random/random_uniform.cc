#include "core/op/opdef.h"
namespace oarlock::op::random_uniform_ {
static InferRule infer;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "random_uniform",
    .summary = "Numbers from [0, 1), a function of seed and place alone. seed holds a key and an offset; whoever draws "
               "again takes "
               "another offset. Element i is word i mod 4 (f64: words 2i and 2i+1) of Philox4x32-10 with key seed[0] "
               "and counter "
               "(i div 4, seed[1]): the upper 24 bits times 2^-24 (53 bits times 2^-53); f16 and bf16 are those of "
               "f32, rounded.",
    .source = "Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3",
    .inputs = {{"seed", "i64[2]", host}},
    .outputs = {{"out", "dtype[*shape]"}},
    .attributes = {dims("shape"), dtype("dtype", DType::f32)},
    .infer = infer,
    .no_gradient = "it does not depend on numbers",
    .reference = reference,
    .cases = {{"a matrix", "", "shape=3,5"}, {"f64", "", "shape=7 dtype=f64"}},
});
}  // namespace oarlock::op::random_uniform_

#include "rules.h"
namespace oarlock::op::random_uniform_ {
static void infer(InferCall& c) {
  if (!(set_of(c.attrs.dtype(1)) & kFloat))
    c.fail("dtype is " + std::string(to_string(c.attrs.dtype(1))) + ", needs a float");
}

struct Block {
  uint32_t word[4];
};
static Block philox(uint64_t counter_low, uint64_t counter_high, uint64_t key) {
  uint32_t c[4] = {uint32_t(counter_low), uint32_t(counter_low >> 32), uint32_t(counter_high),
                   uint32_t(counter_high >> 32)};
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    uint32_t next[4] = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1, uint32_t(p0)};
    std::copy_n(next, 4, c);
  }
  return {{c[0], c[1], c[2], c[3]}};
}
static void reference(KernelCall& c) {
  const oar_view_t &seed = c.in(0), &out = c.out(0);
  uint64_t key = uint64_t(load<int64_t>(seed, 0)), from = uint64_t(load<int64_t>(seed, seed.strides[0]));
  bool wide = dtype(out) == DType::f64;
  Block block{};
  uint64_t i = 0;
  for (Walk w(out); w.more(); w.next(), ++i) {
    int per = wide ? 2 : 4, k = int(i % uint64_t(per));
    if (!k) block = philox(i / uint64_t(per), from, key);
    double x = wide ? double((uint64_t(block.word[2 * k + 1]) << 32 | block.word[2 * k]) >> 11) * 0x1p-53
                    : double(block.word[k] >> 8) * 0x1p-24;
    store<double>(out, offset(out, w.index, out.n_dims), x);
  }
}
}  // namespace oarlock::op::random_uniform_
