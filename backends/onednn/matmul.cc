// matmul of f32 and bf16: [..., M, K] x [..., K, N], with bias, binary and eltwise steps after it. Constant weights are
// packed once, in prepare, into the layout that oneDNN likes best for this shape.
#include <algorithm>
#include <memory>
#include <string>

#include "epilogue.h"
#include "staged.h"

namespace oarlock::onednn {
namespace {

using dnnl::memory;

// Below this many multiply-adds the simd pack is faster: 32x32x32 takes it 0.64 us, oneDNN 0.99; 8x128x128 4.7 and 2.3.
constexpr int64_t kSmall = 40000;
constexpr uint32_t kMaxDims = 10;

// A product as oneDNN sees it: batch dimensions merged as far as all three operands allow, then the matrix.
struct Product {
  memory::dims shape[3], strides[3];  // a, b, out
  int64_t m, n, k, batch = 1;
};

// One of both must be dense and the other wide enough; of a dimension of 1 the stride says nothing.
void matrix_strides(int64_t rows, int64_t cols, int64_t* row_stride, int64_t* col_stride, int operand) {
  if (rows == 1 && cols == 1) {
    *row_stride = *col_stride = 1;
    return;
  }
  if (cols == 1) *col_stride = 1;
  if (rows == 1) *row_stride = *col_stride == 1 ? cols : 1;
  const bool by_rows = *col_stride == 1 && *row_stride >= cols;
  const bool by_cols = *row_stride == 1 && *col_stride >= rows;
  if (!by_rows && !by_cols)
    throw kit::Refusal(OAR_REASON_LAYOUT, operand,
                       "one of the last two dimensions must be dense; strides are " + std::to_string(*row_stride) +
                           ", " + std::to_string(*col_stride));
}

Product product_make(const oar_call_t* call, const oar_value_t& out) {
  const oar_value_t* values[3] = {call->inputs[0], call->inputs[1], &out};
  const int operands[3] = {0, 1, static_cast<int>(call->n_inputs)};
  for (int i = 0; i < 3; ++i) {
    if (values[i]->n_dims < 2 || values[i]->n_dims > kMaxDims)
      throw kit::Refusal(OAR_REASON_RANK, operands[i], "oneDNN takes 2 to 10 dimensions");
    for (uint32_t d = 0; d < values[i]->n_dims; ++d)
      if (values[i]->shape[d] < 1) throw kit::Refusal(OAR_REASON_SHAPE, operands[i], "nothing to multiply");
  }
  const uint32_t rank = out.n_dims;
  Product p;
  std::vector<int64_t> strides[3];
  for (int i = 0; i < 3; ++i) strides[i] = strides_of(*values[i], operands[i]);
  // Batch dimensions, outermost first; merged with the one before where every operand allows.
  for (uint32_t d = 0; d + 2 < rank; ++d) {
    const int64_t extent = out.shape[d];
    if (extent == 1) continue;
    p.batch *= extent;
    int64_t size[3], stride[3];
    for (int i = 0; i < 3; ++i) {
      const uint32_t lead = rank - values[i]->n_dims;
      const bool repeats = d < lead || values[i]->shape[d - lead] == 1 || (i < 2 && strides[i][d - lead] == 0);
      size[i] = repeats ? 1 : extent;
      stride[i] = repeats ? 0 : strides[i][d - lead];
      if (!repeats && values[i]->shape[d - lead] != extent)
        throw kit::Refusal(OAR_REASON_SHAPE, operands[i], "the batch dimensions do not broadcast");
    }
    bool merges = !p.shape[0].empty();
    for (int i = 0; merges && i < 3; ++i)
      merges = (p.shape[i].back() == 1) == (size[i] == 1) && p.strides[i].back() == stride[i] * size[i];
    for (int i = 0; i < 3; ++i) {
      if (merges) {
        p.shape[i].back() *= size[i];
        p.strides[i].back() = stride[i];
      } else {
        p.shape[i].push_back(size[i]);
        p.strides[i].push_back(stride[i]);
      }
    }
  }
  p.m = out.shape[rank - 2];
  p.n = out.shape[rank - 1];
  p.k = values[0]->shape[values[0]->n_dims - 1];
  const int64_t rows[3] = {p.m, p.k, p.m}, cols[3] = {p.k, p.n, p.n};
  for (int i = 0; i < 3; ++i) {
    const uint32_t own = values[i]->n_dims;
    if (values[i]->shape[own - 2] != rows[i] || values[i]->shape[own - 1] != cols[i])
      throw kit::Refusal(OAR_REASON_SHAPE, operands[i], "the matrices do not fit each other");
    int64_t row_stride = strides[i][own - 2], col_stride = strides[i][own - 1];
    matrix_strides(rows[i], cols[i], &row_stride, &col_stride, operands[i]);
    p.shape[i].insert(p.shape[i].end(), {rows[i], cols[i]});
    p.strides[i].insert(p.strides[i].end(), {row_stride, col_stride});
  }
  if (p.strides[2].back() != 1) throw kit::Refusal(OAR_REASON_LAYOUT, operands[2], "the output must be row-major");
  // One matrix b for all of a batch: the batch becomes rows of a.
  if (p.shape[0].size() == 3 && p.shape[1][0] == 1 && p.shape[0][0] == p.batch &&
      p.strides[0][0] == p.strides[0][1] * p.m && p.strides[2][0] == p.strides[2][1] * p.m && p.strides[0][2] == 1) {
    for (int i : {0, 2}) {
      p.shape[i] = {p.batch * p.m, p.shape[i][2]};
      p.strides[i] = {p.strides[i][1], p.strides[i][2]};
    }
    p.shape[1].erase(p.shape[1].begin());
    p.strides[1].erase(p.strides[1].begin());
  }
  for (int i = 0; i < 2; ++i)  // oneDNN reads strides of repeated dimensions too
    for (size_t d = 0; d + 2 < p.shape[i].size(); ++d)
      if (p.shape[i][d] == 1) p.strides[i][d] = p.shape[i][d + 1] * p.strides[i][d + 1];
  return p;
}

// Operands behind a product: of its shape, dense vectors along N, or one number, in as many dimensions as it has.
class BehindProduct : public Describe {
 public:
  // type: what the product is computed in.
  BehindProduct(const Product& product, const oar_value_t& out, memory::data_type type)
      : p_(product), out_(out), type_(type) {}
  Extra::Kind kind(const oar_value_t& x, int operand) const override {
    const std::vector<int64_t> strides = strides_of(x, operand);
    bool whole = x.n_dims == out_.n_dims, row = true, one = true;
    for (uint32_t d = 0; d < x.n_dims; ++d) {
      const bool last = d + 1 == x.n_dims;
      whole = whole && x.shape[d] == out_.shape[d];
      row = row && (x.shape[d] == 1 || (last && x.shape[d] == p_.n && strides[d] == 1));
      one = one && x.shape[d] == 1;
    }
    if (one) return Extra::one;
    if (row) return Extra::channel;
    if (whole && oar_kit_contiguous(x.n_dims, x.shape, strides.data()) && dense_out()) return Extra::whole;
    throw kit::Refusal(OAR_REASON_EPILOGUE, operand,
                       "the operand must be dense, of the product's shape, [N] or one number");
  }
  memory::desc desc(const Extra& e) const override { return desc(e, type_); }
  memory::desc desc(const Extra& e, memory::data_type type) const {
    if (e.kind == Extra::whole) return {p_.shape[2], type, p_.strides[2]};
    const size_t rank = p_.shape[2].size();
    memory::dims shape(rank, 1), dense(rank, e.kind == Extra::channel ? p_.n : 1);
    if (e.kind == Extra::channel) shape.back() = p_.n;
    dense.back() = 1;
    return {shape, type, dense};
  }

 private:
  // The host leaves the output's strides to us, so they are row-major then.
  bool dense_out() const {
    const std::vector<int64_t> strides = strides_of(out_, 0);
    return oar_kit_contiguous(out_.n_dims, out_.shape, strides.data());
  }
  const Product& p_;
  const oar_value_t& out_;
  memory::data_type type_;
};

// A held primitive, with reorders around it or none.
struct State {
  std::unique_ptr<Prepared> plain;
  std::unique_ptr<Staged> staged;
};
oar_status_t launch_either(void* state, const oar_frame_t* frame) {
  State& s = *static_cast<State*>(state);
  return s.staged ? s.staged->launch(frame) : s.plain->launch(frame);
}
void release_either(void* state) { delete static_cast<State*>(state); }

// bf16 computed in f32.
void prepare_in_f32(oar_pack_t* pack, const oar_call_t* call, const Product& p, State* out_state,
                    oar_prepared_t* out_prepared) {
  constexpr auto f32 = memory::data_type::f32, bf16 = memory::data_type::bf16;
  const BehindProduct behind(p, *call->outputs[0], f32);
  const Epilogue epilogue = epilogue_of(*call, true, behind);
  const Extra bias = {Extra::channel, DNNL_ARG_BIAS, epilogue.bias};
  const bool has_bias = epilogue.bias >= 0;
  const memory::desc bias_desc = has_bias ? behind.desc(bias) : memory::desc();
  memory::desc given[3], wanted[3];
  for (int i = 0; i < 3; ++i) {
    given[i] = memory::desc(p.shape[i], bf16, p.strides[i]);
    wanted[i] = memory::desc(p.shape[i], f32, memory::format_tag::any);
  }
  if (epilogue.any_whole()) wanted[2] = memory::desc(p.shape[2], f32, p.strides[2]);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(epilogue.steps);
  const ThreadLimit limit(pack->host);
  const auto desc = described_by("matmul", [&] {
    return matmul_desc(pack->engine, wanted[0], wanted[1], has_bias ? &bias_desc : nullptr, wanted[2], attr);
  });
  auto state = std::make_unique<Staged>(pack, dnnl::matmul(desc));
  state->input(DNNL_ARG_SRC, 0, given[0], desc.src_desc());
  if (auto packed = packed_constant(pack, *call->inputs[1], given[1], desc.weights_desc())) {
    state->hold(DNNL_ARG_WEIGHTS, std::move(packed));
    out_prepared->unread_inputs |= OAR_BIT(1);
  } else {
    state->input(DNNL_ARG_WEIGHTS, 1, given[1], desc.weights_desc());
  }
  if (has_bias) state->input(bias.argument, bias.operand, behind.desc(bias, bf16), bias_desc);
  for (const Extra& e : epilogue.extras) state->input(e.argument, e.operand, behind.desc(e, bf16), behind.desc(e));
  state->output(DNNL_ARG_DST, static_cast<int>(call->n_inputs), given[2], desc.dst_desc());
  state->scratch(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
  finish(out_prepared, std::move(state), 500 + static_cast<uint64_t>(p.batch * p.m * p.n * p.k) / 40);
  out_state->staged.reset(static_cast<Staged*>(out_prepared->state));
}

oar_status_t prepare(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call, oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& out = *call->outputs[0];
    const Product p = product_make(call, out);
    const int64_t work = p.batch * p.m * p.n * p.k;
    const uint32_t dtype = call->inputs[0]->dtype;
    if (work < kSmall && call->n_epilogue == 0 && dtype == OAR_DTYPE_F32)
      throw kit::Refusal(OAR_REASON_SLOWER, -1, std::to_string(work) + " multiply-adds are too few for a library call");
    auto either = std::make_unique<State>();
    if (dtype == OAR_DTYPE_BF16 && computed_in(dtype) == memory::data_type::f32 && work >= kSmall) {
      prepare_in_f32(pack, call, p, either.get(), out_prepared);
      out_prepared->state = either.release();
      return;
    }
    const BehindProduct behind(p, out, type_of(out.dtype));
    const Epilogue epilogue = epilogue_of(*call, true, behind);
    const memory::desc bias = epilogue.bias >= 0 ? behind.desc({Extra::channel, 0, epilogue.bias}) : memory::desc();
    const oar_value_t& b = *call->inputs[1];
    const bool packs = (b.flags & OAR_VALUE_CONSTANT) != 0 && b.constant != nullptr && b.constant->data != nullptr &&
                       b.constant->layout == OAR_LAYOUT_STRIDED && p.shape[1].size() == 2;

    const memory::desc a_desc(p.shape[0], type_of(dtype), p.strides[0]);
    const memory::desc b_plain(p.shape[1], type_of(b.dtype), p.strides[1]);
    const memory::desc b_wanted = packs ? memory::desc(p.shape[1], type_of(b.dtype), memory::format_tag::any) : b_plain;
    const memory::desc out_desc(p.shape[2], type_of(out.dtype), p.strides[2]);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_post_ops(epilogue.steps);

    const ThreadLimit limit(pack->host);
    dnnl::matmul::primitive_desc desc;
    try {
      desc = matmul_desc(pack->engine, a_desc, b_wanted, epilogue.bias >= 0 ? &bias : nullptr, out_desc, attr);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
      const bool fused = call->n_epilogue != 0;
      throw kit::Refusal(fused ? OAR_REASON_EPILOGUE : OAR_REASON_LAYOUT, -1, "oneDNN has no such matmul here");
    }
    // The generic loops behind these names are slower than anyone's.
    if (std::string_view(desc.impl_info_str()).substr(0, 3) == "ref" && work >= kSmall)
      throw kit::Refusal(OAR_REASON_SLOWER, -1, "oneDNN has only its reference matmul for this");

    auto state = std::make_unique<Prepared>(pack, dnnl::matmul(desc));
    state->bind(DNNL_ARG_SRC, a_desc, 0);
    std::shared_ptr<memory> packed;
    if (packs) packed = packed_constant(pack, b, b_plain, desc.weights_desc());
    if (packed != nullptr) {
      state->hold(DNNL_ARG_WEIGHTS, std::move(packed));
      out_prepared->unread_inputs |= OAR_BIT(1);
    } else {
      state->bind(DNNL_ARG_WEIGHTS, b_plain, 1);
    }
    state->bind(DNNL_ARG_DST, out_desc, static_cast<int>(call->n_inputs));
    if (epilogue.bias >= 0) state->bind(DNNL_ARG_BIAS, bias, epilogue.bias);
    for (const Extra& e : epilogue.extras) state->bind(e.argument, behind.desc(e), e.operand);
    finish(out_prepared, state.release(), desc.scratchpad_desc(), 300 + static_cast<uint64_t>(work) / 50);
    either->plain.reset(static_cast<Prepared*>(out_prepared->state));
    out_prepared->state = either.release();
  });
}

constexpr uint64_t kTypes[] = {kF32 | kBf16};

constexpr oar_kernel_decl_t kMatmul =
    OAR_KIT_KERNEL("matmul", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kTypes, .prepare = prepare, .launch = launch_either,
                   .release = release_either);
OAR_KIT_LISTED(kMatmul);

}  // namespace
}  // namespace oarlock::onednn
