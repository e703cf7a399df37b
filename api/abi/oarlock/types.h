/* types.h - the plain types that Oarlock's two C headers share: app.h (for programs) and plugin.h (for
 * vendors). C11 and C++, nothing but <stddef.h> and <stdint.h>. Every integer has a fixed width and every
 * struct the same layout on each compiler and platform that a lock file names.
 */
#ifndef OARLOCK_TYPES_H
#define OARLOCK_TYPES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The calling convention of every function and function pointer of this interface. */
#if defined(_WIN32)
#define OAR_CALL __cdecl
#else
#define OAR_CALL
#endif

/* Visible outside a shared library. */
#if defined(_WIN32)
#define OAR_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define OAR_EXPORT __attribute__((visibility("default")))
#else
#define OAR_EXPORT
#endif

/* Is field there? Works on any struct that begins with struct_size. */
#define OAR_HAS(ptr, field)                                                                         \
  ((size_t)((const char*)&(ptr)->field - (const char*)(ptr)) + sizeof((ptr)->field) <=              \
   (size_t)(ptr)->struct_size)

/* Thread marks. Nothing to a compiler; the generator builds with OAR_GENERATOR and reads pragmas.
 *   OAR_ANY_THREAD  may run on many threads at once, also on one object
 *   OAR_ONE_THREAD  one thread at a time per first argument, and per stream wherever it is passed;
 *                   not always the same thread
 *   OAR_MAY_BLOCK   any thread, and may wait for other ranks, the device or the disk
 *   OAR_QUICK       any thread, must neither block nor allocate nor call the host */
#ifdef OAR_GENERATOR
#define OAR_ANY_THREAD _Pragma("oar any_thread")
#define OAR_ONE_THREAD _Pragma("oar one_thread")
#define OAR_MAY_BLOCK _Pragma("oar may_block")
#define OAR_QUICK _Pragma("oar quick")
#else
#define OAR_ANY_THREAD
#define OAR_ONE_THREAD
#define OAR_MAY_BLOCK
#define OAR_QUICK
#endif

/* Text or bytes: pointer and length, UTF-8 where it is text, no ending zero promised. */
typedef struct oar_str {
  const char* data;
  size_t size;
} oar_str_t;
#define OAR_STR(literal) { (literal), sizeof(literal) - 1 }

typedef int32_t oar_status_t;
enum {
  OAR_OK = 0,
  OAR_REFUSED = 1,           /* positive ones are no errors. Ask someone else; the verdict says why */
  OAR_RECOMPILE = 2,         /* the saved blob is sound but out of date */
  OAR_NOT_READY = 3,         /* event_query before completion */
  OAR_INVALID_ARGUMENT = -1, OAR_OUT_OF_MEMORY = -2,
  OAR_UNSUPPORTED = -3,      /* also: an unknown must-understand extension */
  OAR_TIMEOUT = -4, OAR_CANCELLED = -5,
  OAR_DEVICE_LOST = -6,      /* every object of this device is dead; only close and destroy follow */
  OAR_PEER_LOST = -7,        /* a rank of the communicator is gone */
  OAR_BAD_DATA = -8,         /* a blob or an imported handle does not check out */
  OAR_INTERNAL = -9          /* anything else; the vendor's own code goes to error_set */
};

/* Element types. The number is also the bit in a 64-bit dtype mask, so there are never more than 64.
 * Types below 8 bits lie packed, low bits first, with no padding; a view of them starts on a byte. */
typedef enum oar_dtype {
  OAR_DTYPE_NONE = 0, OAR_DTYPE_BOOL = 1, /* one byte, 0 or 1 */
  OAR_DTYPE_I8 = 2, OAR_DTYPE_I16 = 3, OAR_DTYPE_I32 = 4, OAR_DTYPE_I64 = 5,
  OAR_DTYPE_U8 = 6, OAR_DTYPE_U16 = 7, OAR_DTYPE_U32 = 8, OAR_DTYPE_U64 = 9,
  OAR_DTYPE_F16 = 10, OAR_DTYPE_BF16 = 11, OAR_DTYPE_F32 = 12, OAR_DTYPE_F64 = 13,
  OAR_DTYPE_C64 = 14, OAR_DTYPE_C128 = 15,
  OAR_DTYPE_F8_E4M3 = 16, OAR_DTYPE_F8_E5M2 = 17, /* finite-only, and IEEE-like */
  OAR_DTYPE_F8_E4M3_UZ = 18, OAR_DTYPE_F8_E5M2_UZ = 19, /* one zero, one NaN */
  OAR_DTYPE_F8_E8M0 = 20, /* power-of-two scale of a block */
  OAR_DTYPE_I4 = 24, OAR_DTYPE_U4 = 25, OAR_DTYPE_I2 = 26, OAR_DTYPE_U2 = 27,
  OAR_DTYPE_F4_E2M1 = 28, OAR_DTYPE_F6_E2M3 = 29, OAR_DTYPE_F6_E3M2 = 30
} oar_dtype_t;
#define OAR_BIT(n) ((uint64_t)1 << (n))

/* An extension hangs on a struct that has an ext field. Its id is vendor << 32 | number, and bit 31
 * set means: if you don't know it, refuse the whole call with OAR_UNSUPPORTED. Otherwise skip it.
 * Extensions hold no pointer but next, so that a layer or a proxy may copy one it doesn't know. */
typedef struct oar_ext {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t id;
  const struct oar_ext* next;
} oar_ext_t;
#define OAR_EXT_MUST_UNDERSTAND OAR_BIT(31)

/* First must-understand extension that is not among known[n]; NULL if all is well. */
static inline const oar_ext_t* oar_ext_unknown(const oar_ext_t* ext, const uint64_t* known, size_t n) {
  for (; ext != NULL; ext = ext->next) {
    size_t i = 0;
    while (i < n && known[i] != ext->id) ++i;
    if (i == n && (ext->id & OAR_EXT_MUST_UNDERSTAND) != 0) return ext;
  }
  return NULL;
}

/* How elements lie in memory.
 *   0    OAR_LAYOUT_STRIDED  as the strides say (counted in elements, may be 0; never negative)
 *   1    OAR_LAYOUT_DENSE    only in an offer: strided, and you choose the strides
 *   2    OAR_LAYOUT_ANY      only in an offer: anything you like
 *   256+ a token of your own: blocked, packed, tiled. The host compares tokens, allocates the
 *        size_bytes you ask for, and knows no more. A token never reaches another plugin or a file.
 * Who hands out tokens also declares the op "reorder" between them and strided, both ways. */
typedef uint64_t oar_layout_t;
enum { OAR_LAYOUT_STRIDED = 0, OAR_LAYOUT_DENSE = 1, OAR_LAYOUT_ANY = 2, OAR_LAYOUT_OPAQUE = 256 };

/* A tensor at launch. The first 48 bytes are laid out as DLPack's DLTensor.
 * data is what memory alloc returned. In an addressable space it is a pointer, the host has already
 * added the offset, and byte_offset is 0. In any other space it is your handle (a cl_mem, say), nobody
 * else does arithmetic on it, and the tensor begins byte_offset bytes into it.
 * A tensor of no elements may have data NULL; a call whose outputs are all empty is not launched.
 * Frozen: 64 bytes. */
typedef struct oar_view {
  void* data;
  struct { int32_t kind, index; } device;               /* DLPack device type; the host's index */
  int32_t n_dims;                                       /* any number; refuse in check what you can't */
  struct { uint8_t code, bits; uint16_t lanes; } element; /* DLPack type; lanes is 1 */
  const int64_t* shape;
  const int64_t* strides;                               /* NULL if the layout is opaque */
  uint64_t byte_offset;
  uint32_t dtype;                                       /* oar_dtype_t, the same as element */
  uint32_t space;                                       /* memory space on that device */
  oar_layout_t layout;
} oar_view_t;

/* A stretch of memory, with data and byte_offset meant as in a view. */
typedef struct oar_span {
  void* data;
  uint64_t byte_offset, size_bytes;
} oar_span_t;

/* One attribute. call->attrs[i] is attribute i of the op's schema, so no name is ever looked up.
 * Attributes that your declared op version doesn't know are not shown; if one of those is not at its
 * default, the host refuses in your name. Frozen: 24 bytes. */
typedef enum oar_attr_type {
  OAR_ATTR_BOOL = 1, OAR_ATTR_INT = 2, OAR_ATTR_FLOAT = 3, OAR_ATTR_STRING = 4,
  OAR_ATTR_INTS = 5, OAR_ATTR_FLOATS = 6, OAR_ATTR_DTYPE = 7, OAR_ATTR_TENSOR = 8
} oar_attr_type_t;
typedef struct oar_attr {
  uint32_t type;    /* oar_attr_type_t */
  uint32_t is_set;  /* 0: "none", for attributes that may be; defaults are filled in */
  uint64_t count;   /* of ints and floats; bytes of a string */
  union {
    int64_t i;      /* BOOL, INT, DTYPE */
    double f;
    const char* str;
    const int64_t* ints;
    const double* floats;
    const oar_view_t* tensor; /* in host memory */
  } value;
} oar_attr_t;

#ifdef __cplusplus
}
#endif
#endif
