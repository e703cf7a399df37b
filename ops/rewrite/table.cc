#include "ops/rewrite/rewrites.h"

namespace oarlock {

// Recognitions come before identity_views, which takes apart the transposes that they look for.
static constexpr graph::Pass kRewrites[] = {
    {"identity_arithmetic", true, rewrite::identity_arithmetic},
    {"recognise_softmax", false, rewrite::recognise_softmax},
    {"recognise_attention", false, rewrite::recognise_attention},
    {"recognise_layer_norm", false, rewrite::recognise_layer_norm},
    {"recognise_gelu", false, rewrite::recognise_gelu},
    {"recognise_silu", false, rewrite::recognise_silu},
    {"fold_batch_norm", false, rewrite::fold_batch_norm},
    {"fold_conv_bias", false, rewrite::fold_conv_bias},
    {"identity_views", true, rewrite::identity_views},
};
std::span<const graph::Pass> graph::rewrites() { return kRewrites; }

}  // namespace oarlock
