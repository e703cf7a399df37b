/* An OpenCL driver with a platform and no device, as the ICD loader loads one. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <string.h>

static cl_int no_devices(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id* devices,
                         cl_uint* out_n) {
  (void)platform, (void)type, (void)room, (void)devices;
  if (out_n != NULL) *out_n = 0;
  return CL_DEVICE_NOT_FOUND;
}

static cl_int info(cl_platform_id platform, cl_platform_info what, size_t room, void* out, size_t* out_size) {
  const char* text = what == CL_PLATFORM_EXTENSIONS ? "cl_khr_icd"
                     : what == CL_PLATFORM_VERSION  ? "OpenCL 1.2 empty"
                                                    : "EMPTY";
  const size_t size = strlen(text) + 1;
  (void)platform;
  if (out_size != NULL) *out_size = size;
  if (out != NULL && room < size) return CL_INVALID_VALUE;
  if (out != NULL) memcpy(out, text, size);
  return CL_SUCCESS;
}

static cl_int platforms(cl_uint room, cl_platform_id* out, cl_uint* out_n);

/* The loader's table of functions; it begins with these three. */
static void* dispatch[256] = {(void*)platforms, (void*)info, (void*)no_devices};
static struct { void* dispatch; } platform = {dispatch};

static cl_int platforms(cl_uint room, cl_platform_id* out, cl_uint* out_n) {
  if (out_n != NULL) *out_n = 1;
  if (out != NULL && room > 0) *out = (cl_platform_id)&platform;
  return CL_SUCCESS;
}

#define SEEN __attribute__((visibility("default")))
SEEN void* clGetExtensionFunctionAddress(const char* name) {
  if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return (void*)platforms;
  if (strcmp(name, "clGetPlatformInfo") == 0) return (void*)info;
  return NULL;
}
SEEN cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t room, void* out, size_t* out_size) {
  return info(p, what, room, out, out_size);
}
