/* plugin.h - the contract between Oarlock and a hardware plugin. A draft: anything may change
 * until five kinds of plugin have passed the kit.
 *
 * A plugin is one shared library. It includes this file, links nothing of Oarlock, and exports one
 * symbol, oar_plugin_query. Read in this order: Rules, Types, Calls, then only the tables you offer.
 *
 *   you have                         you offer
 *   an accelerator                   OAR_TABLE_DEVICE, _MEMORY, _STREAM, _PACK, and _KERNEL or _GRAPH
 *   a library for someone's device   OAR_TABLE_PACK, and _KERNEL or _GRAPH (oneDNN for the host, say)
 *   a transport                      OAR_TABLE_COMM alone
 *
 * RULES
 *
 * Sizes.      Every struct begins with struct_size, filled in by whoever makes it, and grows only at the
 *             end. Read a field only if OAR_HAS says it is there; absent or zero means the default. Never
 *             require sizes to be equal. Frozen, without struct_size: oar_str_t, oar_span_t, oar_attr_t,
 *             oar_view_t.
 * Arrays.     An array of structs that may grow is an array of pointers.
 * Out.        The host gives every out_ struct OAR_OUT_ROOM zeroed bytes and sets the fields marked [in].
 *             No out_ struct may outgrow that room, so a newer plugin cannot overrun an older host.
 * Versions.   A table's version counts breaks; additions show in struct_size. Where an old plugin would go
 *             wrong by ignoring an added field, the host sees so from its abi_minor and refuses for it.
 * Errors.     Return a status. Before returning a failure, on that same thread, call host->error_set.
 *             OAR_REFUSED is no failure: it says "not me", with a reason, and the host asks the next.
 *             What goes wrong later, on a queue, sticks to the stream: event_query tells it and leaves it there;
 *             event_sync tells it, and may lift it, so that what is enqueued afterwards runs again.
 * Ownership.  Who creates destroys. Arguments are borrowed until the call returns: copy what you keep.
 *             What a plugin hands out as const lives until the object it came from is closed.
 *             The host closes, destroys and releases only what is idle: no launch of it is in flight.
 * Threads.    Every function carries one of the OAR_ANY_THREAD .. marks below. Start no thread of your
 *             own before device open, pack open or comm create. There is no current device.
 * Process.    Nothing is called at process exit, and the library is never unloaded. After fork() the
 *             child calls nothing. No exception, longjmp or abort crosses this border.
 */
#ifndef OARLOCK_PLUGIN_H
#define OARLOCK_PLUGIN_H
#include "types.h"
#ifdef __cplusplus
extern "C" {
#endif

#define OAR_ABI_VERSION 1u   /* of oar_host_t, oar_plugin_t and all under Types and Calls. Below 100: a draft */
#define OAR_ABI_MINOR 0u     /* counts additions to this file; tells the host what you can have known */
#define OAR_OUT_ROOM 512u    /* bytes of room behind every out_ struct */

typedef struct oar_host oar_host_t;
typedef struct oar_kv oar_kv_t; /* the host's; the rest are yours: define the structs as you like */
typedef struct oar_device oar_device_t;
typedef struct oar_pack oar_pack_t; /* your kernels' state for one device */
typedef struct oar_stream oar_stream_t;
typedef struct oar_event oar_event_t;
typedef struct oar_comm oar_comm_t;

/* ---------------------------------------------------------------- Calls: ops as data */
enum {
  OAR_VALUE_CONSTANT = 1 << 0, /* never changes; for compile it lies in host memory, for prepare where a
                                  launch would find it. The view's device says which */
  OAR_VALUE_HOST = 1 << 1,     /* lies in host memory (see oar_kernel_decl_t.host_inputs) */
  OAR_VALUE_MUTATED = 1 << 2,  /* an input that the op overwrites; in a graph its new value is one more output,
                                  in the same memory */
  OAR_VALUE_LAST_USE = 1 << 3  /* an input nobody reads afterwards */
};

/* A tensor before launch: what check, prepare, claim and compile see. */
typedef struct oar_value {
  uint32_t struct_size;
  uint32_t id;               /* index in oar_graph_t.values; 0 outside graphs */
  uint32_t dtype, flags;
  uint32_t space, n_dims;
  const int64_t* shape;      /* a negative entry -1-k is symbol k; only for OAR_GRAPH_SYMBOLIC */
  const int64_t* strides;    /* if layout is strided */
  oar_layout_t layout;       /* the offer: how it lies, or DENSE or ANY where you may choose */
  uint64_t alignment;        /* bytes that its address is known to divide by */
  const oar_view_t* constant; /* its elements, if it is one. claim may be asked before they are in host memory: NULL */
  oar_str_t name;            /* for messages; may be empty */
} oar_value_t;

/* An op applied to values. One struct serves kernels, epilogues and the nodes of a graph.
 * epilogue: elementwise calls that follow this one, in order. A step's input that is not among
 * this call's inputs is the running value; all others are, at the end of inputs. outputs are those of
 * the last step. Take the epilogue whole or refuse with OAR_REASON_EPILOGUE. */
typedef struct oar_call {
  uint32_t struct_size;
  uint32_t op_version;
  oar_str_t op;
  uint32_t n_inputs, n_outputs, n_attrs, n_epilogue, n_regions, reserved;
  const oar_value_t* const* inputs;  /* an absent optional input is NULL */
  const oar_value_t* const* outputs; /* an output nobody wants is NULL, in the frame as well */
  const oar_attr_t* attrs;
  const struct oar_call* const* epilogue;
  const struct oar_graph* const* regions; /* bodies of if, loop and scan */
  const oar_ext_t* ext;
} oar_call_t;

/* Position of a value among the call's inputs; -1 for the running value of an epilogue. */
static inline int oar_call_input(const oar_call_t* call, const oar_value_t* value) {
  for (uint32_t i = 0; i < call->n_inputs; ++i)
    if (call->inputs[i] == value) return (int)i;
  return -1;
}

enum {
  OAR_REASON_NONE = 0, OAR_REASON_OP, OAR_REASON_VERSION, OAR_REASON_DTYPE, OAR_REASON_SHAPE,
  OAR_REASON_RANK, OAR_REASON_LAYOUT, OAR_REASON_ALIGNMENT, OAR_REASON_ATTRIBUTE, OAR_REASON_EPILOGUE,
  OAR_REASON_DEVICE, OAR_REASON_SPACE, OAR_REASON_MEMORY, OAR_REASON_SLOWER, OAR_REASON_OTHER
};

/* Why not, or at what cost. */
typedef struct oar_verdict {
  uint32_t struct_size;
  uint32_t reason;          /* OAR_REASON_ of a refusal */
  int32_t operand;          /* input i: i; output j: n_inputs + j; -1: none */
  uint32_t reserved;
  uint64_t cost_ns;         /* estimate for one launch if accepted; 0: unknown */
  char* text;               /* [in] room for a sentence a user can act on; may be left empty */
  size_t text_capacity;     /* [in] */
  size_t text_size;         /* bytes written */
} oar_verdict_t;

/* One operand after prepare. It arrives holding the offer; write only what you want otherwise.
 * Where your answer differs from an offer that was no choice, the host puts a reorder or copy there. */
typedef struct oar_choice {
  uint32_t struct_size;
  uint32_t space;           /* memory space the operand must lie in */
  oar_layout_t layout;      /* STRIDED or your token; ANY and DENSE left standing mean row-major */
  int64_t* strides;         /* [in] room for n_dims entries; write through it */
  uint64_t size_bytes;      /* storage an opaque layout needs */
  uint64_t alignment;       /* bytes; 0: the space's own */
} oar_choice_t;

/* A kernel or a compiled graph, ready to launch. */
typedef struct oar_prepared {
  uint32_t struct_size;
  uint32_t workspace_space;
  void* state;              /* yours; goes to launch and release */
  uint64_t workspace_bytes; /* scratch for each launch, allocated by the host */
  uint64_t workspace_alignment;
  uint64_t unread_inputs;   /* bit i: constant input i was absorbed; launch won't read it */
  oar_choice_t* const* inputs;  /* [in] n_inputs of them */
  oar_choice_t* const* outputs; /* [in] */
  oar_verdict_t* verdict;       /* [in] for a refusal */
  uint32_t n_inputs, n_outputs; /* [in] how many choices there are; a blob that load is given may say otherwise */
} oar_prepared_t;

/* One launch. Flat, read-only, valid until launch returns. */
typedef struct oar_frame {
  uint32_t struct_size;
  uint32_t n_inputs, n_outputs, reserved;
  const oar_view_t* const* inputs;
  const oar_view_t* const* outputs;
  oar_span_t workspace;
  oar_stream_t* stream;     /* always your own object (see oar_pack_table_t); else NULL */
  uint64_t correlation;     /* give it back in profiler records */
  const oar_call_t* call;   /* for run: version and attributes, no values; NULL for launch */
  void* host_frame;         /* the host's, for output_alloc */
} oar_frame_t;

/* ---------------------------------------------------------------- Host: what you may call */
enum { OAR_LOG_DEBUG = 0, OAR_LOG_INFO = 1, OAR_LOG_WARNING = 2, OAR_LOG_ERROR = 3 };

/* An op of your own, named "vendor.name" in small letters, digits and _. Register it from device open or pack open, once
 * per open or once for all: the same again is OAR_OK, another under that name is refused. It is then called by name from
 * C++, C and Python, and kernels declare it as any other. All is copied.
 *
 * signature  "(x: T [..., N], optional w: T [N], epsilon: real = 1e-5 >= 0) -> (y: T [..., N]) where T: f32 f64"
 *   operand    [words] name: dtype [dimensions]. In dimensions upper case is found by matching the inputs and equal
 *              wherever it appears, lower case is an attribute, "..." any number and broadcast, "*S" any number and equal,
 *              "N|1" N or 1, "_" not looked at, "?N" (of outputs) known only after the kernel ran; + - * / on them.
 *              dtype: f32, ...; a variable (none: T); the name of a dtype attribute.
 *              words: optional, variadic (the last), host (in host memory), constant (never a gradient), mutated (written
 *              to); of outputs: hidden (for the gradient op alone; at the end; absent when nobody will differentiate)
 *   attribute  name: kind [= default] [>= low] [<= high] [since version], passed to kernels in this order. Kinds: flag
 *              integer real text choice integers reals dim dims axis axes dtype. No default: required. "= none": may be
 *              left out. A choice is all its words, the default first: "mode: choice = nearest|linear"
 *   where      what each type variable may be: dtypes, or float int bool numeric any (default); then promotes or
 *              promotes_to_float if operands may differ and are cast: "where T: float promotes, I: i32 i64"
 * gradient   "acme.swish_gradient(x, grad y) -> (grad x)": an op and what it is called with, in its own order: inputs and
 *            outputs by name, which are then kept, and grad of an output; then what each of its outputs is the gradient
 *            of ("_": of nothing). An attribute of the same name takes this op's value. The gradient op is registered
 *            before, or is one of ours or this very op; if it has a gradient itself, higher orders work.
 * infer      what the signature leaves open: a name that no input gives, say. Asked for each output; must agree with the
 *            signature. Sizes are numbers, outputs in the call have dtypes only. Fail to refuse the call. */
typedef struct oar_op_schema {
  uint32_t struct_size;
  uint32_t version;         /* from 1; rises with any change */
  oar_str_t name;
  oar_str_t signature;
  oar_str_t gradient;       /* empty: not differentiable */
  oar_str_t summary;        /* a sentence for listings; may be empty */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *infer)(const oar_host_t* host, const oar_call_t* call, uint32_t output,
                                                uint32_t* out_n_dims, int64_t* out_shape); /* room for 16; NULL: none */
} oar_op_schema_t;

struct oar_host {
  uint32_t struct_size;
  uint32_t abi_min, abi_max; /* the OAR_ABI_VERSION range this host speaks */
  int32_t log_level;         /* messages below it go nowhere */
  oar_str_t version;         /* of Oarlock, for messages */
  OAR_ANY_THREAD void (OAR_CALL *log)(const oar_host_t* host, int32_t level, oar_str_t text);
  /* Notes text and the vendor's own code for the failure that this thread is about to return.
   * Returns status, so that `return host->error_set(host, OAR_..., native, text);` is one line. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *error_set)(const oar_host_t* host, oar_status_t status, int64_t native, oar_str_t text);
  OAR_ANY_THREAD void* (OAR_CALL *alloc)(const oar_host_t* host, size_t size_bytes, size_t alignment);
  OAR_ANY_THREAD void (OAR_CALL *free)(const oar_host_t* host, void* memory);
  /* Runs body(context, begin, end) over [0, n) in pieces of at least grain, on the one pool of the
   * process, and returns when all is done. For kernels on the host. If you bring OpenMP instead, use
   * at most thread_count threads. Nested calls run serially. */
  OAR_ANY_THREAD void (OAR_CALL *parallel_for)(const oar_host_t* host, int64_t n, int64_t grain,
                                      void (OAR_CALL *body)(void* context, int64_t begin, int64_t end), void* context);
  OAR_ANY_THREAD uint32_t (OAR_CALL *thread_count)(const oar_host_t* host); /* budget of the calling thread */
  /* From run or launch of an OAR_KERNEL_DYNAMIC_OUTPUT kernel: gives output its shape and memory, and
   * *out_view is the finished view. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *output_alloc)(const oar_host_t* host, const oar_frame_t* frame, uint32_t output,
                                              uint32_t n_dims, const int64_t* shape, const oar_view_t** out_view);
  /* Key-value store shared by the ranks of a group. kv_get waits for the key; it writes at most
   * capacity bytes and the true size to *out_size. */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *kv_put)(const oar_host_t* host, oar_kv_t* kv, oar_str_t key, oar_str_t value);
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *kv_get)(const oar_host_t* host, oar_kv_t* kv, oar_str_t key, uint64_t timeout_ns,
                                       void* buffer, size_t capacity, size_t* out_size);
  OAR_ANY_THREAD int (OAR_CALL *cancelled)(const oar_host_t* host); /* poll it in compile and the like */
  /* A failure's text says what is wrong with the schema, or which plugin registered another of that name. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *op_register)(const oar_host_t* host, const oar_op_schema_t* schema);
};

/* Options of open, create and compile: names and values, all text. Ignore unknown names. */
typedef struct oar_options {
  uint32_t struct_size;
  uint32_t n;
  const oar_str_t* names;
  const oar_str_t* values;
  const oar_ext_t* ext;
} oar_options_t;

/* ---------------------------------------------------------------- Device */
enum {
  OAR_SPACE_ADDRESSABLE = 1 << 0, /* data is a pointer in the device's view; arithmetic is fine */
  OAR_SPACE_HOST_ACCESS = 1 << 1, /* the host may read and write through data */
  OAR_SPACE_SELF_POOLED = 1 << 2  /* alloc is fast and stream-ordered: the host shall not pool */
};
typedef struct oar_space_info {
  uint32_t struct_size;
  uint32_t flags;
  oar_str_t name;                 /* "hbm", "sram", "pinned" */
  uint64_t size_bytes;            /* 0: unknown */
  uint64_t alignment;             /* of every allocation and every tensor inside one */
} oar_space_info_t;
typedef struct oar_device_info {
  uint32_t struct_size;
  int32_t dlpack_kind;            /* DLPack device type; 12 (extension) if it has none */
  oar_str_t kind;                 /* "cuda", "opencl", "acme-npu": what packs match on */
  oar_str_t name;                 /* as on the box */
  oar_str_t uuid;                 /* stable across processes and reboots */
  oar_str_t pci_address;          /* "0000:65:00.0"; empty: none */
  uint32_t n_spaces, n_queues;
  const oar_space_info_t* const* spaces; /* space 0 is where tensors live by default */
  uint64_t storage_dtypes;        /* mask: may be stored and copied */
  uint64_t compute_dtypes;        /* mask: computed natively */
} oar_device_info_t;
typedef struct oar_device_stats {
  uint32_t struct_size;
  uint32_t utilisation_percent;
  uint64_t memory_used_bytes, memory_free_bytes, power_milliwatt;
  int64_t temperature_millicelsius;
} oar_device_stats_t;
typedef struct oar_device_table {
  uint32_t struct_size;
  uint32_t version;               /* OAR_DEVICE_VERSION */
  /* No device is *out_n 0 and OAR_OK. A driver too old is a failure with a text. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *enumerate)(const oar_host_t* host, uint32_t* out_n, const oar_device_info_t* const** out_infos);
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *open)(const oar_host_t* host, uint32_t index, const oar_options_t* options, oar_device_t** out_device);
  OAR_ONE_THREAD void (OAR_CALL *close)(oar_device_t* device);
  /* (optional) The vendor's own handle, as the kind's page in the documentation defines it. */
  OAR_QUICK void* (OAR_CALL *native)(oar_device_t* device);
  /* (optional) Bytes per microsecond for copies from a to b, both yours; 0: only through the host. */
  OAR_ANY_THREAD uint64_t (OAR_CALL *link)(oar_device_t* a, oar_device_t* b);
  OAR_ANY_THREAD oar_status_t (OAR_CALL *stats)(oar_device_t* device, oar_device_stats_t* out_stats); /* (optional) */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *health)(oar_device_t* device);     /* (optional) OAR_OK or OAR_DEVICE_LOST */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *self_check)(oar_device_t* device);  /* (optional) seconds; for `oarlock doctor` */
} oar_device_table_t;

/* ---------------------------------------------------------------- Memory */
/* A box of bytes. size_bytes contiguous bytes, repeated over n_dims outer dimensions, outermost first.
 * A side whose on_host is set is a host pointer; else it lies on the stream's device, or on one that
 * link() reaches. Between two plugins the host imports an exported handle, or goes through its own memory. */
typedef struct oar_region {
  uint32_t struct_size;
  uint32_t n_dims;
  void *dst, *src;
  uint64_t dst_offset, src_offset; /* bytes */
  uint8_t dst_on_host, src_on_host, reserved[6];
  uint64_t size_bytes;
  const int64_t* counts;
  const int64_t* dst_strides;      /* bytes */
  const int64_t* src_strides;
} oar_region_t;

enum { OAR_HANDLE_HOST_POINTER = 1, OAR_HANDLE_DMABUF = 2, OAR_HANDLE_IPC = 3, OAR_HANDLE_NATIVE = 4 };
typedef struct oar_handle {
  uint32_t struct_size;
  uint32_t kind;                   /* OAR_HANDLE_ */
  uint64_t size_bytes;
  int64_t fd;                      /* DMABUF; the importer closes it */
  void* pointer;                   /* HOST_POINTER, NATIVE */
  uint8_t bytes[64];               /* IPC: the vendor's own, for another process with the same kind of device */
} oar_handle_t;
typedef struct oar_memory_table {
  uint32_t struct_size;
  uint32_t version;                /* OAR_MEMORY_VERSION */
  /* stream NULL: usable at once by everyone. Otherwise usable by what is enqueued on stream from now
   * on, and others wait for an event of it. size_bytes 0 yields a handle that can be freed. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *alloc)(oar_device_t* device, uint32_t space, uint64_t size_bytes, uint64_t alignment,
                                       oar_stream_t* stream, void** out_data);
  /* stream NULL: nobody uses it any more. Otherwise free once what stream holds now has run. */
  OAR_ANY_THREAD void (OAR_CALL *free)(oar_device_t* device, uint32_t space, void* data, oar_stream_t* stream);
  /* Asynchronous. Host memory must stay until an event after it has passed. */
  OAR_ONE_THREAD oar_status_t (OAR_CALL *copy)(oar_stream_t* stream, uint32_t n, const oar_region_t* const* regions);
  OAR_ONE_THREAD oar_status_t (OAR_CALL *fill)(oar_stream_t* stream, const oar_span_t* span, uint64_t pattern, uint32_t pattern_bytes);
  /* (optional) Make existing host memory fast to copy from. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *pin)(oar_device_t* device, void* memory, uint64_t size_bytes);
  OAR_ANY_THREAD void (OAR_CALL *unpin)(oar_device_t* device, void* memory);
  /* (optional) Share memory with another plugin or process. OAR_REFUSED for kinds you can't. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *export_handle)(oar_device_t* device, void* data, uint32_t kind, oar_handle_t* out_handle);
  OAR_ANY_THREAD oar_status_t (OAR_CALL *import_handle)(oar_device_t* device, const oar_handle_t* handle, void** out_data);
  OAR_ANY_THREAD void (OAR_CALL *import_release)(oar_device_t* device, void* data);
} oar_memory_table_t;

/* ---------------------------------------------------------------- Stream */
/* A stream runs what it is given in order. An event is a mark on a stream; recording it again moves it. */
typedef struct oar_stream_table {
  uint32_t struct_size;
  uint32_t version;                /* OAR_STREAM_VERSION */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *create)(oar_device_t* device, uint32_t queue, int32_t priority, oar_stream_t** out_stream);
  OAR_ONE_THREAD void (OAR_CALL *destroy)(oar_stream_t* stream);
  OAR_ONE_THREAD oar_status_t (OAR_CALL *flush)(oar_stream_t* stream);  /* (optional) hand over what is batched */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *event_create)(oar_device_t* device, oar_event_t** out_event);
  OAR_ONE_THREAD void (OAR_CALL *event_destroy)(oar_event_t* event);
  OAR_ONE_THREAD oar_status_t (OAR_CALL *event_record)(oar_stream_t* stream, oar_event_t* event);
  OAR_ONE_THREAD oar_status_t (OAR_CALL *event_wait)(oar_stream_t* stream, oar_event_t* event);
  OAR_ANY_THREAD oar_status_t (OAR_CALL *event_query)(oar_event_t* event);  /* OAR_OK, OAR_NOT_READY or the stream's error */
  /* As event_query, but waits; UINT64_MAX: as long as it takes. Else OAR_TIMEOUT. */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *event_sync)(oar_event_t* event, uint64_t timeout_ns);
  /* (optional) Work from outside: adopt the vendor's own queue, or give ours out. Both borrow. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *wrap_native)(oar_device_t* device, void* native, oar_stream_t** out_stream);
  OAR_QUICK void* (OAR_CALL *native)(oar_stream_t* stream);
  /* (optional) Calls body from a thread of yours, in stream order. body doesn't block. */
  OAR_ONE_THREAD oar_status_t (OAR_CALL *host_call)(oar_stream_t* stream, void (OAR_CALL *body)(void* context), void* context);
  /* (optional) An event that the host completes. With host_call it chains streams of two plugins;
   * without it the host blocks a thread there. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *event_arm)(oar_event_t* event);
  OAR_ANY_THREAD oar_status_t (OAR_CALL *event_signal)(oar_event_t* event);
} oar_stream_table_t;

/* ---------------------------------------------------------------- Pack */
/* Your kernels and compilers for one device, which may be your own or another plugin's. */
typedef struct oar_device_ref {
  uint32_t struct_size;
  uint32_t index;                  /* the host's; as in oar_view_t */
  const oar_device_info_t* info;
  oar_device_t* device;            /* if it is your own; otherwise NULL */
  void* native;                    /* the owner's device native(); the host CPU: NULL */
} oar_device_ref_t;
typedef struct oar_pack_table {
  uint32_t struct_size;
  uint32_t version;                /* OAR_PACK_VERSION */
  /* Asked for every open device, the host CPU ("cpu") included. OAR_REFUSED: nothing for that one. */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *open)(const oar_host_t* host, const oar_device_ref_t* device, const oar_options_t* options,
                                     oar_pack_t** out_pack);
  OAR_ONE_THREAD void (OAR_CALL *close)(oar_pack_t* pack);
  /* (optional) On your own device frame->stream is your own stream. Elsewhere it is what this made, once
   * per pack and stream, from the stream's native(); without it, NULL. Library handles live there. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *stream_open)(oar_pack_t* pack, void* native, oar_stream_t** out_stream);
  OAR_ONE_THREAD void (OAR_CALL *stream_close)(oar_pack_t* pack, oar_stream_t* stream);
} oar_pack_table_t;

/* ---------------------------------------------------------------- Kernel */
enum {
  OAR_KERNEL_DETERMINISTIC = 1 << 0, /* same bits every time */
  OAR_KERNEL_CAPTURABLE = 1 << 1,    /* fit for capture_begin: no host work, no synchronisation */
  OAR_KERNEL_DYNAMIC_OUTPUT = 1 << 2,/* calls output_alloc, and may block to learn a size */
  OAR_KERNEL_REENTRANT = 1 << 3,     /* one state may be launched from several threads at once */
  OAR_KERNEL_ANY_SHAPE = 1 << 4      /* one state serves all shapes and strides of these ranks and dtypes */
};
/* A kernel as constant data: coverage is listed without running any of it.
 * Give run alone, or prepare, launch and release together. */
typedef struct oar_kernel_decl {
  uint32_t struct_size;
  uint32_t flags;                  /* OAR_KERNEL_ */
  oar_str_t op;
  uint32_t op_min, op_max;         /* op versions it implements, both included */
  int32_t priority;                /* higher is asked first; libraries 100, plain loops 0 */
  uint32_t n_masks;
  const uint64_t* dtypes;          /* masks of inputs, then outputs; the last one serves the rest */
  uint64_t host_inputs;            /* bit i: input i lies in host memory and is read during launch. Scalars,
                                      shapes, axes. Bit 63 speaks for all later ones, in every such mask */
  const int8_t* inplace;           /* per output: input whose memory it may take over, or -1; NULL: none */
  const void* user;                /* yours */
  /* (optional) Looks and touches nothing. NULL: the masks say it all. OAR_OK or OAR_REFUSED. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *check)(oar_pack_t* pack, const struct oar_kernel_decl* decl, const oar_call_t* call,
                                       oar_verdict_t* out_verdict);
  OAR_ANY_THREAD oar_status_t (OAR_CALL *prepare)(oar_pack_t* pack, const struct oar_kernel_decl* decl, const oar_call_t* call,
                                         oar_prepared_t* out_prepared);
  /* No allocation, no host callback but parallel_for, thread_count, output_alloc and error_set. */
  OAR_ONE_THREAD oar_status_t (OAR_CALL *launch)(void* state, const oar_frame_t* frame);
  OAR_ONE_THREAD void (OAR_CALL *release)(void* state);
  OAR_ANY_THREAD oar_status_t (OAR_CALL *run)(oar_pack_t* pack, const struct oar_kernel_decl* decl, const oar_frame_t* frame);
  oar_str_t source_file;           /* (optional) where the kernel is declared, for traces: "backends/acme/matmul.c" */
  uint32_t source_line, reserved;
} oar_kernel_decl_t;

typedef struct oar_kernel_table {
  uint32_t struct_size;
  uint32_t version;                /* OAR_KERNEL_VERSION */
  /* The same answer for the life of the pack. pack NULL: everything you have for any device, so that
   * coverage can be listed where there is no hardware. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *declarations)(oar_pack_t* pack, uint32_t* out_n, const oar_kernel_decl_t* const** out_decls);
  /* (optional) Several launches in one call, all on one stream, in order; decls[i] made states[i].
   * Stops at the first failure; *out_done counts what was enqueued before it. */
  OAR_ONE_THREAD oar_status_t (OAR_CALL *launch_many)(oar_stream_t* stream, uint32_t n, const oar_kernel_decl_t* const* decls,
                                             void* const* states, const oar_frame_t* const* frames, uint32_t* out_done);
} oar_kernel_table_t;

/* ---------------------------------------------------------------- Graph */
/* Nodes in an order that can be executed. Nothing here is serialised: plain memory, borrowed. */
typedef struct oar_graph {
  uint32_t struct_size;
  uint32_t n_values, n_nodes, n_inputs, n_outputs, n_symbols;
  const oar_value_t* const* values;
  const oar_call_t* const* nodes;
  const oar_value_t* const* inputs;  /* constants are not inputs: compile copies what a launch needs of them */
  const oar_value_t* const* outputs;
  const oar_str_t* symbols;          /* names of symbolic dimensions */
  const int64_t* symbol_min;
  const int64_t* symbol_max;
  const oar_ext_t* ext;
} oar_graph_t;

/* Where a plugin puts its claims. A group of nodes will come back to compile as a graph of its own, whose inputs and
 * outputs a launch gets in their order there. A node goes to one group; the host drops groups that can't be: with a node
 * that ops doesn't match, with one that is taken, or where another has to run between two of theirs. Call refuse for nodes
 * that you looked at and left. */
typedef struct oar_claim_sink {
  uint32_t struct_size;
  uint32_t reserved;
  OAR_ANY_THREAD void (OAR_CALL *take)(const struct oar_claim_sink* sink, uint32_t n, const uint32_t* nodes, uint64_t cost_ns);
  OAR_ANY_THREAD void (OAR_CALL *refuse)(const struct oar_claim_sink* sink, uint32_t node, uint32_t reason, oar_str_t text);
} oar_claim_sink_t;
typedef struct oar_writer {
  uint32_t struct_size;
  uint32_t reserved;
  OAR_ANY_THREAD oar_status_t (OAR_CALL *write)(const struct oar_writer* writer, const void* bytes, size_t size);
} oar_writer_t;
/* An op that the plugin can read. Nodes that match none are shown, but can't be claimed. */
typedef struct oar_op_range {
  uint32_t struct_size;
  uint32_t op_min, op_max, reserved; /* op versions, as in a kernel declaration */
  oar_str_t op;
  uint64_t dtypes;
} oar_op_range_t;

enum { OAR_GRAPH_SYMBOLIC = 1 << 0, OAR_GRAPH_REGIONS = 1 << 1, OAR_GRAPH_DYNAMIC_OUTPUT = 1 << 2 };
typedef struct oar_graph_table {
  uint32_t struct_size;
  uint32_t version;                /* OAR_GRAPH_VERSION */
  uint32_t flags;                  /* OAR_GRAPH_: what you can read, else it is not shown to you */
  uint32_t n_ops;
  const oar_op_range_t* const* ops;
  /* Offer claim and compile, or capture, or both; launch and release always. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *claim)(oar_pack_t* pack, const oar_graph_t* graph, const oar_claim_sink_t* sink);
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *compile)(oar_pack_t* pack, const oar_graph_t* graph, const oar_options_t* options,
                                        oar_prepared_t* out_prepared);
  OAR_ONE_THREAD oar_status_t (OAR_CALL *launch)(void* state, const oar_frame_t* frame);
  OAR_ONE_THREAD void (OAR_CALL *release)(void* state);
  /* (optional) Blobs go to disk and to other machines. The host adds its own header and checksum, and
   * hands back the bytes that were written. Treat them as hostile. check_blob: OAR_OK, OAR_RECOMPILE or OAR_REFUSED. */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *save)(void* state, const oar_writer_t* writer);
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *load)(oar_pack_t* pack, oar_str_t blob, oar_prepared_t* out_prepared);
  OAR_ANY_THREAD oar_status_t (OAR_CALL *check_blob)(oar_pack_t* pack, oar_str_t blob, oar_verdict_t* out_verdict);
  /* (optional) Record launches instead of running them. The result replays with the addresses and the
   * host inputs of that moment; the host keeps that memory and copies inputs in. frame has no operands. */
  OAR_ONE_THREAD oar_status_t (OAR_CALL *capture_begin)(oar_stream_t* stream);
  OAR_ONE_THREAD oar_status_t (OAR_CALL *capture_end)(oar_stream_t* stream, oar_prepared_t* out_prepared);
} oar_graph_table_t;

/* ---------------------------------------------------------------- Communicator */
enum {
  OAR_COMM_BARRIER = 1, OAR_COMM_BROADCAST, OAR_COMM_ALL_REDUCE, OAR_COMM_REDUCE, OAR_COMM_ALL_GATHER,
  OAR_COMM_REDUCE_SCATTER, OAR_COMM_ALL_TO_ALL, OAR_COMM_GATHER, OAR_COMM_SCATTER, OAR_COMM_SEND, OAR_COMM_RECV
};
enum { OAR_REDUCE_SUM = 1, OAR_REDUCE_PRODUCT, OAR_REDUCE_MIN, OAR_REDUCE_MAX, OAR_REDUCE_MEAN };

typedef struct oar_collective {
  uint32_t struct_size;
  uint32_t kind;                   /* OAR_COMM_ */
  uint32_t reduction;              /* OAR_REDUCE_ */
  int32_t peer;                    /* root, source or destination */
  oar_comm_t* comm;
  void* stream;                    /* native() of a stream of the group's device; NULL on the host */
  const oar_view_t* input;         /* dense; NULL where the kind has none */
  const oar_view_t* output;        /* dense; may be the input's memory */
  const int64_t* input_counts;     /* ALL_TO_ALL: elements per rank; NULL: equal shares */
  const int64_t* output_counts;
  uint64_t correlation;
} oar_collective_t;
typedef struct oar_comm_config {
  uint32_t struct_size;
  uint32_t rank, size, reserved;
  oar_str_t name;                  /* unique among the groups of a job: prefix your keys with it */
  oar_kv_t* kv;                    /* rank 0 puts its address or unique id here */
  const oar_device_ref_t* device;  /* whose memory the views will be in; NULL: host memory */
  uint64_t timeout_ns;             /* for create and for every collective that blocks */
  const oar_options_t* options;
  const oar_ext_t* ext;
} oar_comm_config_t;
typedef struct oar_comm_table {
  uint32_t struct_size;
  uint32_t version;                /* OAR_COMM_VERSION */
  uint64_t kinds;                  /* mask of OAR_COMM_ offered; the host composes the rest */
  /* Waits for all ranks. A process with several ranks calls it from as many threads. */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *create)(const oar_host_t* host, const oar_comm_config_t* config, oar_comm_t** out_comm);
  OAR_ONE_THREAD void (OAR_CALL *destroy)(oar_comm_t* comm);
  /* n items as one group: none has to be enqueued before all are known, so sends and receives, and
   * several communicators of one thread, can't deadlock. On device memory it enqueues; on host memory
   * it may block, and the host calls it from a thread kept for that. */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *submit)(uint32_t n, const oar_collective_t* const* items);
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *split)(oar_comm_t* comm, int32_t color, int32_t key, oar_comm_t** out_comm); /* (optional) */
  OAR_QUICK oar_status_t (OAR_CALL *async_error)(oar_comm_t* comm); /* OAR_OK, OAR_PEER_LOST, OAR_TIMEOUT, .. */
  /* What waits in submit returns OAR_CANCELLED, at the latest when its timeout ends. */
  OAR_ANY_THREAD void (OAR_CALL *abort)(oar_comm_t* comm);
} oar_comm_table_t;

/* ---------------------------------------------------------------- Profiler */
enum { OAR_SPAN_KERNEL = 1, OAR_SPAN_COPY = 2, OAR_SPAN_GRAPH = 3, OAR_SPAN_COMM = 4, OAR_SPAN_OTHER = 5 };
typedef struct oar_record {
  uint32_t struct_size;
  uint32_t kind;                   /* OAR_SPAN_ */
  uint64_t begin_ticks, end_ticks; /* of the device's clock */
  uint64_t correlation;            /* the frame's or collective's; 0: none */
  uint64_t stream_id, size_bytes;
  oar_str_t name;
} oar_record_t;
typedef struct oar_profiler_table {
  uint32_t struct_size;
  uint32_t version;                /* OAR_PROFILER_VERSION */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *start)(oar_device_t* device, uint64_t kinds); /* mask of OAR_SPAN_ */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *stop)(oar_device_t* device);
  /* Hands over what is complete, and forgets it. */
  OAR_MAY_BLOCK oar_status_t (OAR_CALL *drain)(oar_device_t* device, void (OAR_CALL *sink)(void* context, const oar_record_t* record), void* context);
  /* (optional) Both clocks at one moment, as near as can be; the host fits a line through several. */
  OAR_ANY_THREAD oar_status_t (OAR_CALL *clock_sample)(oar_device_t* device, uint64_t* out_device_ticks, uint64_t* out_host_ns);
} oar_profiler_table_t;

/* ---------------------------------------------------------------- Entry */
enum {
  OAR_TABLE_DEVICE = 1, OAR_TABLE_MEMORY = 2, OAR_TABLE_STREAM = 3, OAR_TABLE_PACK = 4, OAR_TABLE_KERNEL = 5,
  OAR_TABLE_GRAPH = 6, OAR_TABLE_COMM = 7, OAR_TABLE_PROFILER = 8 /* vendors' own tables: vendor << 32 | number */
};
enum {
  OAR_DEVICE_VERSION = 1, OAR_MEMORY_VERSION = 1, OAR_STREAM_VERSION = 1, OAR_PACK_VERSION = 1, OAR_KERNEL_VERSION = 1,
  OAR_GRAPH_VERSION = 1, OAR_COMM_VERSION = 1, OAR_PROFILER_VERSION = 1
};
typedef struct oar_plugin {
  uint32_t struct_size;
  uint32_t abi_min, abi_max;       /* the OAR_ABI_VERSION range you speak */
  uint32_t abi_minor;              /* OAR_ABI_MINOR */
  oar_str_t name, vendor, version, build_target;
  /* A constant struct, or NULL if you have no table of that id with a version in [min, max]. Every
   * table begins with struct_size and version; give the highest version in the range. */
  OAR_ANY_THREAD const void* (OAR_CALL *get_table)(const oar_host_t* host, uint64_t id, uint32_t min, uint32_t max);
} oar_plugin_t;

/* The one exported symbol. Must be cheap: touch no driver here. host is yours alone (every plugin gets
 * its own) and stays valid for ever. */
OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin);

/* Write OAR_PLUGIN_NOTE(min, max); once at file scope: the same range as a read-only ELF note, so that
 * a plugin of another age is refused before any of its code runs. */
#define OAR_PLUGIN_NOTE(min, max)                                                                   \
  __attribute__((section(".note.oarlock"), used, aligned(4))) static const struct {                 \
    uint32_t name_size, desc_size, type;                                                            \
    char name[8];                                                                                   \
    uint32_t abi_min, abi_max;                                                                      \
  } oar_plugin_note = {8, 8, 1, "Oarlock", (min), (max)}

#ifdef __cplusplus
}
#endif
#endif
