/* The functions of OpenCL that gpu_opencl.c, which alone includes this, looks for in its library. */
#ifndef TW_GPU_OPENCL_DRIVER_H
#define TW_GPU_OPENCL_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct opaque *handle;
typedef unsigned long long bits;
enum {
  SUCCESS = 0, CANNOT_ALLOCATE = -4, BUILD_FAILED = -11, TOO_LARGE = -61,
  READ_WRITE = 1, WAITS = 1,
  DEVICE_TYPE = 0x1000, LARGEST_BUFFER = 0x1010, SINGLE_FLOATS = 0x101b, MEMORY_BYTES = 0x101f, SHARED_BYTES = 0x1023,
  DEVICE_NAME = 0x102b, DRIVER = 0x102d, EXTENSIONS = 0x1030,
  BINARY_SIZES = 0x1165, BINARIES = 0x1166, BUILD_LOG = 0x1183, KERNEL_GROUP_SIZE = 0x11b0, KERNEL_SHARED_BYTES = 0x11b2
};
enum { CPU = 2, GPU = 4, ACCELERATOR = 8, ROUNDS_DIVISIONS = 128 };
static const bits EVERY_DEVICE = 0xffffffffu;

static struct {
  int (*platforms)(unsigned room, handle *platforms, unsigned *count);
  int (*devices)(handle platform, bits type, unsigned room, handle *devices, unsigned *count);
  int (*device_info)(handle device, unsigned name, size_t bytes, void *value, size_t *needed);
  handle (*context)(const void *properties, unsigned count, const handle *devices, void *notify, void *data,
                    int *error);
  int (*forget_context)(handle context);
  handle (*queue)(handle context, handle device, bits properties, int *error);
  handle (*buffer)(handle context, bits flags, size_t bytes, void *host, int *error);
  int (*release)(handle buffer);
  int (*write)(handle queue, handle buffer, unsigned waits, size_t offset, size_t bytes, const void *from,
               unsigned events, const handle *after, handle *event);
  int (*read)(handle queue, handle buffer, unsigned waits, size_t offset, size_t bytes, void *to, unsigned events,
              const handle *after, handle *event);
  handle (*source)(handle context, unsigned count, const char **lines, const size_t *lengths, int *error);
  handle (*binary)(handle context, unsigned count, const handle *devices, const size_t *bytes,
                   const unsigned char **binaries, int *status, int *error);
  int (*build)(handle program, unsigned count, const handle *devices, const char *options, void *notify, void *data);
  int (*build_info)(handle program, handle device, unsigned name, size_t bytes, void *value, size_t *needed);
  int (*program_info)(handle program, unsigned name, size_t bytes, void *value, size_t *needed);
  int (*forget_program)(handle program);
  int (*forget_kernel)(handle kernel);
  handle (*kernel)(handle program, const char *name, int *error);
  int (*kernel_info)(handle kernel, handle device, unsigned name, size_t bytes, void *value, size_t *needed);
  int (*argument)(handle kernel, unsigned number, size_t bytes, const void *value);
  int (*launch)(handle queue, handle kernel, unsigned axes, const size_t *first, const size_t *items,
                const size_t *group, unsigned events, const handle *after, handle *event);
  int (*flush)(handle queue);
  int (*finish)(handle queue);
} cl;

static const struct {
  const char *name;
  void *pointer;
} functions[] = {
    {"clGetPlatformIDs", &cl.platforms},
    {"clGetDeviceIDs", &cl.devices},
    {"clGetDeviceInfo", &cl.device_info},
    {"clCreateContext", &cl.context},
    {"clReleaseContext", &cl.forget_context},
    {"clCreateCommandQueue", &cl.queue},
    {"clCreateBuffer", &cl.buffer},
    {"clReleaseMemObject", &cl.release},
    {"clEnqueueWriteBuffer", &cl.write},
    {"clEnqueueReadBuffer", &cl.read},
    {"clCreateProgramWithSource", &cl.source},
    {"clCreateProgramWithBinary", &cl.binary},
    {"clBuildProgram", &cl.build},
    {"clGetProgramBuildInfo", &cl.build_info},
    {"clGetProgramInfo", &cl.program_info},
    {"clReleaseProgram", &cl.forget_program},
    {"clReleaseKernel", &cl.forget_kernel},
    {"clCreateKernel", &cl.kernel},
    {"clGetKernelWorkGroupInfo", &cl.kernel_info},
    {"clSetKernelArg", &cl.argument},
    {"clEnqueueNDRangeKernel", &cl.launch},
    {"clFlush", &cl.flush},
    {"clFinish", &cl.finish},
};

static const char *const libraries[] = {
    "libOpenCL.so.1", "libOpenCL.so", "/vendor/lib64/libOpenCL.so", "/system/vendor/lib64/libOpenCL.so",
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
};

#endif
