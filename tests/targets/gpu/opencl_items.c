/* OpenCL on this machine for tests: every item of a group is a thread of control of its own (a context with a stack),
 * which goes on until the next barrier. So kernels run as on a GPU, where host C has loops instead. Programs are compiled
 * by the command in OPENCL_ITEMS_COMPILER, which is given the text and the library to make. */
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

typedef unsigned long long bits;
enum { MOST_ITEMS = 512, STACK_BYTES = 1 << 16, MOST_ARGUMENTS = 40 };
enum { DEVICE_TYPE = 0x1000, GPU = 4, DEVICE_NAME = 0x102b, DRIVER = 0x102d, EXTENSIONS = 0x1030, FLOATS = 0x101b };

/* ---- items ------------------------------------------------------------------------------------------------------ */

typedef void (*entry)(const uint64_t *arguments);
static ucontext_t contexts[MOST_ITEMS], scheduler;
static char stacks[MOST_ITEMS][STACK_BYTES];
static int has_ended[MOST_ITEMS];
static size_t item, group_at[3], group_count[3];
static entry running;
static const uint64_t *given;

size_t tw_group(unsigned axis) __asm__("_Z12get_group_idj");
size_t tw_group(unsigned axis) { return group_at[axis]; }
size_t tw_groups(unsigned axis) __asm__("_Z14get_num_groupsj");
size_t tw_groups(unsigned axis) { return group_count[axis]; }
size_t tw_item(unsigned axis) __asm__("_Z12get_local_idj");
size_t tw_item(unsigned axis) { return axis ? 0 : item; }
void tw_barrier(unsigned fences) __asm__("_Z7barrierj");
void tw_barrier(unsigned fences) {
  (void)fences;
  swapcontext(&contexts[item], &scheduler);
}
void tw_fence(unsigned fences) __asm__("_Z9mem_fencej");
void tw_fence(unsigned fences) { (void)fences; }
int tw_increment(volatile int *count) __asm__("_Z10atomic_incPU8CLglobalVi");
int tw_increment(volatile int *count) { return (*count)++; }

static void run_item(void) {
  running(given);
  has_ended[item] = 1;
}

/* All items as far as the next barrier, from the last to the first and back again, so that a barrier that is missing is
 * noticed. All of them meet there, or none. */
static int run_group(size_t items) {
  for (size_t i = 0; i < items; i++) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = STACK_BYTES;
    contexts[i].uc_link = &scheduler;
    has_ended[i] = 0;
    makecontext(&contexts[i], run_item, 0);
  }
  for (size_t ended = 0, forth = 0; ended < items; forth = !forth) {
    for (size_t i = 0; i < items; i++) {
      item = forth ? i : items - 1 - i;
      swapcontext(&scheduler, &contexts[item]);
    }
    for (size_t i = ended = 0; i < items; i++) ended += (size_t)has_ended[i];
    if (ended && ended < items) return fprintf(stderr, "only %zu of %zu items end\n", ended, items), -5;
  }
  return 0;
}

/* ---- programs --------------------------------------------------------------------------------------------------- */

typedef struct {
  char *text;
  entry function;
  void *values[MOST_ARGUMENTS];
} program;

void *clCreateProgramWithSource(void *context, unsigned count, const char **lines, const size_t *lengths, int *error) {
  size_t bytes = 1;
  program *const made = calloc(1, sizeof *made);
  (void)context, (void)lengths;
  for (unsigned i = 0; i < count; i++) bytes += strlen(lines[i]);
  made->text = calloc(1, bytes);
  for (unsigned i = 0; i < count; i++) strcat(made->text + (i ? strlen(made->text) : 0), lines[i]);
  return *error = 0, made;
}

int clBuildProgram(program *made, unsigned count, void **devices, const char *options, void *notify, void *data) {
  const char *const place = getenv("TMPDIR");
  char folder[512], path[544], library[544], command[4096];
  (void)count, (void)devices, (void)options, (void)notify, (void)data;
  snprintf(folder, sizeof folder, "%s/opencl_items_XXXXXX", place && place[0] ? place : "/tmp");
  if (!mkdtemp(folder)) return -6;
  snprintf(path, sizeof path, "%s/kernel.cl", folder);
  snprintf(library, sizeof library, "%s/kernel.so", folder);
  FILE *const file = fopen(path, "w");
  if (!file || fputs(made->text, file) < 0 || fclose(file) != 0) return -6;
  snprintf(command, sizeof command, "%s %s %s", getenv("OPENCL_ITEMS_COMPILER"), path, library);
  const int failed = system(command);
  dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  void *const opened = failed ? NULL : dlopen(library, RTLD_NOW);
  if (!failed && !opened) fprintf(stderr, "%s\n", dlerror());
  void *const found = opened ? dlsym(opened, "tw_call") : NULL;
  memcpy(&made->function, &found, sizeof found);
  remove(path), remove(library), rmdir(folder);
  return found ? 0 : -11;
}

void *clCreateKernel(program *made, const char *name, int *error) {
  (void)name;
  return *error = 0, made;
}

int clSetKernelArg(program *made, unsigned number, size_t bytes, const void *value) {
  made->values[number] = realloc(made->values[number], bytes);
  if (value) memcpy(made->values[number], value, bytes);
  if (!value) memset(made->values[number], 0, bytes);
  return 0;
}

int clEnqueueNDRangeKernel(void *queue, program *made, unsigned axes, const size_t *first, const size_t *items,
                           const size_t *group, unsigned events, void **after, void **event) {
  uint64_t arguments[MOST_ARGUMENTS];
  (void)queue, (void)axes, (void)first, (void)events, (void)after, (void)event;
  for (int i = 0; i < MOST_ARGUMENTS; i++) arguments[i] = (uint64_t)(uintptr_t)made->values[i];
  running = made->function;
  given = arguments;
  for (int i = 0; i < 3; i++) group_count[i] = items[i] / group[i];
  for (group_at[2] = 0; group_at[2] < group_count[2]; group_at[2]++) {
    for (group_at[1] = 0; group_at[1] < group_count[1]; group_at[1]++) {
      for (group_at[0] = 0; group_at[0] < group_count[0]; group_at[0]++) {
        const int error = run_group(group[0]);
        if (error) return error;
      }
    }
  }
  return 0;
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

static int tell(const void *value, size_t bytes, size_t room, void *to, size_t *needed) {
  if (needed) *needed = bytes;
  if (to) memcpy(to, value, bytes < room ? bytes : room);
  return 0;
}

int clGetPlatformIDs(unsigned room, void **platforms, unsigned *count) {
  if (room) platforms[0] = &scheduler;
  return *count = 1, 0;
}
int clGetDeviceIDs(void *platform, bits type, unsigned room, void **devices, unsigned *count) {
  (void)platform, (void)type;
  if (room) devices[0] = &scheduler;
  return *count = 1, 0;
}
int clGetDeviceInfo(void *device, unsigned name, size_t room, void *value, size_t *needed) {
  const bits number = name == DEVICE_TYPE ? GPU : name == FLOATS ? 128 : (bits)1 << 40;
  (void)device;
  if (name == DEVICE_NAME || name == DRIVER) return tell("items", 6, room, value, needed);
  if (name == EXTENSIONS) return tell("cl_khr_fp64", 12, room, value, needed);
  return tell(&number, sizeof number, room, value, needed);
}
void *clCreateContext(const void *of, unsigned count, void **devices, void *notify, void *data, int *error) {
  (void)of, (void)count, (void)devices, (void)notify, (void)data;
  return *error = 0, &scheduler;
}
int clReleaseContext(void *context) { return context ? 0 : -34; }
void *clCreateCommandQueue(void *context, void *device, bits properties, int *error) {
  (void)context, (void)device, (void)properties;
  return *error = 0, &scheduler;
}
void *clCreateBuffer(void *context, bits flags, size_t bytes, void *host, int *error) {
  void *made = NULL;
  (void)context, (void)flags, (void)host;
  *error = posix_memalign(&made, 256, bytes) ? -4 : 0;
  if (made) memset(made, 0xAA, bytes);
  return made;
}
int clReleaseMemObject(void *buffer) { return free(buffer), 0; }
int clEnqueueWriteBuffer(void *queue, char *buffer, unsigned waits, size_t offset, size_t bytes, const void *from) {
  (void)queue, (void)waits;
  return memcpy(buffer + offset, from, bytes), 0;
}
int clEnqueueReadBuffer(void *queue, const char *buffer, unsigned waits, size_t offset, size_t bytes, void *to) {
  (void)queue, (void)waits;
  return memcpy(to, buffer + offset, bytes), 0;
}
void *clCreateProgramWithBinary(void) { return NULL; }
int clGetProgramBuildInfo(void *program, void *device, unsigned name, size_t room, void *value, size_t *needed) {
  (void)program, (void)device, (void)name;
  return tell("error: see above", 17, room, value, needed);
}
int clGetProgramInfo(void) { return -30; }
int clReleaseProgram(void *program) { return program ? 0 : -44; }
int clReleaseKernel(void *kernel) { return kernel ? 0 : -48; }
int clGetKernelWorkGroupInfo(void *kernel, void *device, unsigned name, size_t room, void *value, size_t *needed) {
  const bits most = name == 0x11b2 ? 0 : MOST_ITEMS;
  (void)kernel, (void)device;
  return tell(&most, sizeof most, room, value, needed);
}
int clFlush(void *queue) { return queue ? 0 : -36; }
int clFinish(void *queue) { return queue ? 0 : -36; }
