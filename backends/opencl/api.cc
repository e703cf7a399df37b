#include "api.h"

#include <dlfcn.h>

#include <mutex>

namespace oarlock::opencl {
namespace {

Api table;
std::once_flag once;
bool loaded = false;
std::string reason;

void load() {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    reason = std::string("there is no OpenCL loader (libOpenCL.so.1): ") + (why != nullptr ? why : "");
    return;
  }
#define OARLOCK_OPENCL_FIND(name)                                                  \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, "cl" #name)); \
  if (table.name == nullptr) {                                                     \
    reason = "the OpenCL loader is older than 1.2: it lacks cl" #name;             \
    return;                                                                        \
  }
  OARLOCK_OPENCL_FUNCTIONS(OARLOCK_OPENCL_FIND)
#undef OARLOCK_OPENCL_FIND
  loaded = true;
}

}  // namespace

const Api* load_api(std::string* out_why) {
  std::call_once(once, load);
  if (!loaded && out_why != nullptr) *out_why = reason;
  return loaded ? &table : nullptr;
}

const Api& cl() { return table; }

std::string error_name(cl_int code) {
  const char* text = "failed";
  switch (code) {
    case CL_DEVICE_NOT_AVAILABLE: text = "device not available"; break;
    case CL_COMPILER_NOT_AVAILABLE: text = "compiler not available"; break;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: text = "out of device memory"; break;
    case CL_OUT_OF_RESOURCES: text = "out of resources"; break;
    case CL_OUT_OF_HOST_MEMORY: text = "out of host memory"; break;
    case CL_MEM_COPY_OVERLAP: text = "the two sides of a copy overlap"; break;
    case CL_BUILD_PROGRAM_FAILURE: text = "a kernel does not compile"; break;
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: text = "what it waits for failed"; break;
    case CL_INVALID_VALUE: text = "invalid value"; break;
    case CL_INVALID_DEVICE: text = "invalid device"; break;
    case CL_INVALID_CONTEXT: text = "invalid context"; break;
    case CL_INVALID_COMMAND_QUEUE: text = "invalid command queue"; break;
    case CL_INVALID_MEM_OBJECT: text = "invalid memory object"; break;
    case CL_INVALID_BINARY: text = "invalid binary"; break;
    case CL_INVALID_KERNEL_ARGS: text = "invalid kernel arguments"; break;
    case CL_INVALID_WORK_GROUP_SIZE: text = "invalid work group size"; break;
    case CL_INVALID_BUFFER_SIZE: text = "invalid buffer size"; break;
    default: break;
  }
  return std::string(text) + " (" + std::to_string(code) + ")";
}

}  // namespace oarlock::opencl
