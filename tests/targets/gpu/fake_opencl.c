/* Stands for OpenCL's driver in tests: memory is that of this machine, kernels are counted and do nothing. What is
 * asked of it in FAKE fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long bits;
static int launches, builds, from_binaries;

static int contexts;

static int fails(const char *what) {
  const char *const asked = getenv("FAKE");
  return asked && strcmp(asked, what) == 0;
}

static int tell(const void *value, size_t bytes, size_t room, void *to, size_t *needed) {
  if (needed) *needed = bytes;
  if (to) memcpy(to, value, bytes < room ? bytes : room);
  return 0;
}

int clGetPlatformIDs(unsigned room, void **platforms, unsigned *count) {
  *count = 1;
  if (room) platforms[0] = &launches;
  return 0;
}
int clGetDeviceIDs(void *platform, bits type, unsigned room, void **devices, unsigned *count) {
  (void)platform, (void)type;
  if (fails("no device")) return -1;
  *count = 1;
  if (room) devices[0] = &builds;
  return 0;
}
int clGetDeviceInfo(void *device, unsigned name, size_t room, void *value, size_t *needed) {
  const bits type = fails("no gpu") ? 2 : 4, bytes = fails("no memory") ? 100 : 1 << 20, rounds = 128, shared = 32768;
  (void)device;
  if (name == 0x1000) return tell(&type, sizeof type, room, value, needed);
  if (name == 0x1010 || name == 0x101f) return tell(&bytes, sizeof bytes, room, value, needed);
  if (name == 0x101b) return tell(&rounds, sizeof rounds, room, value, needed);
  if (name == 0x1023) return tell(&shared, sizeof shared, room, value, needed);
  if (name == 0x102b) return tell("Fake 1", 7, room, value, needed);
  if (name == 0x1030) return fails("no doubles") ? tell("", 1, room, value, needed)
                                                 : tell("cl_khr_fp64", 12, room, value, needed);
  return tell("3.0", 4, room, value, needed);
}
void *clCreateContext(const void *of, unsigned count, void **devices, void *notify, void *data, int *error) {
  (void)of, (void)count, (void)devices, (void)notify, (void)data;
  return *error = contexts++ ? -6 : 0, &launches; /* one at a time */
}
int clReleaseContext(void *context) { return contexts--, context ? 0 : -34; }
void *clCreateCommandQueue(void *context, void *device, bits properties, int *error) {
  (void)context, (void)device, (void)properties;
  return *error = fails("no queue") ? -36 : 0, fails("no queue") ? NULL : &launches;
}
void *clCreateBuffer(void *context, bits flags, size_t bytes, void *host, int *error) {
  (void)context, (void)flags, (void)host;
  return *error = 0, calloc(1, bytes);
}
int clReleaseMemObject(void *buffer) { return free(buffer), 0; }
int clEnqueueWriteBuffer(void *queue, void *buffer, unsigned waits, size_t offset, size_t bytes, const void *from,
                         unsigned events, void **after, void **event) {
  (void)queue, (void)waits, (void)events, (void)after, (void)event;
  return memcpy((char *)buffer + offset, from, bytes), 0;
}
int clEnqueueReadBuffer(void *queue, void *buffer, unsigned waits, size_t offset, size_t bytes, void *to,
                        unsigned events, void **after, void **event) {
  (void)queue, (void)waits, (void)events, (void)after, (void)event;
  return memcpy(to, (char *)buffer + offset, bytes), 0;
}
void *clCreateProgramWithSource(void *context, unsigned count, const char **lines, const size_t *lengths, int *error) {
  (void)context, (void)lines, (void)lengths;
  return *error = count ? 0 : -30, builds++, &builds;
}
void *clCreateProgramWithBinary(void *context, unsigned count, void **devices, const size_t *bytes,
                                const unsigned char **binaries, int *status, int *error) {
  (void)context, (void)count, (void)devices;
  *error = *status = *bytes == 4 && memcmp(*binaries, "fake", 4) == 0 ? 0 : -42;
  return from_binaries++, &builds;
}
int clBuildProgram(void *program, unsigned count, void **devices, const char *options, void *notify, void *data) {
  (void)program, (void)count, (void)devices, (void)notify, (void)data;
  return fails("bad code") || !strstr(options, "-cl-std=CL1.2") ? -11 : 0;
}
int clGetProgramBuildInfo(void *program, void *device, unsigned name, size_t room, void *value, size_t *needed) {
  static const char log[] = "warning: slow\nkernel.cl:7:3: error: no such type\nsecond line";
  (void)program, (void)device, (void)name;
  return tell(log, sizeof log, room, value, needed);
}
int clGetProgramInfo(void *program, unsigned name, size_t room, void *value, size_t *needed) {
  const size_t bytes = 4;
  (void)program;
  if (name == 0x1165) return tell(&bytes, sizeof bytes, room, value, needed);
  return memcpy(*(void **)value, "fake", 4), 0;
}
int clReleaseProgram(void *program) { return program ? 0 : -44; }
int clReleaseKernel(void *kernel) { return kernel ? 0 : -48; }
void *clCreateKernel(void *program, const char *name, int *error) {
  return *error = program && strcmp(name, "tw_kernel") == 0 ? 0 : -46, &launches;
}
int clGetKernelWorkGroupInfo(void *kernel, void *device, unsigned name, size_t room, void *value, size_t *needed) {
  const size_t most = fails("small groups") || name == 0x11b2 ? 64 : 1024;
  (void)kernel, (void)device;
  return tell(&most, sizeof most, room, value, needed);
}
int clSetKernelArg(void *kernel, unsigned number, size_t bytes, const void *value) {
  (void)kernel, (void)number, (void)value;
  return bytes ? 0 : -51;
}
int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned axes, const size_t *first, const size_t *items,
                           const size_t *group, unsigned events, void **after, void **event) {
  (void)queue, (void)kernel, (void)first, (void)events, (void)after, (void)event;
  return launches++, axes == 3 && items[0] % group[0] == 0 ? 0 : -54;
}
int clFinish(void *queue) {
  (void)queue;
  printf("%d launches, %d builds, %d from binaries\n", launches, builds, from_binaries);
  return fails("lost") ? -5 : 0;
}

int clFlush(void *queue) { return queue ? 0 : -36; }
