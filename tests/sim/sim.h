/* sim.h - what the files of the sim device share, included first. The device is described in README.md. */
#ifndef OARLOCK_SIM_H
#define OARLOCK_SIM_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>

#include "kit.h"

enum { SIM_MAX_DIMS = 16, SIM_TEXT = 192, SIM_QUEUES = 4 };

/* ---------------------------------------------------------------- Memory: sim_memory.c */
typedef enum sim_state {
  SIM_BLOCK_FREE,
  SIM_BLOCK_LIVE,
  SIM_BLOCK_DYING,  /* freed in stream order; only what was enqueued before may still use it */
  SIM_BLOCK_RESTING /* freed and poisoned, kept back for a while so that stale handles are noticed */
} sim_state_t;

typedef struct sim_block {
  uint64_t offset, size_bytes; /* of the stretch of the arena, guard bytes included */
  uint64_t used_bytes;         /* what was asked for */
  uint64_t id;                 /* never used twice */
  sim_state_t state;
} sim_block_t;

/* Where an operand lies: enough to ask again, when the work runs, whether it is still there. */
typedef struct sim_place {
  uint64_t offset;
  uint64_t block_id; /* 0: host memory, or no memory at all */
} sim_place_t;

/* ---------------------------------------------------------------- Faults */
typedef enum sim_fault_kind {
  SIM_FAULT_NONE,
  SIM_FAULT_FAIL,
  SIM_FAULT_FAIL_AT_ONCE,
  SIM_FAULT_HANG,
  SIM_FAULT_LOSE,
  SIM_FAULT_OOM,
  SIM_FAULT_WRONG_SIZE
} sim_fault_kind_t;

typedef struct sim_fault {
  sim_fault_kind_t kind;
  uint64_t at;     /* strikes at this launch, allocation or prepare, counted from 1 */
  bool ever_after; /* and at all later ones */
} sim_fault_t;

/* ---------------------------------------------------------------- Work: sim_stream.c */
typedef enum sim_kind {
  SIM_KERNEL,
  SIM_COPY,
  SIM_FILL,
  SIM_GARBAGE,
  SIM_FREE,
  SIM_RECORD,
  SIM_WAIT,
  SIM_CALL,
  SIM_FORGIVE,
  SIM_FAIL,
  SIM_HANG,
  SIM_LOSE
} sim_kind_t;

typedef struct sim_task {
  struct sim_task* next;
  sim_kind_t kind;
  void* payload;      /* a job, a copy or a fill; freed with the task */
  oar_event_t* event; /* record, wait */
  uint64_t number;    /* record, wait: which recording; forgive: which failure; free, garbage: block id */
  void(OAR_CALL* body)(void* context);
  void* context;
} sim_task_t;

typedef struct sim_failure {
  oar_status_t status;
  uint64_t id;
  char text[SIM_TEXT];
} sim_failure_t;

struct oar_event {
  oar_device_t* device;
  uint32_t references; /* the host's and those of queued tasks */
  uint64_t recorded, done;
  uint64_t stream_id; /* of the last recording that ran */
  sim_failure_t failure;
};

struct oar_stream {
  oar_device_t* device;
  oar_stream_t* next;
  uint64_t id;
  sim_task_t *head, *tail;
  bool running, abandoned;
  uint64_t forgiving; /* failure that a queued SIM_FORGIVE will lift */
  sim_failure_t failure;
};

struct oar_device {
  const oar_host_t* host;
  pthread_mutex_t lock; /* guards everything below but the bytes of the arena */
  pthread_cond_t work;  /* the worker sleeps here */
  pthread_cond_t done;  /* the host's threads sleep here */
  pthread_t worker;
  bool idle, closing, lost;
  uint32_t forced; /* threads that wait: no dawdling meanwhile */
  uint64_t random, delay_us;
  oar_stream_t* streams;
  uint64_t next_id; /* of streams, blocks and failures */

  char* shown;  /* what the host gets: address space without access */
  char* memory; /* the same bytes for the worker, somewhere else */
  uint64_t memory_bytes, used_bytes;
  sim_block_t* blocks; /* without gaps, by offset */
  size_t n_blocks, blocks_capacity;
  uint64_t resting[16]; /* offsets, oldest first */
  uint32_t n_resting, n_dying;

  sim_fault_t fault;
  uint64_t n_launches, n_allocs, n_prepares;
};

struct oar_pack {
  const oar_host_t* host;
  oar_device_t* device;
};

/* sim_memory.c. The caller holds the lock where it says so. */
extern const oar_memory_table_t sim_memory_table;
bool sim_arena_open(oar_device_t* device);
void sim_arena_close(oar_device_t* device);
/* Locked. Finds the live block that holds [data, data + low .. high) and gives the worker's address of data. */
bool sim_locate(oar_device_t* device, const void* data, int64_t low, int64_t high, char** out_memory,
                sim_place_t* out_place);
/* Locked. Is the block of this place still unpoisoned? */
bool sim_alive(oar_device_t* device, const sim_place_t* place);
/* Locked. What SIM_FREE and SIM_GARBAGE do. */
void sim_block_release(oar_device_t* device, uint64_t offset, uint64_t id);
void sim_block_soil(oar_device_t* device, uint64_t offset, uint64_t id);
oar_status_t sim_copy_run(const void* payload);
oar_status_t sim_fill_run(const void* payload);
/* Locked. Are all places of a copy or a fill alive? */
bool sim_copy_alive(oar_device_t* device, const void* payload);
bool sim_fill_alive(oar_device_t* device, const void* payload);

/* sim_stream.c */
extern const oar_stream_table_t sim_stream_table;
void* sim_worker(void* device);
/* Appends a task and wakes the worker. Takes the lock; owns payload even on failure. */
oar_status_t sim_enqueue(oar_stream_t* stream, sim_kind_t kind, void* payload);
/* Locked. */
sim_task_t* sim_append(oar_stream_t* stream, sim_kind_t kind, void* payload);
/* Locked. Waits on done, at most wait_ns, with the worker in a hurry. */
void sim_hurry(oar_device_t* device, uint64_t wait_ns);
uint64_t sim_now_ns(void);

/* sim_device.c */
bool sim_fault_strikes(const sim_fault_t* fault, sim_fault_kind_t kind, uint64_t count);
oar_status_t sim_lost(const oar_host_t* host);

/* ---------------------------------------------------------------- Kernels: sim_pack.c, sim_shapes.c, sim_kernels.c */
typedef struct sim_view {
  char* data;
  sim_place_t place;
  uint32_t dtype, n_dims;
  int64_t count;
  int64_t shape[SIM_MAX_DIMS], strides[SIM_MAX_DIMS];
} sim_view_t;

struct sim_op;

/* A call's attributes, parsed. */
enum { SIM_MAX_STEPS = 6 };
typedef struct sim_step {
  const struct sim_op* op;
  int32_t inputs[3]; /* places among what the epilogue reads; -1: the output so far */
} sim_step_t;

typedef struct sim_plan {
  const struct sim_op* op;
  oar_pack_t* pack;
  uint32_t axes; /* bit i: axis i is reduced */
  bool all_axes, keepdims;
  int64_t axis;
  double value;
  uint32_t n_shape, n_pad;
  int64_t shape[SIM_MAX_DIMS]; /* full, random_uniform; arange: its length */
  int64_t before[SIM_MAX_DIMS], after[SIM_MAX_DIMS], between[SIM_MAX_DIMS];
  int64_t seed[2];
  uint32_t n_own, n_steps; /* the op's own inputs; of the epilogue */
  sim_step_t steps[SIM_MAX_STEPS];
} sim_plan_t;

typedef struct sim_job {
  sim_plan_t plan;
  uint32_t n_inputs; /* the output is views[n_inputs], what the epilogue reads comes after it */
  uint32_t n_views;
  sim_view_t views[];
} sim_job_t;

typedef struct sim_why {
  uint32_t reason;
  int32_t operand;
  char text[SIM_TEXT];
} sim_why_t;

typedef struct sim_op {
  const char* name;
  uint32_t min_inputs, max_inputs;
  /* Do the shapes and dtypes fit this op? views are the inputs and the output. */
  bool (*fits)(const sim_plan_t* plan, uint32_t n_inputs, const sim_view_t* views, sim_why_t* why);
  oar_status_t (*run)(const sim_job_t* job, char* text);
  int which; /* within a family that shares run */
} sim_op_t;

enum {
  SIM_ADD,
  SIM_SUBTRACT,
  SIM_MULTIPLY,
  SIM_DIVIDE,
  SIM_MAXIMUM,
  SIM_EXP,
  SIM_LOG,
  SIM_SQRT,
  SIM_TANH,
  SIM_ERF,
  SIM_EQUAL,
  SIM_LESS,
  SIM_SUM,
  SIM_MAX
};

extern const oar_pack_table_t sim_pack_table;
extern const oar_kernel_table_t sim_kernel_table;
bool sim_refuse(sim_why_t* why, uint32_t reason, int32_t operand, const char* format, ...) OAR_KIT_FORMAT(4, 5);

bool sim_fits_elementwise(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_compare(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_where(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_cast(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_copy(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_shape(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_random(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_reduce(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_matmul(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_gather(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_scatter_add(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_concat(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);
bool sim_fits_pad(const sim_plan_t*, uint32_t, const sim_view_t*, sim_why_t*);

/* sim_epilogue.c. views: the op's inputs, its output, then what the epilogue reads. */
bool sim_epilogue_parse(sim_plan_t* plan, const oar_call_t* call, const sim_view_t* views, sim_why_t* why);
bool sim_epilogue_fits(const sim_plan_t* plan, uint32_t n_views, const sim_view_t* views, sim_why_t* why);
oar_status_t sim_epilogue_run(const sim_job_t* job, char* text);
const oar_kernel_decl_t* sim_decl(oar_str_t op); /* sim_pack.c; NULL: none */

oar_status_t sim_run_unary(const sim_job_t*, char*);
oar_status_t sim_run_binary(const sim_job_t*, char*);
oar_status_t sim_run_compare(const sim_job_t*, char*);
oar_status_t sim_run_where(const sim_job_t*, char*);
oar_status_t sim_run_cast(const sim_job_t*, char*);
oar_status_t sim_run_copy(const sim_job_t*, char*);
oar_status_t sim_run_full(const sim_job_t*, char*);
oar_status_t sim_run_arange(const sim_job_t*, char*);
oar_status_t sim_run_random(const sim_job_t*, char*);
oar_status_t sim_run_reduce(const sim_job_t*, char*);
oar_status_t sim_run_matmul(const sim_job_t*, char*);
oar_status_t sim_run_gather(const sim_job_t*, char*);
oar_status_t sim_run_scatter_add(const sim_job_t*, char*);
oar_status_t sim_run_concat(const sim_job_t*, char*);
oar_status_t sim_run_pad(const sim_job_t*, char*);

#endif
