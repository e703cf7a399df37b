// matmul of f32 and bf16: [..., M, K] x [..., K, N], with bias, binary and eltwise steps after it. Constant weights are
// packed once, in prepare, into the layout that oneDNN likes best for this shape.
#include <algorithm>
#include <memory>
#include <string>

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

// An epilogue operand: a scalar or a vector along N, in as many dimensions as the product has.
struct Extra {
  int argument, operand;
  memory::desc desc;
};

// oneDNN's relu turns NaN into 0, its exp NaN into infinity, and its log is off by 25 million ulp just below 1: relu is
// done here, and only as the last step; the others are refused.
struct Epilogue {
  dnnl::post_ops steps;
  bool relu = false;
  std::vector<Extra> extras;
  bool has_bias = false;
  memory::desc bias;
  int bias_operand = -1;
};

Epilogue epilogue_make(const oar_call_t* call, const Product& product) {
  Epilogue e;
  const size_t rank = product.shape[2].size();
  for (uint32_t s = 0; s < call->n_epilogue; ++s) {
    const oar_call_t& step = *call->epilogue[s];
    const std::string name(kit::view(step.op));
    if (step.n_epilogue != 0 || step.n_outputs != 1)
      throw kit::Refusal(OAR_REASON_EPILOGUE, -1, name + " has a form that oneDNN cannot fuse");
    const bool alone = step.n_inputs == 1 && oar_call_input(call, step.inputs[0]) < 0;
    if (alone && name == "relu" && s + 1 == call->n_epilogue) {
      e.relu = true;
      continue;
    }
    if (alone && (name == "tanh" || name == "sqrt")) {
      append_eltwise(e.steps, name == "tanh" ? dnnl::algorithm::eltwise_tanh : dnnl::algorithm::eltwise_sqrt);
      continue;
    }
    dnnl::algorithm binary = dnnl::algorithm::undef;
    if (name == "add") binary = dnnl::algorithm::binary_add;
    if (name == "multiply") binary = dnnl::algorithm::binary_mul;
    if (name == "subtract") binary = dnnl::algorithm::binary_sub;
    if (name == "divide") binary = dnnl::algorithm::binary_div;
    if (binary == dnnl::algorithm::undef || step.n_inputs != 2)
      throw kit::Refusal(OAR_REASON_EPILOGUE, -1, "oneDNN has no step like " + name);
    int operand = oar_call_input(call, step.inputs[1]);
    const bool first = oar_call_input(call, step.inputs[0]) < 0;
    if (!first) {
      const bool commutes = name == "add" || name == "multiply";
      if (!commutes || operand >= 0)
        throw kit::Refusal(OAR_REASON_EPILOGUE, -1, name + " must have the running value first");
      operand = oar_call_input(call, step.inputs[0]);
    }
    if (operand < 0) throw kit::Refusal(OAR_REASON_EPILOGUE, -1, name + " of the running value with itself");
    const oar_value_t& x = *call->inputs[operand];
    const std::vector<int64_t> strides = strides_of(x, operand);
    for (uint32_t d = 0; d < x.n_dims; ++d) {
      const bool last = d + 1 == x.n_dims;
      if (x.shape[d] != 1 && !(last && x.shape[d] == product.n && strides[d] == 1))
        throw kit::Refusal(OAR_REASON_EPILOGUE, operand, name + ": the operand must be a scalar or a dense [N]");
    }
    const bool vector = x.n_dims > 0 && x.shape[x.n_dims - 1] != 1;
    memory::dims shape(rank, 1), dense(rank, vector ? product.n : 1);
    shape.back() = vector ? product.n : 1;
    dense.back() = 1;
    const memory::desc desc(shape, type_of(x.dtype), dense);
    if (s == 0 && name == "add" && vector) {
      e.has_bias = true;
      e.bias = desc;
      e.bias_operand = operand;
    } else {
      e.extras.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(e.steps.len()) | DNNL_ARG_SRC_1, operand, desc});
      e.steps.append_binary(binary, desc);
    }
  }
  return e;
}

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
  memory::desc given[3], wanted[3];
  for (int i = 0; i < 3; ++i) {
    given[i] = memory::desc(p.shape[i], memory::data_type::bf16, p.strides[i]);
    wanted[i] = memory::desc(p.shape[i], memory::data_type::f32, memory::format_tag::any);
  }
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const ThreadLimit limit(pack->host);
  const auto desc =
      described_by("matmul", [&] { return matmul_desc(pack->engine, wanted[0], wanted[1], nullptr, wanted[2], attr); });
  auto state = std::make_unique<Staged>(pack, dnnl::matmul(desc));
  state->input(DNNL_ARG_SRC, 0, given[0], desc.src_desc());
  if (memory packed = packed_constant(pack, *call->inputs[1], given[1], desc.weights_desc())) {
    state->hold(DNNL_ARG_WEIGHTS, packed);
    out_prepared->unread_inputs |= OAR_BIT(1);
  } else {
    state->input(DNNL_ARG_WEIGHTS, 1, given[1], desc.weights_desc());
  }
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
    if (dtype == OAR_DTYPE_BF16 && computed_in(dtype) == memory::data_type::f32 && work >= kSmall &&
        call->n_epilogue == 0) {
      prepare_in_f32(pack, call, p, either.get(), out_prepared);
      out_prepared->state = either.release();
      return;
    }
    const Epilogue epilogue = epilogue_make(call, p);
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
      desc = matmul_desc(pack->engine, a_desc, b_wanted, epilogue.has_bias ? &epilogue.bias : nullptr, out_desc, attr);
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
    if (packs && desc.weights_desc() != b_plain) {
      memory plain(b_plain, pack->engine, b.constant->data);
      memory packed(desc.weights_desc(), pack->engine);
      dnnl::stream stream(pack->engine);
      dnnl::reorder(plain, packed).execute(stream, plain, packed);
      stream.wait();
      state->hold(DNNL_ARG_WEIGHTS, packed);
      out_prepared->unread_inputs |= OAR_BIT(1);
    } else {
      state->bind(DNNL_ARG_WEIGHTS, b_plain, 1);
    }
    state->bind(DNNL_ARG_DST, out_desc, static_cast<int>(call->n_inputs));
    if (epilogue.has_bias) state->bind(DNNL_ARG_BIAS, epilogue.bias, epilogue.bias_operand);
    if (epilogue.relu) state->relu_last();
    for (const Extra& extra : epilogue.extras) state->bind(extra.argument, extra.desc, extra.operand);
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
