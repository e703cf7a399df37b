// The functions of OpenCL 1.2 that the plugin uses, found in the ICD loader when they are first wanted: where there is no
// loader the plugin still loads, and says so.
#ifndef OARLOCK_OPENCL_API_H_
#define OARLOCK_OPENCL_API_H_
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>

namespace oarlock::opencl {

#define OARLOCK_OPENCL_FUNCTIONS(F) \
  F(GetPlatformIDs)                 \
  F(GetPlatformInfo)                \
  F(GetDeviceIDs)                   \
  F(GetDeviceInfo)                  \
  F(CreateContext)                  \
  F(ReleaseContext)                 \
  F(CreateCommandQueue)             \
  F(RetainCommandQueue)             \
  F(ReleaseCommandQueue)            \
  F(CreateBuffer)                   \
  F(RetainMemObject)                \
  F(ReleaseMemObject)               \
  F(CreateProgramWithSource)        \
  F(CreateProgramWithBinary)        \
  F(BuildProgram)                   \
  F(GetProgramInfo)                 \
  F(GetProgramBuildInfo)            \
  F(ReleaseProgram)                 \
  F(CreateKernel)                   \
  F(ReleaseKernel)                  \
  F(SetKernelArg)                   \
  F(EnqueueNDRangeKernel)           \
  F(EnqueueReadBuffer)              \
  F(EnqueueWriteBuffer)             \
  F(EnqueueCopyBuffer)              \
  F(EnqueueFillBuffer)              \
  F(EnqueueMarkerWithWaitList)      \
  F(EnqueueBarrierWithWaitList)     \
  F(Flush)                          \
  F(Finish) F(WaitForEvents) F(GetEventInfo) F(ReleaseEvent) F(RetainEvent) F(CreateUserEvent) F(SetUserEventStatus)

struct Api {
#define OARLOCK_OPENCL_FIELD(name) decltype(&::cl##name) name;
  OARLOCK_OPENCL_FUNCTIONS(OARLOCK_OPENCL_FIELD)
#undef OARLOCK_OPENCL_FIELD
};

// Null where there is no loader, or one older than 1.2; *out_why then says so. Any thread.
const Api* load_api(std::string* out_why);
// After load_api succeeded.
const Api& cl();
// "out of host memory (-6)"
std::string error_name(cl_int code);

}  // namespace oarlock::opencl
#endif
