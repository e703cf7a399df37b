// What the simd pack says of itself.
#include "harness.h"

namespace oarlock::test {
namespace {

TEST(SimdPlugin, OpensForTheHostCpuAlone) {
  oar_pack_t* pack = nullptr;
  EXPECT_EQ(plugin().open("cuda", &pack), OAR_REFUSED);
  EXPECT_EQ(plugin().open("", &pack), OAR_REFUSED);
  EXPECT_EQ(plugin().open("cpu", &pack), OAR_OK);
  EXPECT_NE(pack, nullptr);
}

TEST(SimdPlugin, TablesNegotiateByVersion) {
  const oar_plugin_t& p = plugin().plugin();
  EXPECT_EQ(p.get_table(plugin().host(), OAR_TABLE_KERNEL, 2, 9), nullptr);
  EXPECT_EQ(p.get_table(plugin().host(), OAR_TABLE_GRAPH, 1, 1), nullptr);
  EXPECT_NE(p.get_table(plugin().host(), OAR_TABLE_KERNEL, 1, 7), nullptr);
}

TEST(SimdPlugin, EveryDeclarationIsWhole) {
  const auto with = plugin().declarations(plugin().pack());
  EXPECT_EQ(with, plugin().declarations(nullptr));
  EXPECT_GE(with.size(), 25u);
  for (const oar_kernel_decl_t* decl : with) {
    EXPECT_EQ(decl->op_min, 1u);
    EXPECT_EQ(decl->op_max, 1u);
    EXPECT_EQ(decl->priority, 50);
    EXPECT_GE(decl->n_masks, 1u);
    EXPECT_NE(decl->run == nullptr, decl->prepare == nullptr) << kit::view(decl->op);  // one way or the other
    EXPECT_EQ(decl->prepare == nullptr, decl->launch == nullptr);
    EXPECT_EQ(decl->prepare == nullptr, decl->release == nullptr);
    EXPECT_TRUE(decl->flags & OAR_KERNEL_DETERMINISTIC);
    EXPECT_TRUE(decl->flags & OAR_KERNEL_REENTRANT);
  }
}

TEST(SimdPlugin, FusesNothing) {
  const Array a = Array(OAR_DTYPE_F32, {4}).random(1);
  const Outcome outcome =
      plugin().call({.op = "add", .inputs = {a, a}, .out = Array(OAR_DTYPE_F32, {4}), .epilogue = {{"relu", {-1}}}});
  EXPECT_EQ(outcome.status, OAR_REFUSED);
  EXPECT_EQ(outcome.reason, OAR_REASON_EPILOGUE);
}

TEST(SimdPlugin, RefusesTooManyDimensions) {
  const Array a = Array(OAR_DTYPE_F32, Dims(17, 1)).random(1);
  const Outcome outcome = plugin().call({.op = "add", .inputs = {a, a}, .out = Array(OAR_DTYPE_F32, Dims(17, 1))});
  EXPECT_EQ(outcome.status, OAR_REFUSED);
  EXPECT_EQ(outcome.reason, OAR_REASON_RANK);
  EXPECT_NE(outcome.text.find("16"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace oarlock::test
