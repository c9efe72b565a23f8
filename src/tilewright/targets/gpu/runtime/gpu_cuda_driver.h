/* The functions of NVIDIA's driver that gpu_cuda.c, which alone includes this, looks for in its library. */
#ifndef TW_GPU_CUDA_DRIVER_H
#define TW_GPU_CUDA_DRIVER_H

#include <stddef.h>

typedef unsigned long long address;
typedef struct opaque *handle;
enum {
  SUCCESS = 0, OUT_OF_MEMORY = 2, NO_DEVICE = 100, UNSUPPORTED_PTX = 222,
  KIND_OF_MEMORY = 2, DEVICE_OF_MEMORY = 9, ON_DEVICE = 2,
  CAPTURES_RELAXED = 2, NON_BLOCKING = 1, MAJOR = 75, MINOR = 76, LOG_BUFFER = 5, LOG_BYTES = 6, THREADS = 34,
  DYNAMIC_BYTES = 8, PART_SHARED = 9, CLUSTER = 4, OVERLAP = 6, OWN_SHARED_BYTES = 1,
  MULTIPROCESSORS = 16, SHARED_BYTES = 81, MOST_SHARED_BYTES = 97, LOST_SHARED_BYTES = 111
};

/* Launch configuration with attributes that cuLaunchKernel does not take. */
typedef struct {
  int name;
  unsigned unused, value[16];
} launch_attribute;
typedef struct {
  unsigned groups[3], items[3], dynamic_bytes;
  handle stream;
  launch_attribute *attributes;
  unsigned attribute_count;
} launch_shape;

static struct {
  int (*init)(unsigned flags);
  int (*version)(int *version);
  int (*error_text)(int error, const char **text);
  int (*device)(int *device, int number);
  int (*attribute)(int *value, int attribute, int device);
  int (*context)(handle *context, int device);
  int (*release_context)(int device);
  int (*push_context)(handle context);
  int (*pop_context)(handle *context);
  int (*memory)(size_t *free_bytes, size_t *all_bytes);
  int (*allocate)(address *memory, size_t bytes);
  int (*release)(address memory);
  int (*allocate_here)(void **memory, size_t bytes, unsigned flags); /* of this machine, where the GPU reads it itself */
  int (*release_here)(void *memory);
  int (*upload)(address to, const void *from, size_t bytes, handle stream);
  int (*download)(void *to, address from, size_t bytes, handle stream);
  int (*copy)(address to, address from, size_t bytes, handle stream);
  int (*about)(void *value, int attribute, address pointer);
  int (*stream)(handle *stream, unsigned flags);
  int (*release_stream)(handle stream);
  int (*wait)(handle stream);
  int (*load)(handle *module, const void *code, unsigned options, int *names, void **values);
  int (*function)(handle *function, handle module, const char *name);
  int (*launch)(handle function, unsigned x, unsigned y, unsigned z, unsigned items_x, unsigned items_y,
                unsigned items_z, unsigned shared_bytes, handle stream, void **arguments, void **more);
  int (*launch_shape)(const launch_shape *shape, handle function, void **arguments, void **more); /* or NULL */
  int (*set)(handle function, int attribute, int value);
  int (*get)(int *value, int attribute, handle function);
  int (*begin_capture)(handle stream, int mode);
  int (*end_capture)(handle stream, handle *graph);
  int (*instantiate)(handle *executable, handle graph, unsigned long long flags);
  int (*launch_graph)(handle executable, handle stream);
  int (*forget_graph)(handle graph);
  int (*release_graph)(handle executable);
  int (*event)(handle *event, unsigned flags);
  int (*release_event)(handle event);
  int (*record)(handle event, handle stream);
  int (*wait_event)(handle stream, handle event, unsigned flags);
  int (*wait_for)(handle event);
  int (*elapsed)(float *milliseconds, handle first, handle last);
} cuda;

static const struct {
  const char *name;
  void *pointer;
} functions[] = {
    {"cuInit", &cuda.init},
    {"cuDriverGetVersion", &cuda.version},
    {"cuGetErrorString", &cuda.error_text},
    {"cuDeviceGet", &cuda.device},
    {"cuDeviceGetAttribute", &cuda.attribute},
    {"cuDevicePrimaryCtxRetain", &cuda.context},
    {"cuDevicePrimaryCtxRelease_v2", &cuda.release_context},
    {"cuCtxPushCurrent_v2", &cuda.push_context},
    {"cuCtxPopCurrent_v2", &cuda.pop_context},
    {"cuMemGetInfo_v2", &cuda.memory},
    {"cuMemAlloc_v2", &cuda.allocate},
    {"cuMemFree_v2", &cuda.release},
    {"cuMemHostAlloc", &cuda.allocate_here},
    {"cuMemFreeHost", &cuda.release_here},
    {"cuMemcpyHtoDAsync_v2", &cuda.upload},
    {"cuMemcpyDtoHAsync_v2", &cuda.download},
    {"cuMemcpyDtoDAsync_v2", &cuda.copy},
    {"cuPointerGetAttribute", &cuda.about},
    {"cuStreamCreate", &cuda.stream},
    {"cuStreamDestroy_v2", &cuda.release_stream},
    {"cuStreamSynchronize", &cuda.wait},
    {"cuModuleLoadDataEx", &cuda.load},
    {"cuModuleGetFunction", &cuda.function},
    {"cuLaunchKernel", &cuda.launch},
    {"cuFuncSetAttribute", &cuda.set},
    {"cuFuncGetAttribute", &cuda.get},
    {"cuStreamBeginCapture_v2", &cuda.begin_capture},
    {"cuStreamEndCapture", &cuda.end_capture},
    {"cuGraphInstantiateWithFlags", &cuda.instantiate},
    {"cuGraphLaunch", &cuda.launch_graph},
    {"cuGraphDestroy", &cuda.forget_graph},
    {"cuGraphExecDestroy", &cuda.release_graph},
    {"cuEventCreate", &cuda.event},
    {"cuEventDestroy_v2", &cuda.release_event},
    {"cuEventRecord", &cuda.record},
    {"cuStreamWaitEvent", &cuda.wait_event},
    {"cuEventSynchronize", &cuda.wait_for},
    {"cuEventElapsedTime", &cuda.elapsed},
};

#endif
