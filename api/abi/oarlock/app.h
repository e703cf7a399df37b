/* app.h - Oarlock for programs in C: devices, tensors, ops, gradients. C11 and C++.
 *
 *   oar_tensor_t *a, *b, *c;
 *   int32_t device;
 *   oar_device_find(oar_text("cpu"), &device);
 *   oar_tensor_create(OAR_DTYPE_F32, 2, (int64_t[]){2, 3}, values, device, &a);
 *   ...
 *   if (oar_matmul(a, b, &c) != OAR_OK) puts(oar_error_text());
 *
 * Errors.     Every function returns a status. On failure oar_error_text says, for this thread, what disagrees and what to
 *             do; outputs are untouched. Nothing is thrown, nothing aborts.
 * Handles.    A tensor handle is a number in a pointer's clothes: never dereferenced, and checked at each use, so that a
 *             freed, foreign or made-up one is OAR_INVALID_ARGUMENT, not a crash. Each handle that a function gives out is
 *             released once, by oar_tensor_release. Several handles may stand for one tensor.
 * Texts.      Pointer and length (oar_str_t), no ending zero needed; oar_text makes one of a C string.
 * Threads.    Any function on any thread. Reading one tensor from many threads is safe; who writes to it needs a lock.
 * Sizes.      Structs begin with struct_size: set it to sizeof the struct, or use the _INIT macro.
 */
#ifndef OARLOCK_APP_H
#define OARLOCK_APP_H
#include <string.h>

#include "types.h"
#ifdef __cplusplus
extern "C" {
#endif

#ifndef OAR_TENSOR_DEFINED
#define OAR_TENSOR_DEFINED
typedef struct oar_tensor oar_tensor_t;
#endif

static inline oar_str_t oar_text(const char* zero_ended) {
  oar_str_t s;
  s.data = zero_ended;
  s.size = zero_ended ? strlen(zero_ended) : 0;
  return s;
}

/* ---------------------------------------------------------------- Errors, version, settings */
/* Of the last failure on this thread; "" if there was none. Valid until this thread's next call. Zero-ended. */
OAR_EXPORT const char* OAR_CALL oar_error_text(void);
OAR_EXPORT oar_status_t OAR_CALL oar_error_status(void);
OAR_EXPORT const char* OAR_CALL oar_version(void); /* "0.1.0" */
/* See `oarlock settings`. The text names setting, value and what it expects. */
OAR_EXPORT oar_status_t OAR_CALL oar_setting_set(oar_str_t name, oar_str_t value);

/* ---------------------------------------------------------------- Devices and plugins */
/* A device is its index, 0 the host CPU. Plugins on the search path are loaded by the first call that needs them. */
OAR_EXPORT oar_status_t OAR_CALL oar_device_count(int32_t* out_count);
/* "cpu", "sim", "opencl:1". */
OAR_EXPORT oar_status_t OAR_CALL oar_device_find(oar_str_t name, int32_t* out_device);
/* Writes at most capacity bytes, ended by zero if capacity is not 0; *out_size, if given, is the whole length without it. */
OAR_EXPORT oar_status_t OAR_CALL oar_device_name(int32_t device, char* buffer, size_t capacity, size_t* out_size);
/* Waits for everything enqueued so far. */
OAR_EXPORT oar_status_t OAR_CALL oar_device_synchronize(int32_t device);
/* Where this thread's ops without operands (oar_full, oar_arange ...) make their results. */
OAR_EXPORT oar_status_t OAR_CALL oar_device_use(int32_t device);
OAR_EXPORT oar_status_t OAR_CALL oar_device_current(int32_t* out_device);
/* Loads one more plugin. Absolute path. */
OAR_EXPORT oar_status_t OAR_CALL oar_plugin_load(oar_str_t path);

/* Bytes of the caching allocator of a device. */
typedef struct oar_memory_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t in_use_bytes, peak_bytes, reserved_bytes;
} oar_memory_stats_t;
OAR_EXPORT oar_status_t OAR_CALL oar_device_memory(int32_t device, oar_memory_stats_t* out_stats);

/* ---------------------------------------------------------------- Tensors */
/* rank sizes, 0 or more each, rank at most 16; shape may be NULL if rank is 0. bytes: row-major elements in host memory,
 * copied; NULL: uninitialised. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_create(uint32_t dtype, int32_t rank, const int64_t* shape, const void* bytes,
                                                   int32_t device, oar_tensor_t** out_tensor);
/* Refers to the caller's host memory without copying. strides in elements, not negative; NULL: row-major.
 * release(context), if given, is called once when nobody uses the memory any more, from any thread. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_borrow(void* data, uint32_t dtype, int32_t rank, const int64_t* shape,
                                                   const int64_t* strides, void(OAR_CALL* release)(void* context),
                                                   void* context, oar_tensor_t** out_tensor);
/* One more handle for the same tensor. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_retain(oar_tensor_t* tensor, oar_tensor_t** out_tensor);
/* NULL is fine. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_release(oar_tensor_t* tensor);
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_dtype(oar_tensor_t* tensor, uint32_t* out_dtype);
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_device(oar_tensor_t* tensor, int32_t* out_device);
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_count(oar_tensor_t* tensor, int64_t* out_elements);
/* Writes at most capacity sizes; *out_rank is the rank. shape may be NULL if capacity is 0. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_shape(oar_tensor_t* tensor, int32_t capacity, int64_t* shape, int32_t* out_rank);
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_strides(oar_tensor_t* tensor, int32_t capacity, int64_t* strides, int32_t* out_rank);
/* The elements in host memory, laid out by the strides, until the tensor goes; an error on devices the host can't read. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_data(oar_tensor_t* tensor, void** out_data);
/* Waits, then copies all elements row-major; size_bytes is the room at out_bytes. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_read(oar_tensor_t* tensor, void* out_bytes, size_t size_bytes);
/* The one element; waits. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_item(oar_tensor_t* tensor, double* out_value);
/* On that device; another handle for the same tensor if it is there already. Differentiable. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_to(oar_tensor_t* tensor, int32_t device, oar_tensor_t** out_tensor);
/* The same elements, not recorded for gradients. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_detach(oar_tensor_t* tensor, oar_tensor_t** out_tensor);

/* ---------------------------------------------------------------- Ops */
/* Calls any op by name, plugins' ops too; oarlock/ops.h has a typed function for each of ours. attrs in the op's order;
 * fewer than all: the rest are defaults. *out_n: outputs there are; at most capacity handles are written, and if capacity is
 * less nothing runs. */
OAR_EXPORT oar_status_t OAR_CALL oar_op_call(oar_str_t op, oar_tensor_t* const* inputs, size_t n_inputs, const oar_attr_t* attrs,
                                             uint32_t n_attrs, oar_tensor_t** out_tensors, size_t capacity, size_t* out_n);

/* ---------------------------------------------------------------- Gradients */
/* Leaves of a floating dtype only. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_set_requires_grad(oar_tensor_t* tensor, int on);
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_requires_grad(oar_tensor_t* tensor, int* out_on);
/* *out_gradient is NULL while backward has not reached the tensor. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_grad(oar_tensor_t* tensor, oar_tensor_t** out_gradient);
/* gradient NULL: forget it, as before the next step. */
OAR_EXPORT oar_status_t OAR_CALL oar_tensor_set_grad(oar_tensor_t* tensor, oar_tensor_t* gradient);
/* Whether this thread records what it computes; *out_before, if given, is how it was. */
OAR_EXPORT oar_status_t OAR_CALL oar_grad_enable(int on, int* out_before);

enum {
  OAR_BACKWARD_KEEP_GRAPH = 1 << 0,  /* a second backward through the same record may follow */
  OAR_BACKWARD_CREATE_GRAPH = 1 << 1 /* the gradients are themselves recorded, for higher orders */
};
/* Adds d(sum of outputs * seeds) to the gradient of every leaf. seeds NULL: ones, for outputs of a single element. */
OAR_EXPORT oar_status_t OAR_CALL oar_backward(oar_tensor_t* const* outputs, oar_tensor_t* const* seeds, size_t n, uint32_t flags);
/* The gradients of inputs themselves, one each, NULL where none was reached; grad() is left alone. */
OAR_EXPORT oar_status_t OAR_CALL oar_gradients(oar_tensor_t* const* outputs, oar_tensor_t* const* seeds, size_t n,
                                               oar_tensor_t* const* inputs, size_t n_inputs, uint32_t flags,
                                               oar_tensor_t** out_gradients);

/* ---------------------------------------------------------------- Predictors */
/* A saved program made ready to run. Handles are checked like those of tensors; oar_predictor_release ends one. Any number
 * of threads may run one predictor at a time. */
#ifndef OAR_PREDICTOR_DEFINED
#define OAR_PREDICTOR_DEFINED
typedef struct oar_predictor oar_predictor_t;
#endif
typedef struct oar_predictor_config {
  uint32_t struct_size;
  int32_t device;           /* where it runs */
  oar_str_t weights_path;   /* a safetensors file; empty: the one beside the program */
  const oar_str_t* passes_off; /* names of passes to leave out */
  size_t n_passes_off;
  uint64_t max_plan_bytes;  /* memory for intermediate values of the plans that are kept */
  uint32_t max_plans;       /* plans, each for one list of input shapes, that are kept */
  uint32_t threads;         /* that one run uses on the host; 0: the setting "threads" */
} oar_predictor_config_t;
#define OAR_PREDICTOR_CONFIG_INIT \
  { sizeof(oar_predictor_config_t), 0, {NULL, 0}, NULL, 0, (uint64_t)256 << 20, 64, 0 }
/* path: of NAME.oarp, as jit::save and oarlock.jit.save write it. config NULL: as OAR_PREDICTOR_CONFIG_INIT. */
OAR_EXPORT oar_status_t OAR_CALL oar_predictor_create(oar_str_t path, const oar_predictor_config_t* config,
                                                      oar_predictor_t** out_predictor);
/* NULL is fine. A run that is under way ends as it would have. */
OAR_EXPORT oar_status_t OAR_CALL oar_predictor_release(oar_predictor_t* predictor);
OAR_EXPORT oar_status_t OAR_CALL oar_predictor_count(oar_predictor_t* predictor, size_t* out_inputs, size_t* out_outputs);
/* The name of input or output i; see oar_device_name for buffer, capacity and out_size. */
OAR_EXPORT oar_status_t OAR_CALL oar_predictor_input_name(oar_predictor_t* predictor, size_t i, char* buffer, size_t capacity,
                                                          size_t* out_size);
OAR_EXPORT oar_status_t OAR_CALL oar_predictor_output_name(oar_predictor_t* predictor, size_t i, char* buffer, size_t capacity,
                                                           size_t* out_size);
/* Makes the plan for these shapes: one rank per input, and their sizes one after another. */
OAR_EXPORT oar_status_t OAR_CALL oar_predictor_warm_up(oar_predictor_t* predictor, const int32_t* ranks, size_t n_inputs,
                                                       const int64_t* sizes);
/* As many inputs and outputs as there are, in their order. Outputs are new handles, on the predictor's device. */
OAR_EXPORT oar_status_t OAR_CALL oar_predictor_run(oar_predictor_t* predictor, oar_tensor_t* const* inputs, size_t n_inputs,
                                                   oar_tensor_t** out_tensors, size_t n_outputs);

/* ---------------------------------------------------------------- Placement */
/* What ran where since the last reset: a row for every op, device, route and reason. Times are taken while the setting
 * "placement" is on, which waits for the device after every op. */
typedef struct oar_placement_row {
  uint32_t struct_size;
  uint32_t reserved;
  oar_str_t op, device;
  oar_str_t route;  /* "kernel", "decomposition", "reference", "memory copy", "fallback" (to the host), "transfer" */
  oar_str_t plugin; /* whose kernel; empty for the core's */
  oar_str_t reason; /* why nothing better took it */
  uint64_t calls;
  uint64_t host_ns; /* from call to return, with all that was called in between */
  uint64_t bytes;   /* of transfers */
} oar_placement_row_t;
/* Calls row(context, ..) for each on this thread, the longest time first; the texts live until it returns. */
OAR_EXPORT oar_status_t OAR_CALL oar_placement(void(OAR_CALL* row)(void* context, const oar_placement_row_t* row), void* context);
OAR_EXPORT oar_status_t OAR_CALL oar_placement_reset(void);

#ifdef __cplusplus
}
#endif
#include "ops.h"
#endif
