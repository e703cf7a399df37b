/* kit.h - what every plugin writes anyway, written once. Header-only C11, also fit for C++; needs api/abi and a C
 * library, nothing of Oarlock and nothing of a vendor. Everything is static inline: a plugin carries its own copy, so
 * a newer kit never changes a plugin that is already built.
 *
 *   kit.h         entry and negotiation, tables, kernel declarations, refusals, errors, attributes, options
 *   kit_view.h    counts, strides, contiguity, broadcasting
 *   kit_number.h  sizes of element types; f16 and bf16; loads and stores through double or 64-bit integers
 *   kit_memory.h  copies and fills of memory that the processor reaches
 *   kit_list.h    (on request) kernels that list themselves
 *   kit_pack.h    (on request) a pack but for its kernels
 *   kit.hpp       the same comfort for C++20
 *
 * All functions may be called from any thread.
 */
#ifndef OARLOCK_KIT_H
#define OARLOCK_KIT_H
#include "oarlock/plugin.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kit_memory.h"
#include "kit_number.h"
#include "kit_view.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OAR_KIT_FORMAT(text, arguments) __attribute__((format(printf, text, arguments)))
#else
#define OAR_KIT_FORMAT(text, arguments)
#endif

/* ---------------------------------------------------------------- Text */
static inline oar_str_t oar_kit_str(const char* text) {
  oar_str_t str = {text, text != NULL ? strlen(text) : 0};
  return str;
}

static inline bool oar_kit_str_is(oar_str_t str, const char* text) {
  return str.size == strlen(text) && (str.size == 0 || memcmp(str.data, text, str.size) == 0);
}

/* ---------------------------------------------------------------- Entry
 * OAR_KIT_PLUGIN(name, vendor, version, {id, &table}, ...) at file scope writes the ELF note, oar_plugin_t, get_table
 * and oar_plugin_query. All three agree on the version range because they have it from the same header. */
typedef struct oar_kit_table {
  uint64_t id;       /* OAR_TABLE_ */
  const void* table; /* begins with struct_size and version, as every table */
} oar_kit_table_t;

/* The table of this id with the highest version in [min, max]; NULL if there is none. */
static inline const void* oar_kit_table_find(const oar_kit_table_t* tables, size_t n, uint64_t id, uint32_t min,
                                             uint32_t max) {
  const void* found = NULL;
  uint32_t found_version = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t head[2];
    if (tables[i].id != id || tables[i].table == NULL) continue;
    memcpy(head, tables[i].table, sizeof(head));
    if (head[1] < min || head[1] > max || head[1] <= found_version) continue;
    found = tables[i].table;
    found_version = head[1];
  }
  return found;
}

/* Notes the failure with the host and returns status. Texts past 500 bytes are cut. */
OAR_KIT_FORMAT(4, 5)
static inline oar_status_t oar_kit_error(const oar_host_t* host, oar_status_t status, int64_t native,
                                         const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(buffer, sizeof(buffer), format, arguments);
  va_end(arguments);
  if (size < 0) size = 0;
  if ((size_t)size >= sizeof(buffer)) size = (int)sizeof(buffer) - 1;
  oar_str_t text = {buffer, (size_t)size};
  if (host != NULL && OAR_HAS(host, error_set) && host->error_set != NULL)
    return host->error_set(host, status, native, text);
  return status;
}

OAR_KIT_FORMAT(3, 4)
static inline void oar_kit_log(const oar_host_t* host, int32_t level, const char* format, ...) {
  char buffer[512];
  if (host == NULL || !OAR_HAS(host, log) || host->log == NULL || level < host->log_level) return;
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(buffer, sizeof(buffer), format, arguments);
  va_end(arguments);
  if (size < 0) return;
  oar_str_t text = {buffer, (size_t)size < sizeof(buffer) ? (size_t)size : sizeof(buffer) - 1};
  host->log(host, level, text);
}

/* Body of oar_plugin_query: OAR_UNSUPPORTED, with both ranges in the text, if host and plugin share no version. */
static inline oar_status_t oar_kit_query(const oar_host_t* host, const oar_plugin_t* plugin,
                                         const oar_plugin_t** out_plugin) {
  if (host == NULL || out_plugin == NULL) return OAR_INVALID_ARGUMENT;
  if (host->abi_max < plugin->abi_min || plugin->abi_max < host->abi_min)
    return oar_kit_error(host, OAR_UNSUPPORTED, 0, "%.*s speaks ABI %u to %u, this host %u to %u",
                         (int)plugin->name.size, plugin->name.data, plugin->abi_min, plugin->abi_max, host->abi_min,
                         host->abi_max);
  *out_plugin = plugin;
  return OAR_OK;
}

#if defined(__x86_64__) || defined(_M_X64)
#define OAR_KIT_ARCHITECTURE "x86_64"
#elif defined(__aarch64__) || defined(_M_ARM64)
#define OAR_KIT_ARCHITECTURE "aarch64"
#else
#define OAR_KIT_ARCHITECTURE "unknown"
#endif
#if defined(_WIN32)
#define OAR_KIT_TARGET OAR_KIT_ARCHITECTURE "-windows"
#else
#define OAR_KIT_TARGET OAR_KIT_ARCHITECTURE "-linux"
#endif

#ifdef __cplusplus
#define OAR_KIT_EXTERN_C extern "C"
#else
#define OAR_KIT_EXTERN_C
#endif

/* The note and the tables' list, and oar_plugin_query over a oar_plugin_t of your own. For plugins that fill in
 * oar_plugin_t themselves; all others use OAR_KIT_PLUGIN. */
#define OAR_KIT_ENTRY(plugin)                                                                           \
  OAR_KIT_EXTERN_C OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host,            \
                                                                     const oar_plugin_t** out_plugin) { \
    return oar_kit_query(host, &(plugin), out_plugin);                                                  \
  }

#define OAR_KIT_PLUGIN(name_text, vendor_text, version_text, ...)                                                   \
  OAR_PLUGIN_NOTE(OAR_ABI_VERSION, OAR_ABI_VERSION);                                                                \
  static const oar_kit_table_t oar_kit_tables[] = {__VA_ARGS__};                                                    \
  static const void* OAR_CALL oar_kit_get_table(const oar_host_t* host, uint64_t id, uint32_t min, uint32_t max) {  \
    (void)host;                                                                                                     \
    return oar_kit_table_find(oar_kit_tables, sizeof(oar_kit_tables) / sizeof(oar_kit_tables[0]), id, min, max);    \
  }                                                                                                                 \
  static const oar_plugin_t oar_kit_plugin = {sizeof(oar_plugin_t),  OAR_ABI_VERSION,         OAR_ABI_VERSION,      \
                                              OAR_ABI_MINOR,         OAR_STR(name_text),      OAR_STR(vendor_text), \
                                              OAR_STR(version_text), OAR_STR(OAR_KIT_TARGET), oar_kit_get_table};   \
  OAR_KIT_ENTRY(oar_kit_plugin)

/* ---------------------------------------------------------------- Kernel declarations
 * OAR_KIT_KERNEL(op, op_min, op_max, flags, priority, masks, fields...): an initialiser of oar_kernel_decl_t. masks is
 * an array of dtype masks; fields are the rest of the struct, by name and in its order:
 *
 *   static const uint64_t floats[] = {OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64)};
 *   static const oar_kernel_decl_t exp_decl =
 *       OAR_KIT_KERNEL("exp", 1, 1, OAR_KERNEL_DETERMINISTIC, 0, floats, .check = my_check, .run = my_exp);
 */
#define OAR_KIT_KERNEL(op_text, version_min, version_max, kernel_flags, kernel_priority, masks, ...) \
  {                                                                                                  \
    .struct_size = sizeof(oar_kernel_decl_t), .flags = (kernel_flags), .op = OAR_STR(op_text),       \
    .op_min = (version_min), .op_max = (version_max), .priority = (kernel_priority),                 \
    .n_masks = (uint32_t)(sizeof(masks) / sizeof((masks)[0])), .dtypes = (masks), __VA_ARGS__,       \
    .source_file = OAR_STR(__FILE__), .source_line = __LINE__                                        \
  }

/* ---------------------------------------------------------------- Ops of your own
 * Registers them in order, for device open or pack open; the first failure is returned, and the host has its text. */
static inline oar_status_t oar_kit_ops_register(const oar_host_t* host, size_t n, const oar_op_schema_t* const* ops) {
  if (!OAR_HAS(host, op_register) || host->op_register == NULL)
    return oar_kit_error(host, OAR_UNSUPPORTED, 0, "this host takes no ops from plugins");
  for (size_t i = 0; i < n; ++i) {
    oar_status_t status = host->op_register(host, ops[i]);
    if (status != OAR_OK) return status;
  }
  return OAR_OK;
}

/* ---------------------------------------------------------------- Refusals
 * return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "x must be contiguous"); A verdict of NULL is fine. */
OAR_KIT_FORMAT(4, 5)
static inline oar_status_t oar_kit_refuse(oar_verdict_t* verdict, uint32_t reason, int32_t operand, const char* format,
                                          ...) {
  if (verdict == NULL) return OAR_REFUSED;
  verdict->reason = reason;
  verdict->operand = operand;
  if (OAR_HAS(verdict, text_size)) {
    verdict->text_size = 0;
    if (verdict->text != NULL && verdict->text_capacity > 0) {
      va_list arguments;
      va_start(arguments, format);
      int size = vsnprintf(verdict->text, verdict->text_capacity, format, arguments);
      va_end(arguments);
      if (size > 0) {
        size_t written = (size_t)size;
        verdict->text_size = written < verdict->text_capacity ? written : verdict->text_capacity - 1;
      }
    }
  }
  return OAR_REFUSED;
}

/* An operand as check sees it: input i, or output i - n_inputs; NULL if absent. */
static inline const oar_value_t* oar_kit_operand(const oar_call_t* call, uint32_t i) {
  if (i < call->n_inputs) return call->inputs[i];
  return i - call->n_inputs < call->n_outputs ? call->outputs[i - call->n_inputs] : NULL;
}

/* May this operand be row-major without gaps? True too where the offer leaves you the choice. */
static inline bool oar_kit_value_contiguous(const oar_value_t* value) {
  if (value->layout == OAR_LAYOUT_DENSE || value->layout == OAR_LAYOUT_ANY) return true;
  return value->layout == OAR_LAYOUT_STRIDED && oar_kit_contiguous(value->n_dims, value->shape, value->strides);
}

/* For kernels that do the plain call on plain operands. Refuses an epilogue, and the first operand that is not row-major
 * without gaps, by name and with OAR_REASON_LAYOUT. */
static inline oar_status_t oar_kit_check_contiguous(const oar_call_t* call, oar_verdict_t* out_verdict) {
  if (call->n_epilogue > 0) return oar_kit_refuse(out_verdict, OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
  for (uint32_t i = 0; i < call->n_inputs + call->n_outputs; ++i) {
    const oar_value_t* value = oar_kit_operand(call, i);
    if (value == NULL || oar_kit_value_contiguous(value)) continue;
    return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, (int32_t)i, "%s %u must be contiguous",
                          i < call->n_inputs ? "input" : "output", i < call->n_inputs ? i : i - call->n_inputs);
  }
  return OAR_OK;
}

/* ---------------------------------------------------------------- Attributes, by their place in the schema
 * True if attribute i is there, is set and has this type; only then the outputs are written. So a default is what the
 * variable held before. Pointers are the call's: copy what outlives it. */
static inline const oar_attr_t* oar_kit_attr(const oar_call_t* call, uint32_t i, uint32_t type) {
  if (call == NULL || i >= call->n_attrs || call->attrs == NULL) return NULL;
  const oar_attr_t* attr = &call->attrs[i];
  return attr->is_set != 0 && attr->type == type ? attr : NULL;
}

static inline bool oar_kit_attr_bool(const oar_call_t* call, uint32_t i, bool* out_value) {
  const oar_attr_t* attr = oar_kit_attr(call, i, OAR_ATTR_BOOL);
  if (attr != NULL) *out_value = attr->value.i != 0;
  return attr != NULL;
}

static inline bool oar_kit_attr_int(const oar_call_t* call, uint32_t i, int64_t* out_value) {
  const oar_attr_t* attr = oar_kit_attr(call, i, OAR_ATTR_INT);
  if (attr != NULL) *out_value = attr->value.i;
  return attr != NULL;
}

static inline bool oar_kit_attr_dtype(const oar_call_t* call, uint32_t i, uint32_t* out_value) {
  const oar_attr_t* attr = oar_kit_attr(call, i, OAR_ATTR_DTYPE);
  if (attr != NULL) *out_value = (uint32_t)attr->value.i;
  return attr != NULL;
}

static inline bool oar_kit_attr_float(const oar_call_t* call, uint32_t i, double* out_value) {
  const oar_attr_t* attr = oar_kit_attr(call, i, OAR_ATTR_FLOAT);
  if (attr != NULL) *out_value = attr->value.f;
  return attr != NULL;
}

static inline bool oar_kit_attr_string(const oar_call_t* call, uint32_t i, oar_str_t* out_value) {
  const oar_attr_t* attr = oar_kit_attr(call, i, OAR_ATTR_STRING);
  if (attr != NULL) {
    out_value->data = attr->value.str;
    out_value->size = (size_t)attr->count;
  }
  return attr != NULL;
}

static inline bool oar_kit_attr_ints(const oar_call_t* call, uint32_t i, const int64_t** out_values, uint64_t* out_n) {
  const oar_attr_t* attr = oar_kit_attr(call, i, OAR_ATTR_INTS);
  if (attr != NULL) {
    *out_values = attr->value.ints;
    *out_n = attr->count;
  }
  return attr != NULL;
}

static inline bool oar_kit_attr_floats(const oar_call_t* call, uint32_t i, const double** out_values, uint64_t* out_n) {
  const oar_attr_t* attr = oar_kit_attr(call, i, OAR_ATTR_FLOATS);
  if (attr != NULL) {
    *out_values = attr->value.floats;
    *out_n = attr->count;
  }
  return attr != NULL;
}

/* ---------------------------------------------------------------- Options of open, create and compile
 * Copies the option's text, cut to capacity - 1 bytes and ended by zero. False: not given, buffer untouched. */
static inline bool oar_kit_option(const oar_options_t* options, const char* name, char* buffer, size_t capacity) {
  if (options == NULL || !OAR_HAS(options, values) || capacity == 0) return false;
  for (uint32_t i = 0; i < options->n; ++i) {
    if (!oar_kit_str_is(options->names[i], name)) continue;
    size_t size = options->values[i].size < capacity ? options->values[i].size : capacity - 1;
    if (size > 0) memcpy(buffer, options->values[i].data, size);
    buffer[size] = '\0';
    return true;
  }
  return false;
}

/* OAR_UNSUPPORTED, with a text, if the options hold a must-understand extension; for who knows none at all. */
static inline oar_status_t oar_kit_options_check(const oar_host_t* host, const oar_options_t* options) {
  const oar_ext_t* ext = options != NULL && OAR_HAS(options, ext) ? oar_ext_unknown(options->ext, NULL, 0) : NULL;
  if (ext == NULL) return OAR_OK;
  return oar_kit_error(host, OAR_UNSUPPORTED, 0, "extension %llx must be understood, and is not known here",
                       (unsigned long long)ext->id);
}

#ifdef __cplusplus
}
#endif
#endif
