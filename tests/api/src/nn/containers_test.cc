#include <oarlock/nn/containers.h>
#include <oarlock/nn/linear.h>

#include "api/near.h"

namespace oarlock::nn {
namespace {

std::string keys(const Layer& l) {
  std::string out;
  for (auto& [name, layer] : l.sublayer_slots()) out += name + ":" + layer->extra_repr() + " ";
  return out;
}
LayerPtr flat(int start) { return std::make_shared<Flatten>(start); }

TEST(Containers, SequentialRunsInOrder) {
  auto one = std::make_shared<Linear>(2, 2), two = std::make_shared<Linear>(2, 1);
  Sequential net(one, two);
  Tensor x = full({3, 2}, 1);
  EXPECT_EQ(values(net(x)), values((*two)((*one)(x))));
  EXPECT_EQ(net.size(), 2u);
  EXPECT_EQ(net[-1].get(), two.get());
  EXPECT_ERROR(net[2], "index 2 is out of range; it has 2 layers");
  Sequential empty;
  EXPECT_EQ(empty(x).impl(), x.impl());
  net.set_sublayer("1", std::make_shared<Identity>());
  EXPECT_EQ(values(net(x)), values((*one)(x)));
}
TEST(Containers, ListsInsertAndReplace) {
  LayerList list({flat(0), flat(1)});
  list.append(flat(2)).insert(1, flat(9));
  EXPECT_EQ(keys(list),
            "0:start_axis=0, stop_axis=-1 1:start_axis=9, stop_axis=-1 2:start_axis=1, stop_axis=-1 "
            "3:start_axis=2, stop_axis=-1 ");
  list.set(-1, flat(7));
  EXPECT_EQ(list[3]->extra_repr(), "start_axis=7, stop_axis=-1");
  list.insert(4, flat(8));
  EXPECT_EQ(list.size(), 5u);
  EXPECT_ERROR(list.insert(9, flat(0)), "index 9 is out of range");
  EXPECT_ERROR(list(full({1}, 0)), "LayerList: it has no forward");
}
TEST(Containers, DictsByName) {
  LayerDict dict({{"a", flat(0)}, {"b", flat(1)}});
  EXPECT_TRUE(dict.contains("a"));
  EXPECT_EQ(dict["b"]->extra_repr(), "start_axis=1, stop_axis=-1");
  dict.set("a", flat(5));
  EXPECT_EQ(dict.pop("a")->extra_repr(), "start_axis=5, stop_axis=-1");
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"b"}));
  EXPECT_ERROR(dict["a"], "no sublayer \"a\"; there are b");
}

}  // namespace
}  // namespace oarlock::nn
