/* kit_list.h - kernel declarations that list themselves. A source file that says
 *
 *   OAR_KIT_LISTED(exp_decl);   // an oar_kernel_decl_t at file scope
 *
 * is in the plugin's list by being linked: adding a kernel is adding a file. The linker gathers the pointers in a
 * section of their own (ELF, with GNU or LLVM tools), in no promised order; priorities decide, not places.
 */
#ifndef OARLOCK_KIT_LIST_H
#define OARLOCK_KIT_LIST_H
#include "oarlock/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OAR_KIT_PASTE(a, b) a##b
#define OAR_KIT_PASTE_VALUE(a, b) OAR_KIT_PASTE(a, b)
#define OAR_KIT_LISTED(decl)                                                           \
  static const oar_kernel_decl_t* const OAR_KIT_PASTE_VALUE(oar_kit_listed_, __LINE__) \
      __attribute__((used, section("oar_kit_kernels"))) = &(decl)

/* Weak, so that a plugin that lists nothing has an empty list. Hidden, so that each plugin sees its own. */
extern const oar_kernel_decl_t* const __start_oar_kit_kernels[] __attribute__((weak, visibility("hidden")));
extern const oar_kernel_decl_t* const __stop_oar_kit_kernels[] __attribute__((weak, visibility("hidden")));

/* The list, for the kernel table's declarations; *out_n of them. Constant for the life of the process. */
static inline const oar_kernel_decl_t* const* oar_kit_listed(uint32_t* out_n) {
  *out_n = (uint32_t)(__stop_oar_kit_kernels - __start_oar_kit_kernels);
  return __start_oar_kit_kernels;
}

#ifdef __cplusplus
}
#endif
#endif
