#include <oarlock/random.h>

#include "api/near.h"

namespace oarlock {
namespace {

TEST(Generators, DrawsFollowFromSeedAndOrder) {
  Generator a(7), b(7), c(8);
  Tensor first = random_uniform(a.next(), {5}), second = random_uniform(a.next(), {5});
  EXPECT_NE(values(first), values(second));
  EXPECT_EQ(values(first), values(random_uniform(b.next(), {5})));
  EXPECT_NE(values(first), values(random_uniform(c.next(), {5})));
  // The pair that random_uniform documents: key and offset.
  EXPECT_EQ(values(second), values(random_uniform(Tensor::of<int64_t>({7, 1}, {2}), {5})));
}
TEST(Generators, StateIsSavedAndSet) {
  Generator a(3);
  a.next();
  RandomState s = a.state();
  EXPECT_EQ(s, (RandomState{3, 1}));
  Tensor want = a.next();
  a.set_seed(9);
  a.set_state(s);
  EXPECT_EQ(values(a.next()), values(want));
  Generator wide(~uint64_t(0));
  EXPECT_EQ(wide.next().to_string().find("[-1, 0]"), 0u);
}
TEST(Generators, SetSeedStartsTheDefaultOneAnew) {
  set_seed(5);
  Tensor a = default_generator().next();
  default_generator().next();
  set_seed(5);
  EXPECT_EQ(values(a), values(default_generator().next()));
}

}  // namespace
}  // namespace oarlock
