/* kit_pack.h - a kernel pack but for its kernels, for plugins that keep nothing of their own per device:
 *
 *   OAR_KIT_LISTED(exp_decl);                      each kernel, in any file of the plugin (kit_list.h)
 *   OAR_KIT_PACK("cpu");                           in one file: serves devices of this kind
 *   OAR_KIT_PACK_OPS("cpu", &swish_grad, &swish);  or so: defines ops as well, gradient ops first
 *   OAR_KIT_PLUGIN("acme", "Acme", "1.0.0", OAR_KIT_PACK_TABLES)
 *
 * Kernels find the host in their pack: oar_kit_error(pack->host, ...).
 */
#ifndef OARLOCK_KIT_PACK_H
#define OARLOCK_KIT_PACK_H
#include <stdlib.h>

#include "kit.h"
#include "kit_list.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oar_pack {
  const oar_host_t* host;
};

static inline oar_status_t oar_kit_pack_open(const oar_host_t* host, const oar_options_t* options,
                                             oar_pack_t** out_pack) {
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  oar_pack_t* pack = (oar_pack_t*)malloc(sizeof(*pack));
  if (pack == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "no memory for a pack");
  pack->host = host;
  *out_pack = pack;
  return OAR_OK;
}

static inline void OAR_CALL oar_kit_pack_close(oar_pack_t* pack) { free(pack); }

static inline oar_status_t OAR_CALL oar_kit_pack_declarations(oar_pack_t* pack, uint32_t* out_n,
                                                              const oar_kernel_decl_t* const** out_decls) {
  (void)pack;
  *out_decls = oar_kit_listed(out_n);
  return OAR_OK;
}

#define OAR_KIT_PACK_AROUND(kind_text, before_opening)                                                        \
  static oar_status_t OAR_CALL oar_kit_pack_open_here(const oar_host_t* host, const oar_device_ref_t* device, \
                                                      const oar_options_t* options, oar_pack_t** out_pack) {  \
    if (!oar_kit_str_is(device->info->kind, kind_text)) return OAR_REFUSED;                                   \
    before_opening return oar_kit_pack_open(host, options, out_pack);                                         \
  }                                                                                                           \
  static const oar_pack_table_t oar_kit_pack_table = {                                                        \
      sizeof(oar_pack_table_t), OAR_PACK_VERSION, oar_kit_pack_open_here, oar_kit_pack_close, NULL, NULL};    \
  static const oar_kernel_table_t oar_kit_kernel_table = {sizeof(oar_kernel_table_t), OAR_KERNEL_VERSION,     \
                                                          oar_kit_pack_declarations, NULL}
#define OAR_KIT_PACK(kind_text) OAR_KIT_PACK_AROUND(kind_text, )
#define OAR_KIT_PACK_OPS(kind_text, ...)                                                                              \
  static const oar_op_schema_t* const oar_kit_pack_ops[] = {__VA_ARGS__};                                             \
  OAR_KIT_PACK_AROUND(kind_text, oar_status_t registered = oar_kit_ops_register(                                      \
                                     host, sizeof(oar_kit_pack_ops) / sizeof(oar_kit_pack_ops[0]), oar_kit_pack_ops); \
                      if (registered != OAR_OK) return registered;)
#define OAR_KIT_PACK_TABLES \
  {OAR_TABLE_PACK, &oar_kit_pack_table}, { OAR_TABLE_KERNEL, &oar_kit_kernel_table }

#ifdef __cplusplus
}
#endif
#endif
