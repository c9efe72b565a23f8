/* Stands for the driver of a GPU in tests: memory is that of this machine, kernels are counted and do nothing. What is
 * asked of it in FAKE fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
static int launches, graphs, is_capturing, loads_in_capture;

static int fails(const char *what) {
  const char *const asked = getenv("FAKE");
  return asked && strcmp(asked, what) == 0;
}

int cuInit(unsigned flags) { return flags || fails("no device") ? 100 : 0; }
int cuDriverGetVersion(int *version) { return *version = 12020, 0; }
int cuGetErrorString(int error, const char **text) { return *text = error == 700 ? "illegal address" : "other", 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? (fails("old device") ? 6 : 9) : device;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &launches + device, 0; }
int cuCtxSetCurrent(void *context) { return context ? 0 : 1; }
int cuMemGetInfo_v2(size_t *left, size_t *all) { return *left = 1000, *all = 2000, 0; }
int cuMemAlloc_v2(address *memory, size_t bytes) {
  if (fails("no memory")) return 2;
  return *memory = (address)(size_t)calloc(1, bytes), 0;
}
int cuMemFree_v2(address memory) { return free((void *)(size_t)memory), 0; }
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream) {
  return memcpy((void *)(size_t)to, from, bytes), stream ? 0 : 1;
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream) {
  return memcpy(to, (void *)(size_t)from, bytes), stream ? 0 : 1;
}
int cuStreamCreate(void **stream, unsigned flags) { return *stream = &graphs + (flags != 1), 0; }
int cuStreamSynchronize(void *stream) {
  printf("%d launches, %d graphs, %d loads while recording\n", launches, graphs, loads_in_capture);
  return !stream ? 1 : fails("lost") && launches ? 700 : 0;
}
int cuModuleLoadDataEx(void **module, const void *code, unsigned options, int *names, void **values) {
  if (fails("old driver")) return 222;
  if (fails("bad code")) strcpy(values[0], "ptxas: line 7");
  if (fails("bad code")) return 218;
  loads_in_capture += is_capturing;
  *module = (void *)names;
  return strncmp(code, ".version 7.0\n", 13) == 0 && options == 2 ? 0 : 200;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = module;
  return strcmp(name, "tw_kernel") == 0 ? 0 : 500;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned items, unsigned items_y,
                   unsigned items_z, unsigned shared, void *stream, void **arguments, void **more) {
  launches++;
  return function && x * y * z && items == 256 && items_y * items_z == 1 && !shared && stream && arguments && !more
             ? 0 : 1;
}
int cuStreamBeginCapture_v2(void *stream, int mode) { return is_capturing = 1, !stream || mode != 2; }
int cuStreamEndCapture(void *stream, void **graph) { return is_capturing = 0, *graph = stream, 0; }
int cuGraphInstantiateWithFlags(void **made, void *graph, address flags) { return *made = graph, flags ? 1 : 0; }
int cuGraphLaunch(void *made, void *stream) { return graphs++, made == stream ? 0 : 1; }
int cuGraphDestroy(void *graph) { return graph ? 0 : 1; }
int cuEventCreate(void **event, unsigned flags) { return *event = &is_capturing + flags, 0; }
int cuEventRecord(void *event, void *stream) { return event && stream ? 0 : 1; }
int cuEventElapsedTime(float *milliseconds, void *first, void *last) { return *milliseconds = 1, first ? !last : 1; }
