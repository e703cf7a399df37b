/* The arithmetic: row-major operands, sums in double or 64 bits. data[i] holds operand i of the instruction. */
#include <math.h>

#include "npu.h"

static bool real(const npu_tensor_t* t) { return t->dtype == OAR_DTYPE_F32; }

/* Wraps as the dtype does. */
static uint64_t whole(uint32_t opcode, uint64_t a, uint64_t b) {
  switch (opcode) {
    case NPU_ADD: return a + b;
    case NPU_SUBTRACT: return a - b;
    case NPU_MULTIPLY: return a * b;
    default: return (int64_t)a > (int64_t)b ? a : b;
  }
}

static double real_of(uint32_t opcode, double a, double b) {
  switch (opcode) {
    case NPU_ADD: return a + b;
    case NPU_SUBTRACT: return a - b;
    case NPU_MULTIPLY: return a * b;
    default: return a != a || a > b ? a : b; /* NaN wins */
  }
}

void npu_run_binary(const npu_instruction_t* in, char* const* data) {
  const npu_tensor_t *a = &in->operands[0], *b = &in->operands[1], *out = &in->operands[2];
  int64_t a_strides[NPU_MAX_DIMS], b_strides[NPU_MAX_DIMS], i = 0;
  int64_t index[NPU_MAX_DIMS] = {0}, other[NPU_MAX_DIMS] = {0}, at_a = 0, at_b = 0;
  oar_kit_broadcast_strides(out->n_dims, out->shape, a->n_dims, a->shape, NULL, a_strides);
  oar_kit_broadcast_strides(out->n_dims, out->shape, b->n_dims, b->shape, NULL, b_strides);
  do {
    if (real(out))
      oar_kit_store(data[2], out->dtype, i,
                    real_of(in->opcode, oar_kit_load(data[0], a->dtype, at_a), oar_kit_load(data[1], b->dtype, at_b)));
    else
      oar_kit_store_int(
          data[2], out->dtype, i,
          whole(in->opcode, oar_kit_load_int(data[0], a->dtype, at_a), oar_kit_load_int(data[1], b->dtype, at_b)));
    ++i;
    oar_kit_next(out->n_dims, out->shape, b_strides, other, &at_b);
  } while (oar_kit_next(out->n_dims, out->shape, a_strides, index, &at_a));
}

void npu_run_unary(const npu_instruction_t* in, char* const* data) {
  const npu_tensor_t* x = &in->operands[0];
  for (int64_t i = 0, n = npu_count(x); i < n; ++i) {
    if (!real(x)) {
      int64_t v = (int64_t)oar_kit_load_int(data[0], x->dtype, i);
      oar_kit_store_int(data[1], x->dtype, i, (uint64_t)(v > 0 ? v : 0));
      continue;
    }
    double v = oar_kit_load(data[0], x->dtype, i);
    oar_kit_store(data[1], x->dtype, i, in->opcode == NPU_TANH ? tanh(v) : v < 0 ? 0 : v);
  }
}

void npu_run_cast(const npu_instruction_t* in, char* const* data) {
  for (int64_t i = 0, n = npu_count(&in->operands[0]); i < n; ++i)
    oar_kit_convert(data[1], in->operands[1].dtype, i, data[0], in->operands[0].dtype, i);
}

void npu_run_reshape(const npu_instruction_t* in, char* const* data) {
  memmove(data[1], data[0], (size_t)npu_bytes(&in->operands[0]));
}

void npu_run_permute(const npu_instruction_t* in, char* const* data) {
  const npu_tensor_t *x = &in->operands[0], *out = &in->operands[1];
  int64_t strides[NPU_MAX_DIMS], steps[NPU_MAX_DIMS], index[NPU_MAX_DIMS] = {0}, at = 0, i = 0;
  size_t size = oar_kit_dtype_bytes(x->dtype);
  oar_kit_strides(x->n_dims, x->shape, strides);
  for (uint32_t k = 0; k < x->n_dims; ++k) steps[k] = strides[in->options[k]];
  do {
    memcpy(data[1] + (size_t)i++ * size, data[0] + (size_t)at * size, size);
  } while (oar_kit_next(out->n_dims, out->shape, steps, index, &at));
}

void npu_run_matmul(const npu_instruction_t* in, char* const* data) {
  const npu_tensor_t *a = &in->operands[0], *b = &in->operands[1], *out = &in->operands[2];
  uint32_t batch = out->n_dims - 2;
  int64_t m = out->shape[batch], n = out->shape[batch + 1], k = a->shape[a->n_dims - 1];
  int64_t a_strides[NPU_MAX_DIMS], b_strides[NPU_MAX_DIMS], at_a = 0, at_b = 0, i = 0;
  int64_t index[NPU_MAX_DIMS] = {0}, other[NPU_MAX_DIMS] = {0};
  oar_kit_broadcast_strides(batch, out->shape, a->n_dims - 2, a->shape, NULL, a_strides);
  oar_kit_broadcast_strides(batch, out->shape, b->n_dims - 2, b->shape, NULL, b_strides);
  do { /* offsets count matrices */
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column, ++i) {
        double sum = 0;
        uint64_t total = 0;
        for (int64_t p = 0; p < k; ++p) {
          int64_t pa = (at_a * m + row) * k + p, pb = (at_b * k + p) * n + column;
          if (real(out)) sum += oar_kit_load(data[0], a->dtype, pa) * oar_kit_load(data[1], b->dtype, pb);
          else total += oar_kit_load_int(data[0], a->dtype, pa) * oar_kit_load_int(data[1], b->dtype, pb);
        }
        if (real(out)) oar_kit_store(data[2], out->dtype, i, sum);
        else oar_kit_store_int(data[2], out->dtype, i, total);
      }
    oar_kit_next(batch, out->shape, b_strides, other, &at_b);
  } while (oar_kit_next(batch, out->shape, a_strides, index, &at_a));
}

void npu_run_softmax(const npu_instruction_t* in, char* const* data) {
  const npu_tensor_t* x = &in->operands[0];
  const float* from = (const float*)data[0];
  float* to = (float*)data[1];
  int64_t axis = in->options[0], n = x->shape[axis], inner = 1, outer = 1;
  for (uint32_t i = 0; i < x->n_dims; ++i)
    if (i < axis) outer *= x->shape[i];
    else if (i > axis) inner *= x->shape[i];
  for (int64_t row = 0; row < outer * inner; ++row) {
    int64_t at = row / inner * n * inner + row % inner;
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i)
      if (from[at + i * inner] > most) most = from[at + i * inner];
    for (int64_t i = 0; i < n; ++i) sum += exp(from[at + i * inner] - most);
    for (int64_t i = 0; i < n; ++i) to[at + i * inner] = (float)(exp(from[at + i * inner] - most) / sum);
  }
}

/* Where tap (a, b) of the window of output (row, column) lies in an image of h x w: -1 in the padding. */
static int64_t tap(const npu_instruction_t* in, int64_t h, int64_t w, int64_t row, int64_t column, int64_t a,
                   int64_t b) {
  const int64_t* o = in->options;
  int64_t y = row * o[NPU_STRIDE] - o[NPU_BEGIN] + a * o[NPU_DILATION];
  int64_t x = column * o[NPU_STRIDE + 1] - o[NPU_BEGIN + 1] + b * o[NPU_DILATION + 1];
  return y < 0 || y >= h || x < 0 || x >= w ? -1 : y * w + x;
}

void npu_run_conv(const npu_instruction_t* in, char* const* data) {
  const npu_tensor_t *x = &in->operands[0], *w = &in->operands[1], *out = &in->operands[in->n_operands - 1];
  const float *from = (const float*)data[0], *weights = (const float*)data[1];
  const float* bias = in->n_operands == 4 ? (const float*)data[2] : NULL;
  float* to = (float*)data[in->n_operands - 1];
  int64_t h = x->shape[2], width = x->shape[3], part = w->shape[1], kh = w->shape[2], kw = w->shape[3];
  int64_t per_group = w->shape[0] / in->options[NPU_EXTRA], at = 0;
  for (int64_t image = 0; image < out->shape[0]; ++image)
    for (int64_t channel = 0; channel < out->shape[1]; ++channel)
      for (int64_t row = 0; row < out->shape[2]; ++row)
        for (int64_t column = 0; column < out->shape[3]; ++column, ++at) {
          double sum = bias != NULL ? bias[channel] : 0;
          for (int64_t c = 0; c < part; ++c) {
            const float* plane = from + (image * x->shape[1] + channel / per_group * part + c) * h * width;
            const float* kernel = weights + (channel * part + c) * kh * kw;
            for (int64_t a = 0; a < kh; ++a)
              for (int64_t b = 0; b < kw; ++b) {
                int64_t place = tap(in, h, width, row, column, a, b);
                if (place >= 0) sum += (double)plane[place] * kernel[a * kw + b];
              }
          }
          to[at] = (float)sum;
        }
}

void npu_run_pool(const npu_instruction_t* in, char* const* data) {
  const npu_tensor_t *x = &in->operands[0], *out = &in->operands[1];
  int64_t h = x->shape[2], w = x->shape[3], kh = in->options[NPU_KERNEL], kw = in->options[NPU_KERNEL + 1], at = 0;
  double lowest = real(x) ? -INFINITY : x->dtype == OAR_DTYPE_I8 ? INT8_MIN : INT32_MIN;
  for (int64_t plane = 0; plane < out->shape[0] * out->shape[1]; ++plane)
    for (int64_t row = 0; row < out->shape[2]; ++row)
      for (int64_t column = 0; column < out->shape[3]; ++column, ++at) {
        double most = lowest, sum = 0;
        int64_t n = 0;
        for (int64_t a = 0; a < kh; ++a)
          for (int64_t b = 0; b < kw; ++b) {
            int64_t place = tap(in, h, w, row, column, a, b);
            if (place < 0) continue;
            double v = oar_kit_load(data[0], x->dtype, plane * h * w + place);
            most = real_of(NPU_MAXIMUM, v, most);
            sum += v;
            ++n;
          }
        if (in->options[NPU_EXTRA] != 0) n = kh * kw;
        oar_kit_store(data[1], out->dtype, at, in->opcode == NPU_MAX_POOL ? most : n > 0 ? sum / (double)n : 0);
      }
}
