/* npu.h - what the files of the npu share, included first. The device is described in README.md. */
#ifndef OARLOCK_NPU_H
#define OARLOCK_NPU_H
#include <pthread.h>
#include <stdlib.h>

#include "kit.h"

enum {
  NPU_MAX_DIMS = 4,
  NPU_MAX_OPERANDS = 4, /* of an instruction, its output included */
  NPU_MAX_OPTIONS = 12,
  NPU_MAX_PARTS = 1 << 16, /* instructions, inputs and outputs of a program */
  NPU_REVISION = 2
};
#define NPU_SCRATCH_BYTES ((uint64_t)64 << 20)   /* scratch that a program may ask for */
#define NPU_CONSTANT_BYTES ((uint64_t)256 << 20) /* constants that a program may hold */

/* ---------------------------------------------------------------- Device and memory: npu_device.c, npu_memory.c */
typedef struct npu_buffer {
  char* bytes; /* NULL: this place is free */
  uint64_t size_bytes;
  uint32_t generation; /* part of the handle, so that a stale one is noticed */
} npu_buffer_t;

struct oar_device {
  const oar_host_t* host;
  uint64_t revision;
  pthread_mutex_t lock; /* guards the buffers */
  npu_buffer_t* buffers;
  uint32_t n_buffers;
};
struct oar_stream {
  oar_device_t* device;
};
struct oar_event {
  oar_device_t* device;
};
struct oar_pack {
  const oar_host_t* host;
  oar_device_t* device;
};
extern const oar_memory_table_t npu_memory_table;
extern const oar_stream_table_t npu_stream_table;
/* size_bytes of device memory from offset on; NULL if the handle is none, or they are not all inside. */
char* npu_locate(oar_device_t* device, const void* handle, uint64_t offset, uint64_t size_bytes);

/* ---------------------------------------------------------------- Programs: plain data, so that a blob is a copy */
enum { NPU_IN_INPUT = 1, NPU_IN_OUTPUT = 2, NPU_IN_SCRATCH = 3, NPU_IN_CONSTANT = 4 };
typedef struct npu_tensor {
  uint32_t where; /* NPU_IN_ */
  uint32_t dtype;
  uint32_t n_dims;
  uint32_t index;  /* of the input or output */
  uint64_t offset; /* bytes into scratch or constants */
  int64_t shape[NPU_MAX_DIMS];
} npu_tensor_t;

typedef struct npu_instruction {
  uint32_t opcode;     /* place in npu_ops */
  uint32_t n_operands; /* inputs, then the output */
  npu_tensor_t operands[NPU_MAX_OPERANDS];
  int64_t options[NPU_MAX_OPTIONS]; /* as the op's read function laid them out */
} npu_instruction_t;

typedef struct npu_program {
  oar_device_t* device;
  uint32_t n_inputs, n_outputs, n_instructions;
  uint64_t scratch_bytes, constant_bytes;
  npu_tensor_t* inputs;
  npu_tensor_t* outputs;
  npu_instruction_t* instructions;
  char* constants;
} npu_program_t;

typedef struct npu_why {
  uint32_t reason;
  int32_t operand;
  char text[192];
} npu_why_t;
bool npu_refuse(npu_why_t* why, uint32_t reason, int32_t operand, const char* format, ...) OAR_KIT_FORMAT(4, 5);

static inline int64_t npu_count(const npu_tensor_t* t) { return oar_kit_count(t->n_dims, t->shape); }
static inline uint64_t npu_bytes(const npu_tensor_t* t) {
  return (uint64_t)npu_count(t) * oar_kit_dtype_bytes(t->dtype);
}

/* ---------------------------------------------------------------- Ops: npu_ops.c, npu_run.c */
typedef struct npu_op {
  oar_op_range_t range;
  uint32_t min_inputs, max_inputs;
  bool one_dtype; /* all operands have the same */
  /* (optional) Attributes of a call to options. */
  bool (*read)(const oar_call_t* call, int64_t* options, npu_why_t* why);
  /* Do shapes and options fit? Everything run relies on: instructions out of blobs are asked as well. */
  bool (*fits)(const npu_instruction_t* in, npu_why_t* why);
  void (*run)(const npu_instruction_t* in, char* const* data);
} npu_op_t;
extern const npu_op_t npu_ops[]; /* NPU_OPS of them */
extern const oar_op_range_t* const npu_ranges[];

/* The tensor of a value: dtype and shape, if it is one the npu can hold. */
bool npu_tensor_read(const oar_value_t* value, int32_t operand, npu_tensor_t* out_tensor, npu_why_t* why);
/* The instruction of a call, operands without places. False: why not. */
bool npu_instruction_read(const oar_call_t* call, npu_instruction_t* out_instruction, npu_why_t* why);
bool npu_instruction_check(const npu_instruction_t* in, npu_why_t* why);
/* Does this tensor have a dtype and a shape that the npu holds? */
bool npu_tensor_check(const npu_tensor_t* t, int32_t operand, npu_why_t* why);
uint64_t npu_cost_ns(const npu_instruction_t* in);

void npu_run_binary(const npu_instruction_t* in, char* const* data);
void npu_run_unary(const npu_instruction_t* in, char* const* data);
void npu_run_cast(const npu_instruction_t* in, char* const* data);
void npu_run_matmul(const npu_instruction_t* in, char* const* data);
void npu_run_conv(const npu_instruction_t* in, char* const* data);
void npu_run_pool(const npu_instruction_t* in, char* const* data);
void npu_run_softmax(const npu_instruction_t* in, char* const* data);
void npu_run_reshape(const npu_instruction_t* in, char* const* data);
void npu_run_permute(const npu_instruction_t* in, char* const* data);
enum {
  NPU_ADD,
  NPU_SUBTRACT,
  NPU_MULTIPLY,
  NPU_MAXIMUM,
  NPU_RELU,
  NPU_TANH,
  NPU_CAST,
  NPU_MATMUL,
  NPU_CONV,
  NPU_MAX_POOL,
  NPU_AVG_POOL,
  NPU_SOFTMAX,
  NPU_RESHAPE,
  NPU_PERMUTE,
  NPU_OPS
};
/* options of windows: 2 of the kernel (pools), stride, padding at the begin, at the end, dilation, then one of the op's. */
enum { NPU_KERNEL = 0, NPU_STRIDE = 2, NPU_BEGIN = 4, NPU_END = 6, NPU_DILATION = 8, NPU_EXTRA = 10 };

/* ---------------------------------------------------------------- Graphs: npu_claim.c, npu_compile.c, npu_blob.c */
oar_status_t OAR_CALL npu_claim(oar_pack_t* pack, const oar_graph_t* graph, const oar_claim_sink_t* sink);
oar_status_t OAR_CALL npu_compile(oar_pack_t* pack, const oar_graph_t* graph, const oar_options_t* options,
                                  oar_prepared_t* out_prepared);
oar_status_t OAR_CALL npu_launch(void* state, const oar_frame_t* frame);
void OAR_CALL npu_release(void* state);
oar_status_t OAR_CALL npu_save(void* state, const oar_writer_t* writer);
oar_status_t OAR_CALL npu_load(oar_pack_t* pack, oar_str_t blob, oar_prepared_t* out_prepared);
oar_status_t OAR_CALL npu_check_blob(oar_pack_t* pack, oar_str_t blob, oar_verdict_t* out_verdict);
/* Room for a program's parts; NULL without memory. */
npu_program_t* npu_program_create(oar_device_t* device, uint32_t n_inputs, uint32_t n_outputs, uint32_t n_instructions,
                                  uint64_t constant_bytes);

#endif
